-- Lists the automations that wait for a schedule's next tick, by name.
-- Parameters: name.
-- Returns: a row each: name, stage.
-- Locks: none.
-- Index: none; the table holds a row an automation.
-- Zero rows: nobody listens; its ticks are events without jobs.
select a.name, a.stage
  from tenure.automations as a
 where a.listens && array[%(name)s::text]
 order by a.name
