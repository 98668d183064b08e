-- Makes a budget's row where there is none, brings it up to what code declares, and tells its id.
-- Parameters: provider, account, name, scope text, units int, counted seconds, declared json.
-- Returns: one row: id.
-- Locks: the budget's row where it is declared otherwise than before; a short transaction.
-- Index: one_budget_of_a_scope.
-- Zero rows: it stands as declared; asked for once more it is found.
with changed as (
    update tenure.budgets as b
       set units = %(units)s, counted = %(counted)s, declared = %(declared)s::json
     where b.provider = %(provider)s and b.account = %(account)s and b.name = %(name)s
       and b.scope = %(scope)s and b.declared::text <> %(declared)s::text
    returning b.id
), made as (
    insert into tenure.budgets (provider, account, name, scope, units, counted, declared)
    select %(provider)s, %(account)s, %(name)s, %(scope)s, %(units)s, %(counted)s,
           %(declared)s::json
     where not exists (
         select from tenure.budgets as b
          where b.provider = %(provider)s and b.account = %(account)s and b.name = %(name)s
            and b.scope = %(scope)s)
    on conflict do nothing
    returning id
)
select c.id from changed as c
union
select m.id from made as m
union
select b.id from tenure.budgets as b
 where b.provider = %(provider)s and b.account = %(account)s and b.name = %(name)s
   and b.scope = %(scope)s
