-- Cancels jobs that expired before any worker asked for them, oldest first, at most a thousand.
-- Parameters: none.
-- Returns: the ids cancelled.
-- Locks: jobs, SKIP LOCKED; then the row moves to finished_jobs and its unique key goes free.
-- Index: jobs_expiring.
-- Zero rows: nothing has expired.
select x.id
  from tenure.expire(array(
           select j.id from tenure.jobs as j
            where j.expires_at <= tenure.now() and j.fence = 0 and j.status = 'pending'
            order by j.expires_at
            limit 1000)) as x (id)
