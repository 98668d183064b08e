-- Counts the jobs that an act on many would be on, and shows the first of them.
-- Parameters: states text[], automation, lane, provider, source, tag, error_class text, since,
--   until timestamptz, most bigint.
-- Returns: a row for each automation and state: jobs, ids (the first five), at (the clock).
-- Locks: none.
-- Index: primary keys, and finished_otherwise, once from one end to the other.
-- Zero rows: nothing matches.
select m.automation, m.state, count(*) as jobs, (array_agg(m.id order by m.id))[1:5] as ids,
       tenure.clock() as at
  from tenure.matching(
           row(%(states)s, %(automation)s, %(lane)s, %(provider)s, %(source)s, %(tag)s,
               %(error_class)s, %(since)s, %(until)s)::tenure.wanted_jobs,
           null, %(most)s::bigint) as m
 group by m.automation, m.state
 order by m.automation, m.state
