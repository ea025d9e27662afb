"""Tasks: what a policy is asked to do.

A task is a frozen record of its variant (`Cartpole`). It says how large observation and action are, and holds the
settings that the native core simulates; the Gymnasium environment of the same task (`environment.py`) runs the
same physics code, one step at a time. An episode is named by a number, its key: everything random about it, the
start and the changes to come, follows from that.
"""
