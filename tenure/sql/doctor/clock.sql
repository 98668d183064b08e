-- Reads the database's clock.
-- Parameters: none.
-- Returns: one row: now.
-- Locks: none.  Index: none.
-- Zero rows: never.
select tenure.clock() as now
