"""The rules of the house, executable: each proves itself on a planted violation."""
