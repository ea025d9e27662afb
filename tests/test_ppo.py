"""PPO by Stable-Baselines3, as a baseline. The tests that need the extra are skipped without it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arz
from arz.baselines.settings import PpoSettings
from arz.cli import main
from arz.network import Architecture, Network
from arz.runs.config import with_policy
from arz.runs.folder import RunError
from arz.runs.sweep import Sweep

EXTRA = "needs the extra: make baselines"
FIELDS: dict[str, Any] = {"sequence": 16, "environments": 3, "validate_every": 2, "validation_episodes": 2}


def small(kind: str = "mlp", name: str = "ppo-cartpole", **changes: Any) -> arz.Config:
    base = with_policy(arz.preset(name, **FIELDS, budget="3", steps=50), kind)
    return arz.runs.config.override(
        base, {("layers" if kind == "mlp" else "units"): [6, 5] if kind == "mlp" else 6} | changes
    )


def test_the_papers_sizes_are_the_usual_ones() -> None:
    assert with_policy(arz.preset("ppo-quadruped"), "mlp").shape == Architecture("mlp", 37, 12, (256, 256), "relu")
    assert with_policy(arz.preset("ppo-cartpole"), "lstm").shape == Architecture("lstm", 4, 1, (256,))


@pytest.mark.parametrize(("kind", "changes"), [("mlp", {}), ("mlp", {"activation": "tanh"}), ("lstm", {})])
def test_the_network_does_what_the_model_does(kind: str, changes: dict[str, Any]) -> None:
    pytest.importorskip("sb3_contrib", reason=EXTRA)
    from arz.baselines.ppo import Trainer

    config = small(kind, **changes)
    assert isinstance(config.shape, Architecture)
    assert isinstance(config.search, PpoSettings)
    assert isinstance(config.task, arz.Cartpole)
    trainer = Trainer(config.task, config.shape, config.search, 1)
    trainer.advance()
    network, policy = trainer.network(), arz.Policy(trainer.network())
    seen = np.random.default_rng(0).normal(size=(20, 4)) * 0.1
    state = theirs = None
    for step, row in enumerate(seen):
        ours, state = policy.predict(row, state)
        shown = trainer.environment.normalize_obs(row[None])
        expected, theirs = trainer.model.predict(
            shown, state=theirs, episode_start=np.array([step == 0]), deterministic=True
        )
        assert np.abs(np.clip(ours, -1, 1) - expected[0]).max() < 1e-5
    assert network.numbers[0] != 0.0


@pytest.mark.parametrize("kind", ["mlp", "lstm"])
@pytest.mark.parametrize("name", ["ppo-cartpole", "ppo-quadruped"])
def test_a_run_learns_and_is_tested_like_others(kind: str, name: str, tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib", reason=EXTRA)
    with arz.evolve(small(kind, name), folder=tmp_path / "run") as run:
        assert isinstance(run.champion, Network)
        assert run.counters.evaluations == 3
        assert run.counters.steps >= 3 * 48
        assert len(run.metrics["steps"]) == 2
        assert run.test(episodes=2)
        with pytest.raises(RunError, match="PPO keeps its state in memory"):
            run.evolve()


def test_an_episode_that_ends_starts_anew_in_the_same_step() -> None:
    pytest.importorskip("sb3_contrib", reason=EXTRA)
    from arz.baselines.ppo import TaskEnvironment

    environment = TaskEnvironment(arz.Cartpole(), 2, 1)
    first = environment.reset()
    for _ in range(300):
        environment.step_async(np.array([[1.0], [0.0]]))
        seen, rewards, over, infos = environment.step_wait()
        if over[0]:
            break
    assert over[0]
    assert not np.array_equal(infos[0]["terminal_observation"], seen[0])
    assert infos[0]["TimeLimit.truncated"] is False
    assert np.abs(seen[0]).max() <= 0.05
    assert rewards.shape == (2,)
    assert first.shape == (2, 4)


def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("arz.baselines.ppo", "torch", "stable_baselines3", "sb3_contrib"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["train", "ppo", "--output", str(tmp_path / "run")]) == 2
    assert "pip install '.[baselines]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"entropy": -1.0}, "entropy must be 0 or more"),
        ({"sequence": 1}, "sequence must be a whole number of at least 2"),
        ({"sequence": 1_000_000, "environments": 101}, "sequence must be at most 990099 for 101 environments"),
        ({"activation": "gelu"}, "activation must be tanh or"),
    ],
)
def test_odd_settings_get_a_sentence(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**changes)


def test_it_takes_no_start_and_no_more_budget(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib", reason=EXTRA)
    config = small()
    assert isinstance(config.shape, Architecture)
    with pytest.raises(ValueError, match="it takes no start"):
        arz.evolve(config, start=Network(config.shape, config.shape.blank()))
    with arz.evolve(config, folder=tmp_path / "run") as run:
        before = run.facts["budget"]
        with pytest.raises(RunError, match="cannot go on"):
            run.extend("99")
        assert run.facts["budget"] == before


def test_a_network_that_is_lost_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sb3_contrib", reason=EXTRA)
    from arz.baselines.ppo import Trainer

    advance, done = Trainer.advance, []

    def diverging(self: Trainer) -> None:
        advance(self)
        done.append(1)
        if len(done) == 3:
            raise ValueError("Expected parameter loc to satisfy the constraint Real()")

    monkeypatch.setattr(Trainer, "advance", diverging)
    with arz.Run.create(small(budget="9")) as run:
        assert run.evolve() == "diverged"
        assert isinstance(run.champion, Network)


def test_sweeps_of_it_are_one_at_a_time_and_begin_points_anew(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib", reason=EXTRA)
    made = Sweep(small(), {"entropy": (0.0, 0.1)}, tmp_path / "sweep")
    with pytest.raises(ValueError, match="one job at a time"):
        made.run(jobs=2)
    asked = iter([False, False, True])
    assert len(made.run(should_stop=lambda: next(asked, True))) == 0
    whole = made.run()
    assert [tried.settings["entropy"] for tried in whole] == [0.0, 0.1]
    again = Sweep(small(), {"entropy": (0.0, 0.1)}, tmp_path / "other").run()
    assert [tried.score for tried in whole] == [tried.score for tried in again]
    assert len(list(made.repeat({"entropy": 0.1}, 1))) == 1
    assert len(list(made.repeat({"entropy": 0.1}, 2))) == 2
