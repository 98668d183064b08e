-- What jobs remember of their calls: the latest send of each step, its outcome, its evidence.
-- Parameters: ids uuid[].
-- Returns: a row for each (job, step), with wait: seconds until an open send can no longer leave;
--   age: seconds since the step's first send of the epoch; next_epoch: null, it is not sent again.
-- Locks: none.
-- Index: the primary keys.
-- Zero rows: nothing was sent yet.
select distinct on (c.job_id, c.step)
       c.job_id, c.step, c.send, c.send_id, c.epoch, c.provider, c.method, c.url, c.body,
       c.body_digest, c.key, c.wire_key, c.policy,
       coalesce(o.state, e.state, c.state) as state,
       o.state is null and e.state is not null as testified,
       coalesce(o.status, e.status, c.status) as status,
       coalesce(o.answer_headers, e.answer_headers, c.answer_headers)::text as answer_headers,
       coalesce(o.answer, e.answer, c.answer) as answer,
       coalesce(o.why, e.why, c.why) as why, o.told_by,
       coalesce(o.stored, e.stored, false) as stored,
       tenure.next_epoch(c.job_id, c.step, c.send, c.epoch, c.fence,
                         coalesce(o.state, e.state, c.state), coalesce(o.stored, e.stored, false),
                         coalesce(j.fence_base, 0)) as next_epoch,
       extract(epoch from c.send_until - tenure.clock())::float8 as wait,
       extract(epoch from tenure.clock() - min(c.admitted_at) over (
           partition by c.job_id, c.step, c.epoch))::float8 as age
  from tenure.calls as c
  left join tenure.outcomes as o on o.job_id = c.job_id and o.send_id = c.send_id
  left join tenure.evidence as e on e.job_id = c.job_id and e.send_id = c.send_id
  left join tenure.jobs as j on j.id = c.job_id
 where c.job_id = any (%(ids)b::uuid[])
 order by c.job_id, c.step, c.send desc
