"""The doors: real servers on real sockets before a real database."""
