-- 0001_ground: the schema, the clock, ids that carry their time, the ledger of migrations.
-- serves code from: 1

create schema if not exists tenure;

-- Time is read through these two and nothing else, so that a test can move it for all processes at
-- once by replacing them.  now() is inlined into predicates and stays an index condition; clock()
-- is read anew at each call, for leases and budgets.
create function tenure.now() returns timestamptz
    language sql stable parallel safe
    as $$ select statement_timestamp() $$;

create function tenure.clock() returns timestamptz
    language sql volatile parallel safe
    as $$ select clock_timestamp() $$;

-- The first 48 bits of a UUIDv7 are milliseconds since 1970: rows made together lie together, and a
-- partition's bound is a time.
create function tenure.uuid7_floor(at timestamptz) returns uuid
    language sql immutable strict parallel safe
    as $$
        select encode(
            substring(int8send(floor(extract(epoch from at) * 1000)::bigint) from 3)
                || '\x00000000000000000000'::bytea,
            'hex')::uuid
    $$;

create function tenure.uuid7() returns uuid
    language sql volatile parallel safe
    as $$
        select encode(
            set_bit(set_bit(
                overlay(
                    uuid_send(gen_random_uuid())
                    placing substring(uuid_send(tenure.uuid7_floor(tenure.clock())) from 1 for 6)
                    from 1 for 6),
                52, 1), 53, 1),
            'hex')::uuid
    $$;

create table tenure.migrations (
    version integer primary key,
    name text not null,
    checksum text not null,
    serves_from integer not null,
    applied_at timestamptz not null default clock_timestamp()
);
comment on table tenure.migrations is
    'What was applied, when, and the oldest code each migration still serves';
