"""The database goes away under load, and comes back, or another takes its place."""
