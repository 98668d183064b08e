"""Kills workers at every point between claim and settle, and counts what is lost or done twice."""
