"""Augmented Random Search: its rule, its runs, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import arz
from arz.cli import main
from arz.network import Network
from arz.runs.config import Config
from arz.runs.folder import RunError
from arz.search.ars import Ars, ArsSettings, ObservationNormaliser, update
from arz.search.draws import normal_rows
from arz.streams import keys
from tests.runs_support import content

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
SEEN = 2
BEST = np.array([1.0, -2.0, 0.5, 3.0])


@dataclass(frozen=True)
class Rows:
    """Genomes that are numbers: two that are subtracted, two scales, and four that are trained."""

    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    def __add__(self, other: Rows) -> Rows:
        return Rows(np.concatenate([self.values, other.values]))

    def take(self, indices: NDArray[np.int64]) -> Rows:
        return Rows(self.values[indices])


@dataclass
class Hill:
    """Be near to `BEST`. What is seen has mean 5 and -1, deviation 2 and 0.5."""

    objectives: int = 1
    tuned_by: int = 4
    seen: int = SEEN
    structure: Rows = field(default_factory=lambda: Rows(np.array([[0.0, 0, 1, 1, 0, 0, 0, 0]])))
    scored: list[tuple[Floats, Floats]] = field(default_factory=list)

    def stratified(self, episodes: Keys) -> Keys:
        return episodes

    def random(self, keys: Keys) -> Rows:
        return Rows(np.repeat(self.structure.values, len(keys), axis=0))

    def vary(self, genomes: Rows, parents: NDArray[np.int64], keys: Keys) -> tuple[Rows, NDArray[np.uint8]]:
        raise AssertionError("ars does not mutate")

    def prepared(self, genomes: Rows) -> Rows:
        return genomes

    def fingerprints(self, genomes: Rows) -> Keys:
        raise AssertionError("ars has no cache")

    def parameters(self, genomes: Rows) -> Floats:
        return genomes.values.copy()

    def with_parameters(self, genome: Rows, parameters: Floats) -> Rows:
        return Rows(parameters)

    def score(self, genomes: Rows, episodes: Keys) -> tuple[Floats, Floats]:
        value = -np.sqrt(((genomes.values[:, 4:] - BEST) ** 2).sum(axis=1))
        self.scored.append((genomes.values, value))
        return value[:, None], np.ones(len(genomes))

    def watch(self, genomes: Rows, episodes: Keys) -> tuple[Floats, Floats, Floats]:
        objectives, steps = self.score(genomes, episodes)
        draws = np.random.default_rng(int(episodes[0] % 1000)).normal(size=(len(genomes), 50, 2))
        shown = np.array([5.0, -1.0]) + np.array([2.0, 0.5]) * draws - genomes.values[:, None, :2]
        sums = np.concatenate([shown.sum(axis=1), (shown**2).sum(axis=1), np.full((len(genomes), 1), 50.0)], axis=1)
        return objectives, steps, sums[:, None]


def search(seed: int = 1, **changes: Any) -> Ars[Rows]:
    usual = {"population": 17, "top": 4, "validate_every": 17, "resample_every": 17, "step_size": 0.1, "noise": 0.1}
    return Ars(Hill(), ArsSettings(**{**usual, **changes}), seed)


def test_it_climbs() -> None:
    made = search()
    for _ in range(300):
        made.advance()
    assert np.abs(made.centre[4:] - BEST).max() < 0.2
    assert made.champion is not None
    assert made.counters.champion_score > -0.3


def test_one_iteration_is_the_rule_of_the_paper() -> None:
    """Algorithm 2 of Mania et al., written down again from its text."""
    made = search(normalises=False)
    made.advance()
    hill = made.problem
    assert isinstance(hill, Hill)
    tried, scores = hill.scored[0]
    directions = normal_rows(1, "direction", np.arange(8), 4)
    assert np.allclose(tried[1::2, 4:], 0.1 * directions)
    assert np.allclose(tried[2::2, 4:], -0.1 * directions)
    plus, minus = scores[1::2], scores[2::2]
    order = sorted(range(8), key=lambda k: -max(plus[k], minus[k]))[:4]
    sigma = np.std([plus[k] for k in order] + [minus[k] for k in order])
    expected = sum((plus[k] - minus[k]) * directions[k] for k in order) * 0.1 / (4 * sigma)
    assert np.allclose(made.centre[4:], expected, rtol=1e-12)
    assert np.array_equal(made.centre[:4], [0, 0, 1, 1])


def test_the_rule_equals_that_of_stable_baselines() -> None:
    """One update of sb3-contrib's ARS, whose candidates get given scores. It takes the unbiased deviation."""
    torch = pytest.importorskip("torch", reason="needs the extra: make baselines")
    contrib = pytest.importorskip("sb3_contrib", reason="needs the extra: make baselines")
    other = contrib.ARS("LinearPolicy", "Pendulum-v1", n_delta=6, n_top=4, learning_rate=0.7, delta_std=0.3, seed=1)
    other._setup_learn(10)
    other.weights = torch.zeros_like(other.weights)
    scores = np.random.default_rng(0).normal(size=12)
    tried: list[Floats] = []

    def evaluate(weights: Any, *_: Any) -> Any:
        tried.append(weights.numpy().astype(np.float64))
        return torch.tensor(scores, dtype=torch.float32)

    other.evaluate_candidates = evaluate
    other._do_one_update(None, None)
    deltas = tried[0][:6] / 0.3
    top = np.argsort(-np.maximum(scores[:6], scores[6:]))[:4]
    ours = update(deltas[top], scores[:6][top], scores[6:][top], 0.7) * np.sqrt(7 / 8)
    assert np.abs(ours).max() > 0.1
    assert np.allclose(ours, other.weights.numpy(), rtol=1e-4)


def test_equal_scores_move_nothing() -> None:
    assert not update(np.ones((2, 3)), np.ones(2), np.ones(2), 1.0).any()


def test_what_was_seen_is_known_with_its_deviation() -> None:
    draws = np.random.default_rng(3).normal(size=(1000, 2)) * [2.0, 0.0] + [5.0, 1.0]
    sight = ObservationNormaliser(0.0, np.zeros(2), np.zeros(2))
    for part in np.array_split(draws, 7):
        off = part - sight.mean
        sight.add(np.array([*off.sum(axis=0), *(off**2).sum(axis=0), len(part)]))
    assert np.allclose(sight.mean, draws.mean(axis=0), rtol=1e-12)
    assert np.isclose(sight.scale[0], 1 / draws[:, 0].std(), rtol=1e-9)
    assert sight.scale[1] == 1.0  # there is no deviation
    made = search()
    for _ in range(20):
        made.advance()
    assert np.abs(made.centre[:2] - [5.0, -1.0]).max() < 0.1
    assert np.abs(made.centre[2:4] * [2.0, 0.5] - 1).max() < 0.1


def small(budget: str = "130", **changes: Any) -> Config:
    fields = {"population": 13, "top": 3, "episodes": 4, "resample_every": 13, "validate_every": 26, "steps": 200}
    base = arz.preset(changes.pop("name", "ars-cartpole"), **fields, validation_episodes=4, budget=budget)
    return arz.runs.config.override(base, changes)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ars") / "run"
    arz.evolve(small(), folder=folder, threads=1).close()
    return folder


@pytest.mark.parametrize("threads", [2, 3])
def test_the_same_run_at_any_number_of_threads(trained: Path, tmp_path: Path, threads: int) -> None:
    arz.evolve(small(), folder=tmp_path / "run", threads=threads).close()
    assert content(tmp_path / "run") == content(trained)


def test_interrupted_at_every_iteration_it_is_the_same_run(trained: Path, tmp_path: Path) -> None:
    with arz.Run.create(small(), folder=tmp_path / "run") as run:
        assert run.evolve(threads=1, should_stop=lambda: True) == "stopped"
    for _ in range(20):
        with arz.Run.open(tmp_path / "run") as run:
            asked = iter([False, True])
            if run.evolve(threads=1, should_stop=lambda: next(asked)) != "stopped":  # noqa: B023
                break
    assert content(tmp_path / "run") == content(trained)


def test_the_champion_is_a_network_that_can_be_tested(trained: Path) -> None:
    with arz.Run.open(trained) as run:
        champion = run.champion
        assert isinstance(champion, Network)
        assert champion.architecture.kind == "lstm"
        assert champion.numbers[0] != 0.0  # what it has seen
        assert len(run.test(episodes=3)) == 10
        with pytest.raises(RunError, match="are networks, not programs"):
            _ = run.program
        assert run.counters.evaluations == 130


def test_it_learns_to_balance() -> None:
    config = arz.preset("ars-cartpole", change="none", parameters=[], budget="2600", steps=300)
    with arz.evolve(config) as run:
        assert run.counters.champion_score > 250
        first = run.metrics["champion_score"][0]
        assert run.counters.champion_score > first


def test_a_quadruped_too_and_perceptrons(tmp_path: Path) -> None:
    options = ["--population", "7", "--top", "3", "--episodes", "4", "--validate-every", "7", "--steps", "60"]
    command = ["train", "ars", "--policy", "mlp", "--task", "quadruped", "--budget", "28", "--quiet", "--no-test"]
    assert main([*command, *options, "--layers", "[4]", "--output", str(tmp_path / "run")]) == 0
    with arz.Run.open(tmp_path / "run") as run:
        assert isinstance(run.champion, Network)
        assert run.champion.architecture.hidden == (4,)
        assert run.preset == "ars-quadruped-mlp"


def test_networks_can_evolve_too(tmp_path: Path) -> None:
    """The other searches take networks as they take programs."""
    path = tmp_path / "evolve.toml"
    path.write_text('[policy]\nkind = "mlp"\nlayers = [4]\n\n[search]\nkind = "nsga2"\n')
    fields = {"islands": 1, "population": 10, "offspring": 10, "initial": 20, "episodes": 4, "validate_every": 10}
    with arz.evolve(arz.preset(path, **fields, steps=100, budget="60", validation_episodes=4)) as run:
        assert isinstance(run.champion, Network)


def test_it_can_begin_with_a_network(trained: Path) -> None:
    with arz.Run.open(trained) as run:
        champion = run.champion
    with arz.evolve(small("13"), start=champion) as run:
        assert run.start == champion
        assert run.config.shape == champion.shape


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--population", "12"], "population must be odd"),
        (["--top", "40"], "top must be at most 32"),
        (["--noise", "0"], "noise must be above 0"),
        (["--step-size", "-1"], "step_size must be above 0"),
        (["--islands", "2"], "islands must be 1 for ars"),
        (["--units", "0"], "the size of a layer"),
        (["--layers", "[3]"], "layers belongs to another kind of policy than lstm"),
        (["--task", "nowhere"], "there is no preset 'ars-nowhere'"),
        (["--start", "examples/paper_cartpole.arz"], "the start is a program, but the policies of this search are"),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "ars", *arguments, "--output", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_programs_are_not_trained_and_networks_not_tuned(tmp_path: Path) -> None:
    for text, message in (
        ('[search]\nkind = "ars"\n', "ars trains networks"),
        ('[policy]\nkind = "mlp"\n[search]\nkind = "tuning"\n', "tuning is for programs"),
    ):
        path = tmp_path / "odd.toml"
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            arz.preset(path)


def test_a_file_says_what_is_trained_and_the_method_must_be_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.toml"
    path.write_text('[policy]\nkind = "mlp"\nlayers = [5]\n[search]\nkind = "ars"\n')
    assert main(["train", "ppo", "--task", str(path), "--output", str(tmp_path / "run")]) == 2
    assert "asks for another search, ars" in capsys.readouterr().err
    small_ones = ["--population", "3", "--top", "1", "--episodes", "2", "--validate-every", "3", "--budget", "6"]
    options = ["--quiet", "--no-test", "--output", str(tmp_path / "run")]
    assert main(["train", "ars", "--task", str(path), *small_ones, *options]) == 0
    with arz.Run.open(tmp_path / "run") as run:
        assert isinstance(run.champion, Network)
        assert run.champion.architecture.hidden == (5,)


def test_a_new_life_has_no_parents() -> None:
    made = search(restart_after=17, restart_improvement=1e9)
    lives: dict[int, list[int]] = {}
    for _ in range(6):
        births, _ = made.advance()
        lives.setdefault(int(births.lives[0]), []).append(int(births.parents[0]))
    assert len(lives) > 1
    assert all(parents[0] == -1 for parents in lives.values())


@pytest.mark.parametrize("name", ["centre", "sight", "count"])
def test_odd_checkpoints_are_refused(name: str) -> None:
    made = search()
    made.advance()
    extras = made.extras()
    for odd in (extras[name][:, :0], extras[name] + np.inf, None):
        damaged = {key: value for key, value in extras.items() if key != name}
        with pytest.raises(ValueError, match="centre"):
            made.restore_extras(damaged if odd is None else {**damaged, name: odd})


def test_keys_are_used() -> None:
    """Another seed, another start."""
    config = small()
    problem = config.policy.problem(config, 1, None)
    first, second = (problem.random(keys(seed, "random", [0])).numbers for seed in (1, 2))
    assert not np.array_equal(first, second)
