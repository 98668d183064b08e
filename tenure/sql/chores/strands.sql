-- Lowers next_at where a job is due earlier than it says: bounds a missed wake-up.
-- Parameters: none.
-- Returns: the strands lowered.
-- Locks: strands by id, SKIP LOCKED.
-- Index: jobs_claimable, one probe for each strand and priority.
-- Zero rows: nothing was missed.
with late as (
    select s.id, x.due
      from tenure.strands as s
     cross join lateral (
           select min(k.leased_until) as due
             from generate_series(0, 9) as p (priority)
            cross join lateral (
                  select j.leased_until from tenure.jobs as j
                   where j.status = 'pending' and j.strand = s.id and j.priority = p.priority
                   order by j.leased_until
                   limit 1) as k) as x
     where x.due < s.next_at
), held as materialized (
    select h.id, l.due from (select * from late order by id) as l
     cross join lateral (
           select o.id from tenure.strands as o
            where o.id = l.id and o.next_at > l.due for update skip locked) as h
)
update tenure.strands as s set next_at = h.due from held as h where s.id = h.id
returning s.id
