-- Looks for the oldest snapshot in use: it keeps dead rows from being cleared away.
-- Parameters: none.
-- Returns: a row: seconds float, who text.
-- Locks: none.  Index: none.
-- Zero rows: nothing is open.
select extract(epoch from statement_timestamp() - o.since)::double precision as seconds, o.who
  from (select a.xact_start as since, format('%s (pid %s)', a.application_name, a.pid) as who
          from pg_stat_activity as a
         where a.datname = current_database() and a.backend_xmin is not null
           and a.pid <> pg_backend_pid()
         union all
        select p.prepared, format('prepared transaction %s', p.gid) from pg_prepared_xacts as p
         where p.database = current_database()) as o
 where o.since is not null
 order by o.since
 limit 1
