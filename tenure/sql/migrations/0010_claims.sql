-- 0010_claims: which strands are due, and what becomes of a row that a claim finds.
-- serves code from: 1

create index strands_due on tenure.strands (live, quarantine, next_at);

-- What a claim does with a row.  claim: nobody had it.  adopt: its lease ran out, but the worker
-- lives or the server restarted meanwhile, so nobody is to blame.  aside: its worker went without a
-- word; it next runs alone.  rerun: it ran alone and ended its process again.  hold: once too often.
create function tenure.turn(j tenure.jobs, p_quarantine boolean) returns text
    language sql stable
    as $$
        select case
            when j.worker_id is null then 'claim'
            when pg_postmaster_start_time() > coalesce(j.heartbeat_at, j.claimed_at) then 'adopt'
            when exists (select from tenure.workers as w
                          where w.id = j.worker_id and w.last_seen > j.leased_until) then 'adopt'
            when not p_quarantine then 'aside'
            when j.quarantine_crashes + 1 - j.quarantine_base >= (
                select a.max_crashes from tenure.automations as a where a.name = j.automation)
                then 'hold'
            else 'rerun' end
    $$;

-- Whether a claim takes the row it found.  Its own lapsed jobs a worker simply takes again: it was
-- away, and came back.  What expired before anybody claimed it is taken by nobody.
create function tenure.taken(j tenure.jobs, p_worker uuid, p_quarantine boolean) returns boolean
    language sql stable
    as $$
        select case
            when j.worker_id is null then j.fence > 0 or coalesce(j.expires_at > tenure.now(), true)
            when j.worker_id = p_worker then true
            else tenure.turn(j, p_quarantine) in ('adopt', 'rerun') end
    $$;

-- How many jobs of a limited strand could be claimed now: a slot is free for each, or already theirs.
create function tenure.slots_open(s tenure.strands) returns integer
    language sql stable
    as $$
        select ((select count(*) from (
                    select from tenure.slots as x
                     where x.automation = s.automation and x.live = s.live and x.job_id is null
                       and not x.retired
                     limit 100) as f)
              + (select count(*)
                   from tenure.slots as x
                  cross join lateral (
                        select from tenure.jobs as j
                         where j.id = x.job_id and j.strand = s.id and j.status = 'pending'
                           and j.leased_until <= tenure.now()
                         limit 1) as j
                  where x.automation = s.automation and x.live = s.live))::integer
    $$;

-- Committed dues lower next_at; then the open strands of known automations whose time has come, from
-- after a position the worker remembers, with the units that the lane's budgets have free for any
-- call; those for some calls alone are the gate's to ask.
create function tenure.dispatch(
        p_automations text[], p_live boolean, p_quarantine boolean, p_after integer,
        p_limit integer)
    returns table (strand integer, automation text, lane text, next_at timestamptz, room integer,
                   limited boolean)
    language plpgsql volatile
    set lock_timeout = '1s'
    as $$
    declare
        v_strands integer[];
        v_dues timestamptz[];
    begin
        if exists (select from tenure.dues) then
            -- A strand in somebody's open transaction keeps its dues for a later look.
            v_strands := array(
                select s.id from tenure.strands as s
                 where s.id = any (array(select t.strand from (
                           select d.strand from tenure.dues as d order by d.id limit 1000) as t))
                 order by s.id
                   for update skip locked);
            with taken as (
                delete from tenure.dues as d
                 where d.id = any (array(
                     select t.id from tenure.dues as t where t.strand = any (v_strands)
                      order by t.id limit 1000
                        for update skip locked))
                returning d.strand, d.due
            )
            select array_agg(t.strand), array_agg(t.due) into v_strands, v_dues
              from (select taken.strand, min(taken.due) as due from taken
                     group by taken.strand order by taken.strand) as t;
            update tenure.strands as s
               set next_at = least(s.next_at, t.due)
              from unnest(v_strands, v_dues) as t (strand, due)
             where s.id = t.strand and t.due < s.next_at;
        end if;
        return query
            select s.id, s.automation, s.lane, s.next_at, least(r.room, o.room), s.limited
              from tenure.strands as s
             cross join lateral (
                    select case when s.limited then tenure.slots_open(s) end as room) as o
              left join lateral (
                    select min(tenure.room(b, tenure.clock())) as room
                      from tenure.budgets as b
                     where b.provider = split_part(s.lane, '/', 1)
                       and b.account = split_part(s.lane, '/', 2) and b.scope = ''
                       and b.declared ->> 'match' is null) as r on true
             where s.live = p_live and s.quarantine = p_quarantine
               and s.next_at <= tenure.now() and s.opens_at <= tenure.now()
               and s.automation = any (p_automations)
               and coalesce(least(r.room, o.room), 1) > 0
             order by s.id <= p_after, s.id
             limit p_limit;
    end
    $$;
