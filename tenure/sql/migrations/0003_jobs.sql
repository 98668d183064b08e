-- 0003_jobs: strands, the hot row of an unfinished job, and what lies beside it.
-- serves code from: 1

-- A strand is all that can close a lane of an automation.  Live and not-live jobs run in different
-- processes, and a job whose worker died without a word runs alone, so each has a strand of its own:
-- a claim then filters nothing.
create table tenure.strands (
    id integer generated always as identity primary key,
    automation text not null,
    lane text not null,
    live boolean not null,
    quarantine boolean not null default false,
    limited boolean not null default false,
    next_at timestamptz not null default 'infinity',
    closed_until timestamptz not null default '-infinity',
    closed_since timestamptz,
    closed_by text,
    paused_until timestamptz not null default '-infinity',
    paused_since timestamptz,
    paused_by text,
    pause_reason text,
    opens_at timestamptz not null
        generated always as (greatest(closed_until, paused_until)) stored,
    constraint one_strand_of_a_kind unique (automation, lane, live, quarantine)
) with (fillfactor = 50);
comment on column tenure.strands.next_at is
    'Lower bound of the earliest leased_until in it; never written by an enqueue';

-- What somebody has paused, a row a target.  Strands carry the sum of it, so that a claim filters
-- nothing; the gate, which must not be late, asks here.
create table tenure.pauses (
    target text primary key,
    kind text not null,
    name text not null,
    reason text not null,
    paused_by text not null,
    since timestamptz not null default tenure.clock(),
    until timestamptz not null default 'infinity',
    constraint kind_is_known check (kind in ('automation', 'lane', 'provider', 'source', 'all'))
);

-- Whether a pause is about a lane of an automation.  Jobs of a paused source are made in a lane that
-- bears the pause's name.
create function tenure.hits(p tenure.pauses, automation text, lane text) returns boolean
    language sql immutable parallel safe
    as $$
        select case p.kind when 'all' then true
                           when 'automation' then automation = p.name
                           when 'lane' then lane = p.name
                           when 'provider' then split_part(lane, '/', 1) = p.name
                           else lane = p.target end
    $$;

comment on column tenure.strands.limited is
    'Whether a claim needs a slot of the automation: so many of its jobs run at once';

-- An automation with a limit has a row for each job that may run at once: a limit is a number of rows,
-- never a count.  A claim that found none free closes the strand to all but whoever has one.
create table tenure.slots (
    automation text not null,
    live boolean not null,
    slot integer not null,
    job_id uuid,
    retired boolean not null default false,
    primary key (automation, live, slot),
    constraint one_slot_a_job unique (job_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 500);
comment on column tenure.slots.retired is
    'The limit was lowered while its job ran: it goes when that ends';
create index slots_retired on tenure.slots (automation, live) where retired;

-- Enqueues say here that a strand is due earlier than next_at.  Append-only, so that an enqueue left
-- uncommitted for an hour holds nobody up.
create table tenure.dues (
    id bigint generated always as identity primary key,
    strand integer not null,
    due timestamptz not null
) with (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 1000);

create table tenure.jobs (
    id uuid primary key default tenure.uuid7(),
    event_id uuid,
    replay_of uuid,
    worker_id uuid,
    previous_worker uuid,
    leased_until timestamptz not null,
    claimed_at timestamptz,
    heartbeat_at timestamptz,
    created_at timestamptz not null default tenure.clock(),
    expires_at timestamptz,
    strand integer not null,
    home integer not null,
    fence integer not null default 0,
    failure_count integer not null default 0,
    crash_count integer not null default 0,
    deferral_count integer not null default 0,
    claim_count integer generated always as (fence - deferral_count) stored,
    quarantine_crashes integer not null default 0,
    failure_base integer not null default 0,
    quarantine_base integer not null default 0,
    fence_base integer not null default 0,
    priority smallint not null default 5,
    status text not null default 'pending',
    mode text not null,
    automation text not null,
    version text not null,
    lane text not null,
    request text,
    unique_key text,
    created_by text not null,
    waiting_on json,
    tags text[] not null default '{}',
    constraint status_is_unfinished check (status in ('pending', 'held')),
    constraint mode_is_known check (mode in ('dry_run', 'shadow', 'live')),
    constraint priority_is_one_digit check (priority between 0 and 9),
    constraint request_is_known check (request in ('cancel', 'hold')),
    constraint held_means_never_due check ((status = 'held') = (leased_until = 'infinity')),
    constraint held_means_unclaimed check (status <> 'held' or worker_id is null),
    constraint claimed_means_since check ((worker_id is null) = (claimed_at is null)),
    constraint each_claim_ends_in_one_way check (
        fence = failure_count + crash_count + deferral_count + (worker_id is not null)::integer)
) with (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.1,
    autovacuum_analyze_threshold = 5000
);
comment on column tenure.jobs.leased_until is
    'When the row may next be claimed: end of the lease, not-before, or time of enqueue';
comment on column tenure.jobs.fence_base is
    'The fence at the last retry or go-on: what claims up to it were refused may leave again';

-- The one range that answers what can be claimed now: equality on strand and priority, a range on
-- leased_until, in order.  Held rows stay out.
create index jobs_claimable on tenure.jobs (strand, priority, leased_until)
    where status = 'pending';

comment on column tenure.jobs.expires_at is
    'A job that nobody has claimed by then is cancelled; a first claim ends its meaning';

-- Those that may yet expire unclaimed; a claim takes a job out of it.
create index jobs_expiring on tenure.jobs (expires_at)
    where expires_at is not null and fence = 0 and status = 'pending';

create table tenure.finished_jobs (
    id uuid not null,
    event_id uuid,
    replay_of uuid,
    last_worker uuid,
    claimed_at timestamptz,
    created_at timestamptz not null,
    finished_at timestamptz not null default tenure.clock(),
    home integer not null,
    fence integer not null,
    failure_count integer not null,
    crash_count integer not null,
    deferral_count integer not null,
    claim_count integer generated always as (fence - deferral_count) stored,
    quarantine_crashes integer not null,
    failure_base integer not null,
    quarantine_base integer not null,
    priority smallint not null,
    status text not null,
    mode text not null,
    automation text not null,
    version text not null,
    lane text not null,
    unique_key text,
    created_by text not null,
    error_class text,
    error text,
    traceback text,
    result json,
    tags text[] not null default '{}',
    primary key (id),
    constraint status_is_finished check (status in ('succeeded', 'failed', 'cancelled')),
    constraint each_claim_ended_in_one_way check (
        fence = failure_count + crash_count + deferral_count + (status = 'succeeded')::integer)
) partition by range (id);

create table tenure.inputs (
    job_id uuid not null,
    input json,
    primary key (job_id)
) partition by range (job_id);

create table tenure.attempts (
    job_id uuid not null,
    fence integer not null,
    ended text not null,
    worker_id uuid,
    host text,
    version text,
    claimed_at timestamptz,
    ended_at timestamptz not null default tenure.clock(),
    due timestamptz,
    error_class text,
    error text,
    traceback text,
    waiting_on json,
    primary key (job_id, fence),
    constraint end_is_known check (
        ended in ('failure', 'crash', 'deferral', 'hold', 'cancel', 'lost_lease')),
    constraint a_wait_is_of_a_known_kind check (
        waiting_on is null or ended in ('crash', 'lost_lease')
        or coalesce(waiting_on ->> 'why' in (
            'budget', 'throttled', 'overloaded', 'sleep', 'deferred', 'in doubt', 'key in flight',
            'unsettled', 'former run', 'backoff', 'shutdown', 'paused'), false))
) partition by range (job_id);
comment on table tenure.attempts is
    'How each claim ended, but for a success at the first try, which the finished row tells alone';
comment on column tenure.attempts.version is
    'Of the code that ran; the job''s own is that under which it was made';
comment on column tenure.attempts.traceback is
    'Where the error came from; lines with > in the margin are the author''s own';

create sequence tenure.journal_id;
create table tenure.journal (
    job_id uuid not null,
    id bigint not null default nextval('tenure.journal_id'),
    at timestamptz not null default tenure.clock(),
    kind text not null,
    said text not null,
    detail json,
    primary key (job_id, id)
) partition by range (job_id);

create table tenure.unique_keys (
    automation text not null,
    key text not null,
    job_id uuid not null,
    until timestamptz,
    primary key (automation, key)
);
comment on column tenure.unique_keys.until is
    'Null: until its job has finished; else until that time';
