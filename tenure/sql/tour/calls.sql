-- Counts calls by what came of them; again: sends that left although one under their key had left.
-- Parameters: none.
-- Returns: a row a provider and state: provider, state text, calls int, again int.
-- Locks: none.
-- Index: none; a demo has a few hundred calls.
-- Zero rows: nothing was sent.
select c.provider, c.state, count(*)::integer as calls,
       count(*) filter (where c.before in ('sending', 'unknown', 'done'))::integer as again
  from (select a.provider, a.state,
               lag(a.state) over (partition by a.job_id, a.step, a.wire_key order by a.send) as before
          from tenure.all_calls as a) as c
 group by c.provider, c.state
