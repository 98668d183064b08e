-- 0014_again: what running a job again would send; and the view that says everything in sentences.
-- serves code from: 1

-- The key of a step in an epoch, as a call of that epoch bears it.
create function tenure.child_key(job uuid, step text, epoch integer) returns text
    language sql stable
    as $$
        select encode(sha256(convert_to(job || ':' || step || case when epoch > 0
                                        then E'\n' || epoch else '' end, 'UTF8')), 'hex')
    $$;

-- The latest send of each step that a run would remember, evidence counted in; and the epoch of the
-- send that would follow, were the claims up to a fence let go.
create function tenure.last_sends(job uuid, fence_base integer default 0)
    returns table (step text, send_id uuid, state text, status integer, safe boolean, provider text,
                   operation text, key text, policy text, send_until timestamptz,
                   first_at timestamptz, body_kept boolean, stored boolean, epoch integer,
                   next_epoch integer, question bigint)
    language sql stable
    as $$
        select distinct on (c.step) c.step, c.send_id,
               coalesce(o.state, e.state, c.state), coalesce(o.status, e.status, c.status), c.safe,
               concat_ws('/', c.provider, nullif(c.account, '')), c.operation, c.key, c.policy,
               c.send_until, min(c.admitted_at) over (partition by c.step, c.epoch),
               c.body is not null, coalesce(o.stored, e.stored, false), c.epoch,
               tenure.next_epoch(c.job_id, c.step, c.send, c.epoch, c.fence,
                                 coalesce(o.state, e.state, c.state),
                                 coalesce(o.stored, e.stored, false), fence_base), h.id
          from tenure.calls as c
          left join tenure.outcomes as o on o.job_id = c.job_id and o.send_id = c.send_id
          left join tenure.evidence as e on e.job_id = c.job_id and e.send_id = c.send_id
          left join tenure.holds as h
            on h.job_id = c.job_id and h.send_id = c.send_id and h.answer is null
         where c.job_id = last_sends.job and c.step not like '~%'
         order by c.step, c.send desc
    $$;

-- What a run from the first line would do with each call: the retry's part of the answer.
create function tenure.explain_again(j tenure.all_jobs)
    returns table (n bigint, at timestamptz, sentence text)
    language sql stable
    as $$
        select 1 + row_number() over (order by s.first_at, s.step), null::timestamptz, format(
            '%s (%s to %s): %s.', s.step, s.operation, s.provider, case
            when s.state = 'done' then format('not sent again; its answer (%s) is remembered',
                                              s.status)
            when s.state = 'suppressed' then 'not sent; the answer of its stand-in is remembered'
            when s.state = 'refused' and s.next_epoch is null then format('not sent again; its '
                'refusal (%s) is remembered, and the handler meets it again', s.status)
            when s.safe then 'sent again; it changes nothing'
            when s.state = 'refused' and s.next_epoch > s.epoch then format('refused (%s) under the '
                'key %s; sent again under a new key %s, as you corrected it', s.status,
                left(s.key, 12), left(tenure.child_key(j.id, s.step, s.next_epoch), 12))
            when s.next_epoch > s.epoch then format('it did not happen, and %s keeps its answer '
                '(%s) under the key %s; sent under a new key %s', s.provider, s.status,
                left(s.key, 12), left(tenure.child_key(j.id, s.step, s.next_epoch), 12))
            when s.state = 'not_sent' then format('sent, under the same key %s; nothing of it ever '
                'left', left(s.key, 12))
            when s.state in ('throttled', 'overloaded') then format('sent again under the same key '
                '%s; %s did not act on it', left(s.key, 12), s.provider)
            when s.question is not null then format('in doubt; the answer to question %s decides: '
                'it happened: not sent again, it did not: sent under %s', s.question,
                case when s.stored then 'a new key ' || left(tenure.child_key(
                         j.id, s.step, s.epoch + 1), 12) || ', as ' || s.provider || ' keeps its '
                         'answer under the key ' || left(s.key, 12)
                     else 'the same key ' || left(s.key, 12) end)
            when s.policy = 'probe' and s.state <> 'refused' then format('in doubt; its probe asks %s '
                'what became of it: it happened: not sent again, it did not: sent under %s, it '
                'cannot tell: held with a question', s.provider, case when s.stored then 'a new key'
                    else 'the same key ' || left(s.key, 12) end)
            when s.stored then format('in doubt; not sent again, but held with a question, as %s keeps '
                'its answer (%s) under the key %s', s.provider, s.status, left(s.key, 12))
            when s.policy = 'resend' then concat(case when s.state = 'refused' then 'refused ('
                || s.status || ') while an earlier send is ' end, 'in doubt', ', and may still leave '
                'until ' || case when s.status is null and s.send_until > tenure.now()
                        then tenure.said_at(s.send_until) end, format('; sent again under the same '
                'key %s while %s remembers it (first sent %s ago), else held with a question',
                left(s.key, 12), s.provider, tenure.said_for(tenure.now() - s.first_at)),
                case when not s.body_kept then '; its body was too large to keep, and must come out '
                                               'the same' end)
            else format('in doubt; not sent again, but held with a question, as %s is not known to '
                'absorb a repeat under the key %s', s.provider, left(s.key, 12)) end)
          from tenure.last_sends(j.id, coalesce((
                   select case when k.status = 'held' and not exists (
                                   select from tenure.holds as h where h.job_id = k.id
                                      and h.answer is null and tenure.in_doubt(h))
                               then k.fence else k.fence_base end
                     from tenure.jobs as k where k.id = j.id), j.fence)) as s
         where j.status not in ('succeeded', 'cancelled')
    $$;

-- What comes next: who would run it again and what is remembered; then, call by call; then a replay.
create function tenure.explain_next(j tenure.all_jobs)
    returns table (n bigint, part text, at timestamptz, sentence text)
    language sql stable
    as $$
        with kept as (select (select count(*) from tenure.steps as s
                               where s.job_id = j.id and s.kind <> 'value') as steps,
                             (select min(h.id) from tenure.holds as h
                               where h.job_id = j.id and h.answer is null
                                 and h.send_id is not null) as question,
                             (select count(*) from tenure.last_sends(j.id)) as calls,
                             (select ', but for what was refused' from tenure.last_sends(j.id) as s
                               where s.state = 'refused' and not s.safe limit 1) as but)
        select 1, 'retry', null::timestamptz, case
            when j.status in ('succeeded', 'cancelled')
                then format('A retry would be refused: it has ended as %s.', j.status)
            else case j.state
                when 'failed' then format('A retry would run it again from its first line under the '
                    'same id and the same keys%s (tenure retry %s).', k.but, j.id)
                when 'held' then coalesce('A retry would be refused until question ' || k.question
                    || ' is answered. Then it runs again from its first line, under the same keys.',
                    format('A retry would run it again from its first line, under the '
                    'same keys%s (tenure retry %s).', k.but, j.id))
                when 'running' then 'A retry would be refused while it runs. Were its worker to die, '
                    'the next claim would run it again from its first line, under the same keys.'
                else 'A retry would be refused: nothing has ended. Its next claim runs it from its '
                    'first line, under the same keys.' end
                || case when k.steps + k.calls = 0 then ' Nothing is remembered yet.'
                        else format(' Remembered steps, decisions and sleeps: %s; calls: %s%s',
                                    k.steps, k.calls, case when k.calls = 0 then '.' else ':' end)
                   end end
          from kept as k
        union all
        select a.n, 'retry', a.at, a.sentence from tenure.explain_again(j) as a
        union all
        select 1, 'replay', null, case
            when r.mode <> 'live' then format('A replay would be a new job in mode %s, as %s now '
                'stands: it would send nothing that changes anything.', r.mode, j.automation)
            when r.again is null and r.anew is null then 'A replay would be a new job with new '
                'keys; this one had no effect that it could repeat.'
            else 'A replay would be a new job with new keys: it would have these effects'
                || coalesce(' a second time: ' || r.again, '') || case when r.again is not null
                and r.anew is not null then '; and these' else '' end
                || coalesce(' for the first time: ' || r.anew, '') || '.' end
          from (select tenure.mode_now(j.automation, j.event_id) as mode,
                       string_agg(e.said, ', ' order by e.first_at, e.step)
                           filter (where e.state <> 'suppressed') as again,
                       string_agg(e.said, ', ' order by e.first_at, e.step)
                           filter (where e.state = 'suppressed') as anew
                  from (select s.step, s.first_at, s.state,
                               format('%s (%s to %s)', s.step, s.operation, s.provider) as said
                          from tenure.last_sends(j.id) as s
                         where not s.safe
                           and s.state in ('done', 'sending', 'unknown', 'suppressed')) as e) as r
    $$;

-- All that is said of one job, in the order in which it is read.  Planned by itself, with the job's
-- row as a value: woven into a caller's query, the parts would be planned for every job at once.
create function tenure.explain_one(job uuid)
    returns table (place integer, n bigint, part text, at timestamptz, sentence text)
    language plpgsql stable rows 20
    set jit = off
    as $$
    declare
        j tenure.all_jobs;
    begin
        select a.* into j from tenure.all_jobs as a where a.id = explain_one.job;
        if j.id is null then
            return;
        end if;
        return query
            select 1, 0::bigint, 'state', a.at, a.sentence from tenure.explain_state(j) as a
            union all select 2, 0, 'wait', w.at, w.sentence from tenure.explain_waits(j) as w
            union all select 3, 0, 'job', a.at, a.sentence from tenure.explain_job(j) as a
            union all select 4, a.n, 'attempt', a.at, a.sentence from tenure.explain_attempts(j) as a
            union all select 5, t.n, 'trace', t.at, t.sentence from tenure.explain_trace(j) as t
            union all select 6, s.n, 'step', s.at, s.sentence from tenure.explain_steps(j) as s
            union all select 7, c.n, 'call', c.at, c.sentence from tenure.explain_calls(j) as c
            union all select 8, l.n, 'journal', l.at, l.sentence from tenure.explain_journal(j) as l
            union all select 9, a.n, 'act', a.at, a.sentence from tenure.explain_acts(j) as a
            union all select 10 + (x.part = 'replay')::integer, x.n, x.part, x.at, x.sentence
              from tenure.explain_next(j) as x;
    end
    $$;

create view tenure.explain as
    select j.id as job_id,
           row_number() over (partition by j.id order by x.place, x.n, x.at)::integer as position,
           x.part, x.at, x.sentence
      from tenure.all_jobs as j
     cross join lateral tenure.explain_one(j.id) as x;
comment on view tenure.explain is
    'Every job in sentences: state, causes of waiting, story, and what a retry or replay would send';
