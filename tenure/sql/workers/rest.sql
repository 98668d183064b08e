-- Says that a worker process has nothing to do, or that it has again.
-- Parameters: id uuid, idle boolean.
-- Returns: its id.
-- Locks: the worker's own row.
-- Index: the primary key.
-- Zero rows: its record was removed; the next look finds what there is to do.
update tenure.workers as w set idle = %(idle)s where w.id = %(id)s returning w.id
