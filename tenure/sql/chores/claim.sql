-- Takes one duty that is due and moves it on; nobody else does it this time.
-- Parameters: worker uuid, names text[] (what the caller knows how to do).
-- Returns: the chore's name.
-- Locks: the chore's row, SKIP LOCKED.
-- Index: none; the table holds a handful of rows.
-- Zero rows: nothing is due.
update tenure.chores as c
   set due = tenure.clock() + c.every, done_at = tenure.clock(), done_by = %(worker)s
 where c.name = (
     select d.name from tenure.chores as d where d.due <= tenure.now() and d.name = any (%(names)s::text[])
      order by d.due limit 1 for update skip locked)
returning c.name
