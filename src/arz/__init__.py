"""ARZ: evolves small, readable, adaptive control programs from scratch.

A policy is a program of a linear register machine (Kelly et al., "Discovering Adaptable Symbolic Algorithms from
Scratch", 2023): `Program` is what it is, `execute` runs it, `effective` and `readable` make it smaller,
`complexity` says what it costs, `mutate` and `crossover` change it. `preset` and `evolve` search for programs that do a
task; `Policy` lets other libraries drive one.
"""

from importlib.metadata import version

from arz.cluster.ray_workers import RayWorkers
from arz.complexity import Complexity, complexity
from arz.evaluate import TEST_SEED, Evaluation, Status, evaluate, fresh_episodes, record
from arz.interpreter import Interpreter, Trace, execute, execute_batch, trace
from arz.network import Network
from arz.predictor import Policy
from arz.program import Batch, Instruction, Memory, Program
from arz.runs.api import evolve, preset, resume
from arz.runs.config import Config
from arz.runs.run import Run
from arz.runs.session import Progress
from arz.simplify import Guarantee, Simplified, effective, readable
from arz.streams import Stream
from arz.tasks.cartpole import Cartpole
from arz.tasks.gymnasium.adapter import allow_files
from arz.tasks.quadruped import Quadruped
from arz.tasks.registration import register
from arz.testing import Assessment, assess
from arz.tokens import ParseError
from arz.vary import (
    MutationWeights,
    Variation,
    crossover,
    grown_programs,
    mutate,
    operator,
    random_programs,
    transplant,
)

__version__ = version("arz")
register()

__all__ = [
    "TEST_SEED",
    "Assessment",
    "Batch",
    "Cartpole",
    "Complexity",
    "Config",
    "Evaluation",
    "Guarantee",
    "Instruction",
    "Interpreter",
    "Memory",
    "MutationWeights",
    "Network",
    "ParseError",
    "Policy",
    "Program",
    "Progress",
    "Quadruped",
    "RayWorkers",
    "Run",
    "Simplified",
    "Status",
    "Stream",
    "Trace",
    "Variation",
    "allow_files",
    "assess",
    "complexity",
    "crossover",
    "effective",
    "evaluate",
    "evolve",
    "execute",
    "execute_batch",
    "fresh_episodes",
    "grown_programs",
    "mutate",
    "operator",
    "preset",
    "random_programs",
    "readable",
    "record",
    "resume",
    "trace",
    "transplant",
]
