-- Finds who runs the job whose call a provider has in its hands, by the key that the call bears.
-- Parameters: key text: the key as it was sent.
-- Returns: one row: job_id uuid, automation, fence int, worker_id uuid, kind, host text, pid int.
-- Locks: none.
-- Index: none; a demo has a few hundred calls.
-- Zero rows: no claimed job has made such a call.
select j.id as job_id, j.automation, j.fence, w.id as worker_id, w.kind, w.host, w.pid
  from tenure.calls as c
  join tenure.jobs as j on j.id = c.job_id
  join tenure.workers as w on w.id = j.worker_id
 where c.wire_key = %(key)s
 limit 1
