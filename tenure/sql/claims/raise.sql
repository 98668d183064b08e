-- Raises next_at of strands that a claim found empty to the earliest time that stands in them now.
-- Parameters: strands int[], seen text[] (the next_at that the claim went by).
-- Returns: the strands raised.
-- Locks: strands by id, SKIP LOCKED; run after the claim's commit, in a transaction of its own.
-- Index: jobs_claimable, one probe for each priority.
-- Zero rows: somebody changed next_at meanwhile, and knows better.
update tenure.strands as s
   set next_at = coalesce((
       select min(x.leased_until)
         from generate_series(0, 9) as p (priority)
        cross join lateral (
              select k.leased_until from tenure.jobs as k
               where k.status = 'pending' and k.strand = s.id and k.priority = p.priority
               order by k.leased_until
               limit 1) as x), 'infinity')
 where s.id = any (array(
     select h.id
       from unnest(%(strands)s::integer[], %(seen)s::text[]) as t (strand, seen)
      cross join lateral (
            select o.id from tenure.strands as o
             where o.id = t.strand and o.next_at = t.seen::timestamptz
               for update skip locked) as h))
returning s.id
