-- Asks the gate for calls that take from the same budgets at the same costs.
-- Parameters: worker uuid, lease seconds, budgets int[], costs int[], reserve, calls json.
-- Returns: for each call n, verdict (admitted, full, lost, cancel, hold, known, found, evidence),
--   admitted_at, since_entry seconds, wait seconds until room, budget that is full.
-- Locks: jobs by id, budgets by id; released by the commit of this statement.
-- Index: the primary keys.
-- Zero rows: nothing was asked.
select g.n, g.verdict, g.admitted_at, g.since_entry,
       extract(epoch from g.until - tenure.clock())::float8 as wait, g.budget
  from tenure.gate(%(worker)s, %(lease)s, %(budgets)s::integer[], %(costs)s::integer[],
                   %(reserve)s, %(calls)s::json) as g
