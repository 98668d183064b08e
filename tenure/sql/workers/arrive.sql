-- Puts a worker process on record, for people and for telling a lost lease from a crash.
-- Parameters: id uuid, host text, pid int, kind text, automations text[], versions text[] of each.
-- Returns: one row: the database's clock.
-- Locks: none that last.
-- Index: the primary key.
-- Zero rows: never.
insert into tenure.workers (id, host, pid, kind, automations, versions)
values (%(id)s, %(host)s, %(pid)s, %(kind)s, %(automations)s, %(versions)s)
on conflict (id) do update set last_seen = tenure.clock()
returning tenure.clock() as at
