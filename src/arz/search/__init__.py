"""Searches: what to try next.

A search knows neither programs nor tasks. It holds *genomes*, which a `Problem` can draw at random, vary and score, and
random numbers that come from keys alone. So a toy problem tests it, and the same seed gives the same search on any
number of threads, and after any interruption.
"""
