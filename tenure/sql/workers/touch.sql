-- Says that a worker process lives.
-- Parameters: id uuid, stopped boolean.
-- Returns: one row: the database's clock.
-- Locks: the worker's own row.
-- Index: the primary key.
-- Zero rows: its record was removed; nothing is noted.
update tenure.workers as w
   set last_seen = tenure.clock(),
       idle = w.idle and not %(stopped)s,
       stopped_at = case when %(stopped)s then tenure.clock() end
 where w.id = %(id)s
returning tenure.clock() as at
