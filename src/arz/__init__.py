"""ARZ: evolves small, readable, adaptive control programs from scratch.

A policy is a program of a linear register machine (Kelly et al., "Discovering Adaptable Symbolic Algorithms from
Scratch", 2023): `Program` is what it is, `execute` runs it, `effective` and `readable` make it smaller,
`complexity` says what it costs, `mutate` and `crossover` change it. `preset` and `evolve` search for programs that do a
task; `Policy` lets other libraries drive one.

Each name is imported from its module when somebody first asks for it: who only wants the version waits for nothing.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from arz.registration import register_when_imported
from arz.version import __version__ as __version__

MODULES = {
    "TEST_SEED": "evaluate",
    "Assessment": "testing",
    "Batch": "program",
    "Cartpole": "tasks.cartpole",
    "Complexity": "complexity",
    "Config": "runs.config",
    "Evaluation": "evaluate",
    "Guarantee": "simplify",
    "Instruction": "program",
    "Interpreter": "interpreter",
    "Memory": "program",
    "MutationWeights": "vary",
    "Network": "network",
    "ParseError": "tokens",
    "Policy": "predictor",
    "Program": "program",
    "Progress": "runs.session",
    "Quadruped": "tasks.quadruped",
    "RayWorkers": "cluster.ray_workers",
    "Run": "runs.run",
    "Simplified": "simplify",
    "Status": "evaluate",
    "Stream": "streams",
    "Trace": "interpreter",
    "Variation": "vary",
    "allow_files": "tasks.gymnasium.adapter",
    "assess": "testing",
    "complexity": "complexity",
    "crossover": "vary",
    "effective": "simplify",
    "evaluate": "evaluate",
    "evolve": "runs.api",
    "execute": "interpreter",
    "execute_batch": "interpreter",
    "fresh_episodes": "evaluate",
    "grown_programs": "vary",
    "mutate": "vary",
    "operator": "vary",
    "preset": "runs.api",
    "random_programs": "vary",
    "readable": "simplify",
    "record": "evaluate",
    "resume": "runs.api",
    "trace": "interpreter",
    "transplant": "vary",
}
"""Where each name is from."""

__all__ = list(MODULES)


class _Package(ModuleType):
    """The package: two of its functions are called as their modules are, and here these names mean the functions."""

    def __setattr__(self, name: str, value: object) -> None:
        """Sets an attribute; Python itself does so after the import of a module."""
        is_named_so = isinstance(value, ModuleType) and MODULES.get(name) == name
        super().__setattr__(name, getattr(value, name) if is_named_so else value)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return import_module, (self.__name__,)


if TYPE_CHECKING:  # the same as in `MODULES`, for those who check types
    from arz.cluster.ray_workers import RayWorkers as RayWorkers
    from arz.complexity import Complexity as Complexity
    from arz.complexity import complexity as complexity
    from arz.evaluate import TEST_SEED as TEST_SEED
    from arz.evaluate import Evaluation as Evaluation
    from arz.evaluate import Status as Status
    from arz.evaluate import evaluate as evaluate
    from arz.evaluate import fresh_episodes as fresh_episodes
    from arz.evaluate import record as record
    from arz.interpreter import Interpreter as Interpreter
    from arz.interpreter import Trace as Trace
    from arz.interpreter import execute as execute
    from arz.interpreter import execute_batch as execute_batch
    from arz.interpreter import trace as trace
    from arz.network import Network as Network
    from arz.predictor import Policy as Policy
    from arz.program import Batch as Batch
    from arz.program import Instruction as Instruction
    from arz.program import Memory as Memory
    from arz.program import Program as Program
    from arz.runs.api import evolve as evolve
    from arz.runs.api import preset as preset
    from arz.runs.api import resume as resume
    from arz.runs.config import Config as Config
    from arz.runs.run import Run as Run
    from arz.runs.session import Progress as Progress
    from arz.simplify import Guarantee as Guarantee
    from arz.simplify import Simplified as Simplified
    from arz.simplify import effective as effective
    from arz.simplify import readable as readable
    from arz.streams import Stream as Stream
    from arz.tasks.cartpole import Cartpole as Cartpole
    from arz.tasks.gymnasium.adapter import allow_files as allow_files
    from arz.tasks.quadruped import Quadruped as Quadruped
    from arz.testing import Assessment as Assessment
    from arz.testing import assess as assess
    from arz.tokens import ParseError as ParseError
    from arz.vary import MutationWeights as MutationWeights
    from arz.vary import Variation as Variation
    from arz.vary import crossover as crossover
    from arz.vary import grown_programs as grown_programs
    from arz.vary import mutate as mutate
    from arz.vary import operator as operator
    from arz.vary import random_programs as random_programs
    from arz.vary import transplant as transplant
else:

    def __getattr__(name: str) -> object:
        """One of `MODULES`, or a module of the package, when it is first asked for."""
        if name in MODULES:
            globals()[name] = getattr(import_module(f"arz.{MODULES[name]}"), name)
            return globals()[name]
        if name.isidentifier() and not name.startswith("__"):
            try:
                return import_module(f"arz.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"arz.{name}":
                    raise
        raise AttributeError(f"module 'arz' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *MODULES})


sys.modules[__name__].__class__ = _Package
register_when_imported()
