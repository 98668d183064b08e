-- Records results of steps, decisions and values under their claims.
-- Parameters: worker uuid; ids uuid[] in order, fences int[], names, kinds text[],
--   arguments bytea[] (digests), results text[] (JSON).
-- Returns: job_id and name of each recorded; a name recorded before stays as it was.
-- Locks: jobs by id.
-- Index: the primary keys.
-- A missing job: its claim was over, and nothing of it was written.
with told as (
    select * from unnest(%(ids)b::uuid[], %(fences)s::integer[], %(names)b::text[],
                         %(kinds)b::text[], %(arguments)b::bytea[], %(results)b::text[])
        as t (id, fence, name, kind, arguments, result)
), held as materialized (
    select h.id from (select distinct t.id, t.fence from told as t order by t.id) as t
     cross join lateral (
           select j.id from tenure.jobs as j
            where j.id = t.id and j.fence = t.fence and j.worker_id = %(worker)s
              for no key update) as h
), kept as (
    insert into tenure.steps (job_id, name, kind, arguments, result, fence)
    select t.id, t.name, t.kind, t.arguments, t.result::json, t.fence
      from told as t join held as h on h.id = t.id
    on conflict (job_id, name) do nothing
)
select t.id as job_id, t.name from told as t join held as h on h.id = t.id
