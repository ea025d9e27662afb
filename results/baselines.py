"""Programs against networks (`python results/baselines.py run`), and the tables (`... table`).

First grids of settings for each kind of network, briefly; then runs with the best of them, with one thread each and
two at a time. All runs of a comparison have the same budget in steps of the task. PPO is slow: it stands in a second
comparison, with all runs as they stood after fewer steps. Runs are made in runs/results/ and go on where
they stopped (but for PPO, which cannot). What is kept is small: one line of numbers per run
(results/baselines/*/*.jsonl), which `arz compare` reads, and the scores of the sweeps.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "results" / "baselines"
ARZ = str(Path(sys.executable).parent / "arz")
JOBS = 2


@dataclass(frozen=True)
class Sweep:
    """A grid of settings, each point for a short time."""

    preset: str
    policy: str
    budget: str
    grid: tuple[str, ...] = ()
    """The paper's, unless something is said."""

    @property
    def words(self) -> list[str]:
        """After `arz`."""
        jobs = () if self.preset.startswith("ppo") else ("--jobs", str(JOBS))
        grid = [word for each in self.grid for word in ("--grid", each)]
        return ["sweep", self.preset, "--policy", self.policy, "--budget", self.budget, *grid, *jobs]


PPO_GRID = ("learning_rate=5e-5,1e-4,5e-4,1e-3,5e-3",)
SWEEPS = {
    "cartpole-lstm": Sweep("ars-cartpole", "lstm", "20M steps"),
    "cartpole-mlp": Sweep("ars-cartpole", "mlp", "20M steps"),
    "quadruped-mlp": Sweep("ars-quadruped", "mlp", "3M steps"),
    "quadruped-lstm": Sweep("ars-quadruped", "lstm", "3M steps"),
    "cartpole-ppo": Sweep("ppo-cartpole", "mlp", "500k steps", PPO_GRID),
    "quadruped-ppo": Sweep("ppo-quadruped", "mlp", "500k steps", PPO_GRID),
}


@dataclass(frozen=True)
class Method:
    """Some runs that differ in their seeds only."""

    label: str
    command: str
    repeats: int
    sweep: str = ""
    """Whose best settings it takes."""


@dataclass(frozen=True)
class Group:
    """Methods with one task and one budget."""

    budget: str
    steps: int
    """The same, as a number."""
    few: int
    """All of them once more, as they stood after so many steps of the task, beside those with `few_budget`."""
    few_budget: str
    methods: dict[str, Method]
    late: dict[str, Method]
    """Those that only have the small budget."""
    episodes: int


STATIONARY = "--change none --parameters []"
GROUPS = {
    "cartpole": Group(
        "300M steps",
        300_000_000,
        2_000_000,
        "2M steps",
        {
            "arz-all": Method("ARZ [All, continuous]", "evolve cartpole-regularized", 10),
            "arz-all-sudden": Method("ARZ [All, sudden]", "evolve cartpole-regularized --change sudden", 10),
            "arz-stateless": Method("ARZ stateless [All, continuous]", "evolve cartpole-regularized --no-stateful", 10),
            "arz-stateless-sudden": Method(
                "ARZ stateless [All, sudden]", "evolve cartpole-regularized --no-stateful --change sudden", 10
            ),
            "arz-stationary": Method("ARZ [Stationary]", f"evolve cartpole-regularized {STATIONARY}", 10),
            "lstm-all": Method("ARS+LSTM [All, continuous]", "train ars --policy lstm", 3, "cartpole-lstm"),
            "lstm-all-sudden": Method(
                "ARS+LSTM [All, sudden]", "train ars --policy lstm --change sudden", 3, "cartpole-lstm"
            ),
            "lstm-stationary": Method(
                "ARS+LSTM [Stationary]", f"train ars --policy lstm {STATIONARY}", 3, "cartpole-lstm"
            ),
            "mlp-all": Method("ARS+MLP [All, continuous]", "train ars --policy mlp", 3, "cartpole-mlp"),
            "mlp-all-sudden": Method(
                "ARS+MLP [All, sudden]", "train ars --policy mlp --change sudden", 3, "cartpole-mlp"
            ),
        },
        {"ppo-all": Method("PPO+MLP [All, continuous]", "train ppo --policy mlp", 3, "cartpole-ppo")},
        1000,
    ),
    "quadruped": Group(
        "50M steps",
        50_000_000,
        2_000_000,
        "2M steps",
        {
            "arz": Method("ARZ", "evolve quadruped-nsga2", 3),
            "arz-no-cadfs": Method("ARZ without CADFs", "evolve quadruped-nsga2 --cadfs 0", 3),
            "lstm": Method("ARS+LSTM", "train ars --task quadruped --policy lstm", 3, "quadruped-lstm"),
            "mlp": Method("ARS+MLP", "train ars --task quadruped --policy mlp", 3, "quadruped-mlp"),
        },
        {"ppo": Method("PPO+MLP", "train ppo --task quadruped --policy mlp", 3, "quadruped-ppo")},
        100,
    ),
}


@dataclass(frozen=True)
class Planned:
    """One run."""

    group: str
    name: str
    method: Method
    seed: int
    budget: str

    @property
    def folder(self) -> str:
        """Where it is made."""
        return f"runs/results/{self.group}-{self.name}-{self.seed}"

    @property
    def words(self) -> list[str]:
        """After `arz`."""
        best = best_of(self.method.sweep) if self.method.sweep else {}
        settings = [word for key, value in best.items() for word in (f"--{key.replace('_', '-')}", str(value))]
        words = [*self.method.command.split(), "--seed", str(self.seed), "--budget", self.budget, *settings]
        return [*words, "--output", self.folder]


def planned(chosen: list[str]) -> Iterator[Planned]:
    """All runs, the first seed of every method before the second of any."""
    for seed in range(1, 100):
        for group, about in GROUPS.items():
            for methods, budget in ((about.methods, about.budget), (about.late, about.few_budget)):
                for name, method in methods.items():
                    if seed <= method.repeats and (not chosen or group in chosen or f"{group}-{name}" in chosen):
                        yield Planned(group, name, method, seed, budget)


def arz(*words: str) -> str:
    """Runs a command and returns what it printed."""
    one = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
    done = subprocess.run([ARZ, *words], stdout=subprocess.PIPE, text=True, cwd=ROOT, env=one)
    if done.returncode:
        raise SystemExit(f"arz {' '.join(words)} ended with {done.returncode}")
    return done.stdout


def spelled(words: list[str]) -> str:
    """As one would type it."""
    return " ".join(["arz", *(f"'{word}'" if " " in word else word for word in words)])


def sweep(name: str) -> None:
    """Tries the points of a grid that were not tried yet, and keeps their scores."""
    path, about = KEPT / f"sweep-{name}.json", SWEEPS[name]
    if path.exists():
        return
    found = json.loads(arz(*about.words, "--output", f"runs/results/sweep-{name}", "--json"))
    scores = [{**point["settings"], "score": round(point["score"], 1)} for point in found["tried"]]
    kept = {"command": spelled(about.words), "best": found["best"], "tried": scores}
    path.write_text(json.dumps(kept, indent=1) + "\n")


def best_of(name: str) -> dict[str, Any]:
    """The best settings of a sweep."""
    best: dict[str, Any] = json.loads((KEPT / f"sweep-{name}.json").read_text())["best"]
    return best


def make(one: Planned) -> None:
    """Makes a run, or goes on with it."""
    begun = (ROOT / one.folder).exists()
    arz(*(["resume", one.folder] if begun else one.words), "--quiet", "--no-test", "--threads", "1")
    print(one.folder, flush=True)


def is_done(one: Planned) -> bool:
    """Whether a run is there and finished."""
    import arz as library

    folder = ROOT / one.folder
    if not folder.exists():
        return False
    with library.Run.open(folder) as run:
        return run.facts["status"] in ("budget", "target", "diverged")


def run(chosen: list[str]) -> None:
    """Makes all sweeps and runs that are not there yet, or some of them."""
    KEPT.mkdir(parents=True, exist_ok=True)
    needed = dict.fromkeys(one.method.sweep for one in planned(chosen) if one.method.sweep)
    for name in needed:
        if "--jobs" in SWEEPS[name].words:
            sweep(name)
    with ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(sweep, needed))
        list(pool.map(make, [one for one in planned(chosen) if not is_done(one)]))
    keep()


def keep() -> None:
    """What is known of the runs that are done, by method."""
    for group, about in GROUPS.items():
        for few in (False, True):
            folder = folder_of(group, few)
            folder.mkdir(parents=True, exist_ok=True)
            for name in {**about.methods, **(about.late if few else {})}:
                of_it = [one for one in planned([f"{group}-{name}"]) if is_done(one)]
                steps = ["--steps", str(about.few if few else about.steps)]
                if of_it:
                    path = folder / f"{name}.jsonl"
                    path.unlink(missing_ok=True)
                    sources = [f"{one.method.label}={one.folder}" for one in of_it]
                    arz("compare", *sources, *steps, "--episodes", str(about.episodes), "--save", str(path), "--json")


def folder_of(group: str, few: bool) -> Path:
    """Where the lines of a comparison are."""
    return KEPT / (f"{group}-few-steps" if few else group)


def sources_of(folder: Path) -> list[str]:
    """The files of a comparison, as `arz compare` takes them."""
    return [str(path.relative_to(ROOT)) for path in sorted(folder.glob("*.jsonl"))]


def comparison(folder: Path) -> str:
    """The tables of a comparison."""
    return arz("compare", *sources_of(folder), "--markdown")


def page(group: str, few: bool) -> str:
    """The tables of a comparison, after the commands that made it."""
    folder, about = folder_of(group, few), GROUPS[group]
    late = about.late if few else {}
    first = {one.name: one for one in planned([group]) if one.seed == 1}
    shown = [one for name, one in first.items() if name in about.methods or name in late]
    kept = [one for one in shown if (folder / f"{one.name}.jsonl").exists()]
    commands = "\n".join(f"    {spelled(one.words)}" for one in kept)
    sweeps = dict.fromkeys(one.method.sweep for one in kept if one.method.sweep)
    before = "\n".join(f"    {json.loads((KEPT / f'sweep-{name}.json').read_text())['command']}" for name in sweeps)
    how = f" --steps {about.few if few else about.steps}"
    return (
        f"The sweeps, each with an --output:\n\n{before}\n\nThe runs, here with their first seed:\n\n{commands}\n\n"
        f"What is kept of each method: `arz compare 'LABEL=RUN' ...{how} --episodes {about.episodes} --save FILE`. "
        f"The tables: `arz compare {folder.relative_to(ROOT)}/*.jsonl --markdown`.\n\n{comparison(folder)}"
    )


def table() -> None:
    """Writes the tables and the figures."""
    for group in GROUPS:
        for few in (False, True):
            folder = folder_of(group, few)
            if sources_of(folder):
                (folder / "tables.md").write_text(page(group, few))
                (folder / "compare.png").unlink(missing_ok=True)
                arz("compare", *sources_of(folder), "--figure", str(folder / "compare.png"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2:])
    elif sys.argv[1:2] == ["keep"]:
        keep()
    elif sys.argv[1:] == ["table"]:
        table()
    else:
        sys.exit(__doc__)
