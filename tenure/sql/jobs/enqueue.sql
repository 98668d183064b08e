-- Enqueues one job: the function that any language calls.
-- Parameters: automation, input json, key, at timestamptz, priority int, by; all but priority come
--   as text, whatever a caller's driver makes of other types.
-- Returns: one row: job_id as text, created.
-- Locks: the unique key, where one is given, until the transaction ends.
-- Index: the primary keys.
-- Zero rows: never; an unknown automation raises TN001.
select e.job_id::text as job_id, e.created
  from tenure.enqueue(%(automation)s::text, %(input)s::text::json, %(key)s::text,
                      %(at)s::text::timestamptz, %(priority)s::integer,
                      created_by => %(by)s::text) as e
