-- Enqueues a job for each input of a JSON array.
-- Parameters: automation, inputs json, keys json (null, or an array with null for none), at
--   timestamptz, delay seconds, expires timestamptz, expires_after seconds, priority int, tags
--   text[], by; what is no number or list comes as text, as for enqueue.
-- Returns: a row for each input, in order: job_id as text, created.
-- Locks: the unique keys, in their order, until the transaction ends.
-- Index: the primary keys.
-- Zero rows: there was no input; an unknown automation raises TN001, a bad input TN005.
select e.job_id::text as job_id, e.created
  from tenure.enqueue_many(
           %(automation)s::text, %(input)s::text::json,
           case when %(key)s::text is not null
                then array(select k.value
                             from json_array_elements_text(%(key)s::text::json)
                                  with ordinality as k (value, place)
                            order by k.place) end,
           %(at)s::text::timestamptz, %(priority)s::integer, %(tags)s::text[], %(by)s::text,
           make_interval(secs => %(delay)s::double precision), %(expires)s::text::timestamptz,
           make_interval(secs => %(expires_after)s::double precision)) as e
 order by e.place
