-- Ends claims whose jobs go on: a failure with attempts left, a deferral, a hold.
-- Parameters: worker uuid; ids uuid[] in order, fences int[], ends text[] (failure, deferral,
--   hold), delays float8[] seconds, strands int[] (null: home), waits, error_classes, errors,
--   tracebacks, questions, kinds (of holds), steps text[], sends uuid[].
-- Returns: the ids handed back.
-- Locks: jobs by id; then slots go free, and attempts, dues and holds are appended.
-- Index: the primary key.
-- A missing id: the claim was over, and nothing of it was written.
with told as (
    select * from unnest(%(ids)b::uuid[], %(fences)s::integer[], %(ends)b::text[],
                         %(delays)s::float8[], %(strands)s::integer[], %(waits)b::text[],
                         %(error_classes)b::text[], %(errors)b::text[], %(tracebacks)b::text[],
                         %(questions)b::text[], %(kinds)b::text[], %(steps)b::text[],
                         %(sends)b::uuid[])
        as t (id, fence, ended, delay, strand, waits, error_class, error, traceback, question, kind,
              step, send_id)
), held as materialized (
    select h.id, h.claimed_at from told as t
     cross join lateral (
           select j.id, j.claimed_at from tenure.jobs as j
            where j.id = t.id and j.fence = t.fence and j.worker_id = %(worker)s
              for update) as h
), back as (
    update tenure.jobs as j
       set worker_id = null, previous_worker = null, claimed_at = null, heartbeat_at = null,
           status = case when t.ended = 'hold' or j.request = 'hold' then 'held' else 'pending' end,
           leased_until = case when t.ended = 'hold' or j.request = 'hold' then 'infinity'
                               -- A cancel is taken up by the next claim, at once.
                               when j.request = 'cancel' then tenure.clock()
                               else tenure.clock() + make_interval(secs => t.delay) end,
           failure_count = j.failure_count + (t.ended = 'failure')::integer,
           deferral_count = j.deferral_count + (t.ended <> 'failure')::integer,
           strand = case when j.request is null then coalesce(t.strand, j.home) else j.home end,
           request = case when t.ended = 'hold' or j.request = 'hold' then null else j.request end,
           waiting_on = t.waits::json
      from told as t
     where t.id = j.id and j.id = any (array(select h.id from held as h))
    returning j.id, j.automation, j.fence, j.strand, j.status, j.leased_until, t.ended, t.waits,
              t.error_class, t.error, t.traceback, t.question, t.kind, t.step, t.send_id
), attempted as (
    insert into tenure.attempts (job_id, fence, ended, worker_id, host, version, claimed_at, due,
                                 error_class, error, traceback, waiting_on)
    select b.id, b.fence, b.ended, %(worker)s, r.host, r.version, h.claimed_at,
           nullif(b.leased_until, 'infinity'), b.error_class, b.error, b.traceback, b.waits::json
      from back as b join held as h on h.id = b.id
      left join lateral tenure.ran(%(worker)s, b.automation) as r on true
), slot as (
    update tenure.slots as x set job_id = null
     where x.job_id = any (array(select b.id from back as b))
), due as (
    insert into tenure.dues (strand, due)
    select b.strand, b.leased_until from back as b join tenure.strands as s on s.id = b.strand
     where b.leased_until < s.next_at
), asked as (
    insert into tenure.holds (job_id, kind, step, send_id, question)
    select b.id, case when b.question is null then 'operator' else b.kind end, b.step, b.send_id,
           coalesce(b.question, tenure.operators_question(b.id))
      from back as b where b.status = 'held'
)
select b.id from back as b
