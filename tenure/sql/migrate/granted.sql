-- Which of the three roles are there.
-- Parameters: names text[].
-- Returns: a row for each: role.
-- Locks: none.
-- Index: none.
-- Zero rows: none was made; whoever may make roles runs sql/migrate/roles.sql and grants.sql.
select r.rolname as role from pg_roles as r where r.rolname = any (%(names)s)
