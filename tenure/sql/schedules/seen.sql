-- Tells which ticks of a schedule became events, whatever became of the events since.
-- Parameters: name, keys text[].
-- Returns: a row each: key.
-- Locks: none.
-- Index: the primary key of event_keys.
-- Zero rows: none of them did.
select k.key
  from unnest(%(keys)s::text[]) as k (key)
 where exists (
       select from tenure.event_keys as e
        where e.source = %(name)s and e.key_hash = sha256(convert_to(k.key, 'UTF8')))
