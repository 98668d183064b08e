-- Makes a budget's row where there is none, and tells its id; what stands there wins.
-- Parameters: provider, account, name, scope text, units int, counted seconds, declared json.
-- Returns: one row: id, units, counted.
-- Locks: none that last; a short transaction of its own.
-- Index: one_budget_of_a_scope.
-- Zero rows: never.
with made as (
    insert into tenure.budgets (provider, account, name, scope, units, counted, declared)
    select %(provider)s, %(account)s, %(name)s, %(scope)s, %(units)s, %(counted)s, %(declared)s
     where not exists (
         select from tenure.budgets as b
          where b.provider = %(provider)s and b.account = %(account)s and b.name = %(name)s
            and b.scope = %(scope)s)
    on conflict do nothing
    returning id, units, counted
)
select m.id, m.units, m.counted from made as m
union all
select b.id, b.units, b.counted from tenure.budgets as b
 where b.provider = %(provider)s and b.account = %(account)s and b.name = %(name)s
   and b.scope = %(scope)s
