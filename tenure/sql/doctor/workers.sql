-- Lists the processes at work, with what they know.
-- Parameters: none.
-- Returns: a row each: host, pid, kind, automations text[].
-- Locks: none.  Index: none.
-- Zero rows: no worker is alive.
select w.host, w.pid, w.kind, w.automations
  from tenure.workers as w
 where tenure.alive(w)
 order by w.host, w.pid
