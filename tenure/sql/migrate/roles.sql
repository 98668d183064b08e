-- Makes the three roles that others are given, where whoever migrates may make roles.
-- Parameters: none.
-- Returns: no rows.
-- Locks: none that last.
-- Index: none.
-- Zero rows: always; which roles are there is told by migrate/granted.
-- Roles belong to the whole server: another database's migration may make them at the same moment.
do $$
    begin
        begin
            create role tenure_enqueue nologin;
        exception when duplicate_object or unique_violation or insufficient_privilege then null;
        end;
        begin
            create role tenure_read nologin;
        exception when duplicate_object or unique_violation or insufficient_privilege then null;
        end;
        begin
            create role tenure_operate nologin;
        exception when duplicate_object or unique_violation or insufficient_privilege then null;
        end;
    end
$$
