-- Looks at what the server itself is and promises.
-- Parameters: none.
-- Returns: one row: version int, commits text (synchronous_commit), named text (synchronous_standby_names).
-- Locks: none.  Index: none.
-- Zero rows: never.
select current_setting('server_version_num')::integer as version,
       current_setting('synchronous_commit') as commits,
       current_setting('synchronous_standby_names') as named
