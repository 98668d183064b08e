-- Lists the migrations that were applied.
-- Parameters: none.
-- Returns: version, checksum, serves_from.
-- Locks: none.
-- Index: none; a handful of rows.
-- Zero rows: the ledger is empty.
select m.version, m.checksum, m.serves_from from tenure.migrations as m order by m.version
