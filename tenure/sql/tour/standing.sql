-- Tells whether this database holds a schema of Tenure, and which PostgreSQL it is.
-- Parameters: none.
-- Returns: one row: there boolean, server int (major version).
-- Locks: none.
-- Index: none; the catalogue alone is read.
-- Zero rows: never.
select to_regnamespace('tenure') is not null as there,
       current_setting('server_version_num')::integer / 10000 as server
