-- Holds the counters of the newest jobs against the story of their claims.
-- Parameters: sample int.
-- Returns: a row for each that does not add up: id.
-- Locks: none.  Index: primary keys, backwards.
-- Zero rows: all add up.
select x.id
  from ((select j.id, j.fence - (j.worker_id is not null)::integer as ended,
                j.failure_count + j.crash_count + j.deferral_count as counted
           from tenure.jobs as j order by j.id desc limit %(sample)s)
        union all
        (select f.id, f.fence - (f.status = 'succeeded')::integer,
                f.failure_count + f.crash_count + f.deferral_count
           from tenure.finished_jobs as f order by f.id desc limit %(sample)s)) as x
 where x.ended <> x.counted
    or x.ended <> (select count(*) from tenure.attempts as a where a.job_id = x.id)
