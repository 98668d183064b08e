-- Lists the servers that follow this one.
-- Parameters: none.
-- Returns: a row each: name, sync_state (null where the role may not see it).
-- Locks: none.  Index: none.
-- Zero rows: no server follows.
select r.application_name as name, r.sync_state from pg_stat_replication as r order by 1
