-- 0027_unique: the key that makes two jobs of an automation one, made of their input.
-- serves code from: 1

-- The template with its paths filled in; null where one leads to nothing, or to what no key can hold.
-- A key that no index could hold stands by its digest.
create function tenure.unique_key(p_template text, p_input json) returns text
    language plpgsql immutable
    as $$
    declare
        v_key text := '';
        v_part text[];
    begin
        if p_template is null or p_input is null then
            return null;
        end if;
        for v_part in
            select m from regexp_matches(p_template, '([^{}]*)(?:\{([^{}]+)\})?', 'g') as m
        loop
            v_key := v_key || v_part[1] || case
                when v_part[2] is null then ''
                when coalesce(p_input #>> string_to_array(v_part[2], '.'), '') = '' then null
                else p_input #>> string_to_array(v_part[2], '.') end;
        end loop;
        return case when octet_length(v_key) <= 512 then v_key
                    else 'sha256:' || encode(sha256(convert_to(v_key, 'UTF8')), 'hex') end;
    exception
        when untranslatable_character or invalid_text_representation then
            return null;
    end
    $$;

-- Until when an automation's own keys are taken: null: until the job has finished.
create function tenure.unique_until(p_automation tenure.automations) returns timestamptz
    language sql volatile
    as $$
        select case when p_automation.unique_for = 'infinity' then 'infinity'::timestamptz
                    else tenure.clock() + make_interval(secs => p_automation.unique_for) end
    $$;

-- A field of a form, as it was meant.
create function tenure.form_text(p_text text) returns text
    language sql immutable
    as $$
        select convert_from(string_agg(
                   case when m[1] ~ '^%[0-9a-fA-F]{2}$' then decode(substr(m[1], 2), 'hex')
                        else convert_to(m[1], 'UTF8') end, ''::bytea order by n), 'UTF8')
          from regexp_matches(replace(p_text, '+', ' '), '%[0-9a-fA-F]{2}|[^%]+|%', 'g')
               with ordinality as p (m, n)
    $$;

-- What a delivery brought, as JSON; null where it is none.  Fields of a form are fields of the input.
create function tenure.event_input(p_body bytea, p_content_type text) returns json
    language plpgsql stable
    as $$
    declare
        v_text constant text := convert_from(p_body, 'UTF8');
    begin
        if lower(coalesce(p_content_type, '')) not like 'application/x-www-form-urlencoded%' then
            return v_text::json;
        end if;
        return (select json_object_agg(tenure.form_text(split_part(f, '=', 1)),
                                       coalesce(tenure.form_text(substr(f, strpos(f, '=') + 1)), ''))
                  from regexp_split_to_table(v_text, '&') as f
                 where f like '_%=%');
    exception
        when data_exception or invalid_text_representation or untranslatable_character
             or character_not_in_repertoire or null_value_not_allowed or statement_too_complex then
            return null;
    end
    $$;

-- Says at the job that has a unique key which event made no second one.
create function tenure.note_unmade(p_holder uuid, p_event uuid, p_source text, p_key text)
    returns void
    language sql volatile
    as $$
        insert into tenure.journal (job_id, kind, said, detail)
        values (p_holder, 'unique',
                format('Event %s of %s made no second job: this one has the unique key %s.', p_event,
                       p_source, p_key),
                json_build_object('event', p_event, 'source', p_source, 'key', p_key))
    $$;
