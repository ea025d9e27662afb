"""What each command of the command line does, from its options to what is printed. `cli.py` has the options."""

from arz.commands.common import import_named
from arz.commands.comparing import compare
from arz.commands.evolving import evolve, resume, train
from arz.commands.explaining import ablate, explain, trace
from arz.commands.exporting import export
from arz.commands.looking import ops, runs, show
from arz.commands.pruning import prune
from arz.commands.reproducing import reproduce
from arz.commands.sweeping import sweep
from arz.commands.trying import plot, replay, test

__all__ = [
    "ablate",
    "compare",
    "evolve",
    "explain",
    "export",
    "import_named",
    "ops",
    "plot",
    "prune",
    "replay",
    "reproduce",
    "resume",
    "runs",
    "show",
    "sweep",
    "test",
    "trace",
    "train",
]
