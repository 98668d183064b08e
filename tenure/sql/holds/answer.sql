-- Answers a question about a call that is in doubt: the function that anybody calls.
-- Parameters: id bigint, happened boolean, status int, response bytea, reason, actor, origin.
-- Returns: one row: job_id.
-- Locks: the job, then its question; released with this statement.
-- Index: the primary keys.
-- Zero rows: never; it raises TN002 (refused), TN003 (no such question), TN004 (not yet).
select tenure.answer_hold(%(id)s, %(happened)s, %(status)s, %(response)s, %(reason)s, %(actor)s,
                          %(origin)s) as job_id
