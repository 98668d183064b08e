-- Moves a schedule on from the tick that the caller saw, and makes what fell due: events and jobs.
-- Parameters: name, due, revision, next_at, last_at, keys text[], bodies text[], worker uuid, missed,
--   counted, caught_up, late timestamptz (what fell due up to then was late).
-- Returns: a row a tick: event_id, key, outcome (duplicate: made before), jobs; one without an event
--   where the schedule moved on and made none.
-- Locks: the schedule's row, SKIP LOCKED, until the commit; the event keys.
-- Index: the primary keys.
-- Zero rows: another moved it on, or does; or it was changed or disabled meanwhile.
with moved as (
    update tenure.schedules as s
       set next_at = %(next_at)s, last_at = coalesce(%(last_at)s, s.last_at)
     where s.name = any (array(
           select h.name from tenure.schedules as h
            where h.name = %(name)s and h.next_at = %(due)s and h.revision = %(revision)s
              and h.state = 'open'
              for no key update skip locked))
    returning s.name, s.misfire
), told as (
    insert into tenure.misfires (schedule, noticed_by, missed_from, missed_until, missed, counted, made,
                                 misfire)
    select m.name, %(worker)s, %(due)s, %(late)s, %(missed)s, %(counted)s, %(caught_up)s, m.misfire
      from moved as m
     where %(missed)s > 0
)
select t.event_id, t.key, t.outcome, t.jobs
  from moved as m
  left join lateral tenure.make_ticks(m.name, %(keys)s::text[], %(bodies)s::text[]) as t on true
