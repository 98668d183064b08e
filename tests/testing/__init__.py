"""What users test with is tested here: over real sockets, from outside."""
