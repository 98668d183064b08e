-- 0021_pauses: closing and opening an automation, a lane, a provider, a source, or everything.
-- serves code from: 1

-- Strands carry the pause that ends last: overlapping ones each end by themselves.  No job is written.
create function tenure.apply_pauses(p_strands integer[]) returns integer
    language plpgsql volatile
    as $$
    declare
        v_changed integer;
    begin
        perform from (select s.id from tenure.strands as s where s.id = any (p_strands)
                       order by s.id for update) as held;
        update tenure.strands as s
           set paused_until = coalesce(f.until, '-infinity'), paused_since = f.since,
               paused_by = f.paused_by, pause_reason = f.reason
          from tenure.strands as o
          left join lateral tenure.pause_of(o.automation, o.lane) as f on true
         where o.id = s.id and s.id = any (p_strands);
        get diagnostics v_changed = row_count;
        return v_changed;
    end
    $$;

-- A strand that was opened while a pause began or ended may have missed it: this finds it, and forgets
-- pauses that have ended by themselves.
create function tenure.mend_pauses() returns integer
    language sql volatile
    as $$
        with ended as (
            delete from tenure.pauses as p where p.until <= tenure.clock()
        )
        select coalesce(tenure.apply_pauses(array_agg(s.id order by s.id)), 0)
          from tenure.strands as s
          left join lateral tenure.pause_of(s.automation, s.lane) as f on true
         where greatest(s.paused_until, tenure.now())
               <> greatest(coalesce(f.until, '-infinity'), tenure.now())
    $$;

insert into tenure.chores (name, every) values ('pauses', interval '5 seconds');

-- Whether there is something of that name; a lane or provider is known once a strand or budget is.
create function tenure.can_be_paused(p_kind text, p_name text) returns boolean
    language sql stable
    as $$
        select case p_kind
            when 'all' then true
            when 'automation' then exists (
                select from tenure.automations as a where a.name = p_name)
            when 'source' then exists (select from tenure.sources as s where s.name = p_name)
                or exists (select from tenure.schedules as s where s.name = p_name)
            else exists (select from tenure.strands as s
                          where s.lane = p_name or split_part(s.lane, '/', 1) = split_part(p_name, '/', 1))
                or exists (select from tenure.budgets as b
                            where b.provider = split_part(p_name, '/', 1)) end
    $$;

-- A target in its parts; raises where it is none, or where there is nothing of that name.
create function tenure.pause_target(target text, out kind text, out name text)
    language plpgsql stable
    as $$
    begin
        kind := split_part(target, ':', 1);
        name := substr(target, length(kind) + 2);
        if target is null or kind <> all (array['automation', 'lane', 'provider', 'source', 'all'])
           or (kind = 'all') <> (name = '') or (kind = 'all' and target <> 'all')
           or (kind = 'provider' and name like '%/%') then
            raise exception 'nothing can be paused under that name (%)', target
                using errcode = 'TN002', hint = 'It is automation:lead, lane:crm/acme, provider:crm, '
                    'source:lead, or all.';
        elsif not tenure.can_be_paused(kind, name) then
            raise exception 'unknown % (%): there is nothing to pause or resume', kind, name
                using errcode = 'TN003', hint = 'See the names with: tenure automation list, or '
                    'tenure source list';
        end if;
    end
    $$;

-- Pauses a target until a time, or until it is resumed.  What runs goes on to its next call; what
-- comes waits.  Paused again, it has the new reason and end.  Lock order: strands by id.
create function tenure.pause(
        target text, reason text, until timestamptz default null, actor text default null,
        origin text default null)
    returns tenure.pauses
    language plpgsql volatile
    as $$
    declare
        v_target constant record := tenure.pause_target(target);
        v_before tenure.pauses;
        v_pause tenure.pauses;
    begin
        if coalesce(btrim(reason), '') = '' then
            raise exception '% cannot be paused without a reason', target
                using errcode = 'TN002', hint = 'Say why: --reason "…"';
        elsif until <= tenure.clock() or until >= timestamptz '9999-01-01' then
            raise exception '% cannot be paused until then (%): that is no time ahead', target,
                            tenure.said_at(until)
                using errcode = 'TN002', hint = 'Give a time ahead, or none: until it is resumed.';
        end if;
        select p.* into v_before from tenure.pauses as p
         where p.target = pause.target and p.until > tenure.clock();
        insert into tenure.pauses as p (target, kind, name, reason, paused_by, until)
        values (target, v_target.kind, v_target.name, reason, coalesce(actor, tenure.actor()),
                coalesce(until, 'infinity'))
        on conflict on constraint pauses_pkey do update
            set reason = excluded.reason, paused_by = excluded.paused_by, until = excluded.until,
                since = case when p.until > tenure.clock() then p.since else excluded.since end
        returning p.* into v_pause;
        if v_target.kind = 'source' then
            perform tenure.open_lane(a.name, target) from tenure.automations as a
              where exists (select from unnest(a.listens) as l
                             where split_part(l, '#', 1) = v_target.name);
        end if;
        perform tenure.apply_pauses(array(
            select s.id from tenure.strands as s where tenure.hits(v_pause, s.automation, s.lane)));
        perform tenure.note_act(
            v_target.kind || '.pause', target,
            case when v_before.target is not null
                 then json_build_object('reason', v_before.reason, 'paused_by', v_before.paused_by,
                                        'until', nullif(v_before.until, 'infinity')) end,
            json_build_object('until', nullif(v_pause.until, 'infinity')), reason, actor, origin);
        return v_pause;
    end
    $$;

-- Ends a pause now; other pauses of the same strands go on.  Tells the pause as it was.
create function tenure.resume(
        target text, reason text default null, actor text default null, origin text default null)
    returns tenure.pauses
    language plpgsql volatile
    as $$
    declare
        v_target constant record := tenure.pause_target(target);
        v_pause tenure.pauses;
    begin
        delete from tenure.pauses as p where p.target = resume.target returning p.* into v_pause;
        if v_pause.target is null or v_pause.until <= tenure.clock() then
            raise exception '% is not paused: there is nothing to resume', target
                using errcode = 'TN003', hint = coalesce('Paused now: ' || (
                    select string_agg(p.target, ', ' order by p.target) from tenure.pauses as p
                     where p.until > tenure.clock()) || '.', 'Nothing is paused.');
        end if;
        perform tenure.apply_pauses(array(
            select s.id from tenure.strands as s where tenure.hits(v_pause, s.automation, s.lane)));
        perform tenure.note_act(
            v_target.kind || '.resume', target,
            json_build_object('reason', v_pause.reason, 'paused_by', v_pause.paused_by,
                              'since', v_pause.since, 'until', nullif(v_pause.until, 'infinity')),
            null, reason, actor, origin);
        return v_pause;
    end
    $$;
