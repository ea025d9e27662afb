"""Laikago leg-breaking: savings change nothing, every engine plays by the same rules, and good manners."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from arz import Batch, Interpreter, Memory, Program, Variation, random_programs
from arz.evaluate import Evaluation, Status, evaluate, fresh_episodes, record
from arz.native import core
from arz.network import Architecture, NetworkBatch
from arz.streams import keys
from arz.tasks.quadruped import IDLE_LENGTH, IDLE_RETURN, LEGS, STATE, Quadruped
from arz.tasks.quadruped.environment import LaikagoLegBreak
from tests.support import same_bits

MEMORY = Memory(37, 12, 16, 16, 0, 16)
TASK = Quadruped(steps=250)
COLUMNS = ("returns", "lengths", "statuses", "distances")
PAPER = Path(__file__).parent.parent / "examples" / "paper_quadruped.arz"


@cache
def assorted(count: int = 60) -> Batch:
    """Random programs with CADFs; some of them draw random numbers."""
    variation = Variation(length=(5, 25), initial_constants=1.0, op_weights={"call": 20.0, "scalar_uniform": 8.0})
    return random_programs(MEMORY, keys(1, "assorted", np.arange(count)), variation)


def same(one: Evaluation, other: Evaluation, *, where: Any = slice(None)) -> bool:
    return all(same_bits(getattr(one, name)[:, where], getattr(other, name)) for name in COLUMNS)


@cache
def plainly() -> Evaluation:
    """Each episode by itself, from its start, with dead code."""
    options: dict[str, Any] = {"shares_trunk": False, "crowd": 1, "only_effective": False}
    return evaluate(assorted(), TASK, fresh_episodes(12), threads=1, **options)


@pytest.mark.parametrize("engine", ["batched", "double", "mujoco"])
def test_callers_can_share_robots(engine: str) -> None:
    """Whoever else is there, with whatever task and whenever: each finds what it would find alone."""
    tasks = [Quadruped(engine=engine, steps=steps, leg=leg) for steps, leg in ((40, "random"), (60, "none"), (7, "RL"))]
    shape = Architecture("lstm", 37, 12, (3,))
    networks = NetworkBatch(shape, np.random.default_rng(1).normal(size=(20, shape.size)))

    def ask(number: int, shared: core.Engine | None) -> Evaluation:
        some = networks if number % 4 == 3 else assorted().take(np.arange(5) + 7 * (number % 6))
        options: dict[str, Any] = {"crowd": 1 + number % 9, "stops_idle": number % 2 == 0, "engine": shared}
        return evaluate(some, tasks[number % 3], fresh_episodes(number % 5, first=number), threads=1, **options)

    alone = [ask(number, None) for number in range(30)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(ask, [*range(30)] * 3, [tasks[0].shared_engine()] * 90))
    for number, found in enumerate(together):
        assert same(found, alone[number % 30]), number
        assert same_bits(found.sums, alone[number % 30].sums)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("shares_trunk", [True, False])
@pytest.mark.parametrize("crowd", [1, 7, 32, 200])
def test_savings_change_nothing(threads: int, shares_trunk: bool, crowd: int) -> None:
    found = evaluate(assorted(), TASK, fresh_episodes(12), threads=threads, shares_trunk=shares_trunk, crowd=crowd)
    assert same(found, plainly())


def test_the_programs_are_assorted() -> None:
    found = plainly()
    assert {Status.COMPLETED.number, Status.FELL.number, Status.ACTION_NOT_FINITE.number} <= set(found.statuses.ravel())
    assert np.sum(np.ptp(found.lengths, axis=1) > 5) > 10
    assert np.isfinite(found.returns).all()


def test_a_result_does_not_depend_on_the_other_episodes() -> None:
    chosen = [7, 2, 9]
    assert same(plainly(), evaluate(assorted(), TASK, fresh_episodes(12)[chosen]), where=chosen)
    twice = evaluate(assorted(), TASK, np.repeat(fresh_episodes(12), 2))
    assert same_bits(twice.returns[:, ::2], twice.returns[:, 1::2])


OTHER_WORLD: dict[str, Any] = {
    "torque_left": (0.3, 0.2, 0.1, 0.4),
    "friction": 0.4,
    "payload": 2.0,
    "motor_strength": 0.8,
    "latency": 5,
    "start_pose": 0.05,
    "world": 7,
}


@pytest.mark.parametrize("world", [{}, OTHER_WORLD], ids=["usual", "other world"])
@pytest.mark.parametrize("engine", ["batched", "double", "mujoco"])
def test_the_environment_plays_the_same_episodes(engine: str, world: dict[str, Any]) -> None:
    if engine == "mujoco":
        pytest.importorskip("mujoco")
    task = replace(TASK, engine=engine, steps=120, **world)
    episodes = fresh_episodes(3)
    programs = assorted().unpack()[:12]
    found = evaluate(programs, task, episodes)
    env = LaikagoLegBreak(engine=engine, steps=120, **world)
    for p, program in enumerate(programs):
        rows = record(program, task, episodes)
        for e, episode in enumerate(episodes.tolist()):
            seen, _ = env.reset(options={"episode": episode})
            interpreter = Interpreter(program, 1)
            interpreter.reset([core_key(episode)])
            total, steps, terminated, truncated = 0.0, 0, False, False
            while not (terminated or truncated):
                assert same_bits(seen, np.array([rows[name][e, steps] for name in STATE]))
                action = interpreter.act(seen[None])[0]
                seen, reward, terminated, truncated, info = env.step(action)
                assert reward == rows["reward"][e, steps]
                total += reward
                steps += 1
            assert (total, steps) == (found.returns[p, e], found.lengths[p, e])
            assert truncated == (found.statuses[p, e] == Status.COMPLETED.number)
            assert info["status"] == task.sentence(Status(int(found.statuses[p, e])))
            assert np.isnan(rows["reward"][e, steps:]).all()


def core_key(episode: int) -> int:
    """The key of a program's own random numbers in an episode."""
    from arz.streams import mix

    return mix(episode ^ 0x706F6C696379)


def test_reward_and_ends_are_as_the_paper_says() -> None:
    env = LaikagoLegBreak(leg="none", steps=300)
    rng = np.random.default_rng(0)
    for seed in range(5):
        seen, _ = env.reset(seed=seed)
        before = np.zeros(12)
        while True:
            action = rng.uniform(-0.6, 0.6, 12) if seed else np.zeros(12)
            seen, reward, terminated, truncated, info = env.step(action)
            state, clipped = dict(zip(STATE, seen, strict=True)), np.clip(action, -0.4, 0.4)
            expected = 1 - 2 * abs(state["velocity x"] - 1) - np.linalg.norm(clipped - before)
            assert reward == pytest.approx(expected, abs=1e-12)
            before = clipped
            up = 1 - 2 * (state["quaternion x"] ** 2 + state["quaternion y"] ** 2)
            down = up < 0.6 or state["position z"] < 0.2 or state["position z"] > 5
            assert terminated == (down or abs(state["position y"]) > 3)
            if terminated or truncated:
                assert truncated == (info["time"] == 300 and not terminated)
                break


@pytest.mark.parametrize("leg", [*LEGS, "none", "random"])
def test_breaks_are_told_and_happen_at_their_step(leg: str) -> None:
    env, whole = LaikagoLegBreak(leg=leg, break_step=20), LaikagoLegBreak(leg="none")
    seen, info = env.reset(options={"episode": 5})
    whole.reset(options={"episode": 5})
    assert info["break_step"] == (1000 if leg == "none" else 20)
    assert info["leg"] in LEGS if leg == "random" else info["leg"] == leg
    rng = np.random.default_rng(1)
    for step in range(30):
        action = rng.uniform(-0.2, 0.2, 12)
        seen, *_, info = env.step(action)
        other, *_, _ = whole.step(action)
        assert np.array_equal(seen, other) == (step < 20 or leg == "none")
        assert info["is_broken"] == (step >= 20 and leg != "none")


def test_random_breaks_are_spread_over_legs_and_steps() -> None:
    found = Quadruped().breaks(fresh_episodes(4000))
    assert np.all(np.abs(np.bincount(found[:, 0]) - 1000) < 120)
    assert found[:, 1].min() < 5
    assert found[:, 1].max() > 994
    assert abs(found[:, 1].mean() - 499.5) < 20
    spread = Quadruped().breaks(Quadruped().spread(fresh_episodes(32)))
    for leg in range(4):
        steps = np.sort(spread[spread[:, 0] == leg, 1])
        assert len(steps) == 8
        assert np.array_equal(steps // 125, np.arange(8))


def test_episodes_are_spread_as_far_as_there_are_steps() -> None:
    task = Quadruped(steps=5)
    found = task.breaks(task.spread(fresh_episodes(48)))
    assert np.all(np.bincount(found[:, 0]) == 12)
    assert set(found[:, 1].tolist()) == set(range(5))


def test_objectives_are_what_they_say() -> None:
    episodes = TASK.spread(fresh_episodes(16))
    found = evaluate(assorted(), TASK, episodes)
    free = replace(TASK, constraint=False, floor=False)
    names = ("return", "length", "worst_leg", *LEGS, "distance")
    columns = dict(zip(names, free.objectives(names, found, episodes).T, strict=True))
    assert np.allclose(columns["return"], found.returns.mean(axis=1))
    assert np.allclose(columns["length"], found.lengths.mean(axis=1))
    assert np.allclose(np.mean([columns[leg] for leg in LEGS], axis=0), columns["return"])
    assert np.array_equal(np.min([columns[leg] for leg in LEGS], axis=0), columns["worst_leg"])
    assert np.all((columns["distance"] >= 0) & (columns["distance"] <= 1.25))  # half of 2.5 s at 1 m/s
    assert np.allclose(columns["distance"], np.clip(found.mean_distance, 0, 1.25))
    floored = replace(TASK, constraint=False).objectives(names, found, episodes)
    negative = found.mean < 0
    assert 0 < negative.sum() < len(negative)
    assert np.all(floored[negative] == 0)
    assert np.array_equal(floored[~negative], free.objectives(names, found, episodes)[~negative])


def test_stopping_the_idle_changes_no_objective() -> None:
    """Standing programs are worth nothing, and need not stand to the end for that."""
    task, episodes = Quadruped(), Quadruped().spread(fresh_episodes(8))
    programs = assorted()
    whole = evaluate(programs, task, episodes)
    stopped = evaluate(programs, task, episodes, stops_idle=True)
    names = ("return", "length", "worst_leg")
    idle = (whole.mean_length > IDLE_LENGTH) & (whole.mean < IDLE_RETURN)
    assert idle.sum() > 2
    assert np.array_equal(task.objectives(names, whole, episodes), task.objectives(names, stopped, episodes))
    assert stopped.lengths[idle].sum() < 0.8 * whole.lengths[idle].sum()
    assert same_bits(stopped.returns[~idle], whole.returns[~idle])


def test_the_papers_program_runs() -> None:
    program = Program.load(PAPER)
    found = evaluate(program, Quadruped(), fresh_episodes(4))
    assert np.isfinite(found.returns).all()


def test_mujoco_gives_the_same_on_any_number_of_threads() -> None:
    pytest.importorskip("mujoco")
    task = replace(TASK, engine="mujoco", steps=60)
    programs = assorted().unpack()[:8]
    alone = evaluate(programs, task, fresh_episodes(3), threads=1, shares_trunk=False, crowd=1)
    assert same(evaluate(programs, task, fresh_episodes(3), threads=3), alone)


def test_builds_for_other_instruction_sets_give_the_same_bits() -> None:
    from arz.native import load, runs_here

    packed = [np.ascontiguousarray(array) for array in assorted().core.arrays()]
    found = []
    for build in runs_here():
        other = load(build)
        shape = other.memory_shape(37, 12, 16, 16, 0, 16, True)
        batch = other.batch(shape, *packed)
        settings, engine = (
            other.quadruped_settings(-2, -2, 250, 250, [0.0] * 4, 0.0, 0),
            other.own_engine(False, 1, other.laikago_world(1.0, 0.0, 1.0, 0, 0.0, 0)),
        )
        found.append(
            other.quadruped_rollout(batch, settings, engine, fresh_episodes(4), np.inf, -np.inf, 2, True, True, 32)
        )
    for other in found[1:]:
        assert all(same_bits(a, b) for a, b in zip(found[0], other, strict=True))


# ---- environments ----


@pytest.mark.filterwarnings("ignore:.*A Box observation space m.*")
@pytest.mark.parametrize("kwargs", [{}, {"leg": "FL", "break_step": 3}, {"engine": "double", "leg": "none"}])
def test_gymnasium_finds_nothing_to_complain_about(kwargs: dict[str, Any]) -> None:
    env = gymnasium.make("ARZ/LaikagoLegBreak-v0", **kwargs)
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.usefixtures("needs_drawing")
def test_pictures_show_the_robot_and_the_broken_leg() -> None:
    env = LaikagoLegBreak(leg="FR", break_step=2, render_mode="rgb_array")
    env.reset(seed=0)
    whole = env.render()
    for _ in range(4):
        env.step(np.zeros(12))
    broken = env.render()
    env.close()
    assert whole is not None
    assert broken is not None
    assert whole.shape == broken.shape == (400, 640, 3)
    red = [np.sum((frame[..., 0] > 150) & (frame[..., 1] < 90) & (frame[..., 2] < 80)) for frame in (whole, broken)]
    assert red[0] == 0
    assert red[1] > 300


def test_a_vector_goes_as_single_environments() -> None:
    envs = gymnasium.make_vec("ARZ/LaikagoLegBreak-v0", num_envs=3, leg="RR", break_step=4, steps=12)
    singles = [LaikagoLegBreak(leg="RR", break_step=4, steps=12) for _ in range(3)]
    seen, _ = envs.reset(seed=3)
    expected = [env.reset(seed=3 + i)[0] for i, env in enumerate(singles)]
    assert np.array_equal(seen, expected)
    rng = np.random.default_rng(0)
    for _ in range(12):
        actions = rng.uniform(-0.4, 0.4, (3, 12))
        seen, rewards, *_ = envs.step(actions)
        outcomes = [env.step(action) for env, action in zip(singles, actions, strict=True)]
        assert np.array_equal(seen, [one[0] for one in outcomes])
        assert np.array_equal(rewards, [one[1] for one in outcomes])


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"leg": "LF"}, "leg must be one of random, none, FR, FL, RR, RL, not 'LF'"),
        ({"engine": "mujuco"}, "engine must be one of .* Did you mean 'mujoco'"),
        ({"break_step": 1000}, "break_step must be a step from 0 to 999"),
        ({"break_step": "soon"}, "break_step must be"),
        ({"steps": 0}, "steps must be a whole number from 1"),
        ({"contact_iterations": 0}, "contact_iterations must be"),
        ({"constraint": 1}, "constraint must be true or false"),
    ],
)
def test_mistakes_get_a_sentence(wrong: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        LaikagoLegBreak(**wrong)


def test_a_missing_mujoco_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ValueError, match=r"pip install '.\[mujoco\]'"):
        LaikagoLegBreak(engine="mujoco")


def test_a_program_of_another_task_is_refused() -> None:
    with pytest.raises(ValueError, match="37 observations and 12 actions, the policies have 4 and 1"):
        evaluate(random_programs(Memory(4, 1, 4, 4), keys(1, "x", np.arange(2))), TASK, fresh_episodes(1))
    assert core.LAIKAGO["max_torque"] == 50


def test_legs_break_before_the_step_that_is_said() -> None:
    episodes = fresh_episodes(400)
    early, usual = Quadruped(break_before=200), Quadruped()
    steps = early.breaks(episodes)[:, 1]
    assert steps.max() < 200
    assert steps.min() < 10
    assert np.array_equal(early.breaks(episodes)[:, 0], usual.breaks(episodes)[:, 0])
    assert usual.shorter(500).breaks(episodes)[:, 1].max() > 450
    assert usual.shorter(500, is_early=True) == Quadruped(steps=500, break_before=250)
    assert early.easier().break_before == 0
    assert np.array_equal(usual.cases(episodes), usual.breaks(episodes)[:, 0])
    assert Quadruped(leg="FR").cases(episodes).tolist() == [0] * 400
    for wrong in (-1, 1001, True, 1.5):
        with pytest.raises(ValueError, match="break_before must be a step up to 1000, or 0 for any"):
            Quadruped(break_before=wrong)  # type: ignore[arg-type]


TROT = Path(__file__).parent.parent / "results" / "quadruped" / "champions" / "reflexes-1.arz"
ENGINES = ("batched", "double", "mujoco")
WORLDS: dict[str, dict[str, Any]] = {
    "friction": {"friction": 0.3},
    "payload": {"payload": 3.0},
    "motor_strength": {"motor_strength": 0.6},
    "latency": {"latency": 9},
    "start_pose": {"start_pose": 0.1, "world": 3},
    "sensor_noise": {"sensor_noise": 1.0, "world": 3},
}


def states(task: Quadruped, seed: int = 0) -> np.ndarray[Any, Any]:
    """What a walking robot goes through, in an episode."""
    program = Program.load(TROT)
    columns = record(program, task, fresh_episodes(1, first=seed))
    return np.stack([columns[name][0] for name in STATE], axis=1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", WORLDS)
def test_each_part_of_the_world_changes_the_physics(engine: str, name: str) -> None:
    if engine == "mujoco":
        pytest.importorskip("mujoco")
    usual = Quadruped(leg="none", steps=60, engine=engine)
    assert not np.array_equal(states(usual), states(replace(usual, **WORLDS[name])), equal_nan=True)
    assert usual.variant == {"contact_iterations": 1, "steps": 60}
    assert replace(usual, **WORLDS[name]).variant == {"contact_iterations": 1, "steps": 60, **WORLDS[name]}


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_left_of_the_torque_counts_from_the_step_of_the_break(engine: str) -> None:
    if engine == "mujoco":
        pytest.importorskip("mujoco")
    usual = Quadruped(leg="FL", break_step=30, steps=60, engine=engine)
    whole, half = replace(usual, leg="none", break_step=-1), replace(usual, torque_left=(0.0, 0.5, 0.0, 0.0))
    broken, weak, sound = (states(task) for task in (usual, half, whole))
    assert np.array_equal(broken[:31], weak[:31])
    assert not np.array_equal(broken[31], weak[31])
    assert not np.array_equal(weak[31], sound[31])
    untouched = replace(usual, torque_left=(1.0, 1.0, 1.0, 1.0))
    assert np.array_equal(states(untouched), sound)


def test_eased_and_varied_tasks() -> None:
    task = Quadruped()
    assert task.eased((0.1, 0.2, 0.3, 0.4)).torque_left == (0.1, 0.2, 0.3, 0.4)
    assert Quadruped(leg="FL").eased((0.5,)).torque_left == (0.0, 0.5, 0.0, 0.0)
    other = Quadruped(sensor_noise=2.0, **OTHER_WORLD)
    for own in (task, other):
        assert own.varied(7, 0.0) == own
        assert own.eased((0.0, 0.0, 0.0, 0.0)) == own
    assert other.eased((1.0, 0.0, 0.5, 0.0)).torque_left == (1.0, 0.2, 0.55, 0.4)
    assert all(other.varied(key, 1.0).latency >= other.latency for key in range(20))
    for key in range(100):  # never out of range
        Quadruped(contact_iterations=1000, friction=90.0, payload=-9.0).varied(key, 1.0)
    assert Quadruped(torque_left=[0, 0, 0, 0]) == task  # type: ignore[arg-type]
    worlds = [task.varied(key, 1.0) for key in range(200)]
    assert task.varied(3, 1.0) == worlds[3]
    for name, low, high in (
        ("friction", 0.5, 1.25),
        ("payload", -1.0, 3.0),
        ("motor_strength", 0.8, 1.2),
        ("latency", 0, 9),
    ):
        drawn = [getattr(world, name) for world in worlds]
        assert low <= min(drawn) < low + 0.1 * (high - low)
        assert high - 0.11 * (high - low) < max(drawn) <= high


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"torque_left": 0.5}, "torque_left must be 4 numbers from 0 to 1, as in"),
        ({"torque_left": (0.0, 0.0)}, "torque_left must be 4 numbers from 0 to 1"),
        ({"torque_left": (0.0, 0.0, 2.0, 0.0)}, "torque_left must be 4 numbers from 0 to 1"),
        ({"friction": -1.0}, "friction must be a number from 0 to 100"),
        ({"friction": float("nan")}, "friction must be a number from 0 to 100"),
        ({"payload": "much"}, "payload must be a number from -10 to 1000"),
        ({"motor_strength": True}, "motor_strength must be a number from 0 to 100"),
        ({"start_pose": 2.0}, "start_pose must be a number from 0 to 1"),
        ({"sensor_noise": -1.0}, "sensor_noise must be a number from 0 to 1000"),
        ({"world": -1}, "world must be a whole number below 2147483647"),
        ({"latency": 10}, "latency must be a whole number from 0 to 9"),
    ],
)
def test_odd_worlds_get_a_sentence(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Quadruped(**wrong)


@pytest.mark.parametrize("engine", ENGINES)
def test_sensors_err_alike_in_rollouts_and_in_the_environment(engine: str) -> None:
    if engine == "mujoco":
        pytest.importorskip("mujoco")
    how: dict[str, Any] = {**OTHER_WORLD, "engine": engine, "sensor_noise": 2.0, "steps": 60}
    task, env, program = Quadruped(**how), LaikagoLegBreak(**how), Program.load(TROT)
    found = evaluate(program, task, fresh_episodes(2), threads=1, shares_trunk=False)
    assert same(found, evaluate(program, task, fresh_episodes(2), threads=2))
    for e, episode in enumerate(fresh_episodes(2).tolist()):
        seen, _ = env.reset(options={"episode": episode})
        interpreter = Interpreter(program, 1)
        interpreter.reset([core_key(episode)])
        total, ended = 0.0, False
        while not ended:
            seen, reward, terminated, truncated, _ = env.step(interpreter.act(seen[None])[0])
            total, ended = total + float(reward), terminated or truncated
        assert total == found.returns[0, e]
    quiet = evaluate(program, replace(task, sensor_noise=0.0), fresh_episodes(2))
    assert not np.array_equal(quiet.returns, found.returns)
