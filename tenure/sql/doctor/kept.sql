-- Counts the rows of the default partitions, each up to a limit.
-- Parameters: most int.
-- Returns: a row a table: parent, rows.
-- Locks: none.  Index: none; reads up to most rows of each.
-- Zero rows: never.
select 'finished_jobs' as parent, (select count(*) from (
           select from tenure.finished_jobs_kept limit %(most)s) as k) as rows
 union all select 'inputs', (select count(*) from (select from tenure.inputs_kept limit %(most)s) as k)
 union all select 'attempts', (select count(*) from (
           select from tenure.attempts_kept limit %(most)s) as k)
 union all select 'journal', (select count(*) from (
           select from tenure.journal_kept limit %(most)s) as k)
 union all select 'steps', (select count(*) from (select from tenure.steps_kept limit %(most)s) as k)
 union all select 'calls', (select count(*) from (select from tenure.calls_kept limit %(most)s) as k)
 union all select 'outcomes', (select count(*) from (
           select from tenure.outcomes_kept limit %(most)s) as k)
 union all select 'events', (select count(*) from (
           select from tenure.events_kept limit %(most)s) as k)
