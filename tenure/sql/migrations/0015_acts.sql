-- 0015_acts: what an operator does to a job: retry, cancel, replay; each in the caller's transaction,
-- each with its audit row.  No act changes a fence.
-- serves code from: 1

-- TN002: the state of things forbids it.  TN003: nothing of that name or id.  TN004: not yet.

create function tenure.note_act(
        p_act text, p_target text, p_before json, p_after json, p_reason text, p_actor text,
        p_origin text)
    returns void
    language sql volatile
    as $$
        insert into tenure.audit (actor, act, target, before, after, reason, origin)
        values (coalesce(p_actor, tenure.actor()), p_act, p_target, p_before, p_after, p_reason,
                coalesce(p_origin, 'sql'))
    $$;

-- What an act came to, or why it could not be: an act on one job raises the refusal, an act on many
-- counts it and goes on.
create type tenure.acted as (became text, code text, refusal text, hint text);

create function tenure.done(became text) returns tenure.acted
    language sql immutable parallel safe
    as $$ select row(became, null, null, null)::tenure.acted $$;

create function tenure.refused(refusal text, hint text, code text default 'TN002')
    returns tenure.acted
    language sql immutable parallel safe
    as $$ select row(null, code, refusal, hint)::tenure.acted $$;

create function tenure.became(a tenure.acted) returns text
    language plpgsql immutable
    as $$
    begin
        if a.refusal is not null then
            raise exception '%', a.refusal using errcode = a.code, hint = a.hint;
        end if;
        return a.became;
    end
    $$;

-- Why an act cannot be on a job that is not among the unfinished ones.
create function tenure.refused_of_ended(p_job uuid) returns tenure.acted
    language sql stable
    as $$
        select coalesce(
            (select tenure.refused(
                        format('job %s has ended (%s): there is nothing left to act on', f.id, f.status),
                        'Read its story with: tenure explain ' || f.id)
               from tenure.finished_jobs as f where f.id = p_job),
            tenure.refused(format('unknown job (%s): there is none of that id', p_job),
                           'Look for it with: tenure jobs', 'TN003'))
    $$;

-- The row of an unfinished job, held until the transaction ends; raises where there is none.
create function tenure.job_for_act(p_job uuid) returns tenure.jobs
    language plpgsql volatile
    as $$
    declare
        v_job tenure.jobs;
    begin
        select j.* into v_job from tenure.jobs as j where j.id = p_job for update;
        if v_job.id is null then
            perform tenure.became(tenure.refused_of_ended(p_job));
        end if;
        return v_job;
    end
    $$;

-- The end of a claim whose lease ran out, found by an operator's act instead of a claim.
create function tenure.note_lapse(p_job tenure.jobs) returns void
    language sql volatile
    as $$
        insert into tenure.attempts (job_id, fence, ended, worker_id, host, version, claimed_at,
                                     waiting_on)
        select p_job.id, p_job.fence,
               case when tenure.turn(p_job, true) = 'adopt' then 'lost_lease' else 'crash' end,
               p_job.worker_id, r.host, r.version, p_job.claimed_at,
               json_build_object('last_heartbeat', p_job.heartbeat_at,
                                 'leased_until', p_job.leased_until)
          from (select) as one
          left join lateral tenure.ran(p_job.worker_id, p_job.automation) as r on true
        on conflict do nothing
    $$;

create function tenure.close_questions(p_job uuid, p_answer text, p_actor text) returns void
    language sql volatile
    as $$
        update tenure.holds as h
           set answer = p_answer, answered_by = coalesce(p_actor, tenure.actor()),
               answered_at = tenure.clock()
         where h.job_id = p_job and h.answer is null
    $$;

-- A job goes on: due now, in the strand it stands in.
create function tenure.let_go_on(
        p_job uuid, p_failure_base integer, p_quarantine_base integer, p_fence_base integer)
    returns void
    language sql volatile
    as $$
        with freed as (
            update tenure.jobs as j
               set status = 'pending', leased_until = tenure.clock(), waiting_on = null,
                   request = null, failure_base = p_failure_base,
                   quarantine_base = p_quarantine_base, fence_base = p_fence_base
             where j.id = p_job
            returning j.strand, j.leased_until
        )
        insert into tenure.dues (strand, due) select f.strand, f.leased_until from freed as f
    $$;

-- Takes a failed job's unique key again; tells the job that has it where another one does.
create function tenure.retake_key(p_job tenure.finished_jobs) returns uuid
    language plpgsql volatile
    as $$
    declare
        v_holder uuid;
    begin
        for attempt in 1..2 loop
            insert into tenure.unique_keys as u (automation, key, job_id)
            values (p_job.automation, p_job.unique_key, p_job.id)
            on conflict on constraint unique_keys_pkey do update
                set job_id = excluded.job_id,
                    until = case when u.job_id = excluded.job_id then u.until end
                where u.job_id = excluded.job_id or u.until <= tenure.clock()
            returning u.job_id into v_holder;
            if v_holder is not null then
                return null;
            end if;
            select u.job_id into v_holder from tenure.unique_keys as u
             where u.automation = p_job.automation and u.key = p_job.unique_key;
            exit when v_holder is not null;
        end loop;
        return v_holder;
    end
    $$;

create function tenure.retry_failed(p_job tenure.finished_jobs) returns tenure.acted
    language plpgsql volatile
    as $$
    declare
        v_holder uuid;
    begin
        if p_job.status <> 'failed' then
            return tenure.refused(
                format('job %s has ended (%s): only a failed or held job is retried', p_job.id,
                       p_job.status),
                'Run it anew with: tenure replay ' || p_job.id);
        end if;
        if p_job.unique_key is not null then
            v_holder := tenure.retake_key(p_job);
            if v_holder is not null then
                return tenure.refused(
                    format('job %s cannot be retried: its unique key (%s) is held by job %s',
                           p_job.id, p_job.unique_key, v_holder),
                    'Wait until that job has ended, or cancel it.');
            end if;
        end if;
        delete from tenure.finished_jobs as f where f.id = p_job.id;
        insert into tenure.jobs (
            id, event_id, replay_of, leased_until, created_at, strand, home, fence, failure_count,
            crash_count, deferral_count, quarantine_crashes, failure_base, quarantine_base,
            fence_base, priority, mode, automation, version, lane, unique_key, created_by, tags)
        values (
            p_job.id, p_job.event_id, p_job.replay_of, tenure.clock(), p_job.created_at, p_job.home,
            p_job.home, p_job.fence, p_job.failure_count, p_job.crash_count, p_job.deferral_count,
            p_job.quarantine_crashes, p_job.failure_count, p_job.quarantine_crashes, p_job.fence,
            p_job.priority, p_job.mode, p_job.automation, p_job.version, p_job.lane,
            p_job.unique_key, p_job.created_by, p_job.tags);
        insert into tenure.dues (strand, due) values (p_job.home, tenure.clock());
        return tenure.done(p_job.status);
    end
    $$;

create function tenure.retry_held(p_job tenure.jobs, p_actor text) returns tenure.acted
    language plpgsql volatile
    as $$
    declare
        v_question bigint;
    begin
        if p_job.status <> 'held' then
            return tenure.refused(
                format('job %s has not ended: only a failed or held job is retried', p_job.id),
                'See what it waits for with: tenure explain ' || p_job.id);
        end if;
        select min(h.id) into v_question from tenure.holds as h
         where h.job_id = p_job.id and h.answer is null and tenure.in_doubt(h);
        if v_question is not null then
            return tenure.refused(
                format('job %s is held over a call that is in doubt (question %s): a retry might '
                       'have its effect twice', p_job.id, v_question),
                format('Answer it first: tenure hold answer %s --happened, or --did-not',
                       v_question));
        end if;
        perform tenure.close_questions(p_job.id, 'retried', p_actor);
        perform tenure.let_go_on(p_job.id, p_job.failure_count, p_job.quarantine_crashes,
                                 p_job.fence);
        return tenure.done('held');
    end
    $$;

-- The retry itself, without its audit row; what it became is the status it had.
create function tenure.do_retry(p_job uuid, p_actor text) returns tenure.acted
    language plpgsql volatile
    as $$
    declare
        v_finished tenure.finished_jobs;
        v_job tenure.jobs;
    begin
        -- Twice: it may end between the two looks.
        for attempt in 1..2 loop
            select f.* into v_finished from tenure.finished_jobs as f where f.id = p_job for update;
            if v_finished.id is not null then
                return tenure.retry_failed(v_finished);
            end if;
            select j.* into v_job from tenure.jobs as j where j.id = p_job for update;
            if v_job.id is not null then
                return tenure.retry_held(v_job, p_actor);
            end if;
        end loop;
        return tenure.refused_of_ended(p_job);
    end
    $$;

-- Brings a failed or held job back under its id, with its keys, from where it stopped; attempts and
-- quarantine crashes count anew, and what was refused may leave again, under a new key.  Tells the
-- status it had.
create function tenure.retry(
        job uuid, reason text default null, actor text default null, origin text default null)
    returns text
    language plpgsql volatile
    as $$
    declare
        v_was constant text := tenure.became(tenure.do_retry(job, actor));
    begin
        perform tenure.note_act('job.retry', 'job:' || job, json_build_object('status', v_was),
                                json_build_object('status', 'pending'), reason, actor, origin);
        return v_was;
    end
    $$;

create function tenure.finish_cancelled(p_job tenure.jobs, p_lapsed boolean, p_actor text)
    returns void
    language plpgsql volatile
    as $$
    begin
        perform tenure.close_questions(p_job.id, 'cancelled', p_actor);
        delete from tenure.jobs as j where j.id = p_job.id;
        insert into tenure.finished_jobs (
            id, event_id, replay_of, last_worker, claimed_at, created_at, home, fence,
            failure_count, crash_count, deferral_count, quarantine_crashes, failure_base,
            quarantine_base, priority, status, mode, automation, version, lane, unique_key,
            created_by, tags)
        values (
            p_job.id, p_job.event_id, p_job.replay_of, p_job.worker_id, p_job.claimed_at,
            p_job.created_at, p_job.home, p_job.fence, p_job.failure_count,
            p_job.crash_count + p_lapsed::integer, p_job.deferral_count, p_job.quarantine_crashes,
            p_job.failure_base, p_job.quarantine_base, p_job.priority, 'cancelled', p_job.mode,
            p_job.automation, p_job.version, p_job.lane, p_job.unique_key, p_job.created_by,
            p_job.tags);
        update tenure.slots as x set job_id = null where x.job_id = p_job.id;
        delete from tenure.unique_keys as u
         where u.automation = p_job.automation and u.key = p_job.unique_key
           and u.job_id = p_job.id and u.until is null;
    end
    $$;

-- The cancel itself, without its audit row; before is told for it.
create function tenure.do_cancel(p_job uuid, p_actor text, out acted tenure.acted, out before json)
    language plpgsql volatile
    as $$
    declare
        v_job tenure.jobs;
        v_lapsed boolean;
    begin
        select j.* into v_job from tenure.jobs as j where j.id = p_job for update;
        v_lapsed := v_job.worker_id is not null and v_job.leased_until <= tenure.clock();
        before := json_build_object('status', v_job.status, 'request', v_job.request);
        if v_job.id is null then
            acted := tenure.refused_of_ended(p_job);
        elsif v_job.worker_id is not null and not v_lapsed then
            update tenure.jobs as j set request = 'cancel' where j.id = v_job.id;
            acted := tenure.done('asked');
        else
            if v_lapsed then
                perform tenure.note_lapse(v_job);
            end if;
            perform tenure.finish_cancelled(v_job, v_lapsed, p_actor);
            acted := tenure.done('cancelled');
        end if;
    end
    $$;

-- Cancels an unclaimed job at once ('cancelled'); asks it of a running one ('asked').
create function tenure.cancel(
        job uuid, reason text default null, actor text default null, origin text default null)
    returns text
    language plpgsql volatile
    as $$
    declare
        v_done record;
        v_became text;
    begin
        v_done := tenure.do_cancel(job, actor);
        v_became := tenure.became(v_done.acted);
        perform tenure.note_act('job.cancel', 'job:' || job, v_done.before,
                                json_build_object('status', v_became), reason, actor, origin);
        return v_became;
    end
    $$;

-- The replay itself, without its audit row; what it became is the new job's id.  The old job is read
-- and never changed; a unique key is not taken: that one effect is wanted again is the point.
create function tenure.do_replay(p_job uuid, p_actor text) returns tenure.acted
    language plpgsql volatile
    as $$
    declare
        v_job tenure.all_jobs;
        v_automation tenure.automations;
        v_input json;
        v_id constant uuid := tenure.uuid7();
    begin
        select j.* into v_job from tenure.all_jobs as j where j.id = p_job limit 1;
        if v_job.id is null then
            return tenure.refused_of_ended(p_job);
        end if;
        -- Held so that a promotion comes before or after it, as with a delivery.
        select a.* into v_automation from tenure.automations as a
         where a.name = v_job.automation for key share;
        if v_automation.name is null then
            return tenure.refused(
                format('job %s cannot be replayed: nobody declares %s any more', p_job,
                       v_job.automation),
                'Start a worker that knows it once.');
        end if;
        select i.input into v_input from tenure.inputs as i where i.job_id = p_job;
        if v_input is null and (v_job.event_id is null or not exists (
                select from tenure.events as e where e.id = v_job.event_id)) then
            return tenure.refused(
                format('job %s cannot be replayed: what it ran on is no longer kept', p_job),
                'Enqueue a job with that input: tenure enqueue ' || v_job.automation);
        end if;
        return tenure.done(tenure.make_job(
            v_automation, v_job.event_id, v_input, null, v_job.priority, null, v_job.tags,
            coalesce(p_actor, tenure.actor()), v_id, p_job)::text);
    end
    $$;

-- Makes a new job from the same event or input, with an id and so with keys of its own: its effects
-- are had again.  Its mode is that of the automation's present stage.  Tells the new job.
create function tenure.replay(
        job uuid, reason text default null, actor text default null, origin text default null)
    returns uuid
    language plpgsql volatile
    as $$
    declare
        v_new constant text := tenure.became(tenure.do_replay(job, actor));
    begin
        perform tenure.note_act('job.replay', 'job:' || job, null, json_build_object('job', v_new),
                                reason, actor, origin);
        return v_new::uuid;
    end
    $$;
