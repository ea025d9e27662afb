"""How cost grows: with episodes, lines, observations, population, lag, threads, and the length of a run.

`python -m bench.scale measure` measures all of it in about ten minutes and writes results/scale/measured.json; with
`--quick` it takes about a minute, to try it out, and with names of parts it measures only these anew. `python -m
bench.scale draw` makes the figure and the tables of docs/speed.md from that file alone (`bench.scale_pages`). Sizes
of a sweep take turns, because machines are noisy.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import arz
from arz.evaluate import evaluate, fresh_episodes
from arz.interpreter import available_threads, execute_batch
from arz.native import core
from arz.ops import OPS
from arz.program import FIXED, Batch, Instruction, Memory, Program, pack_code
from arz.runs import problem, session
from arz.runs.config import Config, for_start, settled
from arz.runs.folder import FILE
from arz.runs.lineage import Lineage
from arz.runs.run import Run
from arz.tasks.base import Task
from bench import scale_pages

ROOT = Path(__file__).parent.parent
CONTROLLERS = {
    "cartpole": ROOT / "examples" / "paper_cartpole.arz",
    "quadruped": ROOT / "results" / "reproduction" / "hour" / "champions" / "quadruped-published-1.arz",
}
"""Programs that stay upright, so that every episode lasts."""
EPISODES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
LINES = (5, 10, 20, 40, 80, 160, 320)
OBSERVATIONS = (1, 2, 4, 8, 16, 32, 64, 128)
POPULATIONS = (50, 150, 500, 1500, 5000, 20_000)
LAG = 50
"""That of all populations; the lags that are compared are those sizes, with the largest population."""
STEPS = 200
"""Of the interpreter and of the quadruped; cartpole has as many as ever."""
WILD = {
    "scalar_divide",
    "scalar_reciprocal",
    "scalar_tan",
    "scalar_arcsin",
    "scalar_arccos",
    "scalar_exp",
    "scalar_log",
}
WILD |= {"vector_reciprocal", "vector_divide", "vector_sqrt", "scalar_sqrt", "vector_power"}
"""Ops that are rarely finite: no lines are drawn from them."""
DRAWN = [op for op in OPS if op.inputs and {*op.inputs, *op.outputs} <= {"s", "v"} and op.name not in WILD]
SCALARS, VECTORS = 8, 6
"""Registers of random lines."""

RUNS = ("cartpole", "quadruped", "cartpole-regularized", "quadruped-nsga2")
"""Presets, one of each kind of search."""


@dataclass(frozen=True)
class Amount:
    """How much is measured."""

    rounds: int
    """Of what takes little time."""
    search_rounds: int
    evaluations: int
    """Of a search whose population or lag is varied, once its population is full."""
    thread_rounds: int
    searches: dict[str, str]
    """With several threads: presets and their budgets."""
    run_seconds: float


WHOLE = Amount(
    rounds=40,
    search_rounds=4,
    evaluations=8000,
    thread_rounds=3,
    searches={"cartpole": "120000", "quadruped": "60000", "cartpole-regularized": "400000", "quadruped-nsga2": "40000"},
    run_seconds=150.0,
)
QUICK = Amount(
    rounds=2,
    search_rounds=1,
    evaluations=500,
    thread_rounds=1,
    searches={"cartpole": "20000", "quadruped": "5000", "cartpole-regularized": "20000", "quadruped-nsga2": "12000"},
    run_seconds=8.0,
)


# ---- programs ----


def live_lines(draw: np.random.Generator, count: int, target: int, scalars: range, vectors: range) -> list[Instruction]:
    """Random lines, all of which matter for the scalar that the last one sets; they use registers of these ranges.

    Drawn from the end: each line sets what a later one needs.
    """
    kinds = {"s": scalars, "v": vectors}
    needed, lines = {("s", target)}, list[Instruction]()
    while len(lines) < count:
        kind, number = sorted(needed)[draw.integers(len(needed))]
        ops = [op for op in DRAWN if op.outputs == (kind,)]
        op = ops[draw.integers(len(ops))]
        read = [
            int(draw.choice([*kinds[each], *([FIXED["observation"][1]] if each == "v" else [])])) for each in op.inputs
        ]
        left = (needed - {(kind, number)}) | set(zip(op.inputs, read, strict=True)) - {FIXED["observation"]}
        if left:
            needed = left
            lines.append(Instruction(op, (number, *read)))
    return lines[::-1]


def random_program(observations: int, lines: int, seed: int) -> Program:
    """A program of so many lines, all of which matter, for one action."""
    memory = Memory(observations, 1)
    draw = np.random.default_rng(seed)
    ranges = range(4, 4 + SCALARS), range(5, 5 + VECTORS)
    made = Program(memory, (pack_code(live_lines(draw, lines, FIXED["action"][1], *ranges)),), _start(memory, draw))
    assert arz.effective(made).removed == 0
    return made


def longer(program: Program, lines: int, seed: int) -> Program:
    """A program with so many random lines more, which matter for all that can be known, and change no action.

    What they compute becomes 0 or 1, that is multiplied by a number which happens to be 0, and added to the action.
    """
    least, draw = program.memory, np.random.default_rng(seed)
    memory = replace(least, scalars=least.scalars + SCALARS + 2, vectors=least.vectors + VECTORS + 1)
    wider = program.with_memory(memory)
    none, last = memory.scalars - 2, memory.scalars - 1
    ranges = range(least.scalars, none), range(least.vectors, memory.vectors - 1)
    code = [Instruction.unpack(record) for record in wider.functions[0]]
    code += live_lines(draw, lines, last, *ranges)
    named = {op.name: op for op in OPS}
    code += [
        Instruction(named["scalar_heaviside"], (last, last)),
        Instruction(named["scalar_multiply"], (last, none, last)),
    ]
    kind, action = memory.action
    if kind == "s":
        code.append(Instruction(named["scalar_add"], (action, action, last)))
    else:
        code.append(Instruction(named["vector_broadcast"], (memory.vectors - 1, last)))
        code.append(Instruction(named["vector_add"], (action, action, memory.vectors - 1)))
    image = _start(memory, draw)
    for name, count in (("s", least.scalars), ("v", least.vectors)):
        for place in (memory.image_slice(name, number) for number in range(count)):
            image[place] = wider.image[place]
    image[memory.image_slice("s", none)] = 0.0
    made = Program(memory, (pack_code(code), *wider.functions[1:]), image)
    assert arz.effective(made).removed == arz.effective(program).removed
    return made


def _start(memory: Memory, draw: np.random.Generator) -> Any:
    return draw.uniform(-0.5, 0.5, memory.image_size)


# ---- sweeps ----


def in_turns(contenders: Sequence[Callable[[], object]], rounds: int) -> list[list[float]]:
    """The seconds of each contender [round, contender]; they take turns."""
    found = []
    for _ in range(rounds):
        times = []
        for contender in contenders:
            began = time.perf_counter()
            contender()
            times.append(time.perf_counter() - began)
        found.append(times)
    return found


def sweep(name: str, size: str, calls: dict[int, tuple[Callable[[], object], int]], rounds: int) -> dict[str, Any]:
    """What a program costs at each size; there is a call for each, and how many programs it runs."""
    print(f"{name} against {size} ...", flush=True)
    programs = np.array([count for _, count in calls.values()])
    times = np.array(in_turns([call for call, _ in calls.values()], rounds)) / programs * 1e6
    return {"cost": name, "size": size, "sizes": list(calls), "microseconds": np.round(times, 3).tolist()}


def interpreted(observations: int, lines: int, episodes: int) -> tuple[Callable[[], object], int]:
    """A run of the interpreter over a batch of random programs."""
    programs = [random_program(observations, lines, seed) for seed in range(16)]
    seen = np.random.default_rng(1).normal(scale=0.1, size=(STEPS, episodes, observations))
    return partial(execute_batch, Batch.pack(programs), seen, threads=1), len(programs)


def task_of(name: str) -> Task:
    """A task, as presets have it."""
    task = arz.preset(name).task
    return task.shorter(STEPS) if name == "quadruped" else task


def rolled(name: str, lines: int, episodes: int) -> tuple[Callable[[], object], int]:
    """Rollouts of a controller with so many more lines, of several such."""
    controller = Program.load(CONTROLLERS[name])
    count = 16 if name == "cartpole" else 4
    programs = [longer(controller, lines, seed) if lines else controller for seed in range(count)]
    return partial(evaluate, Batch.pack(programs), task_of(name), fresh_episodes(episodes), threads=1), count


def sweeps(amount: Amount) -> list[dict[str, Any]]:
    """Costs of a program against episodes, lines and the size of the observation."""
    return [
        sweep("interpreter", "episodes", {n: interpreted(4, 20, n) for n in EPISODES}, amount.rounds),
        *(
            sweep(f"{name}, rollout", "episodes", {n: rolled(name, 0, n) for n in EPISODES}, amount.rounds)
            for name in CONTROLLERS
        ),
        sweep("interpreter", "lines", {n: interpreted(4, n, 32) for n in LINES}, amount.rounds),
        *(
            sweep(f"{name}, rollout", "lines", {n: rolled(name, n, 8) for n in LINES}, amount.rounds)
            for name in CONTROLLERS
        ),
        sweep("interpreter", "observation size", {n: interpreted(n, 20, 32) for n in OBSERVATIONS}, amount.rounds),
    ]


# ---- searches ----


class Clock:
    """Where the time of a search goes; calls within others count for those.

    Attributes:
        seconds: of each part.
        evaluations: that were noted meanwhile.
        whole: seconds of all of it.
        beginning: what had passed before `restart`.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys((*scale_pages.PARTS, "checkpoint"), 0.0)
        self.evaluations, self.whole, self.beginning = 0, 0.0, 0.0
        self._began, self._is_inside = time.perf_counter(), False

    @property
    def shared(self) -> float:
        """Seconds in what threads share out among them."""
        return sum(self.seconds[part] for part in scale_pages.SCALES)

    def restart(self) -> None:
        """From now on everything counts anew."""
        self.beginning = time.perf_counter() - self._began
        self.seconds = dict.fromkeys(self.seconds, 0.0)
        self.evaluations, self._began = 0, time.perf_counter()

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """A call that is measured."""

        def measured(*arguments: Any, **options: Any) -> Any:
            if self._is_inside:
                return call(*arguments, **options)
            self._is_inside, began = True, time.perf_counter()
            try:
                return call(*arguments, **options)
            finally:
                self.seconds[part] += time.perf_counter() - began
                self._is_inside = False

        return measured

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Measures searches of this process meanwhile."""
        noted = Lineage.add

        def note(lineage: Lineage, births: Any) -> None:
            self.evaluations += len(births.parents)
            noted(lineage, births)

        problems = problem.ProgramProblem
        places: dict[str, list[tuple[Any, str]]] = {
            "rollouts": [(problem, "evaluate")],
            "variation": [(problems, name) for name in ("random", "vary", "cross", "grown", "transplant")],
            "fingerprints": [(problems, "prepared"), (problems, "fingerprints"), (problem, "execute_batch")],
            "lineage": [(Lineage, "add"), (Lineage, "prune")],
            "checkpoint": [(session.Session, "save")],
        }
        with contextlib.ExitStack() as stack:
            stack.enter_context(patch.object(Lineage, "add", note))
            for part, wheres in places.items():
                for where, name in wheres:
                    stack.enter_context(patch.object(where, name, self.timed(part, getattr(where, name))))
            self._began = time.perf_counter()
            yield
            self.whole = time.perf_counter() - self._began - self.seconds["checkpoint"]


def searched(config: Config, threads: int, start: Program | None = None) -> Clock:
    """Where the time of a search goes once its first batch is done; with one checkpoint, at the end."""
    clock, batches = Clock(), 0

    def is_over() -> bool:
        nonlocal batches
        batches += 1
        if batches == 2:
            clock.restart()
        return False

    with (
        tempfile.TemporaryDirectory() as folder,
        Run.create(config, folder=Path(folder) / "run", start=start) as run,
        clock.running(),
    ):
        run.evolve(threads=threads, should_stop=is_over, checkpoint_seconds=float("inf"))
    return clock


def search_costs(amount: Amount) -> list[dict[str, Any]]:
    """What an evaluation costs against population and lag, by parts in microseconds; a checkpoint in milliseconds."""
    pairs = {
        "population": [(size, LAG) for size in POPULATIONS],
        "lag": [(POPULATIONS[-1], size) for size in POPULATIONS],
    }
    found = []
    for size, settings in pairs.items():
        rounds = []
        for _ in range(amount.search_rounds):
            print(f"search against {size} ...", flush=True)
            rounds.append([_parts(population, lag, amount.evaluations) for population, lag in settings])
        fixed = f"lag {LAG}" if size == "population" else f"population {POPULATIONS[-1]:,}"
        found.append({"size": size, "fixed": fixed, "sizes": list(POPULATIONS), "rounds": rounds})
    return found


def _parts(population: int, lag: int, evaluations: int) -> dict[str, float]:
    """In a search that begins with the paper's program and children of it, so that episodes last."""
    budget = str(population + max(evaluations, lag))
    config = arz.preset("cartpole-regularized", islands=1, population=population, lag=lag, budget=budget)
    config, start = for_start(settled(config), Program.load(CONTROLLERS["cartpole"]))
    assert isinstance(start, Program)
    clock = searched(config, 1, start)
    found = {part: clock.seconds[part] / clock.evaluations * 1e6 for part in scale_pages.PARTS if part != "rest"}
    found["rest"] = clock.whole / clock.evaluations * 1e6 - sum(found.values())
    return {
        **{part: round(value, 3) for part, value in found.items()},
        "checkpoint": round(1e3 * clock.seconds["checkpoint"], 3),
    }


# ---- threads ----


def thread_counts() -> list[int]:
    """1, 2, 4, ... up to all."""
    most = available_threads()
    return sorted({*(2**n for n in range(most.bit_length())), most})


def threads(amount: Amount) -> list[dict[str, Any]]:
    """Seconds of rollouts and of searches at each number of threads, and those of one thread that do not scale."""
    counts, found = thread_counts(), list[dict[str, Any]]()
    for name in CONTROLLERS:
        print(f"{name}: threads of rollouts ...", flush=True)
        programs = Batch.pack([Program.load(CONTROLLERS[name])] * 64)
        episodes = fresh_episodes(32 if name == "cartpole" else 8)
        calls = [partial(evaluate, programs, task_of(name), episodes, threads=count) for count in counts]
        times = in_turns(calls, amount.rounds)
        found.append({"what": f"rollouts, {name}", "threads": counts, "seconds": _rounded(times), "serial": None})
    for preset, budget in amount.searches.items():
        print(f"{preset}: threads of a search ...", flush=True)
        config = arz.preset(preset, budget=budget)
        rounds = [[searched(config, count) for count in counts] for _ in range(amount.thread_rounds)]
        alone = [row[0] for row in rounds]
        found.append(
            {
                "what": f"search, {preset}, {int(budget):,} evaluations",
                "threads": counts,
                "seconds": _rounded([[clock.whole for clock in row] for row in rounds]),
                "serial": [round(clock.whole - clock.shared, 5) for clock in alone],
                "beginning": [round(clock.beginning, 3) for clock in alone],
            }
        )
    return found


def _rounded(rows: list[list[float]]) -> list[list[float]]:
    return [[round(value, 5) for value in row] for row in rows]


# ---- long runs ----


def runs(amount: Amount) -> list[dict[str, Any]]:
    """What runs take on disk and in memory as time goes by; each in a process of its own, one for each thread."""
    print(f"{len(RUNS)} runs of {amount.run_seconds:.0f} s each ...", flush=True)

    def run(preset: str) -> dict[str, Any]:
        command = [sys.executable, "-m", "bench.scale", "run", preset, str(amount.run_seconds)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        return {"preset": preset, "samples": json.loads(done.stdout)}

    with ThreadPoolExecutor(available_threads()) as pool:
        return list(pool.map(run, RUNS))


def one_run(preset: str, seconds: float) -> list[dict[str, float]]:
    """A run on one thread, looked at thirty times: seconds, saved evaluations, bytes on disk, bytes in memory."""
    config, samples = arz.preset(preset, budget=f"{seconds:.0f}s"), list[dict[str, float]]()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Run.create(config, folder=Path(folder) / "run") as run:
        where = run.folder
        assert where is not None

        def look() -> None:
            disk = sum(path.stat().st_size for path in where.glob(f"{FILE}*"))
            passed, done = round(time.monotonic() - began, 2), run.counters.evaluations
            samples.append({"seconds": passed, "evaluations": done, "disk": disk, "memory": resident()})

        def is_over() -> bool:
            if time.monotonic() - began >= seconds * (len(samples) + 1) / 30:
                look()
            return False

        run.evolve(threads=1, should_stop=is_over, checkpoint_seconds=seconds / 60)
        look()
    return samples


def resident() -> int:
    """The bytes of this process in memory."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:")]
    return 1024 * int(line.split()[1])


# ---- all of it ----


def processor() -> str:
    """Its name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


PARTS: dict[str, Callable[[Amount], Any]] = {
    "sweeps": sweeps,
    "searches": search_costs,
    "threads": threads,
    "runs": runs,
}


def measure(is_quick: bool, parts: Sequence[str]) -> None:
    """Writes what was measured; with the names of parts only these anew, beside what is kept of the others."""
    amount, began = QUICK if is_quick else WHOLE, time.perf_counter()
    machine = {
        "processor": processor(),
        "threads": available_threads(),
        "instruction_set": core.INSTRUCTION_SET,
        "load": round(os.getloadavg()[0], 1),
    }
    kept = json.loads(scale_pages.MEASURED.read_text()) if parts else {}
    if parts and kept["is_quick"] != is_quick:
        sys.exit("What is kept was measured in another amount: measure all of it.")
    found: dict[str, Any] = {"is_quick": is_quick, "machine": machine, **kept}
    for name in parts or PARTS:
        found[name] = PARTS[name](amount)
        print(f"{name}: done after {time.perf_counter() - began:.0f} s", flush=True)
    scale_pages.MEASURED.parent.mkdir(exist_ok=True)
    scale_pages.MEASURED.write_text(json.dumps(found) + "\n")


def main(words: list[str]) -> None:
    """What the command line asks for."""
    match words:
        case ["measure", *rest] if set(rest) <= {"--quick", *PARTS}:
            measure("--quick" in rest, [name for name in PARTS if name in rest])
        case ["draw"]:
            scale_pages.draw()
        case ["run", preset, seconds]:
            print(json.dumps(one_run(preset, float(seconds))))
        case _:
            sys.exit(f"python -m bench.scale measure [--quick] [{'] ['.join(PARTS)}], or draw")


if __name__ == "__main__":
    main(sys.argv[1:])
