-- Takes the one lock under which this database is migrated, until the transaction ends.
-- Parameters: none.
-- Returns: one row of nothing.
-- Locks: an advisory lock of the transaction; the number is arbitrary and ours.
-- Index: none.
-- Zero rows: never.
select pg_advisory_xact_lock(7364837001)
