"""Learners of other libraries, as baselines."""
