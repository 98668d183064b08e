"""The only floor that speaks to PostgreSQL: one module per folder of statements."""
