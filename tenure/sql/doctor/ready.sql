-- Finds the job of each lane that has been ready longest, the longest first.
-- Parameters: none.
-- Returns: a row a lane: lane, seconds float.
-- Locks: none.  Index: jobs_claimable, one probe for each open strand and priority.
-- Zero rows: nothing is ready.
select s.lane, extract(epoch from tenure.now() - min(x.due))::double precision as seconds
  from tenure.strands as s
 cross join lateral (
       select min(k.leased_until) as due
         from generate_series(0, 9) as p (priority)
        cross join lateral (
              select j.leased_until from tenure.jobs as j
               where j.status = 'pending' and j.strand = s.id and j.priority = p.priority
                 and j.leased_until <= tenure.now()
               order by j.leased_until
               limit 1) as k) as x
 where s.opens_at <= tenure.now() and x.due is not null
 group by s.lane
 order by 2 desc
