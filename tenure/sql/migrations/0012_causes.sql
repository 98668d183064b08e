-- 0012_causes: what keeps an unclaimed job from being claimed, and a held one from going on.
-- serves code from: 1

-- A budget's limit as it was declared, else as it is counted.
create function tenure.said_limit(b tenure.budgets) returns text
    language sql immutable
    as $$
        select case when b.declared ->> 'per' ~ '^[0-9.]+$'
                    then format('%s per %s s', b.declared ->> 'limit',
                                (b.declared ->> 'per')::float8)
                    else format('%s per %s s', b.units, round(b.counted::numeric, 3)::float8) end
    $$;

-- What keeps a job's budget from admitting it, and when that should end.
create function tenure.said_budget(b tenure.budgets) returns text
    language sql stable
    as $$
        select format('%s of %s (%s) is %s %s', b.name, concat_ws('/', b.provider,
                      nullif(b.account, '')), tenure.said_limit(b),
            case when b.closed_until > tenure.now()
                 then format('closed %s by %s,', tenure.said_since(b.closed_since),
                             coalesce(b.closed_by, 'somebody'))
                 else 'full,' end,
            tenure.said_until(tenure.room_at(b, 1, tenure.now())))
    $$;

-- Why an unclaimed job is not due yet, or is parked, as its last claim left it.
create function tenure.said_pause(j tenure.all_jobs, since timestamptz, until timestamptz)
    returns text
    language sql stable
    as $$
        select case
            when w.why is null then format('Not due before %s (in %s): it was made for then by %s.',
                                           tenure.said_at(until),
                                           tenure.said_for(until - tenure.now()), j.created_by)
            when w.why = 'budget' then format('The budget %s of %s had no room for step %s at %s: '
                'parked %s.', j.waiting_on ->> 'budget', j.waiting_on ->> 'provider',
                tenure.said_step(j.waiting_on ->> 'step'), tenure.said_at(since),
                tenure.said_until(until))
            when w.why = 'in doubt' then format('In doubt %s: %s may still leave for %s. Then it is '
                'repeated under the same key, or held with a question.', tenure.said_until(until),
                tenure.said_step(j.waiting_on ->> 'step'), j.waiting_on ->> 'provider')
            when w.why = 'backoff' then format('It failed at %s and is tried again at %s (in %s).',
                tenure.said_at(since), tenure.said_at(until),
                tenure.said_for(until - tenure.now()))
            else format('Waits %s %s: %s.', tenure.said_since(since), tenure.said_until(until),
                        tenure.said_wait(j.waiting_on)) end
            || case when w.why = 'backoff' then '' else ' It ends by itself.' end
          from (select j.waiting_on ->> 'why' as why) as w
    $$;

-- That no worker lives which knows the automation and runs jobs of this kind.
create function tenure.explain_nobody(j tenure.all_jobs)
    returns table (at timestamptz, sentence text)
    language sql stable
    as $$
        select w.last_seen, format('No living worker knows %s for %s jobs: %s. It waits until one '
                   'does; start one with: tenure worker', j.automation,
                   case when j.mode = 'live' then 'live' else 'dry-run and shadow' end,
                   coalesce('the last, ' || tenure.said_worker(w.id) || ', was seen at '
                            || tenure.said_at(w.last_seen), 'none was ever seen'))
          from (select case when j.mode = 'live' then 'live' else 'not_live' end as kind) as k
          left join lateral (
                select v.id, v.last_seen, tenure.alive(v) as alive from tenure.workers as v
                 where v.kind = k.kind and j.automation = any (v.automations)
                 order by tenure.alive(v) desc, v.last_seen desc limit 1) as w on true
         where j.state in ('ready', 'waiting', 'lost')
           and not coalesce(w.alive, false)
    $$;

-- Whether a question is about a call whose effect may or may not have happened.
create function tenure.in_doubt(h tenure.holds) returns boolean
    language sql stable
    as $$
        select exists (select from tenure.all_calls as c
                        where c.job_id = h.job_id and c.send_id = h.send_id
                          and c.state not in ('done', 'suppressed'))
    $$;

-- Until when a send may still leave; null once it was answered, or known not to have left, or too old.
create function tenure.leaves_until(p_call tenure.calls) returns timestamptz
    language sql stable
    as $$
        select p_call.send_until
         where p_call.send_until > tenure.now()
           and not exists (
               select from tenure.outcomes as o
                where o.job_id = p_call.job_id and o.send_id = p_call.send_id
                  and (o.status is not null or o.state <> 'unknown'))
           and not exists (
               select from tenure.evidence as e
                where e.job_id = p_call.job_id and e.send_id = p_call.send_id
                  and (e.status is not null or e.state <> 'unknown'))
    $$;

-- The open questions of a held job, with the command that answers each.
create function tenure.explain_questions(j tenure.all_jobs)
    returns table (at timestamptz, sentence text)
    language sql stable
    as $$
        select h.asked_at, format('Question %s, asked at %s: %s Answer it with: tenure hold answer '
                   '%s %s', h.id, tenure.said_at(h.asked_at), h.question, h.id,
                   case when not tenure.in_doubt(h) then '--go-on' else
                       '--happened [--status N --response @file], or --did-not' || coalesce((
                           select ', not before ' || tenure.said_at(tenure.leaves_until(c))
                             from tenure.calls as c
                            where c.job_id = h.job_id and c.send_id = h.send_id), '') end)
          from tenure.holds as h
         where h.job_id = j.id and h.answer is null
        union all
        select null, format('No question is on record for this hold. Let it go on with: tenure retry '
                            '%s', j.id)
         where j.state = 'held' and not exists (
             select from tenure.holds as h where h.job_id = j.id and h.answer is null)
    $$;

-- A pause that is in force: of what, since when, by whom and why, until when, and how it ends.
create function tenure.said_of_pause(p tenure.pauses) returns text
    language sql stable
    as $$
        select format('%s was paused by %s %s: %s. It stays so %s%s tenure resume %s',
                      case p.kind when 'all' then 'Everything'
                                  else initcap(p.kind) || ' ' || p.name end,
                      p.paused_by, tenure.said_since(p.since), rtrim(p.reason, '.'),
                      case when isfinite(p.until) then tenure.said_until(p.until)
                           else 'until somebody resumes it' end,
                      case when isfinite(p.until) then '; sooner with:' else ':' end, p.target)
    $$;

-- Who has the slots of a job's automation, where none is left for it.
create function tenure.explain_slots(j tenure.all_jobs)
    returns table (at timestamptz, sentence text)
    language sql stable
    as $$
        select max(k.since), format('Concurrency %s of %s is full: held by %s%s. It goes on when one '
                   'of them ends.', count(*), s.automation,
                   string_agg(k.said, ', ' order by k.n) filter (where k.n <= 3),
                   ' and ' || nullif(greatest(count(*) - 3, 0), 0) || ' more')
          from tenure.strands as s
         cross join lateral (
               select row_number() over (order by x.slot) as n, o.claimed_at as since,
                      format('job %s (%s)', x.job_id, case
                          when o.claimed_at is null then 'it runs alone next'
                          when o.leased_until > tenure.now()
                              then 'running since ' || tenure.said_at(o.claimed_at)
                          else 'lost since ' || tenure.said_at(o.leased_until) end) as said
                 from tenure.slots as x
                 left join tenure.jobs as o on o.id = x.job_id
                where x.automation = s.automation and x.live = s.live) as k
         where s.id = j.strand and j.state = 'waiting' and j.leased_until <= tenure.now()
           and s.opens_at <= tenure.now() and s.limited
         group by s.automation
    $$;

-- One line for each cause that keeps an unclaimed job from being claimed: since when, until when,
-- by whom, and how it ends.
create function tenure.explain_waits(j tenure.all_jobs)
    returns table (at timestamptz, sentence text)
    language sql stable
    as $$
        with s as (select o.* from tenure.strands as o where o.id = j.strand),
        last as (select a.* from tenure.attempts as a where a.job_id = j.id
                  order by a.fence desc limit 1),
        began as (select coalesce((select l.ended_at from last as l), j.created_at) as at,
                         coalesce(j.waiting_on ->> 'why' in ('budget', 'throttled', 'overloaded'),
                                  false) as parked)
        select b.at, tenure.said_pause(j, b.at, greatest(j.leased_until, s.closed_until))
          from s cross join began as b
         where j.status = 'pending' and j.worker_id is null
           and (j.leased_until > tenure.now() or (s.closed_until > tenure.now() and b.parked))
        union all
        select s.closed_since, format('Lane %s of %s is closed %s %s, by %s. It opens by itself.',
                   s.lane, s.automation, tenure.said_since(s.closed_since),
                   tenure.said_until(s.closed_until), coalesce(s.closed_by, 'somebody'))
          from s cross join began as b
         where j.state = 'waiting' and s.closed_until > tenure.now() and not b.parked
        union all
        select p.since, tenure.said_of_pause(p)
          from s join tenure.pauses as p
            on p.until > tenure.now() and tenure.hits(p, s.automation, s.lane)
         where j.state = 'waiting'
        union all
        select p.since, tenure.said_of_pause(p) || ' It meets that at its next call.'
          from tenure.pauses as p
         where j.state = 'running' and p.until > tenure.now()
           and tenure.hits(p, j.automation, j.lane)
        union all
        select j.expires_at, format('It expires at %s (in %s): if nobody has claimed it by then it is '
                   'cancelled.', tenure.said_at(j.expires_at),
                   tenure.said_for(j.expires_at - tenure.now()))
         where j.status = 'pending' and j.expires_at is not null
        union all
        select b.closed_since, format('The budget %s. It has room again by itself.',
                                      tenure.said_budget(b))
          from s join tenure.budgets as b
            on b.provider = split_part(s.lane, '/', 1) and b.account = split_part(s.lane, '/', 2)
               and b.scope = ''
         where j.state in ('ready', 'waiting') and tenure.room(b, tenure.now()) <= 0
        union all
        select l.ended_at, 'It runs alone next, in a quarantine of one slot, because a worker that '
               'ran it went without a word. A worker starts that by itself.'
          from s left join last as l on true
         where s.quarantine and j.status = 'pending' and j.state <> 'running'
        union all
        select a.at, format('A %s was asked for%s: it is taken up at the next heartbeat, call or '
                   'claim.', j.request, concat(' by ' || a.actor, ' at ' || tenure.said_at(a.at),
                                               ' (' || a.reason || ')'))
          from (select 1) as one left join lateral (
               select u.* from tenure.acts_on(j.id) as u
                where u.act = 'job.' || j.request
                order by u.id desc limit 1) as a on true
         where j.request is not null
        union all select k.at, k.sentence from tenure.explain_slots(j) as k
        union all select n.at, n.sentence from tenure.explain_nobody(j) as n
        union all select q.at, q.sentence from tenure.explain_questions(j) as q
    $$;
