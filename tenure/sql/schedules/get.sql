-- Reads one schedule, and the clock by which its next tick is reckoned.
-- Parameters: name.
-- Returns: one row: now (the clock), taken (a door for deliveries has the name), and the schedule's
--   columns: every in seconds, declared as text; null where there is none.
-- Locks: none.
-- Index: the primary keys.
-- Zero rows: never.
select tenure.clock() as now,
       exists (select from tenure.sources as o where o.name = %(name)s) as taken,
       s.name, s.cron, extract(epoch from s.every)::double precision as every, s.anchor, s.at, s.zone,
       s.misfire, s.misfire_limit, s.state, s.next_at, s.last_at, s.revision,
       s.declared::text as declared, s.declared_at, s.declared_by, s.changed_by
  from (select 1) as one
  left join tenure.schedules as s on s.name = %(name)s
