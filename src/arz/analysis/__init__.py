"""Analysis: what came out, as tables and figures.

Everything here is a pure function of what it is given: numbers of a run folder, or the record of an episode that a
policy lived through, become a figure (`figures.py`, `trace_figures.py`); pictures and films of a task are in its own
folder. Nothing is computed again that a run has stored, nothing is kept between calls, and no display is needed. Files
appear whole or not at all.
"""
