-- Writes a schedule as its code or a person has it, and when it ticks next.
-- Parameters: name, cron, every double precision, anchor, at, zone, misfire, misfire_limit, declared
--   json, next_at, revision (the one that was read; 0: there was none), by, changed_by, act, reason,
--   origin.
-- Returns: one row: revision.  Each leaves an audit row.
-- Locks: the schedule's row.
-- Index: the primary key.
-- Zero rows: it is no longer as it was read; nothing was written.
with former as (
    select s.* from tenure.schedules as s where s.name = %(name)s
), written as (
    insert into tenure.schedules as s (name, cron, every, anchor, at, zone, misfire, misfire_limit,
                                       next_at, declared, declared_by, changed_by)
    select %(name)s, %(cron)s, make_interval(secs => %(every)s), %(anchor)s, %(at)s, %(zone)s,
           %(misfire)s, %(misfire_limit)s, %(next_at)s, %(declared)s::json, %(by)s, %(changed_by)s
     where %(revision)s = 0 or exists (select from former)
    on conflict (name) do update
       set cron = excluded.cron, every = excluded.every, anchor = excluded.anchor,
           at = excluded.at, zone = excluded.zone, misfire = excluded.misfire,
           misfire_limit = excluded.misfire_limit, next_at = excluded.next_at,
           changed_by = excluded.changed_by, revision = s.revision + 1,
           declared = excluded.declared,
           declared_by = case when %(act)s = 'schedule.declare' then excluded.declared_by
                              else s.declared_by end,
           declared_at = case when %(act)s = 'schedule.declare' then tenure.clock()
                              else s.declared_at end
     where s.revision = %(revision)s
    returning s.*
), told as (
    insert into tenure.audit (actor, act, target, before, after, reason, origin)
    select %(by)s, %(act)s, 'schedule:' || w.name, to_json(f), to_json(w), %(reason)s, %(origin)s
      from written as w
      left join former as f on f.name = w.name
)
select w.revision from written as w
