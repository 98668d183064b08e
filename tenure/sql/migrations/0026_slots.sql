-- 0026_slots: so many jobs of an automation at once, exactly, over all workers.
-- serves code from: 1

-- An end of a claim frees its slot, and here a limit that was lowered meanwhile takes hold: a retired
-- slot goes with its job, any other takes the place of one that is retired.
create function tenure.slot_freed() returns trigger
    language plpgsql volatile
    as $$
    declare
        v_slot integer;
    begin
        if new.retired then
            delete from tenure.slots as x
             where x.automation = new.automation and x.live = new.live and x.slot = new.slot
               and x.retired and x.job_id is null;
            return null;
        end if;
        select x.slot into v_slot from tenure.slots as x
         where x.automation = new.automation and x.live = new.live and x.retired
         limit 1 for update skip locked;
        if found then
            delete from tenure.slots as x
             where x.automation = new.automation and x.live = new.live and x.slot = new.slot;
            update tenure.slots as x set retired = false
             where x.automation = new.automation and x.live = new.live and x.slot = v_slot;
        end if;
        return null;
    end
    $$;

create trigger slot_freed after update of job_id on tenure.slots
    for each row when (old.job_id is not null and new.job_id is null)
    execute function tenure.slot_freed();

-- As many slots as the automation may run jobs at once, live and not; none where it has no limit.
-- What runs goes on: slots above a lowered limit are retired, and go when their jobs end.
create function tenure.make_slots(p_automation text, p_limit integer) returns void
    language plpgsql volatile
    as $$
    declare
        v_live boolean;
        v_limit constant integer := coalesce(p_limit, 0);
    begin
        perform from (select s.id from tenure.strands as s
                       where s.automation = p_automation and s.limited = (p_limit is null)
                       order by s.id for update) as held;
        update tenure.strands as s set limited = p_limit is not null
         where s.automation = p_automation and s.limited = (p_limit is null);
        foreach v_live in array array[true, false] loop
            continue when v_limit = (select count(*) from tenure.slots as x
                                      where x.automation = p_automation and x.live = v_live
                                        and not x.retired)
                and not exists (select from tenure.slots as x
                                 where x.automation = p_automation and x.live = v_live
                                   and x.retired);
            perform from (select x.slot from tenure.slots as x
                           where x.automation = p_automation and x.live = v_live
                           order by x.slot for update) as held;
            delete from tenure.slots as x
             where x.automation = p_automation and x.live = v_live and x.job_id is null;
            update tenure.slots as x set retired = t.place > v_limit
              from (select u.slot, row_number() over (order by u.slot) as place
                      from tenure.slots as u
                     where u.automation = p_automation and u.live = v_live) as t
             where x.automation = p_automation and x.live = v_live and x.slot = t.slot;
            insert into tenure.slots (automation, live, slot)
            select p_automation, v_live, g.slot
              from generate_series(1, v_limit) as g (slot)
             where not exists (select from tenure.slots as x
                                where x.automation = p_automation and x.live = v_live
                                  and x.slot = g.slot)
             order by g.slot
             limit v_limit - (select count(*) from tenure.slots as x
                               where x.automation = p_automation and x.live = v_live
                                 and not x.retired);
        end loop;
    end
    $$;

-- Chooses what may be claimed from strands of automations with a limit, and writes each job into its
-- slot: those that have one already, as their lease ran out; then as many more as slots are free.
-- Lock order: jobs and slots, both SKIP LOCKED, so that no claim ever waits for another.
create function tenure.take_slots(p_strands integer[], p_quotas integer[]) returns setof uuid
    language plpgsql volatile
    as $$
    declare
        s record;
        v_own uuid[];
        v_free integer[];
        v_new uuid[];
    begin
        for s in
            select o.id, o.automation, o.live, t.quota
              from unnest(p_strands, p_quotas) as t (strand, quota)
              join tenure.strands as o on o.id = t.strand and o.limited
             order by random()  -- strands of one automation share its slots, and take turns
        loop
            v_own := array(
                select k.id from tenure.slots as x
                 cross join lateral (
                       select j.id from tenure.jobs as j
                        where j.id = x.job_id and j.strand = s.id and j.status = 'pending'
                          and j.leased_until <= tenure.now()
                          for update skip locked) as k
                 where x.automation = s.automation and x.live = s.live and x.job_id is not null
                 limit s.quota);
            v_free := array(
                select x.slot from tenure.slots as x
                 where x.automation = s.automation and x.live = s.live and x.job_id is null
                   and not x.retired
                 order by x.slot
                 limit s.quota - cardinality(v_own) for update skip locked);
            v_new := array(
                select c.id
                  from generate_series(0, 9) as p (priority)
                 cross join lateral (
                       select k.id from tenure.jobs as k
                        where k.status = 'pending' and k.strand = s.id
                          and k.priority = p.priority and k.leased_until <= tenure.now()
                          and k.id <> all (v_own)
                        order by k.leased_until
                        limit cardinality(v_free)
                          for update skip locked) as c
                 where not exists (select from tenure.slots as x where x.job_id = c.id)
                 limit cardinality(v_free));
            update tenure.slots as x set job_id = t.job
              from unnest(v_free, v_new) as t (slot, job)
             where x.automation = s.automation and x.live = s.live and x.slot = t.slot
               and t.job is not null;
            return query select u.id from unnest(v_own || v_new) as u (id);
        end loop;
    end
    $$;
