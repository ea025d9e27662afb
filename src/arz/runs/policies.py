"""The kinds of policies that a configuration can ask for: programs, perceptrons, long short-term memory.

Each says of what shape its policies are, what problem they are to a search, and how they begin with one that there is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from arz.evaluate import Workers
from arz.network import Architecture, Network
from arz.policy import AnyPolicy, PolicyShape
from arz.program import REGISTERS, Memory, Program
from arz.runs.networks import NetworkProblem
from arz.runs.problem import ProgramProblem

if TYPE_CHECKING:
    from arz.runs.config import Config


class PolicySettings(ABC):
    """A kind of policy."""

    plural: ClassVar[str]
    """What such policies are called."""

    @abstractmethod
    def shape(self, config: Config) -> PolicyShape:
        """What the policies of a search have in common."""

    @abstractmethod
    def problem(self, config: Config, threads: int, workers: Workers | None) -> Any:
        """What a search searches: policies of this kind for a task."""

    @abstractmethod
    def begun_with(self, start: AnyPolicy, config: Config) -> tuple[Config, AnyPolicy]:
        """The configuration for a search that begins with a policy, and this as it begins.

        Raises:
            ValueError: it is of another kind.
        """

    @abstractmethod
    def method(self, config: Config, preset: str, search: str) -> str:
        """What people call it, when such a search finds such policies."""


@dataclass(frozen=True)
class Programs(PolicySettings):
    """Policies are programs; their memory and how they vary have tables of their own."""

    plural: ClassVar[str] = "programs"

    def shape(self, config: Config) -> Memory:
        """The memory of the programs, with room for what the task shows and wants."""
        counts = {name: getattr(config.memory, name) for name in REGISTERS}
        return Memory(*_sizes(config), **counts, stateful=config.memory.stateful)

    def problem(self, config: Config, threads: int, workers: Workers | None) -> ProgramProblem:
        """Finds programs."""
        fitness = config.fitness
        return ProgramProblem(
            self.shape(config),
            config.variation,
            config.task,
            threads,
            functional=config.search.functional_cache,
            asked=fitness.objectives,
            asked_at_first=fitness.warm_up_objectives,
            mutations=fitness.mutations,
            sighted=fitness.sighted,
            workers=workers,
        )

    def begun_with(self, start: AnyPolicy, config: Config) -> tuple[Config, AnyPolicy]:
        """With its memory, or more of it where memory widens."""
        if not isinstance(start, Program):
            raise ValueError(f"the start is {start.title}, but the policies of this search are {self.plural}")
        memory = start.memory
        counts = {
            name: max(getattr(memory, name), getattr(config.memory, name) if config.memory.widens else 0)
            for name in REGISTERS
        }
        config = replace(config, memory=replace(config.memory, stateful=memory.stateful, **counts))
        return config, start.with_memory(self.shape(config))

    def method(self, config: Config, preset: str, search: str) -> str:
        """ARZ, whatever the search."""
        is_usual = preset == config.task.kind
        return ("ARZ" if config.memory.stateful else "ARZ stateless") + ("" if is_usual else f" {preset}")


class Networks(PolicySettings):
    """Policies are networks."""

    plural: ClassVar[str] = "networks"
    name: ClassVar[str]

    @abstractmethod
    def shape(self, config: Config) -> Architecture:
        """Their layers, with what the task shows and wants."""

    def problem(self, config: Config, threads: int, workers: Workers | None) -> NetworkProblem:
        """Finds the numbers of networks."""
        return NetworkProblem(
            self.shape(config),
            config.task,
            threads,
            asked=config.fitness.objectives,
            asked_at_first=config.fitness.warm_up_objectives,
            sigma=config.variation.sigma,
            workers=workers,
        )

    def begun_with(self, start: AnyPolicy, config: Config) -> tuple[Config, AnyPolicy]:
        """With its architecture."""
        if not isinstance(start, Network):
            raise ValueError(f"the start is {start.title}, but the policies of this search are {self.plural}")
        shape = start.architecture
        kind = Lstm(*shape.hidden) if shape.kind == "lstm" else Mlp(shape.hidden, shape.activation)
        return replace(config, policy=kind), start

    def method(self, config: Config, preset: str, search: str) -> str:
        """Search and kind of network, as ARS+LSTM."""
        return f"{search.upper()}+{self.name}"


@dataclass(frozen=True)
class Mlp(Networks):
    """Policies are perceptrons.

    Raises:
        ValueError: a number is out of range.
    """

    layers: tuple[int, ...] = (32, 32)
    """The units of each hidden layer."""
    activation: str = "tanh"
    """Of the hidden layers: tanh or relu."""

    name: ClassVar[str] = "MLP"

    def __post_init__(self) -> None:
        _ = Architecture("mlp", 1, 1, self.layers, self.activation)

    def shape(self, config: Config) -> Architecture:
        """Its layers."""
        return Architecture("mlp", *_sizes(config), self.layers, self.activation)


@dataclass(frozen=True)
class Lstm(Networks):
    """Policies are a layer of long short-term memory and a linear one on top.

    Raises:
        ValueError: a number is out of range.
    """

    units: int = 32
    """Of the hidden layer."""

    name: ClassVar[str] = "LSTM"

    def __post_init__(self) -> None:
        _ = Architecture("lstm", 1, 1, (self.units,))

    def shape(self, config: Config) -> Architecture:
        """Its layers."""
        return Architecture("lstm", *_sizes(config), (self.units,))


def _sizes(config: Config) -> tuple[int, int]:
    """Observations and actions; where an environment was not asked yet, the least that there can be."""
    return max(1, config.task.observations), max(1, config.task.actions)


POLICIES: dict[str, type[PolicySettings]] = {"program": Programs, "mlp": Mlp, "lstm": Lstm}
"""By the name of the kind in a configuration; the first is meant where a configuration does not say."""
