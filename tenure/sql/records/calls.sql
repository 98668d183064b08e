-- Records safe and suppressed calls, each in one row when it has ended.
-- Parameters: worker uuid, calls json (an array of objects with the columns of tenure.calls).
-- Returns: send_id of each recorded.
-- Locks: jobs by id.
-- Index: the primary keys.
-- A missing send: the claim was over, and nothing of it was written.
with told as (
    select * from json_to_recordset(%(calls)s::json)
        as t (job uuid, fence integer, step text, send integer, send_id uuid, state text,
              provider text, account text, operation text, safe boolean, method text, url text,
              headers json, body text, digest text, key text, wire_key text, policy text,
              budgets json, age double precision, status integer, answer_headers json, answer text,
              why text)
), held as materialized (
    select h.id from (select distinct t.job, t.fence from told as t order by t.job) as t
     cross join lateral (
           select j.id from tenure.jobs as j
            where j.id = t.job and j.fence = t.fence and j.worker_id = %(worker)s
              for no key update) as h
), kept as (
    insert into tenure.calls (
        job_id, step, send, send_id, state, fence, worker_id, provider, account, operation, safe,
        method, url, headers, body, body_digest, key, wire_key, policy, budgets, admitted_at,
        send_until, status, answer_headers, answer, why, ended_at)
    select t.job, t.step, t.send, t.send_id, t.state, t.fence, %(worker)s, t.provider, t.account,
           t.operation, t.safe, t.method, t.url, t.headers, decode(t.body, 'base64'),
           decode(t.digest, 'hex'), t.key, t.wire_key, t.policy, t.budgets,
           tenure.clock() - make_interval(secs => t.age), tenure.clock(), t.status,
           t.answer_headers, decode(t.answer, 'base64'), t.why, tenure.clock()
      from told as t join held as h on h.id = t.job
    on conflict (job_id, step, send) do nothing
)
select t.send_id from told as t join held as h on h.id = t.job
