-- Revokes a token for good.
-- Parameters: id bigint, by, reason, origin.
-- Returns: one row: owner, revoked (false where it had been revoked before).
-- Locks: the token's row.
-- Index: the primary key.
-- Zero rows: there is no such token.
with former as (
    select t.id, t.owner, t.revoked_at from tenure.tokens as t where t.id = %(id)s for update
), revoked as (
    update tenure.tokens as t
       set revoked_at = tenure.clock()
      from former as f
     where t.id = f.id and f.revoked_at is null
    returning t.id, t.owner, t.revoked_at
), told as (
    insert into tenure.audit (actor, act, target, after, reason, origin)
    select %(by)s, 'token.revoke', 'token:' || r.id,
           json_build_object('owner', r.owner, 'revoked_at', r.revoked_at), %(reason)s, %(origin)s
      from revoked as r
)
select f.owner, f.revoked_at is null as revoked from former as f
