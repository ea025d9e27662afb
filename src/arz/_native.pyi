"""Made from the compiled module `_native_baseline` by native/stub.py. Do not edit: `make stub`."""

from collections.abc import Sequence
from typing import Any, overload

import numpy
from numpy.typing import NDArray


INSTRUCTION_SET: str

OPS_DIGEST: str

MAX_CADFS: int

NONE: int

REGISTER_KINDS: str

INSTRUCTION_OFFSETS: dict[str, int]

FIXED_REGISTERS: dict[str, tuple[str, int]]

class MemoryShape:
    """What a program can see, do and remember: see `memory_shape`."""

def memory_shape(
    observations: int, actions: int, scalars: int, vectors: int, matrices: int, indices: int, stateful: bool
) -> MemoryShape:
    """A memory with so many registers of each kind."""

class Batch:
    """Many packed programs of one memory shape: see `batch`."""

    def __len__(self) -> int: ...

    @property
    def image_size(self) -> int:
        """How many numbers each program starts with."""

    def kept(self) -> int:
        """How many programs it keeps in memory: its own, and those packed with them."""

    def memory_sizes(self) -> tuple[int, int, int, int, int, int, bool]:
        """What `memory_shape` took, in its order."""

    def arrays(self) -> tuple[NDArray[numpy.uint8], NDArray[numpy.int64], NDArray[numpy.uint8], NDArray[numpy.float64]]:
        """What `batch` took: instructions, lengths, cadfs, images."""

    def encoded(self, first: int, last: int) -> NDArray[numpy.uint8]:
        """The effective programs from the first up to before the last, as few bytes."""

    def selected(self, indices: NDArray[numpy.int64]) -> Batch:
        """The programs at these positions."""

    def joined(self, other: Batch) -> Batch:
        """These programs, then the other's, of the same memory shape."""

def batch(
    shape: MemoryShape,
    instructions: NDArray[numpy.uint8],
    lengths: NDArray[numpy.int64],
    cadfs: NDArray[numpy.uint8],
    images: NDArray[numpy.float64],
) -> Batch:
    """Programs from packed arrays: instructions [line, byte] of all functions one after the other, lengths [program,
    function], how many CADFs [program], start values [program, number]."""

def decoded(shape: MemoryShape, encoded: NDArray[numpy.uint8]) -> Batch:
    """The programs that `Batch.encoded` wrote."""

def effective(batch: Batch) -> tuple[Batch, NDArray[numpy.uint8]]:
    """The programs without what cannot influence an action, and for each line of each function whether it can."""

def effective_forms(batch: Batch, threads: int) -> Batch:
    """The programs without what cannot influence an action; what is made of them does not look for it again."""

def entry_registers(batch: Batch, index: int) -> list[int]:
    """The registers whose values matter when GetAction starts: for each kind a bit for each register."""

EVENT_FIELDS: tuple[str, ...]

EVENT_KINDS: str

def run(
    batch: Batch, observations: NDArray[numpy.float64], keys: NDArray[numpy.uint64], threads: int, only_effective: bool
) -> NDArray[numpy.float64]:
    """The actions [program, step, lane, entry] of all programs for observations [step, lane, entry]; a key for each
    lane names its random numbers."""

def trace(
    batch: Batch, index: int, observations: NDArray[numpy.float64], keys: NDArray[numpy.uint64]
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.float64]]:
    """What one program does: actions [step, lane, entry], events [event, field] (EVENT_FIELDS), and the values that
    they wrote."""

class Stepper:
    """A program that Python drives step by step, an episode in each lane."""

    def __init__(self, batch: Batch, index: int, lanes: int) -> None: ...

    def reset(self, keys: NDArray[numpy.uint64]) -> None:
        """Starts an episode in every lane."""

    def reset_lane(self, lane: int, key: int) -> None:
        """Starts an episode in one lane; the others go on."""

    def act(self, observations: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
        """The actions [lane, entry] for observations [lane, entry]."""

NO_MUTATION: int

MUTATIONS: tuple[str, ...]

class VariationSettings:
    """What random code is drawn from: see `variation_settings`."""

def variation_settings(
    weights: Sequence[float],
    op_weights: Sequence[float],
    sigma: float,
    fraction: float,
    decades: float,
    max_cadfs: int,
    length: tuple[int, int],
    cadf_length: tuple[int, int],
    initial_cadfs: int,
    initial_constants: float,
    density: float,
    growth_length: int,
    growth_memory: float,
    growth_vectors: float,
    growth_branches: float,
    growth_constants: float,
    growth_coefficient: float,
) -> VariationSettings:
    """The fields of `arz.Variation`: the weights of all mutations, custom ones last, and of all ops; then the others
    under their names."""

def random_batch(shape: MemoryShape, settings: VariationSettings, keys: NDArray[numpy.uint64], threads: int) -> Batch:
    """A random program for each key."""

def grown(
    shape: MemoryShape, settings: VariationSettings, terms: int, keys: NDArray[numpy.uint64], threads: int
) -> Batch:
    """A program for each key: the smallest, and so many terms grown on it."""

def mutated(
    batch: Batch, settings: VariationSettings, parents: NDArray[numpy.int64], keys: NDArray[numpy.uint64], threads: int
) -> tuple[Batch, NDArray[numpy.uint8]]:
    """A child of each parent (a position in the batch) by one mutation, and the number of that mutation."""

def reflexes(
    batch: Batch,
    settings: VariationSettings,
    terms: int,
    parents: NDArray[numpy.int64],
    keys: NDArray[numpy.uint64],
    threads: int,
) -> tuple[Batch, NDArray[numpy.int32]]:
    """A child of each parent with a reflex of so many terms, and the registers of its sense, threshold and latch
    [child, 3]; -1 where it has none."""

def transplanted(
    batch: Batch, first: NDArray[numpy.int64], second: NDArray[numpy.int64], keys: NDArray[numpy.uint64], threads: int
) -> tuple[Batch, NDArray[numpy.uint8]]:
    """Each first parent with a term of the second, and whether there was one and room for it."""

def crossed(
    batch: Batch, first: NDArray[numpy.int64], second: NDArray[numpy.int64], keys: NDArray[numpy.uint64], threads: int
) -> Batch:
    """Each first parent with a CADF of the second in place of one of its own."""

def stream_keys(base: int, indices: NDArray[numpy.uint64]) -> NDArray[numpy.uint64]:
    """The keys of streams: one for each index, from the base of their purpose."""

def stream_sample(key: int, kind: str, count: int) -> list[float]:
    """The first numbers of a stream, `normal` or `uniform`; for those who compare it with Python's."""

MOST_ENTRANTS: int

def program_keys(batch: Batch, threads: int) -> NDArray[numpy.uint64]:
    """A key [program, 2] of each program that others share which act like it, whatever their registers are called."""

def row_keys(rows: NDArray[numpy.float64]) -> NDArray[numpy.uint64]:
    """A key [row, 2] of each row of numbers."""

def tournaments(
    keys: NDArray[numpy.uint64], groups: NDArray[numpy.int64], fitness: NDArray[numpy.float64], size: int, entrants: int
) -> NDArray[numpy.int64]:
    """For each key the position of the best of some entrants, drawn with replacement from a group; groups are of one
    size, one after the other."""

class Cache:
    """The scores of the programs seen last, by their keys [key, 2]."""

    def __init__(self, capacity: int, columns: int) -> None: ...

    def __len__(self) -> int: ...

    def unknown(self, keys: NDArray[numpy.uint64]) -> NDArray[numpy.int64]:
        """The positions of the keys that are not known, each key once."""

    def values(self, keys: NDArray[numpy.uint64]) -> NDArray[numpy.float64]:
        """The values [key, column] of keys that are all known."""

    def insert(self, keys: NDArray[numpy.uint64], values: NDArray[numpy.float64]) -> None:
        """Adds values [key, column]."""

    def contents(self) -> tuple[NDArray[numpy.uint64], NDArray[numpy.float64]]:
        """All keys and their values, least recently used first."""

    def clear(self) -> None:
        """Forgets all."""

class NetworkShape:
    """A kind of network and its sizes: see `network_shape`."""

    @property
    def size(self) -> int:
        """How many numbers it has."""

def network_shape(is_lstm: bool, is_relu: bool, observations: int, actions: int, hidden: Sequence[int]) -> NetworkShape:
    """An LSTM with one hidden layer, or a perceptron with tanh or ReLU."""

class NetworkBatch:
    """Many networks of one shape: see `network_batch`."""

    def __len__(self) -> int: ...

    @property
    def image_size(self) -> int:
        """How many numbers each of them has."""

def network_batch(shape: NetworkShape, numbers: NDArray[numpy.float64]) -> NetworkBatch:
    """Networks from their numbers [network, number]."""

class NetworkStepper:
    """A network that Python drives step by step, an episode in each lane."""

    def __init__(self, batch: NetworkBatch, index: int, lanes: int) -> None: ...

    def reset_lane(self, lane: int, key: int) -> None:
        """Starts an episode in one lane; the others go on."""

    def act(self, observations: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
        """The actions [lane, entry] for observations [lane, entry]."""

STATUSES: tuple[str, ...]

CARTPOLE_TRUTH: tuple[str, ...]

CARTPOLE_STEP: float

CARTPOLE_ANGLE_LIMIT: float

CARTPOLE_CHANGES: tuple[tuple[str, float, float, float], ...]

CARTPOLE_CHANGE_KINDS: tuple[str, ...]

class CartpoleSettings:
    """A variant of the task: see `cartpole_settings`."""

def cartpole_settings(
    change: int,
    changes: Sequence[bool],
    hides_positions: bool,
    has_noise: bool,
    noise_sigma: float,
    x_limit: float,
    steps: int,
) -> CartpoleSettings:
    """How parameters change (a position in CARTPOLE_CHANGE_KINDS) and which of them do, what is seen, the noise on the
    action, and when an episode ends."""

@overload
def rollout(
    policies: Batch,
    settings: CartpoleSettings,
    episodes: NDArray[numpy.uint64],
    threads: int,
    only_effective: bool,
    compact: bool,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.uint8], NDArray[numpy.float64]]: ...

@overload
def rollout(
    policies: NetworkBatch,
    settings: CartpoleSettings,
    episodes: NDArray[numpy.uint64],
    threads: int,
    only_effective: bool,
    compact: bool,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.uint8], NDArray[numpy.float64]]:
    """Each policy in each episode (a key): returns, lengths and statuses [policy, episode], and sums over what networks
    saw [policy, part, number]."""

@overload
def recorded_rollout(
    policies: Batch, index: int, settings: CartpoleSettings, episodes: NDArray[numpy.uint64]
) -> NDArray[numpy.float64]: ...

@overload
def recorded_rollout(
    policies: NetworkBatch, index: int, settings: CartpoleSettings, episodes: NDArray[numpy.uint64]
) -> NDArray[numpy.float64]:
    """All that happens to one policy [episode, step, column], in the columns of the task, NaN after the end."""

class CartpoleStepper:
    """Episodes that Python drives step by step, each with its own clock."""

    def __init__(self, settings: CartpoleSettings, count: int) -> None: ...

    def start(self, which: int, key: int) -> None:
        """Starts one of them anew."""

    def step(self, actions: NDArray[numpy.float64]) -> tuple[NDArray[numpy.float64], NDArray[numpy.uint8]]:
        """Rewards and statuses of a step by these actions [episode, action]; 0 for those that have ended."""

    def observations(self) -> NDArray[numpy.float64]:
        """What policies see [episode, entry]."""

    def truth(self) -> NDArray[numpy.float64]:
        """All there is to know [episode, column], in the columns of the task."""

LAIKAGO: dict[str, Any]

def laikago_accelerations(state: NDArray[numpy.float64], torque: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """How the velocities of the trunk (angular, then linear, in its own axes) and of the joints change per second,
    without contact."""

def laikago_mechanics(state: NDArray[numpy.float64]) -> list[float]:
    """Kinetic and potential energy, momentum (3 numbers), and angular momentum about the world's origin (3)."""

def laikago_simulated(
    state: NDArray[numpy.float64],
    target: NDArray[numpy.float64],
    works: NDArray[numpy.float64],
    steps: int,
    contact_iterations: int,
) -> NDArray[numpy.float64]:
    """The states after each physics step [step, entry], by targets (absolute angles) and working legs that stay."""

def laikago_simulated_floats(
    state: NDArray[numpy.float64],
    target: NDArray[numpy.float64],
    works: NDArray[numpy.float64],
    steps: int,
    contact_iterations: int,
) -> NDArray[numpy.float64]:
    """The states after each physics step [step, entry], by targets (absolute angles) and working legs that stay."""

QUADRUPED_TRUTH: tuple[str, ...]

QUADRUPED_RANDOM: int

QUADRUPED_NO_LEG: int

class World:
    """What may differ from one simulation to the next: see `laikago_world`."""

def laikago_world(
    friction: float, payload: float, motor_strength: float, latency: int, start_pose: float, key: int
) -> World:
    """A world: friction of the toes, a mass on the trunk (kg), how strong motors are, after how many physics steps they
    hear of an action, and how far joints start off their places, as the key says."""

class Engine:
    """Who moves the robots: see `own_engine` and `mujoco_engine`."""

def own_engine(is_double: bool, contact_iterations: int, world: World) -> Engine:
    """Our simulator: in double precision, or many robots side by side in single precision."""

def shared_engine(engine: Engine) -> Engine:
    """The same for several callers at once: one at a time moves the robots of all."""

def mujoco_engine(
    functions: Sequence[int],
    model: int,
    which: int,
    start: Sequence[float],
    data: Sequence[Sequence[int]],
    world: World,
    owner: object,
) -> Engine:
    """MuJoCo, by addresses: of mj_step, mj_getState and mj_setState, of the model, and, for each thread, of its data,
    positions, velocities and controls. `which` says what is in a state, `start` is the first; the owner keeps all that
    alive."""

class QuadrupedSettings:
    """A variant of the task: see `quadruped_settings`."""

def quadruped_settings(
    leg: int,
    break_step: int,
    steps: int,
    break_before: int,
    torque_left: Sequence[float],
    sensor_noise: float,
    key: int,
) -> QuadrupedSettings:
    """Which leg breaks (its number, QUADRUPED_NO_LEG or QUADRUPED_RANDOM) and when (a step or QUADRUPED_RANDOM), how
    much torque each leg then has left, and the noise of the sensors, as the key says."""

@overload
def quadruped_rollout(
    policies: Batch,
    settings: QuadrupedSettings,
    engine: Engine,
    episodes: NDArray[numpy.uint64],
    constraint_length: float,
    constraint_return: float,
    threads: int,
    only_effective: bool,
    shares_trunk: bool,
    crowd: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.uint8], NDArray[numpy.float64], NDArray[numpy.float64]]: ...

@overload
def quadruped_rollout(
    policies: NetworkBatch,
    settings: QuadrupedSettings,
    engine: Engine,
    episodes: NDArray[numpy.uint64],
    constraint_length: float,
    constraint_return: float,
    threads: int,
    only_effective: bool,
    shares_trunk: bool,
    crowd: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.uint8], NDArray[numpy.float64], NDArray[numpy.float64]]:
    """Each policy in each episode (a key): returns, lengths and statuses [policy, episode], sums over what networks saw
    [policy, part, number], and distances [policy, episode]. A policy is stopped once it is certain that its episodes
    are longer and return less than the constraint."""

@overload
def recorded_quadruped(
    policies: Batch, index: int, settings: QuadrupedSettings, engine: Engine, episodes: NDArray[numpy.uint64]
) -> NDArray[numpy.float64]: ...

@overload
def recorded_quadruped(
    policies: NetworkBatch, index: int, settings: QuadrupedSettings, engine: Engine, episodes: NDArray[numpy.uint64]
) -> NDArray[numpy.float64]:
    """All that happens to one policy [episode, step, column] (QUADRUPED_TRUTH), NaN after the end."""

def quadruped_breaks(settings: QuadrupedSettings, episodes: NDArray[numpy.uint64]) -> NDArray[numpy.int32]:
    """Which leg breaks in each episode, and when [episode, 2]."""

def quadruped_balanced(settings: QuadrupedSettings, episodes: NDArray[numpy.uint64]) -> NDArray[numpy.uint64]:
    """Episodes made from these in which all legs break equally often, and at all times."""

def exercise(engine: Engine, robots: int, control_steps: int) -> None:
    """Moves standing robots; for measuring speed."""

class QuadrupedStepper:
    """Episodes that Python drives step by step, each with its own clock."""

    def __init__(self, settings: QuadrupedSettings, engine: Engine, count: int) -> None: ...

    def start(self, which: int, key: int) -> None:
        """Starts one of them anew."""

    def step(self, actions: NDArray[numpy.float64]) -> tuple[NDArray[numpy.float64], NDArray[numpy.uint8]]:
        """Rewards and statuses of a step by these actions [episode, joint]; 0 for those that have ended."""

    def states(self) -> NDArray[numpy.float64]:
        """Where the robots are [episode, entry]."""

    def observations(self) -> NDArray[numpy.float64]:
        """The same as the sensors tell it."""

    def breaks(self) -> list[tuple[int, int]]:
        """Which leg breaks and when, for each; the leg -1 if none."""
