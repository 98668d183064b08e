-- Brings a failed or held job back: the function that anybody calls.
-- Parameters: job uuid, reason, actor, origin.
-- Returns: one row: was: the status it had.
-- Locks: the job; released with this statement.
-- Index: the primary keys.
-- Zero rows: never; it raises TN002 (refused), TN003 (no such job).
select tenure.retry(%(job)s, %(reason)s, %(actor)s, %(origin)s) as was
