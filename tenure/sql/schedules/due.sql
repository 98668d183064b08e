-- Reads the schedules that are due, and the one that will be next.
-- Parameters: none.
-- Returns: a row each, earliest first, at most 1000: name, the intent's columns, next_at, revision,
--   now (the clock), wait (seconds until next_at; not positive where it is due).
-- Locks: none.
-- Index: none; the table holds a row a schedule, and is read twice.
-- Zero rows: no open schedule has a next tick.
with clock as materialized (
    select tenure.clock() as now
), soonest as materialized (
    select min(n.next_at) as next_at
      from clock as c
      join tenure.schedules as n on n.next_at > c.now
     where n.state = 'open'
)
select s.name, s.cron, extract(epoch from s.every)::double precision as every, s.anchor, s.at, s.zone,
       s.misfire, s.misfire_limit, s.next_at, s.revision, c.now,
       extract(epoch from s.next_at - c.now)::double precision as wait
  from clock as c
 cross join soonest as f
  join tenure.schedules as s on s.next_at <= c.now or s.next_at = f.next_at
 where s.state = 'open'
 order by s.next_at, s.name
 limit 1000
