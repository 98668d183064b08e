-- Makes the partitions of the coming weeks.
-- Parameters: weeks int.
-- Returns: one row: how many were made.
-- Locks: the partitioned tables, briefly; gives up after 200 ms and is tried again.
-- Index: none.
-- Zero rows: never.
select tenure.make_partitions(%(weeks)s) as made
