-- What jobs remember of their steps.
-- Parameters: ids uuid[].
-- Returns: job_id, name, kind, arguments, result (JSON text).
-- Locks: none.
-- Index: the primary key.
-- Zero rows: nothing was recorded yet.
select s.job_id, s.name, s.kind, s.arguments, s.result::text as result
  from tenure.steps as s where s.job_id = any (%(ids)b::uuid[])
