"""Measurements that anyone can run again: ``make bench``, or ``python -m benchmarks NAME``."""
