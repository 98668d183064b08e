-- 0022_wakes: a worker that has nothing to do says so, and whoever makes it work wakes it.
-- serves code from: 1

alter table tenure.workers add column idle boolean not null default false;
comment on column tenure.workers.idle is
    'It waits to be woken on the channel tenure, by its id; a hint, and nothing relies on it';

create index workers_idle on tenure.workers (kind) where idle;

-- Wakes one idle worker, or all, that know an automation and run its jobs of that kind.  While none
-- is idle this is one look into an empty index: a notification would make all that commit queue up
-- behind each other.  A transaction that is to be prepared for two-phase commit may send none:
-- set tenure.wake = off there.
create function tenure.wake(
        p_automation text, p_live boolean, p_due timestamptz, p_all boolean default false)
    returns void
    language plpgsql volatile
    as $$
    begin
        if p_due > tenure.clock() or current_setting('tenure.wake', true) = 'off' then
            return;
        end if;
        perform pg_notify('tenure', w.id::text)
           from (select i.id from tenure.workers as i
                  where i.idle and i.kind = case when p_live then 'live' else 'not_live' end
                    and tenure.alive(i)
                    and p_automation = any (i.automations)
                  order by random()
                  limit case when p_all then null else 1 end) as w;
    end
    $$;
