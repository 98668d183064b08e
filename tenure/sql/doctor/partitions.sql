-- Tells which weeks have no partition: this one, and the next.
-- Parameters: none.
-- Returns: a row each: parent text, week timestamptz, ahead boolean (next week's).
-- Locks: none.  Index: none.
-- Zero rows: all are there.
select p.parent, w.week, w.week > tenure.now() as ahead
  from tenure.partitioned() as p (parent)
 cross join (select date_trunc('week', tenure.now(), 'UTC') + n * interval '7 days' as week
               from generate_series(0, 1) as n) as w
 where not exists (select from tenure.weeks() as k where k.parent = p.parent and k.week = w.week)
 order by w.week, p.parent
