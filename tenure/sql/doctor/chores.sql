-- Lists the duties that are overdue by more than their own interval and ten minutes.
-- Parameters: none.
-- Returns: a row each: name, seconds float (null: never done).
-- Locks: none.  Index: none.
-- Zero rows: none is overdue.
select c.name, extract(epoch from tenure.now() - nullif(c.due, '-infinity'))::double precision
       as seconds
  from tenure.chores as c
 where c.due < tenure.now() - c.every - interval '10 minutes'
 order by c.due
