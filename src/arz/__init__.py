"""ARZ: evolves small, readable, adaptive control programs from scratch.

A policy is a program of a linear register machine (Kelly et al., "Discovering Adaptable Symbolic Algorithms from
Scratch", 2023): `Program` is what it is, `execute` runs it, `effective` and `readable` make it smaller,
`complexity` says what it costs, `mutate` and `crossover` change it.
"""

from importlib.metadata import version

from arz.complexity import Complexity, complexity
from arz.interpreter import Interpreter, Trace, execute, execute_batch, trace
from arz.program import Batch, Instruction, Memory, Program
from arz.simplify import Guarantee, Simplified, effective, readable
from arz.streams import Stream
from arz.tokens import ParseError
from arz.vary import MutationWeights, Variation, crossover, mutate, operator, random_programs

__version__ = version("arz")

__all__ = [
    "Batch",
    "Complexity",
    "Guarantee",
    "Instruction",
    "Interpreter",
    "Memory",
    "MutationWeights",
    "ParseError",
    "Program",
    "Simplified",
    "Stream",
    "Trace",
    "Variation",
    "complexity",
    "crossover",
    "effective",
    "execute",
    "execute_batch",
    "mutate",
    "operator",
    "random_programs",
    "readable",
    "trace",
]
