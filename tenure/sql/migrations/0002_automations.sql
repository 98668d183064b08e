-- 0002_automations: what is declared in code and read by the door, SQL callers and pages.
-- serves code from: 1

create table tenure.automations (
    name text primary key,
    version text not null,
    label text,
    listens text[] not null default '{}',
    lane text not null default 'free',
    stage text not null default 'dry_run',
    priority smallint not null default 5,
    max_attempts integer not null default 10,
    max_crashes integer not null default 3,
    backoff json,
    lease double precision,
    timeout double precision,
    concurrency integer,
    unique_by text,
    unique_for double precision,
    expires double precision,
    input_schema json,
    input_limit integer not null default 1000000,
    replaces text,
    tags text[] not null default '{}',
    first_event uuid,
    declared_at timestamptz not null default tenure.clock(),
    declared_by text,
    constraint stage_is_known check (stage in ('dry_run', 'shadow', 'live')),
    constraint priority_is_one_digit check (priority between 0 and 9),
    constraint lease_is_a_length_of_time check (lease > 0),
    constraint timeout_is_a_length_of_time check (timeout > 0),
    constraint concurrency_is_a_count check (concurrency between 1 and 1000),
    constraint expires_is_a_length_of_time check (expires > 0)
);
comment on column tenure.automations.unique_for is
    'Seconds for which the key that unique_by makes is taken; null: until its job has finished';
comment on column tenure.automations.expires is
    'Seconds after a job became due in which it must be claimed; null: it waits for ever';
comment on column tenure.automations.first_event is
    'Where Tenure took over from the old system: earlier events belong to it';

create table tenure.workers (
    id uuid primary key,
    host text not null,
    pid integer not null,
    kind text not null,
    automations text[] not null,
    versions text[] not null,
    started_at timestamptz not null default tenure.clock(),
    last_seen timestamptz not null default tenure.clock(),
    stopped_at timestamptz,
    constraint kind_is_known check (kind in ('live', 'not_live', 'quarantine'))
) with (fillfactor = 50);
comment on table tenure.workers is
    'One row a process, for people: a lease is judged by its own row alone';
comment on column tenure.workers.versions is 'The version of each automation it knows, in their order';

-- For how long a process is believed to live that was not heard of again; four heartbeats.
create function tenure.alive_for() returns interval
    language sql stable parallel safe
    as $$ select interval '60 s' $$;

create function tenure.alive(w tenure.workers) returns boolean
    language sql stable
    as $$ select w.stopped_at is null and w.last_seen > tenure.now() - tenure.alive_for() $$;

-- On which host, in which version, a worker process runs an automation.
create function tenure.ran(p_worker uuid, p_automation text)
    returns table (host text, version text)
    language sql stable
    as $$
        select w.host, w.versions[array_position(w.automations, p_automation)]
          from tenure.workers as w where w.id = p_worker
    $$;

create table tenure.promotions (
    id bigint generated always as identity primary key,
    automation text not null references tenure.automations (name),
    version text not null,
    from_stage text not null,
    to_stage text not null,
    waived text[] not null default '{}',
    waived_until timestamptz,
    reason text not null,
    actor text not null,
    first_event uuid,
    at timestamptz not null default tenure.clock(),
    constraint a_waiver_expires check (waived = '{}' or waived_until is not null)
);
create index promotions_of_automation on tenure.promotions (automation, id desc);

create table tenure.audit (
    id bigint generated always as identity primary key,
    at timestamptz not null default tenure.clock(),
    actor text not null,
    act text not null,
    target text not null,
    before json,
    after json,
    reason text,
    origin text not null default 'sql'
);
comment on table tenure.audit is 'Who did what, to what, from where; one row a mutating act';

create table tenure.tokens (
    id bigint generated always as identity primary key,
    owner text not null,
    digest bytea not null unique,
    scopes text[] not null,
    created_at timestamptz not null default tenure.clock(),
    created_by text not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    constraint digest_is_sha256 check (length(digest) = 32),
    constraint scopes_are_known check (
        scopes <@ array['read', 'enqueue', 'operate', 'observe', 'promote', 'admin'])
);

create table tenure.sources (
    name text primary key,
    scheme text not null,
    secrets json not null,
    event_key text,
    state text not null default 'open',
    declared_at timestamptz not null default tenure.clock(),
    constraint state_is_known check (state in ('open', 'disabled')),
    constraint scheme_is_never_none check (scheme <> '' and scheme <> 'none')
);
comment on column tenure.sources.secrets is
    'References such as env:LEAD_SECRET with their labels; never a secret';

create table tenure.rejections (
    source text not null,
    reason text not null,
    minute timestamptz not null,
    count integer not null default 1,
    primary key (source, minute, reason)
);
comment on table tenure.rejections is 'What the door refused, counted a minute; bodies are not kept';
