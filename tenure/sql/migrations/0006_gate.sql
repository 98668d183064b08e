-- 0006_gate: one round trip that admits calls, and writes what will leave before it may.
-- serves code from: 1

-- Which of the asked calls may pass as far as their jobs and steps are concerned.  The caller holds
-- the rows of the jobs, so neither claim nor step can change under it.
create function tenure.gate_verdicts(p_worker uuid, p_calls json)
    returns table (n integer, verdict text)
    language sql volatile
    as $$
        select c.n, case
            when j.id is null or j.leased_until <= tenure.clock() then 'lost'
            when j.request is not null then j.request
            when last.send_id = c.send_id then 'found'
            when paused.home then 'paused'
            when paused.there then 'lane_paused'
            when c.safe then 'able'
            when coalesce(last.send, 0) + 1 <> c.send then 'known'
            when last.send is null then 'able'
            when last.testified then 'evidence'
            when last.outcome is null and (last.fence >= c.fence or last.send_until > tenure.clock())
                then 'known'
            when last.outcome = 'unknown' and last.status is null
                 and last.send_until > tenure.clock() then 'known'
            when tenure.next_epoch(c.job, c.step, last.send, last.epoch, last.fence, last.outcome,
                                   last.stored, j.fence_base) is distinct from c.epoch then 'known'
            else 'able' end
          from json_to_recordset(p_calls) as c (
                   n integer, job uuid, fence integer, step text, send integer, send_id uuid,
                   safe boolean, epoch integer, provider text, account text)
          left join tenure.jobs as j
            on j.id = c.job and j.fence = c.fence and j.worker_id = p_worker
               and j.status = 'pending'
          left join lateral (
                select k.send, k.send_id, k.fence, k.send_until, k.epoch, o.state as outcome,
                       o.status, o.stored,
                       o.state is null and exists (
                           select from tenure.evidence as e
                            where e.job_id = k.job_id and e.send_id = k.send_id) as testified
                  from tenure.calls as k
                  left join tenure.outcomes as o
                    on o.job_id = k.job_id and o.send_id = k.send_id
                 where k.job_id = c.job and k.step = c.step
                 order by k.send desc
                 limit 1) as last on true
          left join lateral (
                select bool_or(tenure.hits(p, j.automation, j.lane)) as home,
                       bool_or(tenure.hits(p, j.automation, concat_ws(
                           '/', c.provider, nullif(c.account, '')))) as there
                  from tenure.pauses as p
                 where p.until > tenure.clock()) as paused on true
    $$;

-- Writes the admitted calls as they will leave, credentials left out.
create function tenure.gate_write(p_worker uuid, p_calls json, p_admitted integer[], p_at timestamptz)
    returns void
    language sql volatile
    as $$
        insert into tenure.calls (
            job_id, step, send, send_id, state, fence, worker_id, provider, account, operation,
            safe, method, url, headers, body, body_digest, key, epoch, wire_key, policy, budgets,
            admitted_at, send_until)
        select c.job, c.step, c.send, c.send_id, 'sending', c.fence, p_worker, c.provider,
               c.account, c.operation, false, c.method, c.url, c.headers, decode(c.body, 'base64'),
               decode(c.digest, 'hex'), c.key, c.epoch, c.wire_key, c.policy, c.budgets, p_at,
               p_at + make_interval(secs => c.send_window + c.timeout)
          from json_to_recordset(p_calls) as c (
                   n integer, job uuid, fence integer, step text, send integer, send_id uuid,
                   safe boolean, provider text, account text, operation text, method text, url text,
                   headers json, body text, digest text, key text, epoch integer, wire_key text,
                   policy text, budgets json, send_window double precision,
                   timeout double precision)
         where c.n = any (p_admitted) and not c.safe
    $$;

create function tenure.gate_take(p_budgets integer[], p_costs integer[], p_calls integer,
                                 p_at timestamptz)
    returns void
    language sql volatile
    as $$
        update tenure.budgets as b
           set last_at = p_at,
               admitted = case when b.units <= 64
                               then tenure.log_with(b, p_calls * t.cost, p_at) else '{}' end,
               ring = case when b.units > 64
                           then tenure.ring_with(b, p_calls * t.cost, p_at) else '{}' end,
               ring_slice = case when b.units > 64
                                 then tenure.slice_of(p_at, b.counted) else 0 end
          from unnest(p_budgets, p_costs) as t (id, cost)
         where b.id = t.id
    $$;

-- All calls of one batch take from the same budgets at the same costs.  Lock order: jobs by id, then
-- budgets by id, and nothing after budgets, which are held only until the commit.  Locking is a
-- statement of its own before the clock is read: lock and count in one admits more than the limit.
-- since_entry lets the worker place the admission on its own clock without counting lock waits.
create function tenure.gate(
        p_worker uuid, p_lease double precision, p_budgets integer[], p_costs integer[],
        p_reserve double precision, p_calls json)
    returns table (n integer, verdict text, admitted_at timestamptz, since_entry double precision,
                   until timestamptz, budget integer)
    language plpgsql volatile
    set lock_timeout = '1s'
    as $$
    declare
        v_entered constant timestamptz := tenure.clock();
        v_asked integer[];
        v_said text[];
        v_able integer[];
        v_admitted integer[];
        v_room integer := 2147483647;
        v_now timestamptz := v_entered;
        v_until timestamptz;
        v_budget integer;
    begin
        perform from (select j.id from tenure.jobs as j
                       where j.id = any (array(
                           select c.job from json_to_recordset(p_calls) as c (job uuid)))
                       order by j.id for no key update) as held;
        select array_agg(g.n order by g.n), array_agg(g.verdict order by g.n)
          into v_asked, v_said
          from tenure.gate_verdicts(p_worker, p_calls) as g;
        v_able := array(select s.n from unnest(v_asked, v_said) as s (n, verdict)
                         where s.verdict = 'able' order by s.n);
        update tenure.jobs as j
           set leased_until = greatest(j.leased_until,
                                       tenure.clock() + make_interval(secs => p_lease)),
               heartbeat_at = tenure.clock()
         where j.id = any (array(
             select c.job from json_to_recordset(p_calls) as c (n integer, job uuid)
              where c.n = any (v_able)));
        if cardinality(v_able) > 0 and cardinality(p_budgets) > 0 then
            perform from (select b.id from tenure.budgets as b where b.id = any (p_budgets)
                           order by b.id for update) as held;
            v_now := tenure.clock();
            select greatest(v_now, max(b.last_at)),
                   min((tenure.room(b, greatest(v_now, b.last_at))
                        - least(floor(b.units * p_reserve)::integer, b.units - t.cost)) / t.cost)
              into v_now, v_room
              from unnest(p_budgets, p_costs) as t (id, cost)
              join tenure.budgets as b on b.id = t.id;
        end if;
        v_admitted := v_able[1:greatest(v_room, 0)];
        if cardinality(v_admitted) > 0 then
            perform tenure.gate_write(p_worker, p_calls, v_admitted, v_now);
            perform tenure.gate_take(p_budgets, p_costs, cardinality(v_admitted), v_now);
        end if;
        if cardinality(v_admitted) < cardinality(v_able) then
            select w.id, w.until into v_budget, v_until
              from (select b.id, tenure.room_at(
                               b, t.cost + least(floor(b.units * p_reserve)::integer,
                                                 b.units - t.cost), v_now) as until
                      from unnest(p_budgets, p_costs) as t (id, cost)
                      join tenure.budgets as b on b.id = t.id) as w
             order by w.until desc nulls last limit 1;
        end if;
        return query
            select s.n,
                   case when s.verdict <> 'able' then s.verdict
                        when s.n = any (v_admitted) then 'admitted' else 'full' end,
                   case when s.n = any (v_admitted) then v_now end,
                   extract(epoch from v_now - v_entered)::double precision,
                   v_until, v_budget
              from unnest(v_asked, v_said) as s (n, verdict);
    end
    $$;
