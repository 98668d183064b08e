-- 0009_views: what people read: every job with its state, and its story.
-- serves code from: 1

-- Whether every slot of a job's automation is taken by others.
create function tenure.kept_out(j tenure.jobs, s tenure.strands) returns boolean
    language sql stable parallel safe
    as $$
        select s.limited and not exists (
            select from tenure.slots as x
             where x.automation = s.automation and x.live = s.live
               and (x.job_id = j.id or (x.job_id is null and not x.retired)))
    $$;

-- What a person wants to know of an unfinished job, by its row and its strand's.
create function tenure.state_of(j tenure.jobs, s tenure.strands) returns text
    language sql stable parallel safe
    as $$
        select case when j.status = 'held' then 'held'
                    when j.worker_id is not null and j.leased_until > tenure.now() then 'running'
                    when j.worker_id is not null then 'lost'
                    when j.leased_until > tenure.now() or s.opens_at > tenure.now()
                         or tenure.kept_out(j, s) then 'waiting'
                    else 'ready' end
    $$;

create view tenure.all_jobs as
    select j.id, j.automation, j.version, j.lane, j.mode, j.priority,
           tenure.state_of(j, s) as state,
           j.status, nullif(j.leased_until, 'infinity') as leased_until,
           j.fence, j.claim_count, j.failure_count, j.crash_count, j.deferral_count,
           j.quarantine_crashes, j.worker_id, j.claimed_at, j.heartbeat_at, j.request,
           j.waiting_on, j.created_at, j.created_by, j.event_id, j.replay_of, j.unique_key, j.tags,
           j.strand, j.home, null::timestamptz as finished_at, null::text as error_class,
           null::text as error, null::text as traceback, null::json as result,
           case when j.fence = 0 then j.expires_at end as expires_at
      from tenure.jobs as j
      join tenure.strands as s on s.id = j.strand
    union all
    select f.id, f.automation, f.version, f.lane, f.mode, f.priority, f.status, f.status, null,
           f.fence, f.claim_count, f.failure_count, f.crash_count, f.deferral_count,
           f.quarantine_crashes, f.last_worker, f.claimed_at, null, null, null, f.created_at,
           f.created_by, f.event_id, f.replay_of, f.unique_key, f.tags, null, f.home,
           f.finished_at, f.error_class, f.error, f.traceback, f.result, null
      from tenure.finished_jobs as f;
comment on view tenure.all_jobs is 'Every job, unfinished and finished, with the state people ask for';

create view tenure.all_calls as
    select c.job_id, c.step, c.send, c.send_id,
           coalesce(o.state, c.state) as state, c.safe, c.provider, c.account, c.operation,
           c.method, c.url, c.headers, c.body, c.body_digest, c.key, c.epoch, c.wire_key, c.policy,
           c.budgets, c.fence, c.worker_id, c.admitted_at, c.send_until,
           coalesce(o.status, c.status) as status,
           coalesce(o.answer_headers, c.answer_headers) as answer_headers,
           coalesce(o.answer, c.answer) as answer, coalesce(o.why, c.why) as why,
           coalesce(o.told_by, 'worker') as told_by,
           coalesce(o.recorded_at, c.ended_at) as ended_at,
           o.send_id is null and c.state = 'sending' as open
      from tenure.calls as c
      left join tenure.outcomes as o on o.job_id = c.job_id and o.send_id = c.send_id;
comment on view tenure.all_calls is 'Every send with what came of it';
