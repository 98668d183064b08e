-- Cancels jobs that a claim found expired: nobody had claimed them in time.
-- Parameters: ids uuid[].
-- Returns: the ids cancelled.
-- Locks: jobs, SKIP LOCKED; then the row moves to finished_jobs and its unique key goes free.
-- Index: the primary key.
-- A missing id: somebody else was at it, or it has been claimed.
select x.id from tenure.expire(%(ids)s::uuid[]) as x (id)
