-- Puts a token on record: its digest, never the token.
-- Parameters: owner, digest bytea, scopes text[], by, seconds float (null: never ends), origin.
-- Returns: one row: id, expires_at.
-- Locks: none that last.
-- Index: the digest is unique.
-- Zero rows: never.
with made as (
    insert into tenure.tokens (owner, digest, scopes, created_by, expires_at)
    values (%(owner)s, %(digest)s, %(scopes)s, %(by)s,
            tenure.clock() + make_interval(secs => %(seconds)s))
    returning id, owner, scopes, expires_at
), told as (
    insert into tenure.audit (actor, act, target, after, origin)
    select %(by)s, 'token.create', 'token:' || m.id, to_json(m), %(origin)s from made as m
)
select m.id, m.expires_at from made as m
