-- Acts on the next jobs that match, at most so many, in one transaction.
-- Parameters: act (retry, replay, cancel), states text[], automation, lane, provider, source, tag,
--   error_class text, since, until timestamptz, after uuid, most int, note bigint (null at first),
--   reason, actor, origin.
-- Returns: one row: note, last (null at the end), done, changed, refused, became json, refusals json.
-- Locks: jobs by id, passing over what others hold, then unique keys; released with this statement.
-- Index: primary keys, and finished_otherwise.
-- Zero rows: never.
select a.note, a.last, a.done, a.changed, a.refused, a.became, a.refusals
  from tenure.act_on_many(
           %(act)s,
           row(%(states)s, %(automation)s, %(lane)s, %(provider)s, %(source)s, %(tag)s,
               %(error_class)s, %(since)s, %(until)s)::tenure.wanted_jobs,
           %(after)s, %(most)s::integer, %(note)s, %(reason)s, %(actor)s, %(origin)s) as a
