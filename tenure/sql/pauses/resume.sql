-- Ends a pause: the function that anybody calls.
-- Parameters: target, reason text, actor, origin.
-- Returns: one row: the pause as it was; until is null where it had no end.
-- Locks: the pause, strands by id; released with this statement.
-- Index: the primary keys.
-- Zero rows: never; it raises TN002 (refused), TN003 (nothing of that name, or it is not paused).
select p.target, p.reason, p.paused_by, p.since, nullif(p.until, 'infinity') as until
  from tenure.resume(%(target)s, %(reason)s, %(actor)s, %(origin)s) as p
