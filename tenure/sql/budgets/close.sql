-- Closes budgets for all workers after a throttle; a closure is never shortened.
-- Parameters: ids int[], seconds, by text.
-- Returns: id and closed_for seconds of each budget closed longer by this.
-- Locks: budgets by id.
-- Index: the primary key.
-- Zero rows: they were already closed for longer.
with held as materialized (
    select h.id from unnest(%(ids)s::integer[]) as t (id)
     cross join lateral (
           select b.id from tenure.budgets as b where b.id = t.id for update) as h
)
update tenure.budgets as b
   set closed_since = case when b.closed_until > tenure.clock() then b.closed_since
                           else tenure.clock() end,
       closed_until = tenure.clock() + make_interval(secs => %(seconds)s),
       closed_by = %(by)s
 where b.id = any (array(select h.id from held as h))
   and b.closed_until < tenure.clock() + make_interval(secs => %(seconds)s)
returning b.id, %(seconds)s::float8 as closed_for
