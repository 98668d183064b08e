-- 0004_calls: what a job remembers, what it sends, what came of it; events; holds.
-- serves code from: 1

create table tenure.steps (
    job_id uuid not null,
    name text not null,
    kind text not null,
    arguments bytea,
    result json,
    fence integer not null,
    recorded_at timestamptz not null default tenure.clock(),
    primary key (job_id, name),
    constraint kind_is_known check (kind in ('step', 'decision', 'value', 'sleep'))
) partition by range (job_id);

-- One row a send.  An unsafe call is written as sending before its first byte may leave; a safe or
-- suppressed one when it ends, with its answer in the same row.  Never updated.
create table tenure.calls (
    job_id uuid not null,
    step text not null,
    send integer not null,
    send_id uuid not null,
    state text not null,
    fence integer not null,
    worker_id uuid not null,
    provider text not null,
    account text not null default '',
    operation text not null,
    safe boolean not null,
    method text not null,
    url text not null,
    headers json not null,
    body bytea,
    body_digest bytea not null,
    key text not null,
    epoch integer not null default 0,
    wire_key text,
    policy text not null,
    budgets json not null default '[]',
    admitted_at timestamptz not null,
    send_until timestamptz not null,
    status integer,
    answer_headers json,
    answer bytea,
    why text,
    ended_at timestamptz,
    primary key (job_id, step, send),
    constraint state_is_known check (
        state in ('sending', 'done', 'refused', 'throttled', 'overloaded', 'not_sent', 'unknown',
                  'suppressed')),
    constraint unsafe_is_written_before_it_leaves check (
        safe or state in ('sending', 'suppressed')),
    constraint policy_is_known check (policy in ('resend', 'probe', 'hold', 'safe'))
) partition by range (job_id);

create table tenure.outcomes (
    job_id uuid not null,
    send_id uuid not null,
    step text not null,
    send integer not null,
    state text not null,
    fence integer,
    status integer,
    answer_headers json,
    answer bytea,
    why text,
    stored boolean not null default false,
    told_by text not null default 'worker',
    recorded_at timestamptz not null default tenure.clock(),
    primary key (job_id, send_id),
    constraint state_is_an_end check (
        state in ('done', 'refused', 'throttled', 'overloaded', 'not_sent', 'unknown')),
    constraint teller_is_known check (told_by in ('worker', 'evidence', 'probe', 'operator'))
) partition by range (job_id);
comment on column tenure.outcomes.stored is
    'The provider keeps this answer under the key: a repeat could only bring it back';

-- What a worker saw after its claim was over.  Inserted without the fence, changes nothing by itself.
create table tenure.evidence (
    job_id uuid not null,
    send_id uuid not null,
    state text not null,
    status integer,
    answer_headers json,
    answer bytea,
    why text,
    stored boolean not null default false,
    worker_id uuid not null,
    testified_at timestamptz not null default tenure.clock(),
    primary key (job_id, send_id)
) partition by range (job_id);

-- The epoch of a step's next send, from its latest; null where none may follow by itself.  A new one
-- begins where the effect is known not to have happened and the old key cannot have it any more:
-- after a refusal that an operator let go, and after a denied send whose answer the provider keeps.
-- A refusal says nothing of earlier sends under its key that are in doubt, unless it was kept.
create function tenure.next_epoch(
        p_job uuid, p_step text, p_send integer, p_epoch integer, p_fence integer, p_state text,
        p_stored boolean, p_fence_base integer)
    returns integer
    language sql stable
    as $$
        select case
            when p_state in ('done', 'suppressed') then null
            when p_state = 'refused' and p_fence > p_fence_base then null
            when p_state = 'refused' and not p_stored and exists (
                select from tenure.calls as k
                  left join tenure.outcomes as o on o.job_id = k.job_id and o.send_id = k.send_id
                 where k.job_id = p_job and k.step = p_step and k.epoch = p_epoch and k.send < p_send
                   and coalesce(o.state, 'unknown') = 'unknown'
                   and k.send > coalesce((
                       select max(t.send) from tenure.outcomes as t
                        where t.job_id = p_job and t.step = p_step
                          and t.told_by in ('operator', 'probe')), 0)) then p_epoch
            when p_state = 'refused' or (p_state = 'not_sent' and p_stored) then p_epoch + 1
            else p_epoch end
    $$;

create table tenure.holds (
    id bigint generated always as identity primary key,
    job_id uuid not null,
    kind text not null,
    step text,
    send_id uuid,
    question text not null,
    asked_at timestamptz not null default tenure.clock(),
    answer text,
    answered_by text,
    answered_at timestamptz,
    constraint a_hold_is_of_a_known_kind check (
        kind in ('doubt', 'handler', 'operator', 'crashes')),
    constraint answered_means_by_somebody check ((answer is null) = (answered_by is null))
);
comment on column tenure.holds.kind is
    'Who asks: a call in doubt, the handler, an operator, or a quarantine after too many crashes';
create index holds_open on tenure.holds (job_id) where answer is null;

create table tenure.events (
    id uuid not null default tenure.uuid7(),
    source text not null,
    key text,
    type text,
    received_at timestamptz not null default tenure.clock(),
    secret_label text,
    content_type text,
    headers json not null,
    digest bytea not null,
    body bytea not null,
    primary key (id)
) partition by range (id);

create table tenure.event_keys (
    source text not null,
    key_hash bytea not null,
    event_id uuid not null,
    digest bytea not null,
    duplicates integer not null default 0,
    seen_at timestamptz not null default tenure.clock(),
    primary key (source, key_hash)
);

create table tenure.event_conflicts (
    source text not null,
    key_hash bytea not null,
    digest bytea not null,
    event_id uuid not null,
    body bytea not null,
    count integer not null default 1,
    first_at timestamptz not null default tenure.clock(),
    primary key (source, key_hash, digest)
);
comment on table tenure.event_conflicts is
    'Same key, other body: kept, shown, runs nothing; at most five bodies a key, then counted';
