-- Moves an automation down a stage: the function that anybody calls.
-- Parameters: automation, to, reason text, actor, origin.
-- Returns: one row: the promotion as it was written.
-- Locks: the automation; released with this statement.
-- Index: the primary key.
-- Zero rows: never; it raises TN002 (refused), TN003 (no such automation).
select p.automation, p.version, p.from_stage, p.to_stage, p.waived, p.waived_until, p.reason,
       p.actor, p.first_event, p.at
  from tenure.demote(%(automation)s, %(to)s, %(reason)s, %(actor)s, %(origin)s) as p
