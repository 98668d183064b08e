-- 0007_doors: how jobs are made, from any language and in the caller's own transaction.
-- serves code from: 1

-- The pause of a lane of an automation that ends last, of those in force.
create function tenure.pause_of(p_automation text, p_lane text)
    returns table (until timestamptz, since timestamptz, paused_by text, reason text)
    language sql stable
    as $$
        select p.until, p.since, p.paused_by, p.reason
          from tenure.pauses as p
         where p.until > tenure.clock() and tenure.hits(p, p_automation, p_lane)
         order by p.until desc, p.since
         limit 1
    $$;

-- The strands of one lane of an automation: live and not, each with its quarantine.  Made when an
-- automation is declared, in a short transaction, so that an enqueue never has to.  A strand is born
-- under the pauses in force.
create function tenure.open_lane(p_automation text, p_lane text) returns void
    language sql volatile
    as $$
        insert into tenure.strands (automation, lane, live, quarantine, limited, paused_until,
                                    paused_since, paused_by, pause_reason)
        select p_automation, p_lane, l.live, q.quarantine, exists (
                   select from tenure.automations as a
                    where a.name = p_automation and a.concurrency is not null), coalesce(f.until, '-infinity'), f.since,
               f.paused_by, f.reason
          from (values (true), (false)) as l (live)
         cross join (values (true), (false)) as q (quarantine)
          left join tenure.pause_of(p_automation, p_lane) as f on true
         where not exists (
             select from tenure.strands as s
              where s.automation = p_automation and s.lane = p_lane
                and s.live = l.live and s.quarantine = q.quarantine)
        on conflict do nothing
    $$;

create function tenure.strand_of(p_automation text, p_lane text, p_live boolean) returns integer
    language sql stable
    as $$
        select s.id from tenure.strands as s
         where s.automation = p_automation and s.lane = p_lane and s.live = p_live
           and not s.quarantine
    $$;

-- The mode of a job that would be made now.
create function tenure.mode_at(stage text, event uuid) returns text
    language sql immutable parallel safe
    as $$
        select case when stage = 'live' then 'live'
                    when stage = 'shadow' and event is not null then 'shadow'
                    else 'dry_run' end
    $$;

create function tenure.mode_now(automation text, event uuid) returns text
    language sql stable
    as $$
        select tenure.mode_at(
            (select a.stage from tenure.automations as a where a.name = mode_now.automation), event)
    $$;

-- The strand of an automation's own lane, which is opened where nobody has yet.
create function tenure.strand_for(p_automation tenure.automations, p_live boolean) returns integer
    language plpgsql volatile
    as $$
    declare
        v_strand integer := tenure.strand_of(p_automation.name, p_automation.lane, p_live);
    begin
        if v_strand is null then
            perform tenure.open_lane(p_automation.name, p_automation.lane);
            v_strand := tenure.strand_of(p_automation.name, p_automation.lane, p_live);
        end if;
        return v_strand;
    end
    $$;

-- When a job that is due at a time expires; raises for times that nobody could mean.
create function tenure.check_times(
        p_automation tenure.automations, p_due timestamptz, p_expires timestamptz)
    returns timestamptz
    language plpgsql stable
    as $$
    declare
        v_expires constant timestamptz :=
            coalesce(p_expires, p_due + make_interval(secs => p_automation.expires));
    begin
        -- Drivers read no other times: one such row would spoil every listing.
        if p_due not between timestamptz '1970-01-01' and timestamptz '9999-01-01' then
            raise exception 'the time % is out of reach: a job cannot be due then', p_due
                using errcode = 'TN002', hint = 'Give a time between the years 1970 and 9998.';
        elsif v_expires <= p_due or v_expires >= timestamptz '9999-01-01' then
            raise exception 'the job would expire at % and be due at %: nobody could claim it',
                            v_expires, p_due
                using errcode = 'TN002', hint = 'Let it expire later than it is due.';
        end if;
        return v_expires;
    end
    $$;

-- One job of one automation.  The strand row is read, never written: an enqueue left uncommitted
-- holds up nobody else's.  p_stands: the lane in which it first stands, where that is not its own.
create function tenure.make_job(
        p_automation tenure.automations, p_event uuid, p_input json, p_at timestamptz,
        p_priority smallint, p_unique_key text, p_tags text[], p_created_by text, p_id uuid,
        p_replay_of uuid, p_expires timestamptz default null, p_stands text default null)
    returns uuid
    language plpgsql volatile
    as $$
    declare
        v_mode constant text := tenure.mode_at(p_automation.stage, p_event);
        v_due constant timestamptz := coalesce(p_at, tenure.clock());
        v_expires constant timestamptz := tenure.check_times(p_automation, v_due, p_expires);
        v_strand constant integer := tenure.strand_for(p_automation, v_mode = 'live');
        v_stands integer := v_strand;
    begin
        if p_stands is not null then
            perform tenure.open_lane(p_automation.name, p_stands);
            v_stands := tenure.strand_of(p_automation.name, p_stands, v_mode = 'live');
        end if;
        insert into tenure.jobs (id, event_id, replay_of, leased_until, expires_at, strand, home,
                                 priority, mode, automation, version, lane, unique_key, created_by,
                                 tags)
        values (p_id, p_event, p_replay_of, v_due, v_expires, v_stands, v_strand,
                coalesce(p_priority, p_automation.priority), v_mode, p_automation.name,
                p_automation.version, p_automation.lane, p_unique_key, p_created_by,
                coalesce(p_tags, p_automation.tags));
        if p_input is not null then
            insert into tenure.inputs (job_id, input) values (p_id, p_input);
        end if;
        insert into tenure.dues (strand, due)
        select s.id, v_due from tenure.strands as s where s.id = v_stands and v_due < s.next_at;
        perform tenure.wake(p_automation.name, v_mode = 'live', v_due);
        return p_id;
    end
    $$;

-- Who is at work, for created_by and the audit: what the caller set, else the database role.
create function tenure.actor() returns text
    language sql stable
    as $$ select coalesce(nullif(current_setting('tenure.actor', true), ''), 'sql:' || session_user) $$;

-- When a job is due: at a time, or after a delay from now.
create function tenure.due_at(at timestamptz, delay interval) returns timestamptz
    language plpgsql volatile
    as $$
    begin
        if at is not null and delay is not null then
            raise exception 'a time (%) and a delay (%) were given: a job is due once', at, delay
                using errcode = 'TN002', hint = 'Give one of them.';
        elsif delay not between interval '0' and interval '1000 years' then
            raise exception 'the delay % is out of reach: a job cannot be due then', delay
                using errcode = 'TN002', hint = 'Give a delay from 0 to 1000 years.';
        end if;
        return coalesce(at, tenure.clock() + coalesce(delay, interval '0'));
    end
    $$;

-- What was declared of an automation; an unknown one raises TN001.
create function tenure.declared(p_automation text) returns tenure.automations
    language plpgsql stable
    as $$
    declare
        v_automation tenure.automations;
    begin
        select a.* into v_automation from tenure.automations as a where a.name = p_automation;
        if v_automation.name is null then
            raise exception 'unknown automation (%): no worker or server has declared it',
                            p_automation
                using errcode = 'TN001',
                      hint = 'Start a worker that knows it once, or correct the name.';
        end if;
        return v_automation;
    end
    $$;

-- Enqueues one job and tells its id and whether this call created it.  An unknown automation raises
-- TN001.  A key that is taken answers with the job that holds it; one that is not given is made of the
-- input, where the automation says how.  Due at a time, or after a delay;
-- cancelled where nobody has claimed it by the time it expires, or so long after it was due.
create function tenure.enqueue(
        automation text, input json default null, key text default null,
        at timestamptz default null, priority integer default null, tags text[] default null,
        created_by text default null, delay interval default null,
        expires timestamptz default null, expires_after interval default null)
    returns table (job_id uuid, created boolean)
    language plpgsql volatile security definer
    set search_path = pg_catalog, pg_temp
    as $$
    declare
        v_automation constant tenure.automations := tenure.declared(automation);
        v_id constant uuid := tenure.uuid7();
        v_due constant timestamptz := tenure.due_at(enqueue.at, enqueue.delay);
        v_key constant text := coalesce(
            enqueue.key, tenure.unique_key(v_automation.unique_by, enqueue.input));
        v_holder uuid;
    begin
        perform tenure.check_input(enqueue.input, v_automation.input_limit);
        if v_key is not null then
            v_holder := (tenure.take_keys(
                v_automation.name, array[v_key], array[v_id], array[
                    case when enqueue.key is null then tenure.unique_until(v_automation) end]))[1];
            if v_holder <> v_id then
                return query select v_holder, false;
                return;
            end if;
        end if;
        perform tenure.make_job(v_automation, null, coalesce(enqueue.input, 'null'::json), v_due,
                                enqueue.priority::smallint, v_key, enqueue.tags,
                                coalesce(enqueue.created_by, tenure.actor()), v_id, null,
                                coalesce(enqueue.expires, v_due + enqueue.expires_after));
        return query select v_id, true;
    end
    $$;

-- One delivery, one transaction: its key, the event byte for byte, a job for every automation that
-- listens.  No user code runs.  outcome: accepted, duplicate (the first one's id), conflict.
-- Their rows are held so that a promotion comes before or after a delivery, never in its middle.
create function tenure.accept(
        p_source text, p_key text, p_type text, p_digest bytea, p_body bytea, p_headers json,
        p_content_type text, p_secret_label text, p_created_by text default null)
    returns table (event_id uuid, outcome text, jobs integer)
    language plpgsql volatile
    as $$
    declare
        v_event constant uuid := tenure.uuid7();
        v_hash constant bytea := sha256(convert_to(p_key, 'UTF8'));
        v_first tenure.event_keys;
        v_jobs integer := 0;
        -- Jobs of a paused source wait in a lane of that name, which its resume opens.
        v_stands constant text := (
            select p.target from tenure.pauses as p
             where p.target = 'source:' || p_source and p.until > tenure.clock());
        v_automation tenure.automations;
        v_id uuid;
        v_unique text;
        v_holder uuid;
    begin
        if p_key is not null then
            insert into tenure.event_keys (source, key_hash, event_id, digest)
            values (p_source, v_hash, v_event, p_digest)
            on conflict (source, key_hash) do update set duplicates = event_keys.duplicates + 1
            returning * into v_first;
            if v_first.event_id <> v_event then
                return query select v_first.event_id,
                                    tenure.note_repeat(v_first, p_digest, p_body), 0;
                return;
            end if;
        end if;
        insert into tenure.events (id, source, key, type, secret_label, content_type, headers,
                                   digest, body)
        values (v_event, p_source, p_key, p_type, p_secret_label, p_content_type, p_headers,
                p_digest, p_body);
        for v_automation in
            select a.* from tenure.automations as a
             where a.listens && array[p_source, p_source || '#' || coalesce(p_type, '')]
             order by a.name
               for key share
        loop
            v_id := tenure.uuid7();
            v_unique := case when v_automation.unique_by is not null then tenure.unique_key(
                v_automation.unique_by, tenure.event_input(p_body, p_content_type)) end;
            if v_unique is not null then
                v_holder := (tenure.take_keys(
                    v_automation.name, array[v_unique], array[v_id],
                    array[tenure.unique_until(v_automation)]))[1];
                if v_holder <> v_id then
                    perform tenure.note_unmade(v_holder, v_event, p_source, v_unique);
                    continue;
                end if;
            end if;
            perform tenure.make_job(v_automation, v_event, null, null, null, v_unique, null,
                                    coalesce(p_created_by, 'source:' || p_source), v_id,
                                    null, null, v_stands);
            v_jobs := v_jobs + 1;
        end loop;
        return query select v_event, 'accepted'::text, v_jobs;
    end
    $$;

-- A delivery whose key was seen: the same body is a duplicate; another is kept (five a key, then
-- counted) and shown as a conflict.  Neither changes anything of the first event's jobs.
create function tenure.note_repeat(p_first tenure.event_keys, p_digest bytea, p_body bytea)
    returns text
    language plpgsql volatile
    as $$
    begin
        if p_first.digest = p_digest then
            return 'duplicate';
        end if;
        update tenure.event_conflicts as c set count = c.count + 1
         where c.source = p_first.source and c.key_hash = p_first.key_hash
           and c.digest = p_digest;
        if not found then
            insert into tenure.event_conflicts (source, key_hash, digest, event_id, body)
            select p_first.source, p_first.key_hash, p_digest, p_first.event_id,
                   case when kept.n < 5 then p_body else ''::bytea end
              from (select count(*) as n from tenure.event_conflicts as c
                     where c.source = p_first.source and c.key_hash = p_first.key_hash) as kept
            on conflict (source, key_hash, digest) do update
                set count = event_conflicts.count + 1;
        end if;
        return 'conflict';
    end
    $$;
