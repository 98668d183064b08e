"""One file per promise; each test is a sentence of it."""
