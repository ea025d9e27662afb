"""Any Gymnasium environment: the same result on any number of processes, bounds, changes that really change something."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import arz
from arz import Memory, Program
from arz.cli import main
from arz.episode import run_episode
from arz.streams import keys
from arz.tasks.cartpole import Cartpole
from arz.tasks.episodes import RUNNING
from arz.tasks.gymnasium import AnyEnvironment
from arz.tasks.gymnasium import episodes as gymnasium_episodes
from arz.tasks.gymnasium.episodes import AnyEpisodes
from arz.tasks.gymnasium.schedule import get_attribute, parse_changes, set_attribute
from arz.tasks.quadruped import Quadruped
from tests.runs_support import ARZ
from tests.support import random_batch

FOLLOW = "tests.gymnasium_support:Follow-v0"
HOLD = """memory(observations=2, actions=1, scalars=4, vectors=3, matrices=0, indices=2)
def StartEpisode():
    v2 = [-0.5, 0.0]
def GetAction(obs, action):
    action = dot(obs, v2)
"""
EPISODES = keys(3, "episodes", range(3))


def by_hand(program: Program, task: AnyEnvironment, key: int) -> tuple[float, int]:
    """The return and length of an episode, with nothing but Gymnasium and the interpreter."""
    env: Any = gymnasium.make(task.env, **task.env_options)
    seen, _ = env.reset(seed=key >> 33)
    runner = arz.Interpreter(program)
    runner.reset([key])
    total, steps, low, high = 0.0, 0, env.action_space.low, env.action_space.high
    while True:
        action = runner.act(np.asarray(seen, float)[None])[0]
        seen, reward, terminated, truncated, _ = env.step(np.clip(action, low, high).astype(np.float32))
        total, steps = total + float(reward), steps + 1
        if terminated or truncated:
            return total, steps


def test_returns_are_those_of_the_environment() -> None:
    task = AnyEnvironment(FOLLOW).settled()
    assert (task.observations, task.actions, task.most_steps) == (2, 1, 40)
    program = Program.parse(HOLD)
    found = arz.evaluate(program, task, EPISODES, threads=1)
    for episode, key in enumerate(EPISODES.tolist()):
        total, steps = by_hand(program, task, key)
        assert found.returns[0, episode] == pytest.approx(total, abs=1e-12)
        assert found.lengths[0, episode] == steps
    assert np.array_equal(arz.evaluate(program, task, EPISODES, threads=1).returns, found.returns)


def test_programs_that_run_side_by_side_do_not_disturb_each_other() -> None:
    """Also where their episodes end at different times, and where the last group is a small one."""
    task = AnyEnvironment("CartPole-v1").settled()
    programs = random_batch(Memory(4, 2, scalars=4, vectors=5, matrices=0, indices=2), 23, 8)
    together = arz.evaluate(programs, task, EPISODES, threads=1)
    assert len(np.unique(together.lengths)) > 3
    for number in (0, 10, 22):
        alone = arz.evaluate(programs[number], task, EPISODES, threads=1)
        for name in ("returns", "lengths", "statuses"):
            assert np.array_equal(getattr(alone, name)[0], getattr(together, name)[number])


def test_threads_do_not_disturb_each_other() -> None:
    """As in a sweep that makes several runs at a time: each thread has environments of its own."""
    task = AnyEnvironment("CartPole-v1", steps=40).settled()
    programs = random_batch(Memory(4, 2, scalars=4, vectors=5, matrices=0, indices=2), 40, 8)
    expected = arz.evaluate(programs, task, EPISODES, threads=1)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(arz.evaluate, programs, task, EPISODES, threads=1) for _ in range(8)]
        for each in asked:
            assert np.array_equal(each.result().returns, expected.returns)


def test_what_was_left_running_is_not_stepped_on() -> None:
    """After an error in the middle of a rollout, the next one with fewer programs begins anew."""
    task, program = AnyEnvironment("CartPole-v1", steps=30).settled(), random_batch(Memory(4, 2, 4, 5, 0, 2), 1, 8)[0]
    expected = arz.evaluate(program, task, EPISODES, threads=1)
    (kept,) = [episodes for episodes in gymnasium_episodes._OPEN.episodes.values() if episodes.task == task]
    kept.statuses[:] = RUNNING
    taken = kept.times[-1]
    assert np.array_equal(arz.evaluate(program, task, EPISODES, threads=1).returns, expected.returns)
    assert kept.times[-1] == taken


def test_the_result_does_not_depend_on_the_number_of_processes() -> None:
    task = AnyEnvironment("Pendulum-v1", steps=30).settled()
    batch = random_batch(Memory(3, 1, scalars=5, vectors=4, matrices=0, indices=2), 9, 1)
    one, two = (arz.evaluate(batch, task, EPISODES, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.returns, two.returns)
    assert np.array_equal(one.lengths, two.lengths)
    assert len(np.unique(one.returns)) > 3
    single = arz.evaluate(batch[4], task, EPISODES[1:2], threads=1)
    assert single.returns[0, 0] == one.returns[4, 1]  # whatever ran beside it


def test_actions_respect_the_bounds() -> None:
    for text, expected in (
        ("s0 = 9.0\n    action = s0 + s0", 0.25),
        ("s0 = -9.0\n    action = s0 + s0", -0.5),
        ("action = log(s0)\n    action = sqrt(action)", -0.125),
    ):
        program = Program.parse(HOLD.replace("action = dot(obs, v2)", text))
        episodes = AnyEpisodes(AnyEnvironment(FOLLOW, steps=3), 1)
        episodes.start(0, 5)
        runner = arz.Interpreter(program)
        episodes.step(runner.act(episodes.observations()))
        given = episodes.environments[0].unwrapped.given
        assert given[0].dtype == np.float32
        assert given[0] == pytest.approx([expected])


def test_discrete_actions_are_the_largest_number() -> None:
    task = AnyEnvironment(FOLLOW, env_options={"kind": "discrete"}).settled()
    assert task.actions == 3
    episodes = AnyEpisodes(task, 1)
    episodes.start(0, 1)
    for numbers, expected in (
        ([0.1, 0.5, 0.2], 0),
        ([2.0, 1.0, -1.0], -1),
        ([np.nan, -5.0, -4.0], 1),
        ([np.nan] * 3, -1),
    ):
        episodes.step(np.array([numbers]))
        assert episodes.environments[0].unwrapped.given[-1] == expected


def test_observations_of_any_shape_are_flattened() -> None:
    task = AnyEnvironment(FOLLOW, env_options={"shape": [2, 3]}).settled()
    assert task.observations == 6
    program = Program.parse(
        HOLD.replace("observations=2", "observations=6").replace("[-0.5, 0.0]", "[-0.5, 0.0, 0.0, 0.0, 0.0, 0.0]")
    )
    assert arz.evaluate(program, task, EPISODES, threads=1).lengths.tolist() == [[40, 40, 40]]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"env": "Nothing-v9"}, "Nothing-v9 cannot be made"),
        ({"env": "no_such_package:Env-v0"}, "--import no_such_package"),
        ({"env": "Blackjack-v1"}, "shows Tuple observations: only Box"),
        ({"env": "FrozenLake-v1"}, "shows Discrete observations"),
        ({"env": FOLLOW, "env_options": {"kind": "dict"}}, "shows Dict observations"),
        ({"env": FOLLOW, "env_options": {"shape": [2000]}}, "at most 1024"),
        ({"env": FOLLOW, "env_options": {"colour": 1}}, "cannot be made"),
        ({"env": "tests.gymnasium_support:Endless-v0"}, "say how long an episode is"),
        ({"env": ""}, "env must be the name"),
        ({"env": FOLLOW, "steps": -1}, "steps must be"),
        ({"env": FOLLOW, "change": "unwrapped.drift: 1"}, "a change is written like"),
        ({"env": FOLLOW, "change": "unwrapped.drift: 1 -> 2 @ 9..3"}, "cannot end before it begins"),
        ({"env": FOLLOW, "change": "unwrapped.drift: 1 -> 2 @ 9; unwrapped.drift: 1 -> 2 @ 9"}, "changes twice"),
        ({"env": FOLLOW, "change": "unwrapped.nothing: 1 -> 2 @ 9"}, "has no unwrapped.nothing"),
        ({"env": FOLLOW, "change": "unwrapped.word: 1 -> 2 @ 9"}, "is not a number that could change"),
        ({"env": FOLLOW, "change": "unwrapped.unused: 1 -> 2 @ 9"}, "changes nothing"),
        ({"env": FOLLOW, "change": "unwrapped.drift: 1 -> 1 @ 9"}, "changes nothing"),
        ({"env": FOLLOW, "change": "unwrapped.copied: 0 -> 2 @ 9"}, "changes nothing"),
        ({"env": FOLLOW, "change": "unwrapped.guarded: 0 -> 2 @ 9"}, "hands off"),
        ({"env": FOLLOW, "change": "drift: 0 -> 2 @ 9"}, "Did you mean unwrapped.drift?"),
        ({"env": FOLLOW, "change": "unwrapped.drift: 0 -> 1e999 @ 9"}, "must be finite"),
        ({"env": FOLLOW, "change": "unwrapped.fixed: 0 -> 2 @ 9"}, "cannot be set"),
        ({"env": FOLLOW, "change": "unwrapped.drift: 0 -> 2 @ 40"}, "an episode has 40 steps"),
        ({"env": FOLLOW, "env_options": {"kind": "assert"}}, "cannot be made: AssertionError"),
        ({"env": FOLLOW, "change": "__class__: 1 -> 2 @ 9"}, "a change is written like"),
    ],
)
def test_what_is_not_supported_gets_a_sentence(task: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        AnyEnvironment(**task).settled()


def test_changes_follow_their_schedule() -> None:
    jump, line, chance = parse_changes("a: 1 -> 3 @ 5; b.c[1]: 0 -> 1 @ 10..20; d: 2 -> 1 @ random 5..9")
    assert [jump.value(t, jump.when(0)) for t in (0, 4, 5, 9)] == [1, 1, 3, 3]
    assert [line.value(t, line.when(0)) for t in (9, 10, 15, 20, 30)] == [0, 0, 0.5, 1, 1]
    steps = [chance.when(key)[0] for key in range(200)]
    assert set(steps) == {5, 6, 7, 8, 9}
    assert steps == [chance.when(key)[1] for key in range(200)]


def test_the_environment_changes_in_the_middle_of_an_episode() -> None:
    task = AnyEnvironment(FOLLOW, change="unwrapped.drift: 0 -> 0.2 @ 20; unwrapped.gain: 1 -> 0 @ 10..30").settled()
    idle = Program.parse(HOLD.replace("action = dot(obs, v2)", "action = 0"))
    episode = run_episode(idle, task, int(EPISODES[0]))
    x = episode.observations[:, 0]
    assert np.allclose(np.diff(x)[:20], 0, atol=1e-6)
    assert np.allclose(np.diff(x)[20:], 0.2, atol=1e-5)
    assert episode.rows["unwrapped.drift"].tolist() == [0.0] * 20 + [0.2] * 20
    gain = episode.rows["unwrapped.gain"]
    assert gain[10] == 1
    assert gain[20] == pytest.approx(0.5)
    assert gain[30] == 0
    again = run_episode(idle, task, int(EPISODES[0]))  # the next episode begins as it should
    assert np.array_equal(again.observations, episode.observations)


def test_attributes_inside_of_others() -> None:
    env = gymnasium.make(FOLLOW)
    assert get_attribute(env, "unwrapped.list[1]") == 0.25
    set_attribute(env, "unwrapped.list[1]", 4.0)
    assert get_attribute(env, "unwrapped.list[1]") == 4.0
    with pytest.raises(ValueError, match="has no"):
        get_attribute(env, "unwrapped.list[7]")


def test_a_run_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    change = "unwrapped.drift: 0.1 -> -0.1 @ 20"
    words = [
        "--env",
        FOLLOW,
        "--change",
        change,
        "--budget",
        "600",
        "--population",
        "20",
        "--lag",
        "10",
        "--validate-every",
        "50",
    ]
    assert main(["evolve", *words, "--quiet", "--threads", "1"]) == 0
    folder = tmp_path / "runs" / "tests-gymnasium_support-Follow-v0-001"
    assert folder.exists()
    capsys.readouterr()
    assert main(["test", str(folder), "--episodes", "5", "--threads", "1", "--json"]) == 0
    tests = json.loads(capsys.readouterr().out)["tests"]
    assert [test["task"] for test in tests] == ["changing", "unchanged"]
    assert main(["show", str(folder)]) == 0
    assert change in capsys.readouterr().out
    assert main(["explain", str(folder)]) == 0
    assert main(["trace", str(folder)]) == 0
    assert "unwrapped.drift: at step 20" in capsys.readouterr().out
    assert main(["replay", str(folder)]) == 0
    assert (folder / "replay.gif").stat().st_size > 500
    assert main(["export", str(folder), "--to", "python", "--output", str(tmp_path / "policy.py")]) == 0
    assert main(["resume", str(folder), "--budget", "700", "--quiet", "--threads", "1"]) == 0
    with arz.Run.open(folder) as run:
        assert run.config.task.env == FOLLOW  # type: ignore[attr-defined]
        assert run.counters.evaluations >= 700


def test_the_same_seed_gives_the_same_run() -> None:
    config = arz.preset(
        "gymnasium", env="Pendulum-v1", steps=20, budget="300", population=20, lag=10, validate_every=50
    )
    scores = []
    for threads in (1, 2):
        with arz.evolve(config, threads=threads) as run:
            scores.append((run.counters.champion_score, str(run.program)))
    assert scores[0] == scores[1]


def test_looking_at_a_run_does_not_make_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run from a stranger may name any environment."""
    config = arz.preset("gymnasium", env=FOLLOW, budget="400", population=20, lag=10, validate_every=20)
    arz.evolve(config, folder=tmp_path / "run", threads=1).close()

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the environment was made")

    monkeypatch.setattr("arz.tasks.gymnasium.episodes.make", refuse)
    monkeypatch.setattr("arz.tasks.gymnasium.adapter.make", refuse)
    monkeypatch.setattr("arz.tasks.gymnasium.task.about_environment", refuse)
    for command in ("show", "runs"):
        assert main([command, str(tmp_path / "run" if command == "show" else tmp_path)]) == 0


def test_explaining_and_exporting_a_run_import_nothing_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = arz.preset("gymnasium", env=FOLLOW, budget="400", population=20, lag=10, validate_every=20)
    arz.evolve(config, folder=tmp_path / "run", threads=1).close()

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the environment was made")

    monkeypatch.setattr("arz.tasks.gymnasium.episodes.make", refuse)
    monkeypatch.setattr("arz.tasks.gymnasium.adapter.make", refuse)
    assert main(["explain", str(tmp_path / "run")]) == 0
    assert main(["export", str(tmp_path / "run"), "--to", "c"]) == 0


def test_a_file_can_be_tried_in_the_environment_that_it_is_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hold.arz"
    file.write_text(HOLD.replace("observations=2", "observations=3").replace("[-0.5, 0.0]", "[0.1, -2.0, 0.5]"))
    for command in (["test"], ["trace", "--output", f"{tmp_path}/none"], ["ablate"], ["replay"]):
        assert main([command[0], str(file), *command[1:]]) == 2
        assert "name that (--env)" in capsys.readouterr().err
    where = ["--env", "Pendulum-v1"]
    assert main(["test", str(file), *where, "--episodes", "2", "--json"]) == 0
    tests = json.loads(capsys.readouterr().out)["tests"]
    expected = arz.evaluate(Program.load(file), AnyEnvironment().settled(), arz.fresh_episodes(2), threads=1)
    assert [(test["task"], test["mean"]) for test in tests] == [("as it is", expected.returns.mean())]
    change = ["--change", "unwrapped.g: 10 -> 5 @ 40..60"]
    assert main(["trace", str(file), *where, *change, "--output", f"{tmp_path}/t", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"] == [{"name": "unwrapped.g", "first": 41, "last": 60}]
    assert main(["test", str(file), *where, *change, "--episodes", "2", "--json"]) == 0
    assert [test["task"] for test in json.loads(capsys.readouterr().out)["tests"]] == ["changing", "unchanged"]
    endless = ["--env", "tests.gymnasium_support:Endless-v0", "--env-options", "{shape = [3]}", "--steps", "7"]
    assert main(["trace", str(file), *endless, "--output", f"{tmp_path}/e", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 7
    assert main(["ablate", str(file), *where, "--episodes", "2"]) == 0
    assert main(["explain", str(file), *where]) == 0
    assert main(["export", str(file), *where, "--to", "c"]) == 0
    capsys.readouterr()
    for words, sentence in (
        (["--env", "Pendlum-v1"], "cannot be made"),
        (["--env", "Acrobot-v1"], "Acrobot-v1 shows 6 numbers and takes 3"),
        ([*where, "--change", "unwrapped.q: 1 -> 2 @ 5"], "has no unwrapped.q"),
        ([*where, "--task", "all"], "--task is for cartpole"),
        (["--env", "tests.gymnasium_support:Endless-v0"], "say how long an episode is (--steps)"),
        ([*where, "--env-options", "[]"], "env_options must be a table"),
        ([*where, "--env-options", "7"], "env_options"),
        ([*where, "--env-options", "{colour = 7}"], "cannot be made"),
    ):
        assert main(["trace", str(file), *words, "--output", f"{tmp_path}/no"]) == 2
        assert sentence in capsys.readouterr().err


def test_an_environment_that_fails_gets_a_sentence() -> None:
    task = AnyEnvironment(FOLLOW, env_options={"kind": "fails"}).settled()
    with pytest.raises(ValueError, match="failed in a step: out of order"):
        arz.evaluate(Program.parse(HOLD), task, EPISODES, threads=1)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("never starts", "failed in its reset: no power"),
        ("row", "as a reward: a number was expected"),
        ("odd", "but its space says numbers of shape"),
        ("short", "but its space says numbers of shape"),
    ],
)
def test_whatever_an_environment_does_gets_a_sentence(
    kind: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = AnyEnvironment(FOLLOW, env_options={"kind": kind}).settled()
    with pytest.raises(ValueError, match=sentence):
        arz.evaluate(Program.parse(HOLD), task, EPISODES, threads=1)
    words = ["--env-options", f'{{kind = "{kind}"}}', "--budget", "50", "--output", f"{tmp_path}/run", "--threads", "1"]
    assert main(["evolve", "--env", FOLLOW, *words]) == 2
    assert sentence in capsys.readouterr().err


def test_a_reward_that_is_no_number_ends_the_episode_and_is_never_worth_it(tmp_path: Path) -> None:
    task = AnyEnvironment(FOLLOW, env_options={"kind": "nan"}).settled()
    found = arz.evaluate(Program.parse(HOLD), task, EPISODES, threads=1)
    assert np.all(found.lengths == 1)
    assert np.all(found.returns == -1e6)
    assert "not a finite number" in run_episode(Program.parse(HOLD), task, int(EPISODES[0])).ending
    config = arz.preset("gymnasium", env=FOLLOW, env_options={"kind": "nan"}, budget="300", population=20, lag=10)
    with arz.evolve(config, folder=tmp_path / "run", threads=1) as run:
        assert run.counters.evaluations >= 300


def test_a_change_that_matters_only_elsewhere_can_be_left_unchecked() -> None:
    """The goal of the mountain car: no action at random gets there."""
    goal = "unwrapped.goal_position: 0.45 -> 0.3 @ 100"
    with pytest.raises(ValueError, match="add the word unchecked"):
        AnyEnvironment("MountainCarContinuous-v0", change=goal).settled()
    assert AnyEnvironment("MountainCarContinuous-v0", change=f"{goal} unchecked").settled().changes[0].end == 0.3
    assert AnyEnvironment(FOLLOW, change="unwrapped.drift: 0 -> 1 @ 0", steps=1).settled().most_steps == 1


def test_what_is_missing_comes_with_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(ValueError, match="pip install 'gymnasium"):
        AnyEnvironment("BipedalWalker-v3").settled()
    with pytest.raises(ValueError, match=r"import it first \(on the command line: --import nowhere\)$"):
        AnyEnvironment("nowhere:There-v0").settled()


def test_networks_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="in other environments, evolve programs"):
        arz.runs.config.with_policy(arz.preset("gymnasium"), "mlp")
    assert main(["evolve"]) == 2
    assert "--env with the name" in capsys.readouterr().err


# ---- scores ----


def test_programs_that_do_not_look_are_no_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--validate-every",
        "100",
        "--population",
        "40",
        "--lag",
        "20",
        "--validation-episodes",
        "4",
        "--steps",
        "20",
    ]
    folder = tmp_path / "run"
    assert (
        main(
            [
                "evolve",
                "--env",
                FOLLOW,
                *options,
                "--budget",
                "1000",
                "--threads",
                "1",
                "--no-test",
                "--output",
                str(folder),
            ]
        )
        == 0
    )
    with arz.Run.open(folder) as run:
        metrics, fitness = run.metrics, [row["fitness"] for row in run.individuals]
        scores = [row["score"] for row in run.champions]
    worst = -9.0 * 20
    assert min(fitness) < -1e299, "there are some"
    for name in ("mean_fitness", "best_fitness", "life_score", "champion_score"):
        assert np.all(metrics[name] >= worst), name
    assert min(scores) >= worst
    assert "-1e" not in capsys.readouterr().out


def test_where_nobody_looks_there_is_no_champion() -> None:
    blind = arz.Variation(op_weights={op.name: 0.0 for op in arz.ops.OPS if "k ->" not in op.signature}, max_cadfs=0)
    base = arz.preset("gymnasium", env=FOLLOW, budget="500", population=40, lag=20, validate_every=100)
    run = arz.evolve(replace(base, variation=blind), threads=1)
    assert run.champions == []
    assert np.all(run.metrics["mean_fitness"] == -np.inf)


def test_success_belongs_to_the_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert AnyEnvironment("MountainCarContinuous-v0").success == 90.0
    assert AnyEnvironment("Pendulum-v1").success is None
    assert AnyEnvironment("nowhere:Nothing-v0").success is None
    assert (Cartpole().success, Quadruped().success) == (900.0, 400.0)
    for task in (Cartpole(), Quadruped()):
        assert task.lasting == "lasted to the end"
    assert AnyEnvironment().lasting == "reached the step limit"


def test_a_pool_ends_with_the_process_that_made_it(tmp_path: Path) -> None:
    command = [
        ARZ,
        "evolve",
        "--env",
        "Pendulum-v1",
        "--budget",
        "1h",
        "--threads",
        "2",
        "--output",
        str(tmp_path / "run"),
        "--quiet",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    children: set[int] = set()
    give_up = time.monotonic() + 120
    while len(children) < 3:  # two workers, and who keeps an eye on shared memory
        assert time.monotonic() < give_up
        assert process.poll() is None
        children |= descendants(process.pid)
        time.sleep(0.1)
    process.kill()
    process.wait()
    while alive := [pid for pid in children if Path(f"/proc/{pid}/cmdline").exists() and is_running(pid)]:
        assert time.monotonic() < give_up, alive
        time.sleep(0.1)


def descendants(pid: int) -> set[int]:
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found |= {int(path.parent.name)} | descendants(int(path.parent.name))
    return found


def is_running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
