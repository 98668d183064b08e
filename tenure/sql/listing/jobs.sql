-- Lists jobs, newest first, by what is asked of them; what is null is not asked.
-- Parameters: state, automation, lane text, limit int.
-- Returns: a row each: id, automation, state, mode, lane, priority, created_at, created_by,
--   leased_until, finished_at, claim_count, why (the machine's word for a wait), error_class.
-- Locks: none.
-- Index: the primary keys, backwards, until there are enough.
-- Zero rows: nothing matched.
select v.id, v.automation, v.state, v.mode, v.lane, v.priority, v.created_at, v.created_by,
       v.leased_until, v.finished_at, v.claim_count,
       case when v.state in ('waiting', 'ready') then v.waiting_on ->> 'why' end as why,
       v.error_class
  from ((select j.id from tenure.jobs as j
          cross join lateral (select a.state from tenure.all_jobs as a where a.id = j.id limit 1) as a
          where (%(automation)s::text is null or j.automation = %(automation)s)
            and (%(lane)s::text is null or j.lane = %(lane)s)
            and (%(state)s::text is null or a.state = %(state)s)
          order by j.id desc
          limit %(limit)s)
        union all
        (select f.id from tenure.finished_jobs as f
          where (%(automation)s::text is null or f.automation = %(automation)s)
            and (%(lane)s::text is null or f.lane = %(lane)s)
            and (%(state)s::text is null or f.status = %(state)s)
          order by f.id desc
          limit %(limit)s)
        order by id desc
        limit %(limit)s) as chosen
 cross join lateral (select a.* from tenure.all_jobs as a where a.id = chosen.id limit 1) as v
 order by v.id desc
