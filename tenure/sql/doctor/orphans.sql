-- Looks for rows without their job, and jobs without their input, among the newest.
-- Parameters: sample int.
-- Returns: one row: rows, jobs.
-- Locks: none.  Index: primary keys, backwards.
-- Zero rows: never.
select (select count(*)
          from ((select i.job_id from tenure.inputs as i order by i.job_id desc limit %(sample)s)
                union all
                (select s.job_id from tenure.steps as s order by s.job_id desc limit %(sample)s)
                union all
                (select c.job_id from tenure.calls as c order by c.job_id desc limit %(sample)s)) as x
         where not exists (select from tenure.jobs as j where j.id = x.job_id)
           and not exists (select from tenure.finished_jobs as f where f.id = x.job_id)) as rows,
       (select count(*)
          from (select j.id, j.event_id from tenure.jobs as j order by j.id desc limit %(sample)s) as k
         where case when k.event_id is null
                    then not exists (select from tenure.inputs as i where i.job_id = k.id)
                    else not exists (select from tenure.events as e where e.id = k.event_id) end)
       as jobs
