"""Plain values and pure rules: no input, no output, no database, no network."""
