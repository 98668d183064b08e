-- Puts an applied migration in the ledger, in the transaction that applied it.
-- Parameters: version int, name, checksum text, serves_from int.
-- Returns: nothing.
-- Locks: none that last.
-- Index: the primary key.
-- Zero rows: always.
insert into tenure.migrations (version, name, checksum, serves_from)
values (%(version)s, %(name)s, %(checksum)s, %(serves_from)s)
