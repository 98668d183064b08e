-- Makes the strands of a lane of an automation where they are missing.
-- Parameters: automation, lane text.
-- Returns: one row of nothing.
-- Locks: none that last; a short transaction of its own.
-- Index: one_strand_of_a_kind.
-- Zero rows: never.
select tenure.open_lane(%(automation)s, %(lane)s)
