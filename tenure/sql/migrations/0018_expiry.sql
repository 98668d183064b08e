-- 0018_expiry: a job that nobody has claimed by the time it expires is cancelled.
-- serves code from: 1

-- Moves those of the given jobs that have expired unclaimed to the finished ones, and tells which.
-- No claim was made, so none is counted.  What somebody else holds is left to the next look.
create function tenure.expire(p_jobs uuid[]) returns setof uuid
    language sql volatile
    as $$
        with held as materialized (
            select h.id from unnest(p_jobs) as t (id)
             cross join lateral (
                   select j.id from tenure.jobs as j
                    where j.id = t.id and j.fence = 0 and j.status = 'pending'
                      and j.expires_at <= tenure.clock()
                      for update skip locked) as h
        ), gone as (
            delete from tenure.jobs as j where j.id = any (array(select h.id from held as h))
            returning j.*
        ), finished as (
            insert into tenure.finished_jobs (
                id, event_id, replay_of, created_at, home, fence, failure_count, crash_count,
                deferral_count, quarantine_crashes, failure_base, quarantine_base, priority, status,
                mode, automation, version, lane, unique_key, created_by, error_class, error, tags)
            select g.id, g.event_id, g.replay_of, g.created_at, g.home, g.fence, g.failure_count,
                   g.crash_count, g.deferral_count, g.quarantine_crashes, g.failure_base,
                   g.quarantine_base, g.priority, 'cancelled', g.mode, g.automation, g.version,
                   g.lane, g.unique_key, g.created_by, 'Expired',
                   format('it expired at %s, and nobody had claimed it', tenure.said_at(g.expires_at)),
                   g.tags
              from gone as g
        ), freed as (
            delete from tenure.unique_keys as u using gone as g
             where g.unique_key is not null and u.automation = g.automation
               and u.key = g.unique_key and u.job_id = g.id and u.until is null
        )
        , slot as (
            update tenure.slots as x set job_id = null
             where x.job_id = any (array(select g.id from gone as g))
        )
        select g.id from gone as g
    $$;

insert into tenure.chores (name, every) values ('expiry', interval '5 seconds');
