-- Claims up to a quota of jobs from each strand, with all a handler needs at a first run.
-- Parameters: worker uuid, strands int[], quotas int[], leases float8[] seconds, quarantine boolean,
--   picked uuid[] (jobs that were given slots in this transaction).
-- Returns: a row for each row locked; worker_id null where it went aside, is held instead, or has
--   expired unclaimed (fence 0).
-- Locks: jobs, SKIP LOCKED; limits stop the locking node, so rows locked = rows returned.
-- Index: jobs_claimable, an equality on strand and priority and a range on leased_until.
-- Zero rows: the strands are empty, or others are claiming them.
with turned as (
    update tenure.jobs as j
       set previous_worker = j.worker_id,
           worker_id = case when tenure.taken(j, %(worker)s, %(quarantine)s)
                            then %(worker)s::uuid end,
           claimed_at = case when tenure.taken(j, %(worker)s, %(quarantine)s)
                             then tenure.clock() end,
           heartbeat_at = tenure.clock(),
           fence = j.fence + tenure.taken(j, %(worker)s, %(quarantine)s)::integer,
           crash_count = j.crash_count + (j.worker_id is not null)::integer,
           quarantine_crashes = j.quarantine_crashes
               + (coalesce(j.worker_id <> %(worker)s, false)
                  and tenure.turn(j, %(quarantine)s) in ('rerun', 'hold'))::integer,
           status = case when j.worker_id <> %(worker)s
                          and tenure.turn(j, %(quarantine)s) = 'hold'
                         then 'held' else 'pending' end,
           leased_until = case
               when tenure.taken(j, %(worker)s, %(quarantine)s)
                    then tenure.clock() + make_interval(secs => (%(leases)s::float8[])[
                             array_position(%(strands)s::integer[], j.strand)])
               when tenure.turn(j, %(quarantine)s) = 'hold' then 'infinity'::timestamptz
               else tenure.clock() end,
           strand = case when j.worker_id <> %(worker)s
                          and tenure.turn(j, %(quarantine)s) = 'aside' then (
                             select q.id from tenure.strands as q
                               join tenure.strands as h on h.id = j.home
                              where q.automation = h.automation and q.lane = h.lane
                                and q.live = h.live and q.quarantine)
                         else j.strand end
     where j.id = any (array(
         select c.id
           from unnest(%(strands)s::integer[], %(quotas)s::integer[]) as s (strand, quota)
          cross join lateral (
                select x.id
                  from generate_series(0, 9) as p (priority)
                 cross join lateral (
                       select k.id from tenure.jobs as k
                        where k.status = 'pending' and k.strand = s.strand
                          and k.priority = p.priority and k.leased_until <= tenure.now()
                        order by k.leased_until
                        limit s.quota
                          for update skip locked) as x
                 limit s.quota) as c) || %(picked)s::uuid[])
    returning j.*
), lapsed as (
    -- The statement's snapshot still shows each lapsed claim as it was.
    insert into tenure.attempts (job_id, fence, ended, worker_id, host, version, claimed_at,
                                 waiting_on)
    select j.id, j.fence,
           case when j.worker_id = %(worker)s or tenure.turn(j, true) = 'adopt'
                then 'lost_lease' else 'crash' end,
           j.worker_id, r.host, r.version, j.claimed_at,
           json_build_object('last_heartbeat', j.heartbeat_at, 'leased_until', j.leased_until)
      from tenure.jobs as j
      left join lateral tenure.ran(j.worker_id, j.automation) as r on true
     where j.id = any (array(select t.id from turned as t where t.previous_worker is not null))
    on conflict do nothing
), asked as (
    insert into tenure.holds (job_id, kind, question)
    select t.id, 'crashes', format('Its process ended %%s times while it ran alone. Run it again?',
                        t.quarantine_crashes - t.quarantine_base)
      from turned as t where t.status = 'held'
), freed as (
    update tenure.slots as x set job_id = null
     where x.job_id = any (array(select t.id from turned as t where t.status = 'held'))
), due as (
    insert into tenure.dues (strand, due)
    select t.strand, t.leased_until from turned as t
     where t.worker_id is null and t.status = 'pending'
)
select t.id, t.worker_id, t.status, t.automation, t.mode, t.lane, t.strand, t.fence,
       t.failure_count - t.failure_base as failures, t.crash_count, t.request, t.claimed_at,
       i.input, e.id as event_id, e.source, e.type, e.key, e.received_at, e.content_type, e.headers, e.body
  from turned as t
  left join lateral (select n.input::text as input from tenure.inputs as n
                      where n.job_id = t.id limit 1) as i on true
  left join lateral (select v.id, v.source, v.type, v.key, v.received_at, v.content_type,
                            v.headers::text as headers, v.body
                       from tenure.events as v where v.id = t.event_id limit 1) as e on true
