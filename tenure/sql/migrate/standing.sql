-- Tells whether this database has ever been migrated.
-- Parameters: none.
-- Returns: one row: there.
-- Locks: none.
-- Index: none.
-- Zero rows: never.
select to_regclass('tenure.migrations') is not null as there
