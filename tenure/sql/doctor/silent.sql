-- Lists the open sources that nothing came through for a week, among the newest events.
-- Parameters: most int (events looked at).
-- Returns: a row each: name.
-- Locks: none.  Index: primary key of events, backwards.
-- Zero rows: none is silent.
select s.name
  from tenure.sources as s
 where s.state = 'open' and s.declared_at < tenure.now() - interval '7 days'
   and s.name not in (
       select e.source
         from (select n.source from tenure.events as n
                where n.id >= tenure.uuid7_floor(tenure.now() - interval '7 days')
                order by n.id desc limit %(most)s) as e)
 order by s.name
