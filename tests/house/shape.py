"""The schema as text, the same on every PostgreSQL that is served.

What a person who reads a table would ask for: columns, rules, indexes, functions, storage settings.
Partitions by week are left out, as their names are dates.
"""

from __future__ import annotations

import psycopg

_TABLES = """
    select c.oid::regclass::text as name, c.relkind,
           coalesce(array_to_string(c.reloptions, ', '), '')
      from pg_class as c
     where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p', 'v')
       and not (c.relispartition and c.relname ~ '_[0-9]{4}w[0-9]{2}$')
     order by 1
"""
_COLUMNS = """
    select a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
           case when a.attgenerated <> '' then 'generated ' else '' end
               || coalesce(pg_get_expr(d.adbin, d.adrelid), ''), a.attidentity
      from pg_attribute as a
      left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where a.attrelid = %s::regclass and a.attnum > 0 and not a.attisdropped
     order by a.attnum
"""
# From PostgreSQL 18 on, not null is a constraint too ('n'); the column says so already.
_RULES = """
    select conname, pg_get_constraintdef(oid) from pg_constraint
     where conrelid = %s::regclass and contype <> 'n' order by 1
"""
_INDEXES = """
    select indexdef from pg_indexes
     where schemaname = 'tenure' and tablename = %s order by indexname
"""
_FUNCTIONS = """
    select p.oid::regprocedure::text, p.provolatile,
           coalesce(array_to_string(p.proconfig, ', '), ''),
           md5(regexp_replace(p.prosrc, '\\s+', ' ', 'g'))
      from pg_proc as p where p.pronamespace = 'tenure'::regnamespace order by 1
"""


def drawn(conn: psycopg.Connection) -> str:
    """The whole schema, one fact a line."""
    conn.execute("set search_path to pg_catalog")
    lines: list[str] = []
    for name, kind, options in conn.execute(_TABLES).fetchall():
        lines += [f"{'view' if kind == 'v' else 'table'} {name} {options}".rstrip()]
        for column, type_, required, default, identity in conn.execute(_COLUMNS, [name]).fetchall():
            words = [column, type_, "not null" if required else "", default]
            lines.append("    " + " ".join(w for w in (*words, identity and "identity") if w))
        lines += [f"    {rule}: {text}" for rule, text in conn.execute(_RULES, [name]).fetchall()]
        table = name.removeprefix("tenure.")
        lines += [f"    {text}" for (text,) in conn.execute(_INDEXES, [table]).fetchall()]
    for name, kept, config, digest in conn.execute(_FUNCTIONS).fetchall():
        lines.append(f"function {name} {kept} {config} {digest}")
    return "\n".join(lines) + "\n"
