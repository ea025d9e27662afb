"""The paper's results, each by one command: which runs it takes, what is measured, what that says about the claims.

An *item* is a figure or a table of the paper: a file in `items/` that names its experiments and its claims. Runs
(`work.py`) give a table of numbers (`data.csv`); figure, verdicts and page follow from that table alone, so that what
is kept in a repository can be drawn and judged again without the runs.
"""
