-- Takes the one lock under which this database is migrated, until the transaction ends.
-- Parameters: none.
-- Returns: one row of nothing.
-- Locks: an advisory lock of the transaction, waited for as long as it takes; the number is ours.
-- Index: none.
-- Zero rows: never.
select set_config('lock_timeout', '0', true), pg_advisory_xact_lock(7364837001)
