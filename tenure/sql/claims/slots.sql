-- Gives slots to jobs that may be claimed, in strands of automations that run so many at once.
-- Parameters: strands int[], quotas int[].
-- Returns: the ids that the claim of this same transaction takes.
-- Locks: jobs and slots, SKIP LOCKED.
-- Index: jobs_claimable; the primary key of slots.
-- Zero rows: every slot is taken, or nothing is there to be claimed.
select t.id from tenure.take_slots(%(strands)s::integer[], %(quotas)s::integer[]) as t (id)
