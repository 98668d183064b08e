-- Lets a job go on whose question is not about a call: the function that anybody calls.
-- Parameters: id bigint, reason, actor, origin.
-- Returns: one row: job_id.
-- Locks: the job, then its question; released with this statement.
-- Index: the primary keys.
-- Zero rows: never; it raises TN002 (refused), TN003 (no such question).
select tenure.go_on(%(id)s, %(reason)s, %(actor)s, %(origin)s) as job_id
