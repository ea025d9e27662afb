"""Evaluation beyond one machine: what travels, how work is shared out, and workers on a Ray cluster.

Ray is an extra, and only `ray_workers` knows it, once it is asked for workers.
"""
