"""Every statement and migration, as files: the listing is what Tenure does to a database."""
