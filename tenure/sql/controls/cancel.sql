-- Cancels a job, or asks its worker to: the function that anybody calls.
-- Parameters: job uuid, reason, actor, origin.
-- Returns: one row: became: cancelled or asked.
-- Locks: the job; released with this statement.
-- Index: the primary keys.
-- Zero rows: never; it raises TN002 (refused), TN003 (no such job).
select tenure.cancel(%(job)s, %(reason)s, %(actor)s, %(origin)s) as became
