-- Lists the promotions and demotions of an automation, newest first.
-- Parameters: automation text.
-- Returns: a row each: at, from_stage, to_stage, version, actor, reason, waived, waived_until,
--   first_event.
-- Locks: none.
-- Index: promotions_of_automation.
-- Zero rows: it stands where it began.
select p.at, p.from_stage, p.to_stage, p.version, p.actor, p.reason, p.waived, p.waived_until,
       p.first_event
  from tenure.promotions as p
 where p.automation = %(automation)s
 order by p.id desc
