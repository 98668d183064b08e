"""The worker against a real database and real providers."""
