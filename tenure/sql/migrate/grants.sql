-- Gives each of the three roles its rights, where it is there; to be run again after each migration.
-- Parameters: none.
-- Returns: no rows.
-- Locks: none that last.
-- Index: none.
-- Zero rows: always; tenure_enqueue makes jobs and reads nothing, tenure_read reads all but the
--   digests of tokens, tenure_operate reads, makes jobs and acts on them.
do $$
    begin
        revoke execute on function
            tenure.enqueue, tenure.enqueue_many, tenure.retry, tenure.replay, tenure.cancel,
            tenure.hold_job, tenure.answer_hold, tenure.act_on_many, tenure.pause, tenure.resume
            from public;
        if exists (select from pg_roles where rolname = 'tenure_enqueue') then
            grant usage on schema tenure to tenure_enqueue;
            grant execute on function tenure.enqueue, tenure.enqueue_many to tenure_enqueue;
        end if;
        if exists (select from pg_roles where rolname = 'tenure_read') then
            grant usage on schema tenure to tenure_read;
            grant select on all tables in schema tenure to tenure_read;
            revoke select on tenure.tokens from tenure_read;
            grant select (id, owner, scopes, created_at, created_by, expires_at, revoked_at,
                          last_used_at) on tenure.tokens to tenure_read;
        end if;
        if exists (select from pg_roles where rolname = 'tenure_operate') then
            grant usage on schema tenure to tenure_operate;
            grant select on all tables in schema tenure to tenure_operate;
            revoke select on tenure.tokens from tenure_operate;
            grant execute on function
                tenure.enqueue, tenure.enqueue_many, tenure.retry, tenure.replay, tenure.cancel,
                tenure.hold_job, tenure.answer_hold, tenure.act_on_many, tenure.pause,
                tenure.resume to tenure_operate;
        end if;
    end
$$
