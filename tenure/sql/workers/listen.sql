-- Lets a connection hear when a worker is called; for as long as the connection lasts.
-- Parameters: none.
-- Returns: no rows.
-- Locks: none.
-- Index: none.
-- Zero rows: always.
listen tenure
