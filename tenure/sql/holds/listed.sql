-- Lists open questions, oldest first.
-- Parameters: limit int.
-- Returns: a row each: id, job_id, automation, step, question, asked_at, in_doubt, not_before (null:
--   it can be answered now).
-- Locks: none.
-- Index: holds_open.
-- Zero rows: nothing waits for a person.
select h.id, h.job_id, j.automation, h.step, h.question, h.asked_at,
       tenure.in_doubt(h) as in_doubt,
       (select max(tenure.leaves_until(c)) from tenure.calls as c
         where c.job_id = h.job_id and c.send_id = h.send_id) as not_before
  from tenure.holds as h
  join tenure.jobs as j on j.id = h.job_id
 where h.answer is null
 order by h.id
 limit %(limit)s
