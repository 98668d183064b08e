-- 0005_budgets: every state that decides an admission, in the budget's own row.
-- serves code from: 1

create table tenure.budgets (
    id integer generated always as identity primary key,
    provider text not null,
    account text not null default '',
    name text not null,
    scope text not null default '',
    units integer not null,
    counted double precision not null,
    declared json not null default '{}',
    closed_until timestamptz not null default '-infinity',
    closed_since timestamptz,
    closed_by text,
    last_at timestamptz not null default '-infinity',
    admitted timestamptz[] not null default '{}',
    ring integer[] not null default '{}',
    ring_slice bigint not null default 0,
    constraint one_budget_of_a_scope unique (provider, account, name, scope),
    constraint units_are_positive check (units > 0),
    constraint window_is_positive check (counted > 0)
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 500);
comment on column tenure.budgets.counted is
    'Seconds over which units are counted: the window, stretched by headroom, plus the jitter';
comment on column tenure.budgets.admitted is
    'Up to 64 units: the admissions themselves, one time a unit, oldest first';
comment on column tenure.budgets.ring is
    'Above 64 units: admissions by slice of a fortieth of the window';

-- A ring has 48 places; a place holds the newest slice, not after the head, that falls on it.
create function tenure.ring_slice_at(head bigint, place integer) returns bigint
    language sql immutable
    as $$ select head - (((head - (place - 1)) % 48 + 48) % 48) $$;

create function tenure.slice_of(at timestamptz, counted double precision) returns bigint
    language sql immutable
    as $$ select floor(extract(epoch from at)::double precision / (counted / 40))::bigint $$;

-- Units still free at a time.  A slice partly inside the window counts whole, so this can only
-- refuse too much.
create function tenure.room(b tenure.budgets, at timestamptz) returns integer
    language sql stable
    as $$
        select case
            when b.closed_until > at then 0
            when b.units <= 64 then
                b.units - (select count(*)::integer from unnest(b.admitted) as a (a)
                            where a.a > at - make_interval(secs => b.counted))
            else
                b.units - coalesce((
                    select sum(r.n)::integer from unnest(b.ring) with ordinality as r (n, place)
                     where tenure.ring_slice_at(b.ring_slice, r.place::integer)
                           >= tenure.slice_of(at, b.counted) - 40), 0)
        end
    $$;

-- When a cost will first fit, if nobody else takes from the budget meanwhile.
create function tenure.room_at(b tenure.budgets, cost integer, at timestamptz) returns timestamptz
    language sql stable
    as $$
        select greatest(b.closed_until, at, case when b.units <= 64 then (
            select taken.a + make_interval(secs => b.counted)
              from (select a.a, row_number() over (order by a.a desc) as newer
                      from unnest(b.admitted) as a (a)) as taken
             where taken.newer = b.units - cost + 1
        ) else (
            select to_timestamp((taken.slice + 41) * (b.counted / 40))
              from (select tenure.ring_slice_at(b.ring_slice, r.place::integer) as slice,
                           sum(r.n) over (
                               order by tenure.ring_slice_at(b.ring_slice, r.place::integer) desc)
                               as newer
                      from unnest(b.ring) with ordinality as r (n, place)
                     where r.n > 0) as taken
             where taken.newer > b.units - cost
             order by taken.slice desc
             limit 1
        ) end)
    $$;

-- The ring as it stands after some units at a time, slices that have left set to nothing.
create function tenure.ring_with(b tenure.budgets, cost integer, at timestamptz) returns integer[]
    language sql stable
    as $$
        select array_agg(
                case when tenure.ring_slice_at(b.ring_slice, p.place)
                          > tenure.slice_of(at, b.counted) - 48
                      and tenure.ring_slice_at(b.ring_slice, p.place)
                          = tenure.ring_slice_at(tenure.slice_of(at, b.counted), p.place)
                     then coalesce(b.ring[p.place], 0) else 0 end
                + case when tenure.ring_slice_at(tenure.slice_of(at, b.counted), p.place)
                            = tenure.slice_of(at, b.counted)
                       then cost else 0 end
                order by p.place)
          from generate_series(1, 48) as p (place)
    $$;

create function tenure.log_with(b tenure.budgets, cost integer, at timestamptz)
    returns timestamptz[]
    language sql stable
    as $$
        select array(
            select a.a from unnest(b.admitted) as a (a)
             where a.a > at - make_interval(secs => b.counted)
             union all
            select at from generate_series(1, cost)
             order by 1)
    $$;

-- A limit that is changed while it is in use keeps its count: what stands in the window is counted
-- anew as if all of it had been admitted now, which can only refuse too much, for one window.
create function tenure.recount() returns trigger
    language plpgsql volatile
    as $$
    declare
        v_now constant timestamptz := greatest(tenure.clock(), old.last_at);
        v_used constant integer := greatest(
            old.units - tenure.room(
                jsonb_populate_record(old, '{"closed_until": "-infinity"}'::jsonb), v_now), 0);
        v_slice constant bigint := tenure.slice_of(v_now, new.counted);
    begin
        if new.units <= 64 and old.units <= 64 and new.counted <= old.counted then
            return new;
        end if;
        new.admitted := case when new.units <= 64 and v_used > 0
                             then array_fill(v_now, array[least(v_used, new.units)])
                             else '{}' end;
        new.ring_slice := case when new.units > 64 then v_slice else 0 end;
        new.ring := case when new.units > 64 then array(
            select case when tenure.ring_slice_at(v_slice, p.place) = v_slice
                        then v_used else 0 end
              from generate_series(1, 48) as p (place) order by p.place) else '{}' end;
        return new;
    end
    $$;

create trigger recount before update of units, counted on tenure.budgets
    for each row when (old.units <> new.units or old.counted <> new.counted)
    execute function tenure.recount();
