-- 0008_partitions: a week wide by id, made ahead; the default keeps whatever fits no other.
-- serves code from: 1

create table tenure.chores (
    name text primary key,
    every interval not null,
    due timestamptz not null default '-infinity',
    done_at timestamptz,
    done_by uuid
);
comment on table tenure.chores is
    'Periodic duties as claimable rows: whichever worker moves due on does the duty';

insert into tenure.chores (name, every)
values ('strands', interval '5 seconds'), ('partitions', interval '6 hours');

create function tenure.partitioned() returns setof text
    language sql immutable
    as $$
        values ('finished_jobs'), ('inputs'), ('attempts'), ('journal'), ('steps'), ('calls'),
               ('outcomes'), ('evidence'), ('events')
    $$;

-- Makes the weekly partitions from this week on for so many weeks; tells how many it made.  A week
-- whose first rows came before its partition was made stays in the default for good.
create function tenure.make_partitions(p_weeks integer) returns integer
    language plpgsql volatile
    set lock_timeout = '200ms'
    as $$
    declare
        v_table text;
        v_week timestamptz;
        v_name text;
        v_made integer := 0;
    begin
        for v_table in select p from tenure.partitioned() as p loop
            for v_week in select date_trunc('week', tenure.clock(), 'UTC') + w * interval '7 days'
                            from generate_series(0, p_weeks - 1) as w loop
                v_name := v_table || '_' || to_char(v_week at time zone 'UTC', 'IYYY"w"IW');
                continue when to_regclass('tenure.' || v_name) is not null;
                begin
                    execute format(
                        'create table tenure.%I partition of tenure.%I for values from (%L) to (%L)',
                        v_name, v_table, tenure.uuid7_floor(v_week),
                        tenure.uuid7_floor(v_week + interval '7 days'));
                    v_made := v_made + 1;
                exception when check_violation then
                    raise notice '% is late: rows of that week are in the default', v_name;
                end;
            end loop;
        end loop;
        return v_made;
    end
    $$;

do $$
declare
    v_table text;
begin
    for v_table in select p from tenure.partitioned() as p loop
        execute format('create table tenure.%I partition of tenure.%I default',
                       v_table || '_kept', v_table);
    end loop;
    perform tenure.make_partitions(6);
end
$$;
