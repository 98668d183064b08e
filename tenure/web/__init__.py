"""The only room that knows there is a web."""
