-- Explains one job in sentences, in the order in which they are read.
-- Parameters: job uuid.
-- Returns: a row a sentence: position, part (state, wait, job, attempt, trace, step, call, journal,
--   act, retry, replay), at, sentence.
-- Locks: none.
-- Index: the primary keys; every part is found by the job's id.
-- Zero rows: there is no such job, or it is no longer kept.
select e.position, e.part, e.at, e.sentence
  from tenure.explain as e
 where e.job_id = %(job)s
 order by e.position
