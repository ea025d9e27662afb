"""Neural networks as policies: what programs are compared with.

An `Architecture` is a perceptron (`mlp`) or a layer of long short-term memory with a linear layer on top
(`lstm`). A `Network` is one with its numbers; like a program it is a text that a person can read, and nothing in it is
ever run as code. The native core runs them over lanes, through the same rollout as programs.
"""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arz.files import decoded, read_bytes
from arz.native import ByFields, core
from arz.typing import Floats

if TYPE_CHECKING:
    from arz.complexity import Complexity


HEAD = "[network]"
"""How the text of a network begins."""
NETWORK_KINDS = ("mlp", "lstm")
ACTIVATIONS = ("tanh", "relu")
ARRAY = "images"
"""What a batch consists of."""
HEAD_FIELDS = {"kind", "observations", "actions", "hidden", "activation"}
MAX_BYTES = 1 << 24
MAX_HEAD, MAX_DOTS, MAX_LINES = 1 << 14, 100, 1 << 17
"""What stands before the numbers has at most so many characters and dots: names with many dots make TOML slow. The text
has at most so many lines."""
MAX_PARTS = 64
"""More than the parts of any network."""
NUMBERS = re.compile(r"^[ \t]*\[numbers\][ \t\r]*(?:#.*)?$", re.M)
"""The line after which the numbers stand."""
NAME = re.compile(r"^[ \t]*(\w+)[ \t]*=", re.M | re.ASCII)
"""How a line begins that gives numbers to a part."""
TABLE = re.compile(r"^[ \t]*\[+[ \t]*[A-Za-z_]", re.M)
"""How a line begins that opens another table."""


@dataclass(frozen=True)
class Architecture(ByFields):
    """A kind of network and its sizes.

    Raises:
        ValueError: a size is out of range.
    """

    kind: str
    observations: int
    actions: int
    hidden: tuple[int, ...]
    """The units of each hidden layer; of an LSTM, of its only one."""
    activation: str = "tanh"
    """Of the hidden layers of a perceptron."""

    def __post_init__(self) -> None:
        if self.kind not in NETWORK_KINDS:
            raise ValueError(f"kind must be one of {', '.join(NETWORK_KINDS)}, not {self.kind!r}")
        if self.activation not in ACTIVATIONS or (self.kind == "lstm" and self.activation != "tanh"):
            raise ValueError(f"activation must be tanh or, for an mlp, relu, not {self.activation!r}")
        for value in (self.observations, self.actions, *self.hidden):
            if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 2**31:
                raise ValueError(f"the size of a layer must be a whole number above 0, not {value!r}")
        _ = self.native

    @cached_property
    def native(self) -> core.NetworkShape:
        """For the native core."""
        return core.network_shape(
            is_lstm=self.kind == "lstm",
            is_relu=self.activation == "relu",
            observations=self.observations,
            actions=self.actions,
            hidden=list(self.hidden),
        )

    @cached_property
    def parts(self) -> dict[str, tuple[int, ...]]:
        """The names and shapes of its numbers, in their order.

        `shift` is subtracted from the observation, which is then multiplied by `scale`. The rows of an LSTM's layer
        are input gates, forget gates, candidates and output gates.
        """
        found: dict[str, tuple[int, ...]] = {"shift": (self.observations,), "scale": (self.observations,)}
        inputs = self.observations
        if self.kind == "lstm":
            units = self.hidden[0]
            found |= {"input": (4 * units, inputs), "recurrent": (4 * units, units), "gate_bias": (4 * units,)}
            inputs = units
        else:
            for layer, units in enumerate(self.hidden, 1):
                found |= {f"weights{layer}": (units, inputs), f"bias{layer}": (units,)}
                inputs = units
        return found | {"output": (self.actions, inputs), "output_bias": (self.actions,)}

    def batch(self, arrays: Mapping[str, NDArray[Any]]) -> NetworkBatch:
        """The networks whose arrays these are.

        Raises:
            ValueError: they do not fit this architecture.
            KeyError: one is missing.
        """
        made = NetworkBatch(self, arrays[ARRAY])
        _ = made.core  # refuses what does not fit
        return made

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return int(self.native.size)

    @property
    def fixed(self) -> int:
        """How many of them, at the beginning, only describe the observation."""
        return 2 * self.observations

    @property
    def parameters(self) -> int:
        """How many are trained, biases among them; the paper counts matrices only."""
        return self.size - self.fixed

    @property
    def matrix_parameters(self) -> int:
        """As the paper counts them: the entries of matrices."""
        return sum(int(np.prod(shape)) for shape in self.parts.values() if len(shape) == 2)

    def split(self, numbers: Floats) -> dict[str, Floats]:
        """The numbers of a network by name."""
        found, first = {}, 0
        for name, shape in self.parts.items():
            size = int(np.prod(shape))
            found[name] = numbers[first : first + size].reshape(shape)
            first += size
        return found

    def blank(self) -> Floats:
        """All numbers zero, and the observation as it is."""
        numbers = np.zeros(self.size)
        numbers[self.observations : self.fixed] = 1.0
        return numbers


@dataclass(frozen=True, eq=False)
class Network(ByFields):
    """An architecture with its numbers.

    Raises:
        ValueError: there are more or fewer than it has, or one is not finite.
    """

    architecture: Architecture
    numbers: Floats

    title = "a network"

    def __post_init__(self) -> None:
        if self.numbers.shape != (self.architecture.size,):
            raise ValueError(f"expected {self.architecture.size} numbers, got an array of shape {self.numbers.shape}")
        if not np.isfinite(self.numbers).all():
            raise ValueError("the numbers of a network must be finite")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return self.architecture == other.architecture and self.numbers.tobytes() == other.numbers.tobytes()

    def __hash__(self) -> int:
        return hash((self.architecture, self.numbers.tobytes()))

    @property
    def shape(self) -> Architecture:
        """What it has in common with those it can be packed with."""
        return self.architecture

    @property
    def observations(self) -> int:
        """How many numbers it sees."""
        return self.architecture.observations

    @property
    def actions(self) -> int:
        """How many it gives."""
        return self.architecture.actions

    @cached_property
    def packed(self) -> core.NetworkBatch:
        """For the native core."""
        return self.batch.core

    @property
    def batch(self) -> NetworkBatch:
        """A batch of it alone."""
        return NetworkBatch.pack([self])

    @classmethod
    def pack(cls, policies: Sequence[Network]) -> NetworkBatch:
        """A batch of networks; see `NetworkBatch.pack`."""
        return NetworkBatch.pack(policies)

    def interpreter(self, lanes: int = 1) -> NetworkInterpreter:
        """What runs it step by step."""
        return NetworkInterpreter(self, lanes)

    def complexity(self, as_written: bool = False) -> Complexity:
        """What it costs; see `arz.complexity`."""
        from arz.complexity import network_complexity

        return network_complexity(self.architecture)

    def essential(self) -> Network:
        """Itself."""
        return self

    def for_reading(self) -> Network:
        """Itself."""
        return self

    def describe(self) -> str:
        """Layers, numbers and FLOPs, in a sentence."""
        shape, cost = self.architecture, self.complexity()
        layers = " and ".join(map(str, shape.hidden)) or "no"
        return (
            f"{shape.kind.upper()} of {layers} units: {cost.memory} trained numbers, {cost.parameters} in matrices; "
            f"{cost.flops} FLOPs per step in their products."
        )

    def __str__(self) -> str:
        architecture = self.architecture
        lines = [HEAD, f'kind = "{architecture.kind}"', f"observations = {architecture.observations}"]
        lines += [f"actions = {architecture.actions}", f"hidden = {list(architecture.hidden)}"]
        lines += [f'activation = "{architecture.activation}"', "", "[numbers]"]
        for name, part in architecture.split(self.numbers).items():
            rows = ", ".join(map(repr, part.tolist())) if part.ndim == 1 else ",\n  ".join(map(repr, part.tolist()))
            lines.append(f"{name} = [{rows}]")
        return "\n".join(lines) + "\n"

    @classmethod
    def parse(cls, text: str, source: str = "network") -> Network:
        """A network from its text.

        Raises:
            ValueError: it is none.
        """
        first, *rest = NUMBERS.split(text, 1)
        if len(first) > MAX_HEAD or first.count(".") > MAX_DOTS or text.count("\n") > MAX_LINES:
            raise ValueError(f"{source}: expected a short table [network], then [numbers] in at most {MAX_LINES} lines")
        try:
            tables = tomllib.loads(first)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise ValueError(f"{source}: {error}") from None
        head = tables.get("network")
        if tables.keys() != {"network"} or not isinstance(head, dict) or not rest or TABLE.search(rest[0]):
            raise ValueError(f"{source}: expected the tables [network] and [numbers]")
        if head.keys() != HEAD_FIELDS or not isinstance(head["hidden"], list):
            raise ValueError(f"{source}: [network] must say {', '.join(sorted(HEAD_FIELDS))}; hidden is a list")
        try:
            architecture = Architecture(**{**head, "hidden": tuple(head["hidden"])})
            given = _number_texts(rest[0])
            if given.keys() != architecture.parts.keys():
                raise ValueError(f"[numbers] must have {', '.join(architecture.parts)}")
            parts = [_numbers(name, given[name], shape) for name, shape in architecture.parts.items()]
            return cls(architecture, np.concatenate(parts))
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"{source}: {error}") from None

    @classmethod
    def load(cls, path: str | Path) -> Network:
        """A network from a file.

        Raises:
            ValueError: it is none.
            OSError: it cannot be read.
        """
        return cls.decode(read_bytes(path, MAX_BYTES), str(path))

    @classmethod
    def decode(cls, data: bytes, source: str) -> Network:
        """A network from the bytes of its text.

        Raises:
            ValueError: they are none.
        """
        return cls.parse(decoded(data, source, MAX_BYTES), source)


def _number_texts(text: str) -> dict[str, str]:
    """What stands behind each name."""
    plain = re.sub(r"#.*", "", text)
    before, *found = NAME.split(plain, MAX_PARTS) if plain.isascii() else [plain]
    names, values = found[::2], found[1::2]
    if before.strip() or len(set(names)) < len(names):
        raise ValueError("[numbers] must have lines such as bias = [0.5, 1.0], one for each part")
    return dict(zip(names, values, strict=True))


def _numbers(name: str, text: str, shape: tuple[int, ...]) -> Floats:
    """The numbers of a part. Its text is TOML's, of which JSON is nearly a part, and read much faster."""
    spelled = {"nan": "NaN", "inf": "Infinity"}
    plain = re.sub(r"\b(?:nan|inf)\b", lambda word: spelled[word[0]], re.sub(r",(?=\s*\])|\+(?=\d)", "", text))
    part = np.zeros(0)
    rows, size = 1 if len(shape) == 1 else shape[0] + 1, int(np.prod(shape))
    if (plain.count("["), plain.count(",")) == (rows, size - 1):  # so that nothing larger is made
        with contextlib.suppress(ValueError):
            part = np.array(json.loads(plain))
    if part.shape != shape or part.dtype.kind not in "fi":
        raise ValueError(f"{name} must be numbers of shape {shape}")
    return part.astype(np.float64).ravel()


@dataclass(frozen=True, eq=False)
class NetworkBatch(ByFields):
    """Many networks of one architecture: what a search holds and hands over."""

    architecture: Architecture
    numbers: Floats
    """[network, number]"""

    @classmethod
    def pack(cls, networks: Sequence[Network]) -> NetworkBatch:
        """These networks.

        Raises:
            ValueError: there is none, or their architectures differ.
        """
        if len({network.architecture for network in networks}) != 1:
            raise ValueError("expected networks of one architecture")
        return cls(networks[0].architecture, np.stack([network.numbers for network in networks]))

    @property
    def shape(self) -> Architecture:
        """What its networks have in common."""
        return self.architecture

    @property
    def batch(self) -> NetworkBatch:
        """Itself."""
        return self

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that its networks are, by name; `Architecture.batch` takes it back."""
        return {ARRAY: self.numbers}

    def encoded(self, first: int, last: int) -> dict[str, Any]:
        """Some of its networks as plain values that travel."""
        return {"architecture": asdict(self.architecture), "numbers": self.numbers[first:last]}

    @classmethod
    def decoded(cls, values: Mapping[str, Any]) -> NetworkBatch:
        """The networks that `encoded` gave."""
        return cls(Architecture(**values["architecture"]), values["numbers"])

    @cached_property
    def core(self) -> core.NetworkBatch:
        """For the native core."""
        return core.network_batch(self.architecture.native, np.ascontiguousarray(self.numbers))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NetworkBatch):
            return NotImplemented
        same = self.architecture == other.architecture and self.numbers.shape == other.numbers.shape
        return same and self.numbers.tobytes() == other.numbers.tobytes()

    def __hash__(self) -> int:
        return hash((self.architecture, len(self)))

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> Network:
        return Network(self.architecture, self.numbers[index].copy())

    def __add__(self, other: NetworkBatch) -> NetworkBatch:
        return NetworkBatch(self.architecture, np.concatenate([self.numbers, other.numbers]))

    def take(self, indices: NDArray[np.int64]) -> NetworkBatch:
        """Those at these positions."""
        return NetworkBatch(self.architecture, self.numbers[indices])


class NetworkInterpreter:
    """A network that runs in some lanes, step by step; with the members of a program's `Interpreter`."""

    def __init__(self, network: Network, lanes: int) -> None:
        self.lanes = lanes
        self._stepper = core.NetworkStepper(network.packed, index=0, lanes=lanes)

    def reset_lane(self, lane: int, key: int) -> None:
        """Starts an episode anew in one lane."""
        self._stepper.reset_lane(lane, key)

    def act(self, observations: Floats) -> Floats:
        """The actions [lane, entry] for observations [lane, entry]."""
        return self._stepper.act(observations)


def unfold(network: Network, observations: Floats) -> dict[str, Floats]:
    """What the units of a network hold in every step of an episode [step, unit], layer by layer, and its `output`.

    The formulas as the books have them, in NumPy: slow, and equal to the native core but for rounding.

    Args:
        network: which.
        observations: what it sees [step, entry].
    """
    shape, part = network.architecture, network.architecture.split(network.numbers)
    layers: dict[str, list[Floats]] = {}
    hidden = cell = np.zeros(shape.hidden[0] if shape.hidden else 0)

    def note(name: str, values: Floats) -> Floats:
        layers.setdefault(name, []).append(values)
        return values

    for row in observations:
        x = (row - part["shift"]) * part["scale"]
        if shape.kind == "lstm":
            gates = part["input"] @ x + part["recurrent"] @ hidden + part["gate_bias"]
            into, forget, candidate, out = np.split(gates, 4)
            cell = note("cell", _sigmoid(forget) * cell + _sigmoid(into) * np.tanh(candidate))
            x = hidden = note("hidden", _sigmoid(out) * np.tanh(cell))
        for layer in range(1, len(shape.hidden) + 1) if shape.kind == "mlp" else ():
            x = part[f"weights{layer}"] @ x + part[f"bias{layer}"]
            x = note(f"layer{layer}", np.tanh(x) if shape.activation == "tanh" else np.maximum(x, 0.0))
        note("output", part["output"] @ x + part["output_bias"])
    return {name: np.array(values) for name, values in layers.items()}


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))
