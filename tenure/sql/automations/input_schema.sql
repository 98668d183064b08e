-- Reads the JSON schema that an automation's input was declared with.
-- Parameters: name text.
-- Returns: a row: input_schema as text, null where everything fits.
-- Locks: none.
-- Index: the primary key.
-- Zero rows: nobody has declared the automation.
select a.input_schema::text as input_schema
  from tenure.automations as a
 where a.name = %(name)s
