-- Lists every job that an event made, with its state.
-- Parameters: none.
-- Returns: a row a job: id, event_id uuid, automation, mode, state, why (the word for its wait).
-- Locks: none.
-- Index: none; a demo has a few hundred jobs.
-- Zero rows: no event has made a job.
select j.id, j.event_id, j.automation, j.mode, j.state, j.waiting_on ->> 'why' as why
  from tenure.all_jobs as j
 where j.event_id is not null
