-- Reads where one job stands, finished or not.
-- Parameters: id uuid.
-- Returns: one row: id, automation, version, lane, mode, priority, state, created_at, created_by,
--   event_id, replay_of, claim_count, failure_count, leased_until, waiting_on text (JSON),
--   finished_at, error_class, error.
-- Locks: none.  Index: the primary keys of jobs and finished_jobs.
-- Zero rows: there is no such job, or it is no longer kept.
select j.id, j.automation, j.version, j.lane, j.mode, j.priority, j.state, j.created_at,
       j.created_by, j.event_id, j.replay_of, j.claim_count, j.failure_count, j.leased_until,
       j.waiting_on::text as waiting_on, j.finished_at, j.error_class, j.error
  from tenure.all_jobs as j
 where j.id = %(id)s
