-- Opens or disables a schedule, and says who did; its ticks are missed while it is disabled.
-- Parameters: name, state, by, reason, origin.
-- Returns: one row: former (the state it had).  A state it had already leaves no audit row.
-- Locks: the schedule's row.
-- Index: the primary key.
-- Zero rows: there is no such schedule.
with former as (
    select s.name, s.state from tenure.schedules as s where s.name = %(name)s for no key update
), changed as (
    update tenure.schedules as s
       set state = %(state)s
      from former as f
     where s.name = f.name and f.state <> %(state)s
    returning s.name, s.state
), told as (
    insert into tenure.audit (actor, act, target, before, after, reason, origin)
    select %(by)s, 'schedule.set_state', 'schedule:' || c.name,
           json_build_object('state', f.state), json_build_object('state', c.state), %(reason)s,
           %(origin)s
      from changed as c
      join former as f on f.name = c.name
)
select f.state as former from former as f
