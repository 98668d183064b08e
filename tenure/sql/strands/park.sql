-- The strand in which jobs of an automation wait for a provider's budget, closed until it has room.
-- Parameters: automation, lane text, live boolean, seconds, by text.
-- Returns: one row: the strand's id.
-- Locks: the strand; a short transaction of its own, before any job is touched.
-- Index: one_strand_of_a_kind.
-- Zero rows: never; the lane was opened by the call before.
update tenure.strands as s
   set closed_since = case when s.closed_until > tenure.clock() then s.closed_since
                           else tenure.clock() end,
       closed_by = case when s.closed_until < tenure.clock() + make_interval(secs => %(seconds)s)
                        then %(by)s else s.closed_by end,
       closed_until = greatest(s.closed_until,
                               tenure.clock() + make_interval(secs => %(seconds)s))
 where s.automation = %(automation)s and s.lane = %(lane)s and s.live = %(live)s
   and not s.quarantine
returning s.id
