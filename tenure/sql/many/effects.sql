-- Counts the effects that a replay of those jobs would have, by what the old ones did.
-- Parameters: states text[], automation, lane, provider, source, tag, error_class text, since,
--   until timestamptz, most bigint (so many jobs are looked at).
-- Returns: a row for each operation: provider, operation, again (a second time), anew (a first time).
-- Locks: none.
-- Index: primary keys; calls are found by their job.
-- Zero rows: the jobs had no effect, or their automations are not live.
select s.provider, s.operation, count(*) filter (where s.state <> 'suppressed') as again,
       count(*) filter (where s.state = 'suppressed') as anew
  from tenure.matching(
           row(%(states)s, %(automation)s, %(lane)s, %(provider)s, %(source)s, %(tag)s,
               %(error_class)s, %(since)s, %(until)s)::tenure.wanted_jobs,
           null, %(most)s::bigint) as m
 cross join lateral tenure.last_sends(m.id) as s
 where tenure.mode_now(m.automation, m.event_id) = 'live'
   and not s.safe and s.state in ('done', 'sending', 'unknown', 'suppressed')
 group by s.provider, s.operation
 order by s.provider, s.operation
