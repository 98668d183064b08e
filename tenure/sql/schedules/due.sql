-- Reads the schedules that are due, and the one that will be next.
-- Parameters: none.
-- Returns: a row each, earliest first, at most 1000: name, the intent's columns, next_at, revision,
--   now (the clock), wait (seconds until next_at; not positive where it is due).
-- Locks: none.
-- Index: none; the table holds a row a schedule.
-- Zero rows: no open schedule has a next tick.
select s.name, s.cron, extract(epoch from s.every)::double precision as every, s.anchor, s.at, s.zone,
       s.misfire, s.misfire_limit, s.next_at, s.revision, c.now,
       extract(epoch from s.next_at - c.now)::double precision as wait
  from (select tenure.clock() as now) as c
 cross join tenure.schedules as s
 where s.state = 'open' and s.next_at is not null
   and (s.next_at <= c.now or s.next_at = (
        select min(n.next_at) from tenure.schedules as n
         where n.state = 'open' and n.next_at > c.now))
 order by s.next_at, s.name
 limit 1000
