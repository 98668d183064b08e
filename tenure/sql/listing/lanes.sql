-- Lists the lanes of an automation with what closes them.
-- Parameters: automation text.
-- Returns: a row a strand: lane, live, quarantine, closed_until, closed_by, paused_until, paused_by,
--   pause_reason; a time that is over, or never was, is null.
-- Locks: none.
-- Index: one_strand_of_a_kind.
-- Zero rows: there is no such automation.
select s.lane, s.live, s.quarantine,
       case when s.closed_until > tenure.now() then nullif(s.closed_until, 'infinity') end
           as closed_until,
       case when s.closed_until > tenure.now() then s.closed_by end as closed_by,
       case when s.paused_until > tenure.now() then nullif(s.paused_until, 'infinity') end
           as paused_until,
       case when s.paused_until > tenure.now() then coalesce(s.paused_by, 'somebody') end
           as paused_by,
       s.pause_reason
  from tenure.strands as s
 where s.automation = %(automation)s
 order by s.lane, s.live desc, s.quarantine
