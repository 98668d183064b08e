-- Reads the database's clock, by which deliveries are judged fresh.
-- Parameters: none.
-- Returns: one row: at timestamptz.
-- Locks: none.  Index: none.
-- Zero rows: never.
select tenure.clock() as at
