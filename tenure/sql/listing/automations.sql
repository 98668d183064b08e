-- Lists automations by name, or the one of a name.
-- Parameters: name text (null: all).
-- Returns: a row each: what was declared, stage, first_event, and how many living workers know it.
-- Locks: none.
-- Index: the primary key.
-- Zero rows: none was declared, or none of that name.
select a.name, a.stage, a.version, a.label, a.lane, a.listens, a.priority, a.max_attempts,
       a.max_crashes, a.backoff::text as backoff, a.lease, a.timeout, a.concurrency, a.unique_by,
       case when a.unique_for = 'infinity' then 'for ever'
            else coalesce('for ' || tenure.said_for(make_interval(secs => nullif(
                     a.unique_for, 'infinity'))), 'until it has finished') end as unique_until,
       a.expires, a.replaces, a.tags, a.first_event, a.declared_at, a.declared_by,
       (select count(*) from tenure.workers as w
         where a.name = any (w.automations) and w.kind <> 'quarantine' and tenure.alive(w))
           as workers
  from tenure.automations as a
 where %(name)s::text is null or a.name = %(name)s
 order by a.name
