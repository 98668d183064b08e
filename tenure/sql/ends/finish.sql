-- Ends claims for good: success, a last failure, a cancel taken up.
-- Parameters: worker uuid; ids uuid[] in order, fences int[], statuses, results (JSON text),
--   error_classes, errors, tracebacks text[].
-- Returns: the ids finished.
-- Locks: jobs by id; then the row moves to finished_jobs, its unique key and its slot go free.
-- Index: the primary key.
-- A missing id: the claim was over, and nothing of it was written.
with told as (
    select * from unnest(%(ids)b::uuid[], %(fences)s::integer[], %(statuses)b::text[],
                         %(results)b::text[], %(error_classes)b::text[], %(errors)b::text[],
                         %(tracebacks)b::text[])
        as t (id, fence, status, result, error_class, error, traceback)
), held as materialized (
    select h.id from told as t
     cross join lateral (
           select j.id from tenure.jobs as j
            where j.id = t.id and j.fence = t.fence and j.worker_id = %(worker)s
              for update) as h
), gone as (
    delete from tenure.jobs as j where j.id = any (array(select h.id from held as h))
    returning j.*
), finished as (
    insert into tenure.finished_jobs (
        id, event_id, replay_of, last_worker, claimed_at, created_at, home, fence, failure_count,
        crash_count, deferral_count, quarantine_crashes, failure_base, quarantine_base, priority,
        status, mode, automation, version, lane, unique_key, created_by, error_class, error,
        traceback, result, tags)
    select g.id, g.event_id, g.replay_of, g.worker_id, g.claimed_at, g.created_at, g.home, g.fence,
           g.failure_count + (t.status = 'failed')::integer, g.crash_count,
           g.deferral_count + (t.status = 'cancelled')::integer, g.quarantine_crashes,
           g.failure_base, g.quarantine_base, g.priority, t.status, g.mode, g.automation,
           g.version, g.lane, g.unique_key, g.created_by, t.error_class, t.error,
           t.traceback, t.result::json, g.tags
      from gone as g join told as t on t.id = g.id
), attempted as (
    insert into tenure.attempts (job_id, fence, ended, worker_id, host, version, claimed_at,
                                 error_class, error, traceback)
    select g.id, g.fence, case t.status when 'failed' then 'failure' else 'cancel' end,
           g.worker_id, r.host, r.version, g.claimed_at, t.error_class, t.error, t.traceback
      from gone as g join told as t on t.id = g.id
      left join lateral tenure.ran(g.worker_id, g.automation) as r on true
     where t.status <> 'succeeded'
), freed as (
    delete from tenure.unique_keys as u using gone as g
     where g.unique_key is not null and u.automation = g.automation and u.key = g.unique_key
       and u.job_id = g.id and u.until is null
), slot as (
    update tenure.slots as x set job_id = null
     where x.job_id = any (array(select g.id from gone as g))
)
select g.id from gone as g
