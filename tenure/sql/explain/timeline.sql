-- Tells what happened to one job, moment by moment.
-- Parameters: job uuid.
-- Returns: a row a moment: at, what, detail.
-- Locks: none.
-- Index: the primary keys; every part is found by the job's id.
-- Zero rows: there is no such job, or it is no longer kept.
select t.at, t.what, t.detail
  from tenure.timeline as t
 where t.job_id = %(job)s
 order by t.at, t.what
