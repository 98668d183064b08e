-- Takes in one verified delivery: its key, the event byte for byte, a job for all that listen.
-- Parameters: source, key, type, digest bytea, body bytea, headers json, content_type, secret_label.
-- Returns: one row: event_id, outcome (accepted, duplicate, conflict), jobs, at (the clock).
-- Locks: the event key, where there is one, until the commit.
-- Index: the primary keys of sources and event_keys.
-- Zero rows: the source is not declared in this database, or is disabled; nothing was written.
select a.event_id, a.outcome, a.jobs, tenure.clock() as at
  from tenure.sources as s
 cross join lateral tenure.accept(
       s.name, %(key)s, %(type)s, %(digest)s, %(body)s, %(headers)s::json, %(content_type)s,
       %(secret_label)s) as a
 where s.name = %(source)s and s.state = 'open'
