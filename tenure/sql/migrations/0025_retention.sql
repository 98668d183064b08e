-- 0025_retention: what is let go, when, and what is kept because a job still needs it.
-- serves code from: 1

insert into tenure.chores (name, every) values ('retention', interval '1 hour');

-- Finds who still refers to an old event: what was made with it lies near it, what was made later is
-- a replay, and what was kept lies in the default partition.
create index finished_replays on tenure.finished_jobs (event_id) where replay_of is not null;
create index finished_kept_events on tenure.finished_jobs_kept (event_id);

-- The weekly partitions, each week's finished jobs first: what lies beside a job may be let go only
-- when no retry could bring the job back.
create function tenure.weeks() returns table (parent text, name text, week timestamptz)
    language sql stable
    as $$
        select p.name, c.relname::text, w.week
          from tenure.partitioned() with ordinality as p (name, n)
          join pg_inherits as i on i.inhparent = to_regclass('tenure.' || p.name)
          join pg_class as c on c.oid = i.inhrelid and c.relname ~ '_\d{4}w\d{2}$'
         cross join lateral (
               select to_date(right(c.relname, 7), 'IYYY"w"IW')::timestamp at time zone 'UTC')
               as w (week)
         order by w.week, p.n
    $$;

-- Whether a finished job's own time is over.  One of shadow mode is evidence, and stays until its
-- automation has gone live on what it showed.
create function tenure.is_over(
        p_status text, p_mode text, p_automation text, p_finished_at timestamptz,
        p_finished interval, p_failed interval)
    returns boolean
    language sql stable
    as $$
        select p_finished_at <= tenure.now() - case p_status when 'failed' then p_failed
                                                             else p_finished end
           and (p_mode <> 'shadow' or exists (
                    select from tenure.promotions as m
                     where m.automation = p_automation and m.to_stage = 'live'
                       and m.at >= p_finished_at))
    $$;

-- The ids of a week's rows that must stay, read before anything is locked.  It can only name too
-- many: old weeks get no new jobs, and what is over does not become young again.
create function tenure.still_needed(
        p_parent text, p_week timestamptz, p_finished interval, p_failed interval)
    returns uuid[]
    language plpgsql stable
    as $$
    declare
        v_from constant uuid := tenure.uuid7_floor(p_week);
        v_until constant uuid := tenure.uuid7_floor(p_week + interval '7 days');
        v_next constant uuid := tenure.uuid7_floor(p_week + interval '14 days');
    begin
        if p_parent = 'events' then
            return array(
                select j.event_id from tenure.jobs as j
                 where j.event_id >= v_from and j.event_id < v_until
                 union
                select f.event_id from tenure.finished_jobs as f
                 where f.id >= v_from and f.id < v_next
                   and f.event_id >= v_from and f.event_id < v_until
                 union
                select f.event_id from tenure.finished_jobs as f
                 where f.replay_of is not null
                   and f.event_id >= v_from and f.event_id < v_until);
        end if;
        return array(
            select j.id from tenure.jobs as j where j.id >= v_from and j.id < v_until
             union all
            select f.id from tenure.finished_jobs as f
             where f.id >= v_from and f.id < v_until
               and (p_parent <> 'finished_jobs' or not tenure.is_over(
                        f.status, f.mode, f.automation, f.finished_at, p_finished, p_failed)));
    end
    $$;

-- Lets go of the oldest weekly partition whose upper bound is older than the shortest retention:
-- detached, what is still needed goes through the parent into the default, dropped.  Tells its name.
create function tenure.let_go_week(p_finished interval, p_failed interval) returns text
    language plpgsql volatile
    as $$
    declare
        v_parent text;
        v_name text;
        v_week timestamptz;
        v_needed uuid[];
        v_columns text;
    begin
        select w.parent, w.name, w.week into v_parent, v_name, v_week from tenure.weeks() as w
         where w.week + interval '7 days' <= tenure.now() - least(p_finished, p_failed)
         limit 1;
        if v_name is null then
            return null;
        end if;
        v_needed := tenure.still_needed(v_parent, v_week, p_finished, p_failed);
        select string_agg(quote_ident(a.attname), ', ' order by a.attnum) into v_columns
          from pg_attribute as a
         where a.attrelid = to_regclass('tenure.' || v_parent) and a.attnum > 0
           and not a.attisdropped and a.attgenerated = '';
        execute format('alter table tenure.%I detach partition tenure.%I', v_parent, v_name);
        execute format(
            'insert into tenure.%1$I (%2$s) select %2$s from tenure.%3$I as k where k.%4$I = any ($1)',
            v_parent, v_columns, v_name,
            case when v_parent in ('finished_jobs', 'events') then 'id' else 'job_id' end)
            using v_needed;
        execute format('drop table tenure.%I', v_name);
        return v_name;
    end
    $$;

-- Deletes up to so many rows of the default partition of one table that nobody needs any more.
create function tenure.let_go_kept(
        p_parent text, p_finished interval, p_failed interval, p_most integer)
    returns integer
    language plpgsql volatile
    as $$
    declare
        v_before constant timestamptz := tenure.now() - least(p_finished, p_failed);
        -- Who refers to an older event stands among the unfinished, the kept or the replays.
        v_settled constant timestamptz :=
            (select min(w.week) - interval '7 days' from tenure.weeks() as w
              where w.parent = 'finished_jobs');
        v_gone integer;
    begin
        if p_parent = 'finished_jobs' then
            delete from tenure.finished_jobs_kept as f
             where f.id = any (array(
                 select k.id from tenure.finished_jobs_kept as k
                  where tenure.is_over(k.status, k.mode, k.automation, k.finished_at,
                                       p_finished, p_failed)
                  limit p_most for update skip locked));
        elsif p_parent = 'events' then
            delete from tenure.events_kept as e
             where e.id = any (array(
                 select k.id from tenure.events_kept as k
                  where k.id < tenure.uuid7_floor(least(v_before, v_settled))
                    and not exists (select from tenure.jobs as j where j.event_id = k.id)
                    and not exists (
                        select from tenure.finished_jobs_kept as f where f.event_id = k.id)
                    and not exists (select from tenure.finished_jobs as f
                                     where f.event_id = k.id and f.replay_of is not null)
                  limit p_most));
        else
            execute format(
                'delete from tenure.%1$I as d where d.ctid = any (array('
                '    select k.ctid from tenure.%1$I as k'
                '     where k.job_id < $1'
                '       and not exists (select from tenure.jobs as j where j.id = k.job_id)'
                '       and not exists (select from tenure.finished_jobs as f where f.id = k.job_id)'
                '     limit $2))', p_parent || '_kept')
                using tenure.uuid7_floor(v_before), p_most;
        end if;
        get diagnostics v_gone = row_count;
        return v_gone;
    end
    $$;

-- Deletes up to so many rows a table of what lies unpartitioned and is over: refusals at the door,
-- processes that ended, keys whose interval ended, questions of jobs that are gone.  The audit stays,
-- and so do event keys: how long a sender repeats itself is not known here.
create function tenure.let_go_tails(p_before timestamptz, p_most integer) returns integer
    language plpgsql volatile
    as $$
    declare
        v_gone integer[] := '{}';
        v_count integer;
    begin
        delete from tenure.rejections as r where r.ctid = any (array(
            select k.ctid from tenure.rejections as k where k.minute < p_before limit p_most));
        get diagnostics v_count = row_count;
        v_gone := v_gone || v_count;
        delete from tenure.workers as w where w.id = any (array(
            select k.id from tenure.workers as k
             where k.last_seen < p_before
               and not exists (select from tenure.jobs as j where j.worker_id = k.id)
             limit p_most for update skip locked));
        get diagnostics v_count = row_count;
        v_gone := v_gone || v_count;
        delete from tenure.unique_keys as u where u.ctid = any (array(
            select k.ctid from tenure.unique_keys as k
             where k.until <= tenure.now() limit p_most for update skip locked));
        get diagnostics v_count = row_count;
        v_gone := v_gone || v_count;
        delete from tenure.holds as h where h.id = any (array(
            select k.id from tenure.holds as k
             where k.asked_at < p_before
               and not exists (select from tenure.jobs as j where j.id = k.job_id)
               and not exists (select from tenure.finished_jobs as f where f.id = k.job_id)
             limit p_most));
        get diagnostics v_count = row_count;
        v_gone := v_gone || v_count;
        return (select sum(g) from unnest(v_gone) as g);
    end
    $$;

-- One piece of the duty, in one transaction: a weekly partition where one is over, else a batch of
-- each table.  Tells whether there may be more.  Whoever finds another at it leaves it to them.
create function tenure.let_go(p_finished interval, p_failed interval, p_most integer)
    returns boolean
    language plpgsql volatile
    set lock_timeout = '200ms'
    as $$
    declare
        v_gone integer := 0;
        v_table text;
    begin
        perform from tenure.chores as c where c.name = 'retention' for update skip locked;
        if not found then
            return false;
        elsif tenure.let_go_week(p_finished, p_failed) is not null then
            return true;
        end if;
        for v_table in select p from tenure.partitioned() as p loop
            v_gone := v_gone + tenure.let_go_kept(v_table, p_finished, p_failed, p_most);
        end loop;
        v_gone := v_gone + tenure.let_go_tails(tenure.now() - least(p_finished, p_failed), p_most);
        return v_gone > 0;
    end
    $$;
