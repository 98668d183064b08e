-- Finds the open question of a job.
-- Parameters: job uuid.
-- Returns: one row: id.
-- Locks: none.
-- Index: holds_open.
-- Zero rows: the job asks nothing.
select h.id from tenure.holds as h
 where h.job_id = %(job)s and h.answer is null
 order by h.id
 limit 1
