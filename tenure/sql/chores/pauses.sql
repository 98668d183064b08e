-- Brings strands into line with the pauses in force: one may have been opened while a pause began.
-- Parameters: none.
-- Returns: one row: how many were changed.
-- Locks: the strands to be changed, by id.
-- Index: one_strand_of_a_kind; strands and pauses are read once.
-- Zero rows: never.
select tenure.mend_pauses() as mended
