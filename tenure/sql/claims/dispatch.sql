-- Takes committed dues and lists the strands that can be claimed from now, at most so many.
-- Parameters: automations text[], live boolean, quarantine boolean, after int, limit int.
-- Returns: strand, automation, lane, next_at as text (for raising it by compare-and-set), room (null:
--   no limit), limited (a claim needs slots).
-- Locks: dues (skip locked), strands by id; released with this statement.
-- Index: strands_due.
-- Zero rows: nothing this worker knows is due and open.
select d.strand, d.automation, d.lane, d.next_at::text as next_at, d.room, d.limited
  from tenure.dispatch(%(automations)s::text[], %(live)s, %(quarantine)s, %(after)s, %(limit)s) as d
