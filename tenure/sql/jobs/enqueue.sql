-- Enqueues one job: the function that any language calls.
-- Parameters: automation, input json, key, at timestamptz, delay seconds, expires timestamptz,
--   expires_after seconds, priority int, tags text[], by; what is no number or list comes as text,
--   whatever a caller's driver makes of other types.
-- Returns: one row: job_id as text, created.
-- Locks: the unique key, where one is given, until the transaction ends.
-- Index: the primary keys.
-- Zero rows: never; an unknown automation raises TN001.
select e.job_id::text as job_id, e.created
  from tenure.enqueue(%(automation)s::text, %(input)s::text::json, %(key)s::text,
                      %(at)s::text::timestamptz, %(priority)s::integer, %(tags)s::text[],
                      %(by)s::text, make_interval(secs => %(delay)s::double precision),
                      %(expires)s::text::timestamptz,
                      make_interval(secs => %(expires_after)s::double precision)) as e
