-- Lists the automations that no living worker knows, with how many of their jobs wait.
-- Parameters: none.
-- Returns: a row each: name, jobs (counted up to 1000).
-- Locks: none.  Index: jobs_claimable by strand.
-- Zero rows: somebody knows each.
select a.name, (select count(*)
                  from (select from tenure.strands as s
                          join tenure.jobs as j on j.strand = s.id and j.status = 'pending'
                         where s.automation = a.name limit 1000) as k) as jobs
  from tenure.automations as a
 where not exists (
       select from tenure.workers as w
        where a.name = any (w.automations) and w.kind <> 'quarantine' and tenure.alive(w))
 order by a.name
