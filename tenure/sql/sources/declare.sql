-- Writes what code declares of a source; its state stays what the row says.
-- Parameters: name, scheme, secrets json (references), event_key, by, origin.
-- Returns: one row: state.  A declaration that changes the door leaves an audit row.
-- Locks: the source's row.
-- Index: the primary key.
-- Zero rows: never.
with former as (
    select s.name, s.scheme, s.secrets, s.event_key
      from tenure.sources as s
     where s.name = %(name)s
), declared as (
    insert into tenure.sources as s (name, scheme, secrets, event_key)
    values (%(name)s, %(scheme)s, %(secrets)s::json, %(event_key)s)
    on conflict (name) do update
       set scheme = excluded.scheme, secrets = excluded.secrets, event_key = excluded.event_key,
           declared_at = tenure.clock()
    returning s.name, s.scheme, s.secrets, s.event_key, s.state
), told as (
    insert into tenure.audit (actor, act, target, before, after, origin)
    select %(by)s, 'source.declare', 'source:' || d.name, to_json(f),
           json_build_object('name', d.name, 'scheme', d.scheme, 'secrets', d.secrets,
                             'event_key', d.event_key),
           %(origin)s
      from declared as d
      left join former as f on f.name = d.name
     where f.name is null
        or (f.scheme, f.secrets::text, f.event_key)
           is distinct from (d.scheme, d.secrets::text, d.event_key)
)
select d.state from declared as d
