-- 0011_explain: any job explains itself: sentences made from its rows, one engine for every face.
-- serves code from: 1

create index audit_of_target on tenure.audit (target, id desc);
create index holds_of_job on tenure.holds (job_id, id desc);
-- People look for what went wrong; a success, the common end, does not pay for it.
create index finished_otherwise on tenure.finished_jobs (status, id) where status <> 'succeeded';

-- An instant for people: UTC, to the second.
create function tenure.said_at(at timestamptz) returns text
    language sql stable parallel safe
    as $$
        select case when at is null then null
                    when isfinite(at)
                    then to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC'
                    else 'for ever' end
    $$;

-- A length of time for people, in its two largest units.
create function tenure.said_for(length interval) returns text
    language sql immutable parallel safe
    as $$
        select case
            when t.s < 60 then t.s || ' s'
            when t.s < 3600 then concat(t.s / 60, ' min', ' ' || nullif(t.s % 60, 0) || ' s')
            when t.s < 86400
                then concat(t.s / 3600, ' h', ' ' || nullif(t.s % 3600 / 60, 0) || ' min')
            else concat(t.s / 86400, ' d', ' ' || nullif(t.s % 86400 / 3600, 0) || ' h') end
          from (select greatest(round(extract(epoch from length)), 0)::bigint as s) as t
    $$;

-- Since when and for how long; until when and in how long.
create function tenure.said_since(at timestamptz) returns text
    language sql stable parallel safe
    as $$ select format('since %s (%s)', tenure.said_at(at), tenure.said_for(tenure.now() - at)) $$;

create function tenure.said_until(at timestamptz) returns text
    language sql stable parallel safe
    as $$
        select case when isfinite(at)
                    then format('until %s (in %s)', tenure.said_at(at),
                                tenure.said_for(at - tenure.now()))
                    else 'until somebody ends it' end
    $$;

create function tenure.said_worker(worker uuid, host text default null) returns text
    language sql stable
    as $$
        select coalesce(
            (select format('worker %s (pid %s on %s)', w.id, w.pid, w.host)
               from tenure.workers as w where w.id = said_worker.worker),
            concat('worker ' || said_worker.worker, ' on ' || said_worker.host,
                   ' (no longer on record)'))
    $$;

-- An error's first line, with its class.
create function tenure.said_error(error_class text, error text) returns text
    language sql immutable parallel safe
    as $$
        select coalesce(nullif(concat_ws(': ', error_class, nullif(
                   left(split_part(error, E'\n', 1), 300), '')), ''), 'no error is on record')
    $$;

create function tenure.said_step(step text) returns text
    language sql immutable parallel safe
    as $$ select case when step is null or step like '~%' then 'without a name' else step end $$;

-- Why a claim was handed back, from the machine-readable reason.
create function tenure.said_wait(waits json) returns text
    language sql immutable parallel safe
    as $$
        select case w.why
            when 'budget' then format('the budget %s of %s had no room for step %s',
                                      w.waits ->> 'budget', w.provider, w.step)
            when 'throttled' then format('%s asked to wait (throttled) at step %s', w.provider,
                                         w.step)
            when 'overloaded' then format('%s is overloaded, at step %s', w.provider, w.step)
            when 'sleep' then format('the handler sleeps (step %s)', w.step)
            when 'deferred' then concat_ws(': ', 'the handler deferred it',
                                           nullif(w.waits ->> 'said', ''))
            when 'in doubt' then format('step %s might still leave for %s', w.step, w.provider)
            when 'key in flight' then format('%s is still at work on step %s, under the same key',
                                             w.provider, w.step)
            when 'unsettled' then format('what is on record of step %s keeps changing', w.step)
            when 'former run' then 'an earlier run of it is still ending in the same process'
            when 'backoff' then 'it failed and is tried again after a pause'
            when 'shutdown' then 'its worker was told to stop'
            when 'paused' then 'it met a pause' || coalesce(format(' at step %s', w.step), '')
            else coalesce(w.why, 'no reason is on record') end
          from (select said_wait.waits, said_wait.waits ->> 'why' as why,
                       said_wait.waits ->> 'provider' as provider,
                       tenure.said_step(said_wait.waits ->> 'step') as step) as w
    $$;

-- Jobs that a claim of the same strand takes first, counted up to a thousand.
create function tenure.said_ahead(j tenure.all_jobs) returns text
    language sql stable
    as $$
        select case when a.n > 1000 then 'more than 1000 jobs are'
                    when a.n = 0 then 'none is'
                    when a.n = 1 then '1 job is' else a.n || ' jobs are' end || ' ahead of it'
          from (select count(*) as n
                  from (select from generate_series(0, j.priority) as p (priority)
                         cross join lateral (
                               select from tenure.jobs as k
                                where k.status = 'pending' and k.strand = j.strand
                                  and k.priority = p.priority
                                  and k.leased_until <= case when p.priority < j.priority
                                                             then tenure.now() else j.leased_until end
                                  and k.id <> j.id
                                order by k.leased_until  -- the order of jobs_claimable: no scan
                                limit 1001) as k
                         limit 1001) as k) as a
    $$;

-- What people did to a job: to it alone, or to it among many, whose one audit row its journal names.
create function tenure.acts_on(job uuid)
    returns table (id bigint, at timestamptz, actor text, act text, after json, reason text,
                   many boolean)
    language sql stable
    as $$
        select a.id, a.at, a.actor, a.act, a.after, a.reason, false
          from tenure.audit as a where a.target = 'job:' || acts_on.job::text
        union all
        select a.id, l.at, a.actor, a.act, l.detail, a.reason, true
          from tenure.journal as l
          join tenure.audit as a
            on a.id = case when l.kind = 'act' then (l.detail ->> 'act')::bigint end
         where l.job_id = acts_on.job and l.kind = 'act'
    $$;

-- The sentence that stands first: the state, since when, by whom, until when.
create function tenure.explain_state(j tenure.all_jobs)
    returns table (at timestamptz, sentence text)
    language sql stable
    as $$
        select x.since, case j.state
            when 'running' then format(
                'Running %s on %s; last heard of at %s, its lease ends at %s.',
                tenure.said_since(x.since), tenure.said_worker(j.worker_id),
                tenure.said_at(coalesce(j.heartbeat_at, j.claimed_at)),
                tenure.said_at(j.leased_until))
            when 'lost' then format(
                'Lost %s: %s was last heard of at %s. The next claim of a worker that knows %s '
                'finds it and runs it again.',
                tenure.said_since(x.since), tenure.said_worker(j.worker_id),
                tenure.said_at(coalesce(j.heartbeat_at, j.claimed_at)), j.automation)
            when 'ready' then format('Ready %s: a worker with a free slot claims it; %s.',
                                     tenure.said_since(x.since), tenure.said_ahead(j))
            when 'waiting' then format('Waiting %s %s.', tenure.said_since(x.since), case
                when greatest(j.leased_until, s.opens_at) > tenure.now()
                then tenure.said_until(greatest(j.leased_until, s.opens_at))
                else 'until another job of its automation ends' end)
            when 'held' then format('Held %s: it waits for a person.', tenure.said_since(x.since))
            when 'succeeded' then format(
                'Succeeded at %s, %s after it was made, in claim %s by %s.', tenure.said_at(x.since),
                tenure.said_for(j.finished_at - j.created_at), j.fence,
                tenure.said_worker(j.worker_id))
            when 'failed' then format('Failed for good at %s (failures: %s): %s',
                tenure.said_at(x.since), j.failure_count, tenure.said_error(j.error_class, j.error))
            when 'cancelled' then format('Cancelled at %s%s.', tenure.said_at(x.since), (
                select ': ' || j.error where j.error_class = 'Expired'
                union all
                (select concat(' by ', a.actor, ': ' || a.reason) from tenure.acts_on(j.id) as a
                  where a.act = 'job.cancel' and j.error_class is null
                  order by a.id desc limit 1)))
            end
          from (select j.id) as one
          left join tenure.strands as s on s.id = j.strand
         cross join lateral (
               select case j.state
                   when 'running' then j.claimed_at
                   when 'lost' then j.leased_until
                   when 'ready' then greatest(j.leased_until, nullif(s.opens_at, '-infinity'))
                   when 'waiting' then coalesce(
                       (select a.ended_at from tenure.attempts as a where a.job_id = j.id
                         order by a.fence desc limit 1), j.created_at)
                   when 'held' then coalesce(
                       (select max(h.asked_at) from tenure.holds as h
                         where h.job_id = j.id and h.answer is null), j.created_at)
                   else j.finished_at end as since) as x
    $$;
