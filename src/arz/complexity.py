"""Parameters and FLOPs per step, as the paper counts them (its Supplement, "Complexity Comparison").

FLOPs: every operation on a float counts, a dot product of n as 2n, an element that is only copied or set as one;
a call counts one for its condition, the body, and one for each number that it hands back; all conditions are
taken to pass. Under these rules the lines of the paper's Fig. 1 give its 54 * 37 + 82 = 2080, and its cartpole
program 25.

Parameters: the paper counts the constants that the cartpole program uses (11), and the whole memory for the
quadruped (16 + 16 * 37 = 608). Both are given.

Networks: the paper counts the entries of matrices, and two FLOPs for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from arz.network import Architecture
from arz.program import NONE, Program
from arz.simplify import effective


@dataclass(frozen=True)
class Complexity:
    """What a policy costs."""

    lines: int
    """Instructions in GetAction and in the CADFs; a network has none."""
    parameters: int
    """Constants in use: those inside instructions, and the start values of each register that does not start at
    zero (all entries of a vector, even those that are zero)."""
    memory: int
    """Numbers in the memory of GetAction: what evolution could set; of a network, all numbers that are trained."""
    flops: int
    """Floating-point operations of one step, if all conditions pass."""


def network_complexity(shape: Architecture) -> Complexity:
    """The cost of a network."""
    return Complexity(0, shape.matrix_parameters, shape.parameters, 2 * shape.matrix_parameters)


class Costly(Protocol):
    """What has a cost: every policy."""

    def complexity(self, as_written: bool = False) -> Complexity:
        """Its cost."""
        ...


def complexity(policy: Costly, *, as_written: bool = False) -> Complexity:
    """The cost of a policy: of a program, of its dead-code-free form; with `as_written`, of every line."""
    return policy.complexity(as_written)


def program_complexity(program: Program, as_written: bool) -> Complexity:
    """The cost of a program."""
    used = program if as_written else effective(program).program
    functions = [used.lines(function) for function in range(len(used.functions))]
    flops = [sum(line.op.flops(used.memory.dim) for line in lines) for lines in functions]
    calls = 0
    for line in functions[0]:
        if line.op.is_call:
            received = [np.prod(used.memory.shape(kind)) for kind, number in line.outputs if number != NONE]
            calls += flops[1 + int(line.inputs[0])] + int(sum(received))
    inside = sum(line.op.constants for lines in functions for line in lines)
    starts = [used.start(kind, number) for kind in "svm" for number in range(used.memory.count(kind))]
    started = sum(value.size for value in starts if np.any(value != 0))
    return Complexity(
        lines=sum(len(lines) for lines in functions),
        parameters=inside + started,
        memory=used.memory.image_size,
        flops=flops[0] + calls,
    )


def mlp_complexity(inputs: int, outputs: int, hidden: int = 32) -> tuple[int, int]:
    """Parameters and FLOPs per step of the paper's MLP of two hidden layers, matrices only: a lower bound."""
    parameters = hidden * (inputs + hidden + outputs)
    return parameters, 2 * parameters


def lstm_complexity(inputs: int, outputs: int, hidden: int = 32) -> tuple[int, int]:
    """Parameters and FLOPs per step of the paper's LSTM, matrices only: a lower bound.

    (The paper prints 4604 parameters for cartpole; its own formula gives 4640.)
    """
    parameters = hidden * (4 * inputs + 4 * hidden + outputs)
    return parameters, 2 * parameters
