-- 0020_many: acts on many jobs: what a filter matches, a chunk at a time, each a short transaction.
-- serves code from: 1

-- A filter: what is null is not asked.  since and until are about when jobs were
-- made: ids carry that to the millisecond, created_at exactly.
create type tenure.wanted_jobs as (
    states text[], automation text, lane text, provider text, source text, tag text,
    error_class text, since timestamptz, until timestamptz);

-- Without sub-selects, so that it is inlined: called, it would cost more than all the rest.
create function tenure.wants(
        w tenure.wanted_jobs, p_automation text, p_lanes text[], p_tags text[])
    returns boolean
    language sql immutable parallel safe
    as $$
        select (w.automation is null or p_automation = w.automation)
           and (w.lane is null or w.lane = any (p_lanes))
           and (w.provider is null
                or w.provider in (split_part(p_lanes[1], '/', 1), split_part(p_lanes[2], '/', 1)))
           and (w.tag is null or w.tag = any (p_tags))
    $$;

-- Jobs that match, in the order of their ids, from after one of them.  Each part walks an index in
-- that order and stops when it has enough; a plan that sorted would read all for every chunk.  An
-- unfinished job stands in two lanes while it is parked; its error is that of its last failure.
create function tenure.matching(w tenure.wanted_jobs, p_after uuid, p_most bigint)
    returns table (id uuid, automation text, state text, event_id uuid)
    language plpgsql stable
    set enable_seqscan = off
    set enable_bitmapscan = off
    set jit = off
    as $$
    declare
        v_from constant uuid := greatest(p_after, tenure.uuid7_floor(w.since));
        v_until constant uuid := tenure.uuid7_floor(
            least(w.until, tenure.clock()) + interval '1 ms');
    begin
        return query
            select m.id, m.automation, m.state, m.event_id
              from ((select j.id, j.automation, tenure.state_of(j, s) as state, j.event_id
                       from tenure.jobs as j join tenure.strands as s on s.id = j.strand
                      where j.id > coalesce(v_from, '00000000-0000-0000-0000-000000000000')
                        and j.id < v_until and (j.created_at < w.until) is not false
                        and tenure.state_of(j, s) = any (w.states)
                        and tenure.wants(w, j.automation, array[j.lane, s.lane], j.tags)
                        and (w.source is null or j.created_by = 'source:' || w.source or exists (
                                 select from tenure.events as e
                                  where e.id = j.event_id and e.source = w.source))
                        and (w.error_class is null or w.error_class = (
                                 select a.error_class from tenure.attempts as a
                                  where a.job_id = j.id and a.ended = 'failure'
                                  order by a.fence desc limit 1))
                      order by j.id limit p_most)
                    union all
                    (select f.id, f.automation, f.status, f.event_id
                       from unnest(array['failed', 'cancelled']) as t (status)
                      cross join lateral (
                            select o.* from tenure.finished_jobs as o
                             where o.status = t.status and o.status <> 'succeeded'
                               and o.id > coalesce(v_from, '00000000-0000-0000-0000-000000000000')
                               and o.id < v_until and (o.created_at < w.until) is not false
                               and tenure.wants(w, o.automation, array[o.lane], o.tags)
                               and (w.source is null or o.created_by = 'source:' || w.source
                                    or exists (select from tenure.events as e
                                                where e.id = o.event_id and e.source = w.source))
                               and (w.error_class is null or o.error_class = w.error_class)
                             order by o.id limit p_most) as f
                      where t.status = any (w.states))
                    union all
                    (select f.id, f.automation, f.status, f.event_id
                       from tenure.finished_jobs as f
                      where 'succeeded' = any (w.states) and f.status = 'succeeded'
                        and f.id > coalesce(v_from, '00000000-0000-0000-0000-000000000000')
                        and f.id < v_until and (f.created_at < w.until) is not false
                        and tenure.wants(w, f.automation, array[f.lane], f.tags)
                        and (w.source is null or f.created_by = 'source:' || w.source or exists (
                                 select from tenure.events as e
                                  where e.id = f.event_id and e.source = w.source))
                        and (w.error_class is null or f.error_class = w.error_class)
                      order by f.id limit p_most)) as m
             order by m.id
             limit p_most;
    end
    $$;

-- Which of some jobs are still in one of the states, and held by nobody else: their rows are held in
-- the order of their ids until the transaction ends.
create function tenure.hold_matching(p_states text[], p_ids uuid[]) returns uuid[]
    language plpgsql volatile
    as $$
    declare
        v_unfinished uuid[];
        v_finished uuid[];
    begin
        v_unfinished := array(select h.id from (
            select j.id from tenure.jobs as j where j.id = any (p_ids)
             order by j.id for update skip locked) as h);
        v_finished := array(select h.id from (
            select f.id from tenure.finished_jobs as f where f.id = any (p_ids)
             order by f.id for update skip locked) as h);
        return array(
            select j.id from tenure.jobs as j join tenure.strands as s on s.id = j.strand
             where j.id = any (v_unfinished) and tenure.state_of(j, s) = any (p_states)
             union all
            select f.id from tenure.finished_jobs as f
             where f.id = any (v_finished) and f.status = any (p_states));
    end
    $$;

create function tenure.do_act(p_act text, p_job uuid, p_actor text) returns tenure.acted
    language plpgsql volatile
    as $$
    begin
        case p_act
            when 'retry' then return tenure.do_retry(p_job, p_actor);
            when 'replay' then return tenure.do_replay(p_job, p_actor);
            when 'cancel' then return (select c.acted from tenure.do_cancel(p_job, p_actor) as c);
        end case;
    end
    $$;

-- One audit row an act, begun with its first chunk and counted up with each: what it says is what
-- was committed.  Each job's journal names it, so that the job can say who it was.
create function tenure.note_many(
        p_audit bigint, p_act text, w tenure.wanted_jobs, p_counts integer[], p_reason text,
        p_actor text, p_origin text)
    returns bigint
    language plpgsql volatile
    as $$
    declare
        v_audit bigint := p_audit;
    begin
        if v_audit is null then
            insert into tenure.audit (actor, act, target, before, after, reason, origin)
            values (coalesce(p_actor, tenure.actor()), 'job.' || p_act, 'jobs',
                    json_strip_nulls(to_json(w)), '{"done": 0, "changed": 0, "refused": 0}',
                    p_reason, coalesce(p_origin, 'sql'))
            returning id into v_audit;
        end if;
        update tenure.audit as a
           set after = json_build_object(
                   'done', (a.after ->> 'done')::integer + p_counts[1],
                   'changed', (a.after ->> 'changed')::integer + p_counts[2],
                   'refused', (a.after ->> 'refused')::integer + p_counts[3])
         where a.id = v_audit;
        return v_audit;
    end
    $$;

-- Acts on the next jobs that match, at most so many.  last: where the next chunk begins, null when
-- there is nothing more.  changed: somebody holds them, or they no longer match.  Lock order: jobs by
-- id.  became counts what they became; refusals tells the first ten.
create function tenure.act_on_many(
        act text, w tenure.wanted_jobs, after uuid, most integer, audit bigint default null,
        reason text default null, actor text default null, origin text default null,
        out note bigint, out last uuid, out done integer, out changed integer, out refused integer,
        out became json, out refusals json)
    language plpgsql volatile
    set lock_timeout = '1s'
    as $$
    declare
        v_ids constant uuid[] := array(
            select m.id from tenure.matching(w, after, most) as m order by m.id);
        v_free uuid[] := v_ids;
        v_id uuid;
        v_acted tenure.acted;
        v_became text[] := '{}';
        v_refusals json[] := '{}';
    begin
        done := 0;
        refused := 0;
        if act <> 'replay' then
            v_free := tenure.hold_matching(w.states, v_ids);
        end if;
        changed := cardinality(v_ids) - cardinality(v_free);
        note := tenure.note_many(audit, act, w, array[0, 0, 0], reason, actor, origin);
        for v_id in select i.id from unnest(v_free) as i (id) order by i.id loop
            v_acted := tenure.do_act(act, v_id, coalesce(actor, tenure.actor()));
            if v_acted.refusal is not null then
                refused := refused + 1;
                if refused <= 10 then
                    v_refusals := v_refusals || json_build_object(
                        'job', v_id, 'why', v_acted.refusal, 'hint', v_acted.hint);
                end if;
                continue;
            end if;
            done := done + 1;
            v_became := v_became || case act when 'replay' then 'replayed' else v_acted.became end;
            insert into tenure.journal (job_id, kind, said, detail)
            values (v_id, 'act', act, json_build_object('act', note, 'became', v_acted.became));
        end loop;
        perform tenure.note_many(note, act, w, array[done, changed, refused], reason, actor, origin);
        last := case when cardinality(v_ids) = most then v_ids[most] end;
        became := (select json_object_agg(b.became, b.n)
                     from (select x as became, count(*) as n from unnest(v_became) as x
                            group by x) as b);
        refusals := to_json(v_refusals);
    end
    $$;
