"""Variation: random programs, the paper's seven mutations, and its crossover.

The native core does the work, on batches; each child draws from the stream of its own key, so that the same keys
give the same children whatever else happens. A mutation that cannot apply is drawn again, so that a child differs
from its parent. Your own operator, written in Python, plugs in by name::

    @operator("negate_start")
    def negate_start(program, stream):
        return Program(program.memory, program.functions, -program.image)

    variation = Variation(custom={"negate_start": 0.5})
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from arz.names import did_you_mean
from arz.native import ByFields, check_same, core
from arz.ops import OPS
from arz.program import Batch, Memory, Program, as_positions
from arz.streams import Stream, as_keys, mix

Operator = Callable[[Program, Stream], Program | None]
"""A mutation written in Python: a new program, or None where it cannot apply."""

OPERATORS: dict[str, Operator] = {}
"""Custom operators by name."""

NO_MUTATION = core.NO_MUTATION
"""The number of a child's mutation where none could apply: the child equals its parent."""
TRANSPLANTED, REFLEX = NO_MUTATION - 1, NO_MUTATION - 2
"""The numbers of what is no mutation of one parent by itself: it takes another parent, or episodes."""


class UnknownOperatorError(ValueError):
    """A custom operator that was not registered here."""


@dataclass(frozen=True)
class MutationWeights:
    """Relative probability of each mutation (the paper's Table "Mutation operators")."""

    insert_instruction: float = 0.5
    """Insert a random instruction at a random line."""
    delete_instruction: float = 1.0
    """Delete a random line."""
    randomize_instruction: float = 1.0
    """Replace a random line by a random instruction."""
    randomize_function: float = 0.1
    """Shuffle the lines of a function."""
    randomize_constants: float = 0.5
    """Add noise to a fraction of the start values of one register."""
    randomize_parameter: float = 0.5
    """Change one argument or constant of one line."""
    randomize_dim_indices: float = 0.5
    """Change a fraction of the element positions of one line."""
    grow_term: float = 0.0
    """Add an expression, times a number near zero, to a register that matters. (This and the next two are ours.)"""
    grow_call: float = 0.0
    """Add what a conditional call of a CADF gives, times a number near zero, to a register that matters."""
    drop_term: float = 0.0
    """Leave out a term: of two, the one with the smaller coefficients."""


MUTATIONS = tuple(weight.name for weight in fields(MutationWeights))
"""The names of the native ones, in the order of their numbers."""

check_same("list of mutations", MUTATIONS, "MUTATIONS")


@dataclass(frozen=True)
class Variation(ByFields):
    """What random instructions, programs and mutations are drawn from.

    Raises:
        ValueError: a number is out of range, or a name is unknown.
    """

    weights: MutationWeights = field(default_factory=MutationWeights)
    custom: Mapping[str, float] = field(default_factory=dict)
    """Weights of operators that were registered with `operator`: before they are used, see `check_operators`."""
    op_weights: Mapping[str, float] = field(default_factory=dict)
    """Relative probability of ops in random instructions; 1 for those not named, 0 to leave one out."""
    sigma: float = 0.05
    """Standard deviation of the noise on start values."""
    fraction: float = 0.2
    """Share of a register's start values, or of a line's element positions, that one mutation changes."""
    decades: float = 0.0
    """When start values change, sigma and fraction are divided by 10 to the power of U(0, this), each by itself, so
    that steps come in all sizes. The paper has one size."""
    max_cadfs: int = 6
    """A random call may create a CADF while there are fewer than this. Memories that have no room for the arguments
    of a call (4 scalars, 2 vectors, 2 indices) get none."""
    length: tuple[int, int] = (1, 10)
    """Least and most lines of GetAction in a random program."""
    cadf_length: tuple[int, int] = (1, 10)
    """Least and most lines of a new CADF."""
    initial_cadfs: int = 0
    """CADFs of a random program, beside those that its calls create."""
    initial_constants: float = 0.0
    """Start values of a random program are drawn from U(-this, this)..."""
    density: float = 1.0
    """...each with this probability; the others are 0."""
    growth_length: int = 3
    """Most lines of a grown expression."""
    growth_memory: float = 0.3
    """How likely one of its lines reads its own destination: a sum, a clock, a latch."""
    growth_vectors: float = 1.0
    """How often its lines give a vector where a scalar would do, relative to the usual: vectors are few."""
    growth_branches: float = 0.0
    """How likely what else a line reads is an expression of its own, such as a second sense, and not a constant."""
    growth_constants: float = 0.1
    """Start values that a grown expression reads are drawn from U(-this, this); scalars are of all sizes around it."""
    growth_coefficient: float = 0.01
    """The coefficients of a grown term are drawn from U(-this, this): it does next to nothing at first."""

    def __post_init__(self) -> None:
        _known("op", self.op_weights, (op.name for op in OPS))
        for name in ("length", "cadf_length"):
            value = getattr(self, name)
            if not isinstance(value, list | tuple) or len(value) != 2 or not all(_is_whole(item) for item in value):
                raise ValueError(f"{name} must be two numbers, the least and the most, both whole, not {value!r}")
        for name in ("max_cadfs", "initial_cadfs", "growth_length"):
            if not _is_whole(getattr(self, name)):
                raise ValueError(f"{name} must be a whole number, not {getattr(self, name)!r}")
        numbers = ("sigma", "fraction", "decades", "initial_constants", "density")
        grown = ("growth_memory", "growth_vectors", "growth_branches", "growth_constants", "growth_coefficient")
        for name in (*numbers, *grown):
            if not _is_number(getattr(self, name)):
                raise ValueError(f"{name} must be a number, not {getattr(self, name)!r}")
        for what, weights in (("mutation", asdict(self.weights)), ("op", self.op_weights), ("operator", self.custom)):
            for name, weight in weights.items():
                if not _is_number(weight):
                    raise ValueError(f"the weight of {what} {name} must be a number, not {weight!r}")
        _ = self.native  # refuses what is out of range

    def check_operators(self) -> None:
        """Makes sure that the custom operators are there: who only reads a variation does not need them.

        Raises:
            UnknownOperatorError: one is not.
        """
        for name in self.custom:
            if name not in OPERATORS:
                raise UnknownOperatorError(f"there is no operator called {name!r}.{did_you_mean(name, OPERATORS)}")

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules in which the custom operators are."""
        return tuple(sorted({OPERATORS[name].__module__ for name in self.custom}))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all mutations, in the order of their numbers: the native ones, then the custom ones."""
        return (*MUTATIONS, *self.custom)

    @property
    def origins(self) -> dict[int, str]:
        """What can make a child, by number: mutations, and what is none."""
        return {**dict(enumerate(self.names)), REFLEX: "reflex", TRANSPLANTED: "transplant", NO_MUTATION: "copy"}

    @cached_property
    def native(self) -> core.VariationSettings:
        """The same, as the native core knows it."""
        others = {item.name: getattr(self, item.name) for item in fields(self)}
        for name in ("weights", "custom", "op_weights"):
            del others[name]
        return core.variation_settings(
            weights=[*astuple(self.weights), *self.custom.values()],
            op_weights=[self.op_weights.get(op.name, 1.0) for op in OPS],
            **others,
        )


def operator(name: str) -> Callable[[Operator], Operator]:
    """Registers a mutation written in Python under a name, for `Variation(custom={name: weight})`.

    The function gets the parent and a stream of random numbers, and returns the child, a new program of the same
    memory, or None where it cannot apply. All randomness must come from the stream::

        @operator("drop_last_line")
        def drop_last_line(program, stream):
            get_action, *cadfs = program.functions
            return Program(program.memory, (get_action[:-1], *cadfs), program.image) if len(get_action) else None

    Raises:
        ValueError: the name is taken.
    """
    if name in OPERATORS or name in MUTATIONS:
        raise ValueError(f"there is already a mutation called {name!r}")

    def register(function: Operator) -> Operator:
        OPERATORS[name] = function
        return function

    return register


def random_programs(
    memory: Memory, keys: NDArray[np.uint64], variation: Variation | None = None, *, threads: int = 1
) -> Batch:
    """One random program for each key."""
    settings = (variation or Variation()).native
    return Batch(memory, core.random_batch(memory.native, settings, as_keys(keys), threads=threads))


def grown_programs(
    memory: Memory, terms: int, keys: NDArray[np.uint64], variation: Variation | None = None, *, threads: int = 1
) -> Batch:
    """One program for each key: the smallest, which sets its action anew each step, with so many terms grown on it."""
    settings = (variation or Variation()).native
    return Batch(memory, core.grown(memory.native, settings, terms=terms, keys=as_keys(keys), threads=threads))


def grow_reflexes(
    batch: Batch,
    parents: Sequence[int] | NDArray[np.int64],
    keys: NDArray[np.uint64],
    terms: int,
    variation: Variation | None = None,
    *,
    threads: int = 1,
) -> tuple[Batch, NDArray[np.int32]]:
    """One child of each parent, with a reflex: terms for the action that are zero until a sense has fired.

    The sense is a vector w and a scalar t: it fires when dot(w, observation) + t is above 0, unless a reflex that
    was there before has begun to act; a latch remembers it.

    Returns:
        The children, and the numbers of w, t and the latch in each [child, 3]; -1 where there was no room, and the
        child is its parent.
    """
    settings = (variation or Variation()).native
    children, registers = core.reflexes(
        batch.core, settings, terms=terms, parents=as_positions(parents), keys=as_keys(keys), threads=threads
    )
    return Batch(batch.memory, children), registers


def transplant(
    batch: Batch,
    first: Sequence[int] | NDArray[np.int64],
    second: Sequence[int] | NDArray[np.int64],
    keys: NDArray[np.uint64],
    *,
    threads: int = 1,
) -> tuple[Batch, NDArray[np.bool_]]:
    """One child of each pair: the first parent with a term of the second, and whether there was one and room for it.

    The term comes with all that it is computed from, numbers too, in registers that the first parent does not use.
    """
    pair = (as_positions(first), as_positions(second))
    children, applied = core.transplanted(batch.core, *pair, keys=as_keys(keys), threads=threads)
    return Batch(batch.memory, children), applied.astype(bool)


def mutate(
    batch: Batch,
    parents: Sequence[int] | NDArray[np.int64],
    keys: NDArray[np.uint64],
    variation: Variation | None = None,
    *,
    threads: int = 1,
) -> tuple[Batch, NDArray[np.uint8]]:
    """One child of each parent, by one mutation each, and the number of that mutation (see `Variation.names`).

    A child differs from its parent. Only where none of the mutations of positive weight can apply, it is a copy, and
    its number is `NO_MUTATION`.

    Args:
        batch: where the parents are.
        parents: their positions in the batch.
        keys: one for each child: names its random numbers.
        variation: what to draw from; the paper's settings by default.
        threads: how many to use.
    """
    variation = variation or Variation()
    variation.check_operators()
    chosen = as_positions(parents)
    drawn = as_keys(keys)
    children, applied = core.mutated(batch.core, variation.native, parents=chosen, keys=drawn, threads=threads)
    result = Batch(batch.memory, children)
    if not variation.custom:
        return result, applied
    custom = np.flatnonzero((applied >= len(MUTATIONS)) & (applied != NO_MUTATION))
    if len(custom) == 0:
        return result, applied
    made = []
    for child in custom.tolist():
        program, number = _custom_child(batch[int(chosen[child])], int(drawn[child]), int(applied[child]), variation)
        made.append(program)
        applied[child] = number
    order = np.arange(len(result))
    order[custom] = len(result) + np.arange(len(made))
    return (result + Batch.pack(made)).take(order), applied


def crossover(
    batch: Batch,
    first: Sequence[int] | NDArray[np.int64],
    second: Sequence[int] | NDArray[np.int64],
    keys: NDArray[np.uint64],
    *,
    threads: int = 1,
) -> Batch:
    """One child of each pair: the first parent with one of its CADFs replaced by one of the second's.

    Where either parent has no CADF, the child is one of the two, at random.
    """
    pair = (as_positions(first), as_positions(second))
    return Batch(batch.memory, core.crossed(batch.core, *pair, keys=as_keys(keys), threads=threads))


def _custom_child(parent: Program, key: int, number: int, variation: Variation) -> tuple[Program, int]:
    """A child by a custom operator; one that cannot apply is drawn again, as the native ones are."""
    for attempt in range(1000):
        stream = Stream(mix(key ^ (attempt + 1)))
        child = OPERATORS[variation.names[number]](parent, stream)
        if child is not None and child != parent:
            if not isinstance(child, Program) or child.memory != parent.memory:
                name = variation.names[number]
                raise ValueError(f"operator {name!r} must return None or a program of the same memory, not {child!r}")
            return child, number
        again = np.array([stream.bits()], np.uint64)
        children, applied = core.mutated(
            parent.packed, variation.native, parents=np.zeros(1, np.int64), keys=again, threads=1
        )
        number = int(applied[0])
        if number < len(MUTATIONS) or number == NO_MUTATION:
            return Batch(parent.memory, children)[0], number
    return parent, NO_MUTATION


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and not (isinstance(value, int) and abs(value) > 2**1000)
    )


def _known(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {what} called {name!r}.{did_you_mean(name, known)}")
