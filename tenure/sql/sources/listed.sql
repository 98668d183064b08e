-- Lists the sources of this database, by name.
-- Parameters: none.
-- Returns: a row each: name, scheme, secrets text (JSON), event_key, state, declared_at.
-- Locks: none.  Index: the primary key.
-- Zero rows: nothing was declared here yet.
select s.name, s.scheme, s.secrets::text as secrets, s.event_key, s.state, s.declared_at
  from tenure.sources as s
 order by s.name
