-- Makes a new job of an old one's event or input: the function that anybody calls.
-- Parameters: job uuid, reason, actor, origin.
-- Returns: one row: became: the new job's id.
-- Locks: the automation, shared; released with this statement.
-- Index: the primary keys.
-- Zero rows: never; it raises TN002 (refused), TN003 (no such job).
select tenure.replay(%(job)s, %(reason)s, %(actor)s, %(origin)s) as became
