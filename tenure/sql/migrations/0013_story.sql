-- 0013_story: what a job did, line by line; and the same in the order of time.
-- serves code from: 1

create function tenure.explain_job(j tenure.all_jobs)
    returns table (at timestamptz, sentence text)
    language sql stable
    as $$
        select j.created_at, format(
            'Automation %s (version %s), mode %s, lane %s, priority %s; made at %s by %s%s. Claims: '
            '%s (failures %s, crashes %s, deferrals %s).', j.automation, j.version, j.mode, j.lane,
            j.priority, tenure.said_at(j.created_at), j.created_by,
            concat(' from event ' || j.event_id, (
                       select ' for the tick ' || e.key from tenure.events as e
                        where e.id = j.event_id and j.created_by like 'schedule:%'),
                   ' as a replay of ' || j.replay_of,
                   ' under the unique key ' || j.unique_key),
            j.fence, j.failure_count, j.crash_count, j.deferral_count)
    $$;

-- How each claim ended, newest 200; a success at the first try is told by the state alone.
create function tenure.explain_attempts(j tenure.all_jobs)
    returns table (n bigint, at timestamptz, sentence text)
    language sql stable
    as $$
        select a.fence, a.ended_at, case
            when a.back = 201 then 'Earlier claims are in tenure.attempts.'
            else format('Claim %s by %s, begun at %s, ', a.fence,
                        tenure.said_worker(a.worker_id, a.host),
                        tenure.said_at(a.claimed_at)) || case a.ended
                when 'failure' then format('failed at %s%s: %s.%s', tenure.said_at(a.ended_at),
                    ' in version ' || a.version,
                    rtrim(tenure.said_error(a.error_class, a.error), '.'),
                    ' It was to go on at ' || tenure.said_at(a.due) || '.')
                when 'crash' then format('went without a word: last heartbeat at %s, lease over at '
                    '%s, found at %s.',
                    tenure.said_at((a.waiting_on ->> 'last_heartbeat')::timestamptz),
                    tenure.said_at((a.waiting_on ->> 'leased_until')::timestamptz),
                    tenure.said_at(a.ended_at))
                when 'lost_lease' then format('lost its lease, which nobody is to blame for: last '
                    'heartbeat at %s, lease over at %s, found at %s.',
                    tenure.said_at((a.waiting_on ->> 'last_heartbeat')::timestamptz),
                    tenure.said_at((a.waiting_on ->> 'leased_until')::timestamptz),
                    tenure.said_at(a.ended_at))
                when 'hold' then format('ended at %s in a hold.', tenure.said_at(a.ended_at))
                when 'cancel' then format('ended at %s, as a cancel was asked for.',
                    tenure.said_at(a.ended_at))
                else format('handed it back at %s: %s. No attempt was used.',
                    tenure.said_at(a.ended_at), tenure.said_wait(a.waiting_on)) end end
          from (select t.*, row_number() over (order by t.fence desc) as back
                  from tenure.attempts as t where t.job_id = j.id) as a
         where a.back <= 201
    $$;

-- Where the last error came from: the author's own frames, the last 20, outermost first.
create function tenure.explain_trace(j tenure.all_jobs)
    returns table (n bigint, at timestamptz, sentence text)
    language sql stable
    as $$
        select f.n, null::timestamptz, format('At %s, line %s, in %s%s', f.part[1], f.part[2],
                                              f.part[3], ': ' || nullif(f.part[4], ''))
          from (select m.part, m.n, count(*) over () as frames
                  from (select a.traceback from tenure.attempts as a
                         where a.job_id = j.id and a.ended = 'failure'
                         order by a.fence desc limit 1) as last
                 cross join lateral regexp_matches(last.traceback,
                       '> File "([^\n]*)", line (\d+), in ([^\n]*)(?:\n[ |+]*> +([^\n]*))?', 'g')
                       with ordinality as m (part, n)) as f
         where f.n > f.frames - 20
    $$;

-- Named steps, decisions and sleeps, newest 200; results are the author's own and are not shown.
create function tenure.explain_steps(j tenure.all_jobs)
    returns table (n bigint, at timestamptz, sentence text)
    language sql stable
    as $$
        select -s.back, s.recorded_at, case
            when s.back = 201 then 'Earlier steps are in tenure.steps.'
            when s.kind = 'decision' then format('Decision %s: %s, at %s in claim %s.', s.name,
                case when s.result::text = 'true' then 'yes' else 'no' end,
                tenure.said_at(s.recorded_at), s.fence)
            when s.kind = 'sleep' then format('Sleep %s: until %s, begun at %s in claim %s.',
                tenure.said_step(s.name), tenure.said_at((s.result #>> '{}')::timestamptz),
                tenure.said_at(s.recorded_at), s.fence)
            else format('Step %s: finished at %s in claim %s, %s bytes remembered.', s.name,
                tenure.said_at(s.recorded_at), s.fence, octet_length(s.result::text)) end
          from (select t.*, row_number() over (order by t.recorded_at desc, t.name desc) as back
                  from tenure.steps as t where t.job_id = j.id and t.kind <> 'value') as s
         where s.back <= 201
    $$;

-- What a send came to, in a few words.
create function tenure.said_outcome(
        state text, status integer, send_until timestamptz, why text)
    returns text
    language sql stable
    as $$
        select case said_outcome.state
            when 'sending' then case
                when send_until > tenure.now()
                    then 'no outcome yet; it may still leave until ' || tenure.said_at(send_until)
                else 'in doubt: no outcome is on record, and it could leave until '
                     || tenure.said_at(send_until) end
            when 'not_sent' then 'not sent, nothing of it left'
            when 'suppressed' then 'suppressed, a stand-in answered'
            when 'unknown' then 'unknown, it may have happened'
            else said_outcome.state end || coalesce(': ' || nullif(left(rtrim(why, '.'), 200), ''),
                                                    ' (' || status || ')', '')
    $$;

-- Every send, newest 200: to whom, under which key, by which budgets, and what came of it.
create function tenure.explain_calls(j tenure.all_jobs)
    returns table (n bigint, at timestamptz, sentence text)
    language sql stable
    as $$
        select -c.back, c.admitted_at, case
            when c.back = 201 then 'Earlier calls are in tenure.all_calls.'
            else format('Call %s, send %s: %s to %s, %s. Key %s, admitted at %s, budgets: %s, '
                'policy %s.', tenure.said_step(c.step), c.send, c.operation,
                concat_ws('/', c.provider, nullif(c.account, '')),
                tenure.said_outcome(c.state, c.status, c.send_until, c.why)
                    || case c.told_by when 'worker' then '' else ', told by ' || case c.told_by
                       when 'operator' then 'an operator' when 'probe' then 'a probe'
                       else c.told_by end end,
                left(c.key, 12), tenure.said_at(c.admitted_at), coalesce((
                    select string_agg(format('%s of %s', t.taken ->> 1,
                                             coalesce(b.name, 'budget ' || (t.taken ->> 0))),
                                      ' and ' order by (t.taken ->> 0)::integer)
                      from json_array_elements(c.budgets) as t (taken)
                      left join tenure.budgets as b on b.id = (t.taken ->> 0)::integer), 'none'),
                c.policy) end
          from (select k.*, row_number() over (order by k.admitted_at desc, k.step desc, k.send desc)
                       as back
                  from tenure.all_calls as k where k.job_id = j.id) as c
         where c.back <= 201
        union all
        select 0, e.testified_at, format('Evidence on a send: %s saw %s%s at %s, after its claim was '
                   'over.', tenure.said_worker(e.worker_id), e.state,
                   coalesce(' (' || e.status || ')', ''), tenure.said_at(e.testified_at))
          from tenure.evidence as e where e.job_id = j.id
    $$;

create function tenure.explain_journal(j tenure.all_jobs)
    returns table (n bigint, at timestamptz, sentence text)
    language sql stable
    as $$
        select t.id, t.at, case when t.back = 201 then 'Earlier lines are in tenure.journal.'
                                else format('%s %s: %s', tenure.said_at(t.at), t.kind, t.said) end
          from (select l.*, row_number() over (order by l.id desc) as back
                  from tenure.journal as l where l.job_id = j.id and l.kind <> 'act') as t
         where t.back <= 201
    $$;

-- What people did to it.
create function tenure.explain_acts(j tenure.all_jobs)
    returns table (n bigint, at timestamptz, sentence text)
    language sql stable
    as $$
        select a.id, a.at, format('%s %s: %s%s%s%s.', tenure.said_at(a.at), a.actor,
                   split_part(a.act, '.', 2),
                   coalesce(' ' || (a.after ->> 'answer'),
                            case when a.act = 'job.replay' then ' as '
                                || coalesce(a.after ->> 'job', a.after ->> 'became') end, ''),
                   case when a.many then format(', one of many by act %s', a.id) else '' end,
                   coalesce(' (' || rtrim(a.reason, '.') || ')', ''))
          from tenure.acts_on(j.id) as a
    $$;

create view tenure.timeline as
    select j.id as job_id, j.created_at as at, 'made' as what, 'by ' || j.created_by as detail
      from tenure.all_jobs as j
    union all
    select j.id, j.claimed_at, 'claimed', format('claim %s by %s', j.fence,
                                                 tenure.said_worker(j.worker_id))
      from tenure.all_jobs as j where j.state in ('running', 'lost', 'succeeded')
    union all
    select j.id, j.finished_at, j.state,
           case when j.state = 'failed' then tenure.said_error(j.error_class, j.error) end
      from tenure.all_jobs as j where j.finished_at is not null
    union all
    select a.job_id, a.claimed_at, 'claimed', format('claim %s by %s', a.fence,
                                                     tenure.said_worker(a.worker_id))
      from tenure.attempts as a
    union all
    select a.job_id, a.ended_at, a.ended, case
               when a.ended = 'failure' then tenure.said_error(a.error_class, a.error)
               when a.ended = 'deferral' then tenure.said_wait(a.waiting_on)
               else format('claim %s', a.fence) end
      from tenure.attempts as a
    union all
    select s.job_id, s.recorded_at, s.kind, s.name from tenure.steps as s where s.kind <> 'value'
    union all
    select c.job_id, c.admitted_at, 'call', format('%s, send %s: %s to %s under key %s',
               tenure.said_step(c.step), c.send, c.operation,
               concat_ws('/', c.provider, nullif(c.account, '')), left(c.key, 12))
      from tenure.calls as c
    union all
    select c.job_id, c.ended_at, c.state, concat(tenure.said_step(c.step), ', send ', c.send,
               ', status ' || c.status, ': ' || c.why)
      from tenure.all_calls as c where not c.open
    union all
    select e.job_id, e.testified_at, 'evidence', concat(e.state, ', status ' || e.status, ' by ',
                                                        tenure.said_worker(e.worker_id))
      from tenure.evidence as e
    union all
    select h.job_id, h.asked_at, 'question', h.question from tenure.holds as h
    union all
    select l.job_id, l.at, l.kind, l.said from tenure.journal as l where l.kind <> 'act'
    union all
    select j.id, a.at, split_part(a.act, '.', 2), concat_ws(': ', 'by ' || a.actor,
                                                            a.after ->> 'answer', a.reason)
      from tenure.all_jobs as j join tenure.audit as a on a.target = 'job:' || j.id::text
    union all
    select l.job_id, l.at, split_part(a.act, '.', 2), concat_ws(': ', 'by ' || a.actor, a.reason)
      from tenure.journal as l
      join tenure.audit as a
        on a.id = case when l.kind = 'act' then (l.detail ->> 'act')::bigint end
     where l.kind = 'act';
comment on view tenure.timeline is 'What happened to every job, moment by moment';
