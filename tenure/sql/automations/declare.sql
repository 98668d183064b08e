-- Writes what code declares of an automation; its stage and first event stay what the row says.
-- Parameters: name, version, label, listens text[], lane, priority, max_attempts, max_crashes,
--   input_schema json, replaces, tags text[], backoff json, lease, timeout and expires
--   in seconds, concurrency, unique_by text, unique_for seconds, input_limit in bytes, by.
-- Returns: one row: stage; the lane's strands and slots are made beside it where they are missing.
-- Locks: the automation's row; its strands and slots, where its limit has changed.
-- Index: the primary key.
-- Zero rows: never.
with declared as (
    insert into tenure.automations as a (
    name, version, label, listens, lane, priority, max_attempts, max_crashes, input_schema,
    replaces, tags, backoff, lease, timeout, concurrency, unique_by, unique_for,
    expires, input_limit, declared_by)
values (%(name)s, %(version)s, %(label)s, %(listens)s, %(lane)s, %(priority)s, %(max_attempts)s,
        %(max_crashes)s, %(input_schema)s, %(replaces)s, %(tags)s, %(backoff)s,
        %(lease)s, %(timeout)s, %(concurrency)s, %(unique_by)s, %(unique_for)s,
        %(expires)s, %(input_limit)s, %(by)s)
on conflict (name) do update
   set version = excluded.version, label = excluded.label, listens = excluded.listens,
       lane = excluded.lane, priority = excluded.priority, max_attempts = excluded.max_attempts,
       max_crashes = excluded.max_crashes, input_schema = excluded.input_schema,
       replaces = excluded.replaces, tags = excluded.tags,
       backoff = excluded.backoff, lease = excluded.lease, timeout = excluded.timeout,
       concurrency = excluded.concurrency, unique_by = excluded.unique_by,
       unique_for = excluded.unique_for, expires = excluded.expires,
       input_limit = excluded.input_limit, declared_by = excluded.declared_by,
       declared_at = tenure.clock()
returning a.stage, a.name, a.lane, a.concurrency
)
select d.stage, tenure.open_lane(d.name, d.lane), tenure.make_slots(d.name, d.concurrency)
  from declared as d
