-- Lists the schedules of this database, by name.
-- Parameters: none.
-- Returns: a row each, as schedules/get has them.
-- Locks: none.
-- Index: the primary key.
-- Zero rows: nothing was declared here yet.
select s.name, s.cron, extract(epoch from s.every)::double precision as every, s.anchor, s.at, s.zone,
       s.misfire, s.misfire_limit, s.state, s.next_at, s.last_at, s.revision,
       s.declared::text as declared, s.declared_at, s.declared_by, s.changed_by
  from tenure.schedules as s
 order by s.name
