-- 0016_holds: holding a job for a person, and the person's answer.
-- serves code from: 1

-- What a job asks that an operator has held: in whose name, and why.
create function tenure.operators_question(p_job uuid) returns text
    language sql stable
    as $$
        select coalesce((
            select format('Held by %s%s. Go on?', a.actor, ': ' || nullif(rtrim(a.reason, ' .'), ''))
              from tenure.audit as a
             where a.target = 'job:' || p_job::text and a.act = 'job.hold'
             order by a.id desc limit 1), 'Held by an operator. Go on?')
    $$;

-- Holds an unclaimed job at once ('held'); asks it of a running one ('asked').
create function tenure.hold_job(
        job uuid, reason text, actor text default null, origin text default null)
    returns text
    language plpgsql volatile
    as $$
    declare
        v_job constant tenure.jobs := tenure.job_for_act(job);
        v_lapsed constant boolean :=
            v_job.worker_id is not null and v_job.leased_until <= tenure.clock();
        v_became text := 'held';
    begin
        if v_job.status = 'held' then
            raise exception 'job % is held already', v_job.id
                using errcode = 'TN002',
                      hint = 'See its question with: tenure explain ' || v_job.id;
        elsif v_job.request = 'cancel' then
            raise exception 'job % is about to be cancelled: it cannot be held', v_job.id
                using errcode = 'TN002', hint = 'See when with: tenure explain ' || v_job.id;
        elsif v_job.worker_id is not null and not v_lapsed then
            update tenure.jobs as j set request = 'hold' where j.id = v_job.id;
            v_became := 'asked';
        else
            if v_lapsed then
                perform tenure.note_lapse(v_job);
            end if;
            update tenure.jobs as j
               set status = 'held', leased_until = 'infinity', worker_id = null,
                   previous_worker = null, claimed_at = null, heartbeat_at = null, request = null,
                   crash_count = j.crash_count + v_lapsed::integer
             where j.id = v_job.id;
            update tenure.slots as x set job_id = null where x.job_id = v_job.id;
        end if;
        perform tenure.note_act('job.hold', 'job:' || v_job.id,
                                json_build_object('status', v_job.status),
                                json_build_object('status', v_became), reason, actor, origin);
        if v_became = 'held' then
            insert into tenure.holds (job_id, kind, question)
            values (v_job.id, 'operator', tenure.operators_question(v_job.id));
        end if;
        return v_became;
    end
    $$;

-- The open question of that number with its job's row held; raises where it cannot be answered.
create function tenure.hold_for_answer(p_hold bigint) returns tenure.holds
    language plpgsql volatile
    as $$
    declare
        v_hold tenure.holds;
        v_job tenure.jobs;
    begin
        -- Jobs are locked before what belongs to them.
        select j.* into v_job from tenure.jobs as j
         where j.id = (select h.job_id from tenure.holds as h where h.id = p_hold) for update;
        select h.* into v_hold from tenure.holds as h where h.id = p_hold for update;
        if v_hold.id is null then
            raise exception 'unknown question (%): there is none of that number', p_hold
                using errcode = 'TN003', hint = 'Look for it with: tenure hold list';
        elsif v_hold.answer is not null then
            raise exception 'question % was answered at % by %: %', p_hold,
                            tenure.said_at(v_hold.answered_at), v_hold.answered_by, v_hold.answer
                using errcode = 'TN002',
                      hint = 'Read what came of it with: tenure explain ' || v_hold.job_id;
        elsif v_job.status is distinct from 'held' then
            raise exception 'job % is no longer held: question % needs no answer', v_hold.job_id,
                            p_hold
                using errcode = 'TN002', hint = 'See: tenure explain ' || v_hold.job_id;
        end if;
        return v_hold;
    end
    $$;

-- Puts an operator's answer on record and lets the job go on, due now.  Anew: crashes count from
-- here, and what was refused may leave again.
create function tenure.settle_hold(
        p_hold tenure.holds, p_answer text, p_before json, p_anew boolean, p_reason text,
        p_actor text, p_origin text)
    returns void
    language plpgsql volatile
    as $$
    begin
        perform tenure.close_questions(p_hold.job_id, p_answer, p_actor);
        perform tenure.let_go_on(
               j.id, j.failure_base,
               case when p_anew then j.quarantine_crashes else j.quarantine_base end,
               case when p_anew then j.fence else j.fence_base end)
           from tenure.jobs as j where j.id = p_hold.job_id;
        perform tenure.note_act('job.answer', 'job:' || p_hold.job_id, p_before,
                                json_build_object('question', p_hold.id, 'answer', p_answer),
                                p_reason, p_actor, p_origin);
    end
    $$;

-- What became of a call that is in doubt.  It happened: its outcome is done, with the response it
-- had (status 200 unless told).  It did not: it is sent again under the same key, or under a new one
-- where the provider keeps its answer under the old.  Not before the send can no longer leave, as
-- one that was answered cannot.
create function tenure.answer_hold(
        id bigint, happened boolean, status integer default null, response bytea default null,
        reason text default null, actor text default null, origin text default null)
    returns uuid
    language plpgsql volatile
    as $$
    declare
        v_hold constant tenure.holds := tenure.hold_for_answer(answer_hold.id);
        v_call tenure.calls;
        v_before json;
    begin
        select c.* into v_call from tenure.calls as c
         where c.job_id = v_hold.job_id and c.send_id = v_hold.send_id;
        if not tenure.in_doubt(v_hold) then
            raise exception 'question % is not about a call in doubt: there is nothing to say of it',
                            v_hold.id
                using errcode = 'TN002',
                      hint = 'Answer it with: tenure hold answer ' || v_hold.id || ' --go-on';
        elsif tenure.leaves_until(v_call) is not null then
            raise exception 'question % cannot be answered yet: no answer came, and the call may '
                            'still leave until %', v_hold.id, tenure.said_at(v_call.send_until)
                using errcode = 'TN004', hint = 'Look again after that, then answer.';
        elsif not happened and (answer_hold.status is not null or response is not null) then
            raise exception 'question % was given a response to a call that did not happen',
                            v_hold.id
                using errcode = 'TN002', hint = 'Leave the response out, or say it happened.';
        elsif not happened and exists (
                select from tenure.evidence as e
                 where e.job_id = v_call.job_id and e.send_id = v_call.send_id
                   and e.state in ('done', 'unknown')) then
            raise exception 'question % is answered by a worker that came back late: it was sent',
                            v_hold.id
                using errcode = 'TN002',
                      hint = 'Read tenure explain ' || v_call.job_id || ', and say it happened.';
        elsif answer_hold.status not between 100 and 599 then
            raise exception 'question % was given a status that is none (%)', v_hold.id,
                            answer_hold.status
                using errcode = 'TN002', hint = 'A status has three digits, as 201.';
        end if;
        select json_build_object('state', a.state, 'status', a.status, 'why', a.why)
          into v_before from tenure.all_calls as a
         where a.job_id = v_call.job_id and a.step = v_call.step and a.send = v_call.send;
        insert into tenure.outcomes as o (job_id, send_id, step, send, state, status,
                                          answer_headers, answer, why, told_by)
        values (v_call.job_id, v_call.send_id, v_call.step, v_call.send,
                case when happened then 'done' else 'not_sent' end,
                case when happened then coalesce(answer_hold.status, 200) end,
                case when response is not null
                     then '[["content-type", "application/json"]]'::json end,
                response, reason, 'operator')
        -- An outcome that was unknown is known now; what it was stands in the audit row.
        on conflict (job_id, send_id) do update
            set state = excluded.state,
                status = case when happened then excluded.status else o.status end,
                answer_headers = excluded.answer_headers, answer = excluded.answer,
                why = excluded.why, told_by = excluded.told_by, recorded_at = tenure.clock();
        perform tenure.settle_hold(v_hold, case when happened then 'happened' else 'did_not' end,
                                   v_before, false, reason, actor, origin);
        return v_hold.job_id;
    end
    $$;

-- Lets a job go on whose question is not about a call: an author's, an operator's, a quarantine's.
create function tenure.go_on(
        id bigint, reason text default null, actor text default null, origin text default null)
    returns uuid
    language plpgsql volatile
    as $$
    declare
        v_hold constant tenure.holds := tenure.hold_for_answer(go_on.id);
    begin
        if tenure.in_doubt(v_hold) then
            raise exception 'question % is about a call that is in doubt: going on might have its '
                            'effect twice', v_hold.id
                using errcode = 'TN002', hint = 'Answer it with: tenure hold answer ' || v_hold.id
                    || ' --happened, or --did-not';
        end if;
        perform tenure.settle_hold(v_hold, 'go_on', null, true, reason, actor, origin);
        return v_hold.job_id;
    end
    $$;
