-- Records what came of sends, under the claim that sent or adopted them.
-- Parameters: worker uuid; ids uuid[] in order, fences int[], send_ids uuid[], steps text[],
--   sends int[], states text[], statuses int[], answer_headers text[] (JSON), answers bytea[],
--   whys text[], stored bool[], tellers text[].
-- Returns: send_id of each told; what is on record stays, but for an unknown that a probe found out.
-- Locks: jobs by id.
-- Index: the primary keys.
-- A missing send: the claim was over; what the worker saw goes in as evidence.
with told as (
    select * from unnest(%(ids)b::uuid[], %(fences)s::integer[], %(send_ids)b::uuid[],
                         %(steps)b::text[], %(sends)s::integer[], %(states)b::text[],
                         %(statuses)s::integer[], %(answer_headers)b::text[], %(answers)b::bytea[],
                         %(whys)b::text[], %(stored)b::boolean[], %(tellers)b::text[])
        as t (id, fence, send_id, step, send, state, status, answer_headers, answer, why, stored,
              told_by)
), held as materialized (
    select h.id from (select distinct t.id, t.fence from told as t order by t.id) as t
     cross join lateral (
           select j.id from tenure.jobs as j
            where j.id = t.id and j.fence = t.fence and j.worker_id = %(worker)s
              for no key update) as h
), kept as (
    insert into tenure.outcomes as o (job_id, send_id, step, send, state, fence, status,
                                 answer_headers, answer, why, stored, told_by)
    select t.id, t.send_id, t.step, t.send, t.state, t.fence, t.status, t.answer_headers::json,
           t.answer, t.why, t.stored, t.told_by
      from told as t join held as h on h.id = t.id
     where t.told_by <> 'probe' or not exists (
           select from tenure.evidence as e where e.job_id = t.id and e.send_id = t.send_id)
    on conflict (job_id, send_id) do update
        set state = excluded.state, status = coalesce(excluded.status, o.status),
            answer_headers = excluded.answer_headers, answer = excluded.answer, why = excluded.why,
            told_by = excluded.told_by, recorded_at = tenure.clock()
        where excluded.told_by = 'probe' and o.state = 'unknown'
)
select t.send_id from told as t join held as h on h.id = t.id
