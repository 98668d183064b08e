-- 0015_acts: what an operator does to a job: retry, cancel, hold, answer; each in the caller's
-- transaction, each with its audit row.  No act changes a fence.
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

-- The row of an unfinished job, held until the transaction ends; raises where there is none.
create function tenure.job_for_act(p_job uuid) returns tenure.jobs
    language plpgsql volatile
    as $$
    declare
        v_job tenure.jobs;
        v_status text;
    begin
        select j.* into v_job from tenure.jobs as j where j.id = p_job for update;
        if v_job.id is not null then
            return v_job;
        end if;
        select f.status into v_status from tenure.finished_jobs as f where f.id = p_job;
        if v_status is null then
            raise exception 'unknown job (%): there is none of that id', p_job
                using errcode = 'TN003', hint = 'Look for it with: tenure jobs';
        end if;
        raise exception 'job % has ended (%): there is nothing left to act on', p_job, v_status
            using errcode = 'TN002', hint = 'Read its story with: tenure explain ' || p_job;
    end
    $$;

-- The end of a claim whose lease ran out, found by an operator's act instead of a claim.
create function tenure.note_lapse(p_job tenure.jobs) returns void
    language sql volatile
    as $$
        insert into tenure.attempts (job_id, fence, ended, worker_id, claimed_at, waiting_on)
        values (p_job.id, p_job.fence,
                case when tenure.turn(p_job, true) = 'adopt' then 'lost_lease' else 'crash' end,
                p_job.worker_id, p_job.claimed_at,
                json_build_object('last_heartbeat', p_job.heartbeat_at,
                                  'leased_until', p_job.leased_until))
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
create function tenure.let_go_on(p_job uuid, p_failure_base integer, p_quarantine_base integer)
    returns void
    language sql volatile
    as $$
        with freed as (
            update tenure.jobs as j
               set status = 'pending', leased_until = tenure.clock(), waiting_on = null,
                   request = null, failure_base = p_failure_base,
                   quarantine_base = p_quarantine_base
             where j.id = p_job
            returning j.strand, j.leased_until
        )
        insert into tenure.dues (strand, due) select f.strand, f.leased_until from freed as f
    $$;

-- Takes a failed job's unique key again; raises where another job has it by now.
create function tenure.retake_key(p_job tenure.finished_jobs) returns void
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
                return;
            end if;
            select u.job_id into v_holder from tenure.unique_keys as u
             where u.automation = p_job.automation and u.key = p_job.unique_key;
            exit when v_holder is not null;
        end loop;
        raise exception 'job % cannot be retried: its unique key (%) is held by job %', p_job.id,
                        p_job.unique_key, v_holder
            using errcode = 'TN002', hint = 'Wait until that job has ended, or cancel it.';
    end
    $$;

create function tenure.retry_failed(p_job tenure.finished_jobs) returns void
    language plpgsql volatile
    as $$
    begin
        if p_job.status <> 'failed' then
            raise exception 'job % has ended (%): only a failed or held job is retried', p_job.id,
                            p_job.status
                using errcode = 'TN002', hint = 'Enqueue a new job instead.';
        end if;
        if p_job.unique_key is not null then
            perform tenure.retake_key(p_job);
        end if;
        delete from tenure.finished_jobs as f where f.id = p_job.id;
        insert into tenure.jobs (
            id, event_id, replay_of, leased_until, created_at, strand, home, fence, failure_count,
            crash_count, deferral_count, quarantine_crashes, failure_base, quarantine_base,
            priority, mode, automation, version, lane, unique_key, created_by, tags)
        values (
            p_job.id, p_job.event_id, p_job.replay_of, tenure.clock(), p_job.created_at, p_job.home,
            p_job.home, p_job.fence, p_job.failure_count, p_job.crash_count, p_job.deferral_count,
            p_job.quarantine_crashes, p_job.failure_count, p_job.quarantine_crashes, p_job.priority,
            p_job.mode, p_job.automation, p_job.version, p_job.lane, p_job.unique_key,
            p_job.created_by, p_job.tags);
        insert into tenure.dues (strand, due) values (p_job.home, tenure.clock());
    end
    $$;

create function tenure.retry_held(p_job tenure.jobs, p_actor text) returns void
    language plpgsql volatile
    as $$
    declare
        v_question bigint;
    begin
        if p_job.status <> 'held' then
            raise exception 'job % has not ended: only a failed or held job is retried', p_job.id
                using errcode = 'TN002',
                      hint = 'See what it waits for with: tenure explain ' || p_job.id;
        end if;
        select min(h.id) into v_question from tenure.holds as h
         where h.job_id = p_job.id and h.answer is null and tenure.in_doubt(h);
        if v_question is not null then
            raise exception 'job % is held over a call that is in doubt (question %): a retry '
                            'might have its effect twice', p_job.id, v_question
                using errcode = 'TN002', hint = 'Answer it first: tenure hold answer '
                    || v_question || ' --happened, or --did-not';
        end if;
        perform tenure.close_questions(p_job.id, 'retried', p_actor);
        perform tenure.let_go_on(p_job.id, p_job.failure_count, p_job.quarantine_crashes);
    end
    $$;

-- Brings a failed or held job back under its id, with its keys, from where it stopped; attempts and
-- quarantine crashes count anew.  Tells the status it had.
create function tenure.retry(
        job uuid, reason text default null, actor text default null, origin text default null)
    returns text
    language plpgsql volatile
    as $$
    declare
        v_finished tenure.finished_jobs;
        v_job tenure.jobs;
        v_was text := 'held';
    begin
        -- Twice: it may end between the two looks.
        for attempt in 1..2 loop
            select f.* into v_finished from tenure.finished_jobs as f where f.id = retry.job
               for update;
            exit when v_finished.id is not null;
            select j.* into v_job from tenure.jobs as j where j.id = retry.job for update;
            exit when v_job.id is not null;
        end loop;
        if v_finished.id is not null then
            perform tenure.retry_failed(v_finished);
            v_was := v_finished.status;
        else
            v_job := tenure.job_for_act(retry.job);
            perform tenure.retry_held(v_job, actor);
        end if;
        perform tenure.note_act('job.retry', 'job:' || retry.job, json_build_object('status', v_was),
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
        delete from tenure.unique_keys as u
         where u.automation = p_job.automation and u.key = p_job.unique_key
           and u.job_id = p_job.id and u.until is null;
    end
    $$;

-- Cancels an unclaimed job at once ('cancelled'); asks it of a running one ('asked').
create function tenure.cancel_job(
        job uuid, reason text default null, actor text default null, origin text default null)
    returns text
    language plpgsql volatile
    as $$
    declare
        v_job constant tenure.jobs := tenure.job_for_act(job);
        v_lapsed constant boolean :=
            v_job.worker_id is not null and v_job.leased_until <= tenure.clock();
        v_became text := 'cancelled';
    begin
        if v_job.worker_id is not null and not v_lapsed then
            update tenure.jobs as j set request = 'cancel' where j.id = v_job.id;
            v_became := 'asked';
        else
            if v_lapsed then
                perform tenure.note_lapse(v_job);
            end if;
            perform tenure.finish_cancelled(v_job, v_lapsed, actor);
        end if;
        perform tenure.note_act('job.cancel', 'job:' || v_job.id,
                                json_build_object('status', v_job.status, 'request', v_job.request),
                                json_build_object('status', v_became), reason, actor, origin);
        return v_became;
    end
    $$;
