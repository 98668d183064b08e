-- Removes a schema that a demo made, with all that is in it.
-- Parameters: none.
-- Returns: nothing.
-- Locks: everything in the schema, exclusively, until the commit.
-- Index: none.
-- Zero rows: always; it raises where the schema is not there.
drop schema tenure cascade
