"""Benchmarks: `make bench` prints the table, as ratios within one run."""
