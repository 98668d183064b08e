-- Puts a duty that is not done back: in a minute's time, or at once.
-- Parameters: name text, seconds float.
-- Returns: the chore's name.
-- Locks: the chore's row.
-- Index: the primary key.
-- Zero rows: there is no such duty.
update tenure.chores as c set due = tenure.clock() + make_interval(secs => %(seconds)s)
 where c.name = %(name)s
returning c.name
