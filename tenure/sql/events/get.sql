-- Reads one event as it was received.
-- Parameters: id uuid.
-- Returns: one row: id, source, type, key, received_at, content_type, headers text, body bytea.
-- Locks: none.
-- Index: the primary key of the one partition that the id falls into, and of the kept one.
-- Zero rows: there is no such event, or its body is no longer kept.
select e.id, e.source, e.type, e.key, e.received_at, e.content_type, e.headers::text as headers,
       e.body
  from tenure.events as e
 where e.id = %(id)s
