-- Counts what the door refused: one row for each source, reason and minute, however many.
-- Parameters: sources text[], reasons text[], counts int[], side by side.
-- Returns: nothing.
-- Locks: the rows of this minute, in the order of source and reason.
-- Index: the primary key.
-- Zero rows: always.
insert into tenure.rejections as r (source, reason, minute, count)
select t.source, t.reason, date_trunc('minute', tenure.now(), 'UTC'), t.count
  from unnest(%(sources)s::text[], %(reasons)s::text[], %(counts)s::integer[])
       as t (source, reason, count)
 order by t.source, t.reason
on conflict (source, minute, reason) do update set count = r.count + excluded.count
