-- 0017_stages: moving an automation up or down a stage.
-- serves code from: 1

create function tenure.stage_rank(stage text) returns integer
    language sql immutable strict parallel safe
    as $$ select array_position(array['dry_run', 'shadow', 'live'], stage) $$;

-- The lines of evidence without which nothing goes live, by name.
create function tenure.review_lines(replaces text) returns text[]
    language sql immutable parallel safe
    as $$
        select case when replaces is null
            then array['branches', 'calls', 'dry_runs', 'sandbox']
            else array['branches', 'clusters', 'days', 'events', 'joined', 'operations', 'paths',
                       'rules'] end
    $$;

-- What is asked for can be done; raises where it cannot.  up: a promotion, else a demotion.
create function tenure.check_move(
        p_automation tenure.automations, p_name text, p_to text, p_up boolean, p_reason text)
    returns void
    language plpgsql stable
    as $$
    begin
        if p_automation.name is null then
            raise exception 'unknown automation (%): no worker or server has declared it', p_name
                using errcode = 'TN003',
                      hint = 'Start a worker that knows it once, or correct the name.';
        elsif tenure.stage_rank(p_to) is null then
            raise exception 'unknown stage (%): an automation cannot stand there', p_to
                using errcode = 'TN002', hint = 'Stages are dry_run, shadow and live.';
        elsif coalesce(btrim(p_reason), '') = '' then
            raise exception '% cannot be moved without a reason', p_name
                using errcode = 'TN002', hint = 'Say why: --reason "…"';
        elsif (tenure.stage_rank(p_to) > tenure.stage_rank(p_automation.stage)) is distinct from p_up
              or p_to = p_automation.stage then
            raise exception '% stands at %: % to % is no way %', p_name, p_automation.stage,
                            case when p_up then 'promoting' else 'demoting' end, p_to,
                            case when p_up then 'up' else 'down' end
                using errcode = 'TN002',
                      hint = 'See where it stands with: tenure automation show ' || p_name;
        end if;
    end
    $$;

-- Writes a move: the stage, the promotion, the event from which it holds, the audit row.
create function tenure.write_move(
        p_automation tenure.automations, p_to text, p_waived text[], p_until timestamptz,
        p_reason text, p_actor text, p_origin text)
    returns tenure.promotions
    language plpgsql volatile
    as $$
    declare
        v_event constant uuid := tenure.uuid7();
        v_first constant uuid := case when p_to = 'live' then v_event end;
        v_move tenure.promotions;
    begin
        update tenure.automations as a set stage = p_to, first_event = v_first
         where a.name = p_automation.name;
        insert into tenure.promotions (automation, version, from_stage, to_stage, waived,
                                       waived_until, reason, actor, first_event)
        values (p_automation.name, p_automation.version, p_automation.stage, p_to, p_waived, p_until,
                p_reason, coalesce(p_actor, tenure.actor()), v_event)
        returning * into v_move;
        perform tenure.note_act(
            case when tenure.stage_rank(p_to) > tenure.stage_rank(p_automation.stage)
                 then 'automation.promote' else 'automation.demote' end,
            'automation:' || p_automation.name,
            json_build_object('stage', p_automation.stage, 'first_event', p_automation.first_event),
            json_build_object('stage', p_to, 'first_event', v_first, 'waived', p_waived,
                              'waived_until', p_until),
            p_reason, p_actor, p_origin);
        return v_move;
    end
    $$;

-- Moves an automation up.  Going live needs every line of its review; each one that is missing must
-- be waived by name, or all by 'all', for 30 days unless said.  Jobs that exist keep their mode.
create function tenure.promote(
        automation text, to_stage text, reason text, waived text[] default '{}',
        waived_until timestamptz default null, actor text default null, origin text default null)
    returns tenure.promotions
    language plpgsql volatile
    as $$
    declare
        v_automation tenure.automations;
        v_lines text[];
        v_missing text[];
        v_until timestamptz := waived_until;
    begin
        select a.* into v_automation from tenure.automations as a
         where a.name = promote.automation for update;
        perform tenure.check_move(v_automation, promote.automation, to_stage, true, reason);
        v_lines := tenure.review_lines(v_automation.replaces);
        if not waived <@ (v_lines || 'all'::text) then
            raise exception 'unknown line of the review of %: nothing is waived by it (%)',
                            promote.automation, array_to_string(waived, ', ')
                using errcode = 'TN002',
                      hint = 'Its lines are ' || array_to_string(v_lines, ', ') || '; or all.';
        end if;
        v_missing := array(select l from unnest(v_lines) as l
                            where to_stage = 'live' and l <> all (waived) and 'all' <> all (waived));
        if cardinality(v_missing) > 0 then
            raise exception '% has not earned to go live: these lines of its review are missing: %',
                            promote.automation, array_to_string(v_missing, ', ')
                using errcode = 'TN002', hint = 'Gather the evidence, or waive them in your name: '
                    '--waive LINE or --waive all, with --reason and --until.';
        end if;
        if cardinality(waived) > 0 then
            v_until := coalesce(v_until, tenure.clock() + interval '30 days');
            if v_until <= tenure.clock() or not isfinite(v_until) then
                raise exception 'a waiver cannot last until then (%): it has an end, and one ahead',
                                tenure.said_at(v_until)
                    using errcode = 'TN002', hint = 'Give a time ahead, or none for 30 days.';
            end if;
        end if;
        return tenure.write_move(v_automation, to_stage, waived,
                                 case when cardinality(waived) > 0 then v_until end, reason, actor,
                                 origin);
    end
    $$;

-- Moves an automation down, at once and without evidence.  Jobs that exist keep their mode.
create function tenure.demote(
        automation text, to_stage text, reason text, actor text default null,
        origin text default null)
    returns tenure.promotions
    language plpgsql volatile
    as $$
    declare
        v_automation tenure.automations;
    begin
        select a.* into v_automation from tenure.automations as a
         where a.name = demote.automation for update;
        perform tenure.check_move(v_automation, demote.automation, to_stage, false, reason);
        return tenure.write_move(v_automation, to_stage, '{}', null, reason, actor, origin);
    end
    $$;
