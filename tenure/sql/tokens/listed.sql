-- Lists all tokens, oldest first; digests stay where they are.
-- Parameters: none.
-- Returns: a row each: id, owner, scopes, created_at, created_by, expires_at, revoked_at,
--   last_used_at, usable (neither revoked nor expired).
-- Locks: none.  Index: none; there are few.
-- Zero rows: no token was ever made here.
select t.id, t.owner, t.scopes, t.created_at, t.created_by, t.expires_at, t.revoked_at,
       t.last_used_at,
       t.revoked_at is null and (t.expires_at is null or t.expires_at > tenure.now()) as usable
  from tenure.tokens as t
 order by t.id
