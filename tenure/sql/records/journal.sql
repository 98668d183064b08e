-- Appends to the stories of jobs, under their claims.
-- Parameters: worker uuid; ids uuid[] in order, fences int[], kinds, said, details text[] (JSON).
-- Returns: job_id of each appended.
-- Locks: jobs by id.
-- Index: the primary key.
-- A missing job: its claim was over, and nothing of it was written.
with told as (
    select * from unnest(%(ids)b::uuid[], %(fences)s::integer[], %(kinds)b::text[],
                         %(said)b::text[], %(details)b::text[])
        as t (id, fence, kind, said, detail)
), held as materialized (
    select h.id from (select distinct t.id, t.fence from told as t order by t.id) as t
     cross join lateral (
           select j.id from tenure.jobs as j
            where j.id = t.id and j.fence = t.fence and j.worker_id = %(worker)s
              for no key update) as h
)
insert into tenure.journal (job_id, kind, said, detail)
select t.id, t.kind, t.said, t.detail::json from told as t join held as h on h.id = t.id
returning job_id
