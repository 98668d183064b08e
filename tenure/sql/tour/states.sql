-- Counts all jobs by state.
-- Parameters: none.
-- Returns: a row a state: state text, jobs int.
-- Locks: none.
-- Index: none; a demo has a few hundred jobs.
-- Zero rows: there are no jobs.
select j.state, count(*)::integer as jobs
  from tenure.all_jobs as j
 group by j.state
