-- 0019_schedules: sources at which the clock knocks, and what became of ticks that were missed.
-- serves code from: 1

create table tenure.schedules (
    name text primary key,
    cron text,
    every interval,
    anchor timestamptz,
    at timestamptz,
    zone text not null,
    misfire text not null,
    misfire_limit integer not null,
    state text not null default 'open',
    next_at timestamptz,
    last_at timestamptz,
    revision integer not null default 1,
    declared json not null,
    declared_at timestamptz not null default tenure.clock(),
    declared_by text not null,
    changed_by text,
    constraint one_way_to_tick check (num_nonnulls(cron, every, at) = 1),
    constraint a_grid_has_an_anchor check ((every is null) = (anchor is null)),
    constraint a_grid_goes_forward check (every >= interval '1 second'),
    constraint misfire_is_known check (misfire in ('skip', 'one', 'all')),
    constraint limit_is_within_a_thousand check (misfire_limit between 1 and 1000),
    constraint state_is_known check (state in ('open', 'disabled'))
) with (fillfactor = 50);
comment on table tenure.schedules is
    'One row a schedule: whoever moves next_at on makes its tick, in the same transaction';
comment on column tenure.schedules.declared is
    'What code said last; the row says otherwise where changed_by names a person';

create table tenure.misfires (
    id bigint generated always as identity primary key,
    schedule text not null,
    noticed_at timestamptz not null default tenure.clock(),
    noticed_by uuid not null,
    missed_from timestamptz not null,
    missed_until timestamptz not null,
    missed integer not null,
    counted boolean not null,
    made integer not null,
    misfire text not null
);
create index misfires_of_schedule on tenure.misfires (schedule, id desc);
comment on table tenure.misfires is
    'An outage as a schedule met it: how many ticks were found late, and how many of them were made';
comment on column tenure.misfires.counted is
    'False: there were more than missed says, and nobody counted on';

-- The events of some ticks, each with a job for all that listen; a tick that was made is a duplicate.
create function tenure.make_ticks(p_schedule text, p_keys text[], p_bodies text[])
    returns table (event_id uuid, key text, outcome text, jobs integer)
    language plpgsql volatile
    as $$
    begin
        for i in 1..coalesce(cardinality(p_keys), 0) loop
            return query
                select a.event_id, p_keys[i], a.outcome, a.jobs
                  from (select convert_to(p_bodies[i], 'UTF8') as body) as b
                 cross join lateral tenure.accept(
                       p_schedule, p_keys[i], null, sha256(b.body), b.body, '[]',
                       'application/json', null, 'schedule:' || p_schedule) as a;
        end loop;
    end
    $$;
