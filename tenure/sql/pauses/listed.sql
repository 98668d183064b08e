-- Lists the pauses in force, oldest first.
-- Parameters: none.
-- Returns: a row each: target, reason, paused_by, since, until (null: until it is resumed).
-- Locks: none.
-- Index: none; there are a handful.
-- Zero rows: nothing is paused.
select p.target, p.reason, p.paused_by, p.since, nullif(p.until, 'infinity') as until
  from tenure.pauses as p
 where p.until > tenure.now()
 order by p.since, p.target
