-- Opens or disables a source, and says who did.
-- Parameters: name, state, by, reason, origin.
-- Returns: one row: former (the state it had).  A state it had already leaves no audit row.
-- Locks: the source's row.
-- Index: the primary key.
-- Zero rows: there is no such source.
with former as (
    select s.name, s.state from tenure.sources as s where s.name = %(name)s for update
), changed as (
    update tenure.sources as s
       set state = %(state)s
      from former as f
     where s.name = f.name and f.state <> %(state)s
    returning s.name, s.state
), told as (
    insert into tenure.audit (actor, act, target, before, after, reason, origin)
    select %(by)s, 'source.set_state', 'source:' || c.name, json_build_object('state', f.state),
           json_build_object('state', c.state), %(reason)s, %(origin)s
      from changed as c
      join former as f on f.name = c.name
)
select f.state as former from former as f
