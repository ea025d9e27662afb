"""Runs: a search for programs, from its configuration to its result, in one folder.

A `Config` says everything that decides the result; a preset is one with a name. A `Run` is the folder of one search
with one SQLite file: configuration, metrics, lineage, champions, checkpoints and test results. It can be interrupted at
any moment, even by `kill -9`, and goes on as if nothing had happened, bit for bit.
"""
