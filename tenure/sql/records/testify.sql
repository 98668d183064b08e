-- Puts down what a worker saw of a send after its claim was over; changes nothing by itself.
-- Parameters: worker uuid; ids, send_ids uuid[], states text[], statuses int[],
--   answer_headers text[] (JSON), answers bytea[], whys text[], stored bool[].
-- Returns: send_id of each put down.
-- Locks: none; inserted without the fence, by design.
-- Index: the primary key.
-- Zero rows: it was put down before.
insert into tenure.evidence (job_id, send_id, state, status, answer_headers, answer, why, stored,
                             worker_id)
select t.id, t.send_id, t.state, t.status, t.answer_headers::json, t.answer, t.why, t.stored,
       %(worker)s
  from unnest(%(ids)b::uuid[], %(send_ids)b::uuid[], %(states)b::text[], %(statuses)s::integer[],
              %(answer_headers)b::text[], %(answers)b::bytea[], %(whys)b::text[], %(stored)b::boolean[])
    as t (id, send_id, state, status, answer_headers, answer, why, stored)
on conflict (job_id, send_id) do nothing
returning send_id
