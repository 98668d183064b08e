"""Plain values and pure rules: no database, no network, property tests."""
