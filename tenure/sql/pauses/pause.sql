-- Pauses a target: the function that anybody calls.
-- Parameters: target, reason text, until timestamptz (null: until it is resumed), actor, origin.
-- Returns: one row: the pause; until is null where it has no end.
-- Locks: the pause, strands by id; released with this statement.
-- Index: the primary keys.
-- Zero rows: never; it raises TN002 (refused), TN003 (nothing of that name).
select p.target, p.reason, p.paused_by, p.since, nullif(p.until, 'infinity') as until
  from tenure.pause(%(target)s, %(reason)s, %(until)s, %(actor)s, %(origin)s) as p
