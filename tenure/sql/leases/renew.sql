-- Renews the leases of a worker's claims that are past a third of their length.
-- Parameters: worker uuid, ids uuid[] in order, fences int[], leases float8[] seconds.
-- Returns: id, said (renewed, kept, busy, lost), request, paused; busy is locked by another, not lost.
-- Locks: jobs by id, SKIP LOCKED.
-- Index: the primary key.
-- Zero rows: nothing was asked.
with told as (
    select t.id, t.fence, t.lease
      from unnest(%(ids)b::uuid[], %(fences)s::integer[], %(leases)s::float8[])
        as t (id, fence, lease)
), held as materialized (
    select h.id, h.leased_until, t.lease from told as t
     cross join lateral (
           select j.id, j.leased_until from tenure.jobs as j
            where j.id = t.id and j.fence = t.fence and j.worker_id = %(worker)s
              for update skip locked) as h
), renewed as (
    update tenure.jobs as j
       set leased_until = greatest(j.leased_until,
                                   tenure.clock() + make_interval(secs => t.lease)),
           heartbeat_at = tenure.clock()
      from told as t
     where t.id = j.id and j.id = any (array(
         select h.id from held as h
          where h.leased_until < tenure.clock() + make_interval(secs => h.lease * 2 / 3)))
    returning j.id
)
select t.id,
       case when r.id is not null then 'renewed'
            when h.id is not null then 'kept'
            when j.id is not null then 'busy'
            else 'lost' end as said,
       j.request, coalesce(j.paused, false) as paused
  from told as t
  left join held as h on h.id = t.id
  left join renewed as r on r.id = t.id
  left join lateral (select k.id, k.request, exists (
                             select from tenure.pauses as p
                              where p.until > tenure.now()
                                and tenure.hits(p, k.automation, k.lane)) as paused
                        from tenure.jobs as k
                      where k.id = t.id and k.fence = t.fence and k.worker_id = %(worker)s
                      limit 1) as j on true
