-- Enqueues one job: the function that any language calls.
-- Parameters: automation, input json, key, at timestamptz, delay seconds, expires timestamptz,
--   expires_after seconds, priority int, tags text[], by text.
-- Returns: one row: job_id, created.
-- Locks: the unique key, where one is given, until the transaction ends.
-- Index: the primary keys.
-- Zero rows: never; an unknown automation raises TN001.
select e.job_id, e.created
  from tenure.enqueue(%(automation)s, %(input)s::json, %(key)s, %(at)s, %(priority)s,
                      %(tags)s::text[], %(by)s, make_interval(secs => %(delay)s), %(expires)s,
                      make_interval(secs => %(expires_after)s)) as e
