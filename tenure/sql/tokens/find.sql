-- Finds whose token this is, and notes its use at most once a minute.
-- Parameters: digest bytea.
-- Returns: one row: id, owner, scopes text[].
-- Locks: the token's row while a use is noted, SKIP LOCKED: nobody waits for that.
-- Index: the unique digest.
-- Zero rows: no such token, or it was revoked, or it has expired.
with found as (
    select t.id, t.owner, t.scopes, t.last_used_at
      from tenure.tokens as t
     where t.digest = %(digest)s and t.revoked_at is null
       and (t.expires_at is null or t.expires_at > tenure.now())
), touched as (
    update tenure.tokens as t
       set last_used_at = tenure.clock()
     where t.id = any (array(
               select o.id from tenure.tokens as o
                where o.id = (select f.id from found as f)
                  and (o.last_used_at is null
                       or o.last_used_at < tenure.now() - interval '1 minute')
                  for no key update skip locked))
)
select f.id, f.owner, f.scopes from found as f
