-- Lists how the claims of one job ended.
-- Parameters: job uuid.
-- Returns: a row a claim, newest first, at most 200: claim, ended, worker_id, host, version,
--   claimed_at, ended_at, due, error_class, error, traceback.
-- Locks: none.
-- Index: the primary key.
-- Zero rows: it has not been claimed, or it succeeded at the first try, or there is no such job.
select a.fence as claim, a.ended, a.worker_id, a.host, a.version, a.claimed_at, a.ended_at, a.due,
       a.error_class, a.error, a.traceback
  from tenure.attempts as a
 where a.job_id = %(job)s
 order by a.fence desc
 limit 200
