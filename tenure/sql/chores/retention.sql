-- Lets go of one piece of what is over: a weekly partition, or a batch of each table's kept rows.
-- Parameters: finished interval, failed interval (how long jobs are kept), most int (rows a table).
-- Returns: one row: whether there may be more.
-- Locks: the chore's row, SKIP LOCKED; a partitioned table, alone, for as long as its kept rows are
--   moved; gives up after 200 ms and is tried again.
-- Index: primary keys; finished_replays and finished_kept_events for events.
-- Zero rows: never.
select tenure.let_go(%(finished)s, %(failed)s, %(most)s) as more
