-- 0023_bulk: many jobs of one automation in one call, and what any input may hold.
-- serves code from: 1

-- Raises TN005 for an input that is too long, or that some reader of it could not take apart: NUL,
-- halves of surrogate pairs, deep nesting.  The second look is for what looks odd alone.
create function tenure.check_input(p_input json, p_limit integer, p_place bigint default null)
    returns void
    language plpgsql immutable
    as $$
    declare
        v_text constant text := p_input::text;
        v_which constant text := coalesce('input ' || p_place, 'the input');
        v_odd text;
    begin
        if octet_length(v_text) > p_limit then
            raise exception '% has % bytes, and % are taken', v_which, octet_length(v_text), p_limit
                using errcode = 'TN005', hint = 'Store it elsewhere and pass its address.';
        end if;
        if v_text !~ '\\u(0000|[dD][89a-fA-F])'
           and length(v_text) - length(translate(v_text, '[{', '')) <= 200 then
            return;
        end if;
        begin
            if jsonb_path_exists(
                v_text::jsonb,
                'strict $.**{200} ? (@.type() == "array" || @.type() == "object")') then
                v_odd := 'is nested more than 200 deep';
            end if;
        exception
            when untranslatable_character then v_odd := 'holds NUL (\u0000)';
            when invalid_text_representation then v_odd := 'holds half of a surrogate pair';
            when statement_too_complex then v_odd := 'is nested more than 200 deep';
            when numeric_value_out_of_range then v_odd := null;
        end;
        if v_odd is not null then
            raise exception '% %: not every reader of it could take it apart', v_which, v_odd
                using errcode = 'TN005',
                      hint = 'Leave it out, or write it in a form of your own, such as base64.';
        end if;
    end
    $$;

-- Who holds each key, by place: the job that is to be made there, or another.  Keys are taken in
-- their order, so that two calls wait for each other in one direction only.
create function tenure.take_keys(
        p_automation text, p_keys text[], p_ids uuid[], p_untils timestamptz[])
    returns uuid[]
    language plpgsql volatile
    as $$
    declare
        v_holders uuid[];
    begin
        for attempt in 1..5 loop
            insert into tenure.unique_keys as u (automation, key, job_id, until)
            select p_automation, f.key, f.id, f.until
              from (select distinct on (k.key) k.key, k.id, k.until
                      from unnest(p_keys, p_ids, p_untils) with ordinality
                           as k (key, id, until, place)
                     where k.key is not null
                     order by k.key, k.place) as f
             order by f.key
            on conflict on constraint unique_keys_pkey do update
                set job_id = excluded.job_id, until = excluded.until
                where u.until <= tenure.clock();
            v_holders := array(
                select u.job_id
                  from unnest(p_keys) with ordinality as k (key, place)
                  left join tenure.unique_keys as u
                    on u.automation = p_automation and u.key = k.key
                 order by k.place);
            -- A rival whose job ended in between has left its key to whoever asks next.
            exit when not exists (
                select from unnest(p_keys, v_holders) as h (key, id)
                 where h.key is not null and h.id is null);
            if attempt = 5 then
                raise exception 'the keys of % change hands too fast: nobody holds one of them',
                                p_automation
                    using errcode = 'TN004', hint = 'Ask again.';
            end if;
        end loop;
        return v_holders;
    end
    $$;

-- Enqueues a job for each input of an array and tells, by its place from 1 on, its id and whether
-- this call created it: a key that is taken, or that stands twice, answers with the job that has it.
-- All or none; the rest is as for tenure.enqueue.
create function tenure.enqueue_many(
        automation text, inputs json, keys text[] default null, at timestamptz default null,
        priority integer default null, tags text[] default null, created_by text default null,
        delay interval default null, expires timestamptz default null,
        expires_after interval default null)
    returns table (place bigint, job_id uuid, created boolean)
    language plpgsql volatile security definer
    set search_path = pg_catalog, pg_temp
    as $$
    declare
        v_automation constant tenure.automations := tenure.declared(automation);
        v_due constant timestamptz := tenure.due_at(enqueue_many.at, enqueue_many.delay);
        v_inputs json[];
        v_ids uuid[];
        v_holders uuid[];
        v_keys text[];
    begin
        if json_typeof(inputs) <> 'array' then
            raise exception 'the inputs are no array (%): there is no telling them apart',
                            json_typeof(inputs)
                using errcode = 'TN005', hint = 'Give a JSON array, one element for each job.';
        end if;
        v_inputs := array(select e.value from json_array_elements(inputs) with ordinality as e (value, n)
                           order by e.n);
        if cardinality(keys) <> cardinality(v_inputs) then
            raise exception 'there are % keys for % inputs: which has none?', cardinality(keys),
                            cardinality(v_inputs)
                using errcode = 'TN005', hint = 'Give as many keys as inputs, null for none.';
        end if;
        perform tenure.check_input(i.input, v_automation.input_limit, i.n)
           from unnest(v_inputs) with ordinality as i (input, n);
        v_ids := array(select tenure.uuid7() from generate_series(1, cardinality(v_inputs)));
        v_holders := v_ids;
        v_keys := keys;
        if v_automation.unique_by is not null then
            v_keys := array(
                select coalesce(t.key, tenure.unique_key(v_automation.unique_by, t.input))
                  from unnest(v_inputs, coalesce(keys, '{}')) with ordinality as t (input, key, n)
                 order by t.n);
        end if;
        if v_keys is not null then
            v_holders := tenure.take_keys(v_automation.name, v_keys, v_ids, array(
                select case when t.key is null then tenure.unique_until(v_automation) end
                  from unnest(v_ids, coalesce(keys, '{}')) with ordinality as t (id, key, n)
                 order by t.n));
        end if;
        perform tenure.make_jobs(
            v_automation, v_inputs, v_ids, v_holders, v_keys, v_due,
            coalesce(enqueue_many.expires, v_due + enqueue_many.expires_after),
            enqueue_many.priority::smallint, enqueue_many.tags,
            coalesce(enqueue_many.created_by, tenure.actor()));
        return query
            select t.n, coalesce(t.holder, t.id), t.holder is null or t.holder = t.id
              from unnest(v_ids, v_holders) with ordinality as t (id, holder, n)
             order by t.n;
    end
    $$;

-- The rows of those jobs whose key, if they have one, is theirs.
create function tenure.make_jobs(
        p_automation tenure.automations, p_inputs json[], p_ids uuid[], p_holders uuid[],
        p_keys text[], p_due timestamptz, p_expires timestamptz, p_priority smallint,
        p_tags text[], p_created_by text)
    returns void
    language plpgsql volatile
    as $$
    declare
        v_mode constant text := tenure.mode_at(p_automation.stage, null);
        v_expires constant timestamptz := tenure.check_times(p_automation, p_due, p_expires);
        v_strand constant integer := tenure.strand_for(p_automation, v_mode = 'live');
    begin
        with made as (
            insert into tenure.jobs (id, leased_until, expires_at, strand, home, priority, mode,
                                     automation, version, lane, unique_key, created_by, tags)
            select t.id, p_due, v_expires, v_strand, v_strand,
                   coalesce(p_priority, p_automation.priority), v_mode, p_automation.name,
                   p_automation.version, p_automation.lane, t.key, p_created_by,
                   coalesce(p_tags, p_automation.tags)
              from unnest(p_ids, p_holders, coalesce(p_keys, '{}')) with ordinality
                   as t (id, holder, key, n)
             where t.holder is null or t.holder = t.id
             order by t.n
        )
        insert into tenure.inputs (job_id, input)
        select t.id, t.input
          from unnest(p_ids, p_holders, p_inputs) with ordinality as t (id, holder, input, n)
         where t.holder is null or t.holder = t.id
         order by t.n;
        if found then
            insert into tenure.dues (strand, due)
            select s.id, p_due from tenure.strands as s
             where s.id = v_strand and p_due < s.next_at;
            perform tenure.wake(p_automation.name, v_mode = 'live', p_due, true);
        end if;
    end
    $$;
