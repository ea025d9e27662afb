"""Experiments of one's own, as data: a folder with `experiments.toml`, and beside it what is kept of the runs.

A *group* names its experiments, how a run is noted (one line of JSON, and the champion as a file) and which tables say
what came out. Runs are made where the command line makes them, resume, and are never made twice; tables follow from
the notes alone. `results/` of the repository holds such groups: `arz reproduce results/grow`.
"""
