-- Lists the outages that a schedule met, newest first.
-- Parameters: name, limit int.
-- Returns: a row each: noticed_at, missed_from, missed_until, missed, counted, made, misfire.
-- Locks: none.
-- Index: misfires_of_schedule.
-- Zero rows: it never missed a tick.
select m.noticed_at, m.missed_from, m.missed_until, m.missed, m.counted, m.made, m.misfire
  from tenure.misfires as m
 where m.schedule = %(name)s
 order by m.id desc
 limit %(limit)s
