-- Makes ticks by hand: events and jobs as at their time, with one audit row for all of them.
-- Parameters: name, keys text[], bodies text[], act, asked json, by, reason, origin.
-- Returns: a row a tick: event_id, key, outcome (duplicate: made before), jobs.
-- Locks: the event keys, until the commit.
-- Index: the primary keys.
-- Zero rows: there is no such schedule; nothing was written.
with made as materialized (
    select s.name, t.event_id, t.key, t.outcome, t.jobs
      from tenure.schedules as s
     cross join lateral tenure.make_ticks(s.name, %(keys)s::text[], %(bodies)s::text[]) as t
     where s.name = %(name)s
), told as (
    insert into tenure.audit (actor, act, target, before, after, reason, origin)
    select %(by)s, %(act)s, 'schedule:' || m.name, %(asked)s::json,
           json_build_object('events', json_agg(m.event_id)
                                 filter (where m.outcome = 'accepted'),
                             'jobs', sum(m.jobs)),
           %(reason)s, %(origin)s
      from made as m
     group by m.name
)
select m.event_id, m.key, m.outcome, m.jobs from made as m
