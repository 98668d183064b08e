-- Puts a duty that could not be done back in a minute's time.
-- Parameters: name text.
-- Returns: the chore's name.
-- Locks: the chore's row.
-- Index: the primary key.
-- Zero rows: there is no such duty.
update tenure.chores as c set due = tenure.clock() + interval '1 minute'
 where c.name = %(name)s
returning c.name
