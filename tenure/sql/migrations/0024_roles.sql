-- 0024_roles: what others call runs with the rights of whoever owns the schema, and not of everybody.
-- serves code from: 1

-- A caller needs a right to the function and none to a table.  Names in them are found in the
-- catalogue and in tenure alone, whatever the caller's search_path.  Who may call them is granted by
-- name after each migration (sql/migrate/grants.sql).
alter function tenure.retry security definer set search_path = pg_catalog, pg_temp;
alter function tenure.replay security definer set search_path = pg_catalog, pg_temp;
alter function tenure.cancel security definer set search_path = pg_catalog, pg_temp;
alter function tenure.hold_job security definer set search_path = pg_catalog, pg_temp;
alter function tenure.answer_hold security definer set search_path = pg_catalog, pg_temp;
alter function tenure.act_on_many security definer set search_path = pg_catalog, pg_temp;
alter function tenure.pause security definer set search_path = pg_catalog, pg_temp;
alter function tenure.resume security definer set search_path = pg_catalog, pg_temp;
