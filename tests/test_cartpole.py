"""The native cartpole equals a simulator written from the equations, and a rollout depends on nothing but its episodes."""

import math
from collections.abc import Callable, Set
from dataclasses import fields, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from arz import Batch, Interpreter, Memory, MutationWeights, Program, Variation, effective, mutate, random_programs
from arz.evaluate import STATUS, Evaluation, Status, evaluate, fresh_episodes, record
from arz.native import core
from arz.streams import key, keys, mix
from arz.tasks.cartpole import NAMED, PARAMETERS, TRUTH, Cartpole
from tests.cartpole_reference import RANGES, Episode, Physics, Policy, State, Variant, draw, noise, simulate
from tests.support import random_batch, same_bits, tame_observations

fresh_episodes.__test__ = False  # type: ignore[attr-defined]  # its name makes pytest think it is a test

TOLERANCE = 1e-9
PAPER = Program.load(Path(__file__).parents[1] / "examples" / "paper_cartpole.arz")
STATES = ("x", "theta", "x_dot", "theta_dot")

CALLING = Variation(
    max_cadfs=3,
    initial_cadfs=2,
    length=(10, 20),
    initial_constants=1.0,
    op_weights={"call": 20.0, "scalar_uniform": 10.0},
)
GROWING = replace(CALLING, weights=MutationWeights(insert_instruction=10.0, delete_instruction=0.1))

MEMORIES = [
    Memory(4, 1, 6, 5, 0, 2, True),
    Memory(4, 1, 5, 6, 2, 3, True),
    Memory(4, 1, 8, 8, 0, 4, False),
    Memory(4, 1, 5, 5, 1, 2, False),
]


def memory_id(memory: Memory) -> str:
    return f"{memory.scalars}s{memory.vectors}v{memory.matrices}m{'' if memory.stateful else '-stateless'}"


def program_of(memory: Memory, start: str, get_action: str) -> Program:
    """A program of a memory from the lines of its two functions."""
    empty = str(Program.build(memory, []))
    head = empty[: empty.index("def ")]
    return Program.parse(f"{head}def StartEpisode():\n    {start}\ndef GetAction(obs, action):\n    {get_action}\n")


@cache
def assorted(memory: Memory) -> Batch:
    """Random programs, and mutants of a controller that often balances: short and long episodes, CADFs, draws."""
    random = random_programs(memory, keys(1, "test", range(16)), CALLING)
    controller = program_of(memory, "v2 = [0.3, 4.0, 0.5, 0.9]", "action = dot(obs, v2)")
    mutants = Batch.pack([controller] * 48)
    for turn in range(12):
        mutants = mutate(mutants, np.arange(48), keys(turn, "mutants", range(48)), GROWING)[0]
    return random + mutants


def driven_by(program: Program, episode: int) -> Policy:
    """The program as a Python function, with the random numbers that a rollout gives it."""
    interpreter = Interpreter(program)
    interpreter.reset([mix(episode ^ 0x706F6C696379)])
    return lambda seen: float(interpreter.act([seen])[0, 0])


def task_of(variant: Variant) -> Cartpole:
    return Cartpole(**vars(variant))


def reference(program: Program, variant: Variant, episode: int, physics: Physics | None = None) -> Episode:
    return simulate(driven_by(program, episode), variant, episode, physics=physics)


def largest_difference(
    program: Program,
    variant: Variant,
    episodes: NDArray[np.uint64],
    physics: Physics | None = None,
    skipped: Set[str] = frozenset(),
) -> float:
    """Between native and reference, over all steps and names; infinite where length or status differ."""
    task = task_of(variant)
    native, outcome = record(program, task, episodes), evaluate(program, task, episodes)
    largest = 0.0
    for number, episode in enumerate(episodes.tolist()):
        expected = reference(program, variant, episode, physics)
        steps = len(expected)
        if (outcome.lengths[0, number], STATUS[int(outcome.statuses[0, number])]) != (steps, expected.status):
            return math.inf
        # What the motor gets of an action that is not a number does not matter: nothing counts from there on.
        told = steps - (expected.status is Status.ACTION_NOT_FINITE)
        for name in TRUTH:
            column = native[name][number]
            assert column.shape == (variant.steps,)
            assert np.all(np.isnan(column[steps:]))
            assert np.all(np.isfinite(column[:told]))
            if name not in skipped:
                largest = max(largest, float(np.max(np.abs(column[:told] - expected[name][:told]), initial=0.0)))
        largest = max(largest, abs(float(native["reward"][number, steps - 1]) - expected.rows["reward"][-1]))
        largest = max(largest, abs(float(outcome.returns[0, number]) - expected.total) / 1000)
    return largest


# ---- against the reference ----

SUBSETS = [chosen for size in (1, 2, 3) for chosen in combinations(PARAMETERS, size)]
ALL = Variant("continuous", PARAMETERS)
VARIANTS = [
    Variant(),
    *(Variant(change, chosen) for change in ("sudden", "continuous") for chosen in SUBSETS),
    replace(ALL, x_limit=2.4),
    replace(ALL, partial_observability=True),
    replace(ALL, actuator_noise=True, noise_sigma=0.3, x_limit=2.4),
    replace(ALL, actuator_noise=True, noise_sigma=0.0),
    Variant("sudden", PARAMETERS, actuator_noise=True, partial_observability=True),
    replace(ALL, steps=1),
    replace(ALL, steps=503),
    replace(ALL, steps=1300),
]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: task_of(variant).name + f" {variant.steps}")
def test_the_papers_program_meets_the_reference(variant: Variant) -> None:
    episodes = fresh_episodes(2)
    assert largest_difference(PAPER, variant, episodes) < TOLERANCE
    if not (variant.partial_observability or variant.actuator_noise):
        assert evaluate(PAPER, task_of(variant), episodes).share(Status.COMPLETED) == 1


RANDOM_VARIANTS = [ALL, Variant("sudden", PARAMETERS, x_limit=2.4), replace(ALL, actuator_noise=True)]


@pytest.mark.parametrize("memory", MEMORIES, ids=memory_id)
def test_random_programs_meet_the_reference_until_they_end(memory: Memory) -> None:
    """A pole that is not balanced multiplies rounding by e every 0.25 s, so states agree less well than above; and an
    action such as 1 / mean(obs) multiplies it without bound, so it is left to the next test."""
    batch = assorted(memory)
    for number in range(0, len(batch), 3):
        variant = RANDOM_VARIANTS[number // 3 % 3]
        difference = largest_difference(batch[number], variant, fresh_episodes(2), skipped={"action"})
        assert difference < 1e-7, batch[number]


@pytest.mark.parametrize("memory", MEMORIES, ids=memory_id)
def test_every_single_step_of_random_programs_meets_the_reference(memory: Memory) -> None:
    """Each step starts from the native state: nothing adds up, the action has the same bits, and the rest its digits."""
    physics, batch = Physics(), assorted(memory)
    for number in range(1, len(batch), 3):
        variant, program, episode = RANDOM_VARIANTS[number // 3 % 3], batch[number], fresh_episodes(3)[2:]
        native, act = record(program, task_of(variant), episode), driven_by(program, int(episode[0]))
        rows = [dict(zip(TRUTH, row, strict=True)) for row in np.array([native[name][0] for name in TRUTH]).T.tolist()]
        for time in range(int(evaluate(program, task_of(variant), episode).lengths[0, 0])):
            row = rows[time]
            state = State(*(row[name] for name in STATES))
            assert same_bits(row["action"], act((state.x, state.theta, state.x_dot, state.theta_dot)))
            if not math.isfinite(row["action"]):
                break
            disturbance = row["noise"] + variant.noise_sigma * noise(int(episode[0]), time)
            wanted = row["action"] + disturbance * variant.actuator_noise
            assert abs(row["applied"] - min(max(wanted, -1.0), 1.0)) < 1e-14
            force = physics.motor * row["force"] * row["applied"]
            after = state.after(physics, force, row["damping"], row["track_angle"])
            tilt = abs(after.theta - row["track_angle"])
            assert abs(row["reward"] - max(0.0, 1 - tilt / physics.angle_limit) ** 2) < 1e-13
            if time + 1 < variant.steps and not math.isnan(rows[time + 1]["x"]):
                after = after.turned(rows[time + 1]["track_angle"] - row["track_angle"])
                assert all(abs(rows[time + 1][name] - getattr(after, name)) < 1e-13 for name in STATES)


@pytest.mark.parametrize("constant", [constant.name for constant in fields(Physics)])
def test_the_comparison_notices_a_wrong_constant(constant: str) -> None:
    wrong = replace(Physics(), **{constant: getattr(Physics(), constant) * 1.0001})
    assert largest_difference(PAPER, ALL, fresh_episodes(1), wrong) > 100 * TOLERANCE


# The means of 200 episodes in the calibration table of the design: change, task, mean.
CALIBRATION = [
    *(("sudden", name, mean) for name, mean in zip(NAMED, (981, 981, 981, 975, 974), strict=True)),
    *(("continuous", name, mean) for name, mean in zip(NAMED, (981, 981, 981, 978, 978), strict=True)),
]


@pytest.mark.parametrize(("change", "name", "mean"), CALIBRATION)
def test_the_papers_program_scores_what_the_calibration_says(change: str, name: str, mean: float) -> None:
    task = Cartpole(change, NAMED[name])
    assert evaluate(PAPER, task, fresh_episodes(200)).mean[0] == pytest.approx(mean, abs=5)


# ---- changes ----


@pytest.mark.parametrize("change", ["sudden", "continuous"])
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_changes_the_trajectory_from_its_step_on_and_not_before(change: str, name: str) -> None:
    episodes = fresh_episodes(12)
    before, after = record(PAPER, Cartpole("none"), episodes), record(PAPER, Cartpole(change, (name,)), episodes)
    for n, episode in enumerate(episodes.tolist()):
        schedule = draw(episode, change)[1][name]
        changed = (
            schedule.first if change == "sudden" else schedule.first + 1
        )  # a line still starts at the nominal value
        for column in TRUTH:
            assert same_bits(before[column][n, :changed], after[column][n, :changed])
        assert np.all(before[name][n, changed:] != after[name][n, changed:])
        for other in {*RANGES, "noise"} - {name}:
            assert same_bits(before[other][n], after[other][n])
        for column in ("x", "x_dot", "theta_dot"):  # the motion itself follows one step later
            assert before[column][n, changed] == after[column][n, changed]
        states = np.array([[run[column][n, changed + 1 :] for column in STATES] for run in (before, after)])
        assert np.all(np.any(states[0] != states[1], axis=0))
        jump = after["theta"][n, changed] - before["theta"][n, changed]
        turned = after["track_angle"][n, changed]  # from 0
        assert jump == pytest.approx(turned, abs=1e-15)
        assert (jump != 0) == (name == "track_angle")
        assert after["theta_vertical"][n, changed] == pytest.approx(before["theta_vertical"][n, changed], abs=1e-15)


@pytest.mark.parametrize("change", ["sudden", "continuous"])
def test_schedules_are_nominal_then_a_straight_line_then_the_target(change: str) -> None:
    episodes = fresh_episodes(60)
    native = record(PAPER, Cartpole(change, x_limit=1e6), episodes)
    for n, episode in enumerate(episodes.tolist()):
        for name in PARAMETERS:
            schedule, values = draw(episode, change)[1][name], native[name][n]
            assert np.all(values[: schedule.first] == schedule.nominal)
            assert np.all(values[schedule.last :] == values[-1])
            assert values[-1] == pytest.approx(schedule.target, abs=3e-16)
            assert np.allclose(values, [schedule.at(time) for time in range(1000)], rtol=0, atol=1e-15)


@pytest.mark.parametrize("change", ["none", "sudden"])
def test_the_mean_of_the_noise_follows_a_line_whatever_the_change(change: str) -> None:
    episodes = fresh_episodes(60)
    native = record(PAPER, Cartpole(change, actuator_noise=True, noise_sigma=0.0, x_limit=1e6), episodes)
    inside = 0
    for n, episode in enumerate(episodes.tolist()):
        schedule, values = draw(episode, change)[1]["noise"], native["noise"][n]
        values = values[np.isfinite(values)]
        assert np.allclose(values, [schedule.at(time) for time in range(len(values))], rtol=0, atol=1e-15)
        inside += len(values) > schedule.first + 2 and schedule.last > schedule.first + 2
    assert inside > 30  # in most episodes the pole still stood when the line began


def test_the_cart_may_stand_on_the_limit_and_not_beyond() -> None:
    for episode in fresh_episodes(10):
        x = np.abs(record(PAPER, Cartpole(x_limit=1e6), [episode])["x"][0])
        farthest = 1 + int(np.argmax(x[1:]))  # the start is not judged
        on, beyond = (
            evaluate(PAPER, Cartpole(x_limit=limit), [episode])
            for limit in (float(x[farthest]), float(np.nextafter(x[farthest], 0)))
        )
        assert STATUS[int(on.statuses[0, 0])] is Status.COMPLETED
        assert STATUS[int(beyond.statuses[0, 0])] is Status.LEFT_TRACK
        assert beyond.lengths[0, 0] == farthest


@pytest.mark.parametrize("change", ["sudden", "continuous"])
def test_change_steps_and_targets_fill_their_ranges(change: str) -> None:
    """From what the native task did in 3000 episodes, without a second opinion on its draws."""
    firsts: dict[str, list[int]] = {name: [] for name in PARAMETERS}
    lasts: dict[str, list[int]] = {name: [] for name in PARAMETERS}
    targets: dict[str, list[float]] = {name: [] for name in PARAMETERS}
    for part in range(6):
        native = record(PAPER, Cartpole(change, x_limit=1e6, steps=900), keys(part, "schedules", range(500)))
        for name in PARAMETERS:
            values = native[name]
            moves = values[:, 1:] != values[:, :-1]
            assert np.all(moves.any(axis=1))
            firsts[name] += (np.argmax(moves, axis=1) + (change == "sudden")).tolist()
            lasts[name] += (moves.shape[1] - np.argmax(moves[:, ::-1], axis=1)).tolist()
            targets[name] += values[:, -1].tolist()
    steps = np.array([*firsts.values(), *lasts.values()])
    assert (steps.min(), steps.max()) == (200, 800)
    assert np.all(steps[:3] == steps[3:]) == (change == "sudden")
    # The smaller and the larger of two uniform steps are, together, uniform: 601 values, chi-squared of 600 +- 35.
    counts = np.bincount((steps[:3] if change == "sudden" else steps).ravel(), minlength=801)[200:]
    assert np.all(counts > 0)
    assert 460 < np.sum((counts - counts.mean()) ** 2 / counts.mean()) < 760
    for name, (_, least, most) in list(RANGES.items())[:3]:
        scaled = (np.array(targets[name]) - least) / (most - least)
        assert -1e-12 <= scaled.min() < 0.003
        assert 0.997 < scaled.max() <= 1 + 1e-12
        assert np.all(np.abs(np.histogram(scaled, 10, (0, 1))[0] - 300) < 5 * math.sqrt(270))
    for one, other in combinations(PARAMETERS, 2):
        assert np.mean(np.equal(firsts[one], firsts[other])) < 0.01
        assert abs(np.corrcoef(firsts[one], firsts[other])[0, 1]) < 0.08
        assert abs(np.corrcoef(targets[one], targets[other])[0, 1]) < 0.08


# ---- rollouts ----


COLUMNS = [column.name for column in fields(Evaluation) if column.name not in ("distances", "sums")]


def same_outcomes(one: Evaluation, other: Evaluation) -> bool:
    return all(same_bits(getattr(one, column), getattr(other, column)) for column in COLUMNS)


ROLLOUT_TASK = Cartpole(actuator_noise=True, noise_sigma=0.2, steps=400)


@cache
def one_by_one(memory: Memory) -> Evaluation:
    parts = [evaluate(assorted(memory), ROLLOUT_TASK, [episode], threads=1) for episode in fresh_episodes(70).tolist()]
    columns = ([getattr(part, column) for part in parts] for column in COLUMNS)
    returns, lengths, statuses = (np.concatenate(column, axis=1) for column in columns)
    return Evaluation(returns, lengths, statuses, np.zeros((0, 1, 0)))


@pytest.mark.parametrize("memory", MEMORIES, ids=memory_id)
def test_a_rollout_does_not_depend_on_threads_compaction_or_dead_code(memory: Memory) -> None:
    episodes, alone = fresh_episodes(70), one_by_one(memory)
    for threads in (1, 2, 3):
        assert same_outcomes(evaluate(assorted(memory), ROLLOUT_TASK, episodes, threads=threads), alone)
    for compact, only_effective in ((False, True), (True, False), (False, False)):
        found = evaluate(assorted(memory), ROLLOUT_TASK, episodes, compact=compact, only_effective=only_effective)
        assert same_outcomes(found, alone)


@pytest.mark.parametrize("memory", MEMORIES, ids=memory_id)
def test_a_rollout_does_not_depend_on_which_episodes_run_together(memory: Memory) -> None:
    episodes, alone = fresh_episodes(70), one_by_one(memory)
    order = np.random.default_rng(0).permutation(70)
    for size in (3, 9, 33, 64):
        for first in range(0, 70, size):
            for chosen in (np.arange(70)[first : first + size], order[first : first + size]):
                together = evaluate(assorted(memory), ROLLOUT_TASK, episodes[chosen])
                assert all(
                    same_bits(getattr(together, column), getattr(alone, column)[:, chosen]) for column in COLUMNS
                )


def test_the_assorted_programs_are_assorted() -> None:
    """Guards the tests above: lanes must end at different times and in every way, with CADFs and draws at work."""
    ends: set[int] = set()
    for memory in MEMORIES:
        outcome = one_by_one(memory)
        ends |= {*np.unique(outcome.statuses).tolist()}
        assert np.sum(np.ptp(outcome.lengths, axis=1) > 20) > 25
        assert len(np.unique(outcome.returns.round(9), axis=0)) > 20
        live = [effective(program).program for program in assorted(memory).unpack()]
        assert sum(program.cadfs > 0 for program in live) > 12
        assert sum("uniform(" in str(program) for program in live) > 4
    assert ends == set(STATUS)


@pytest.mark.parametrize("divided", [1.0, -1.0, 0.0], ids=["inf", "-inf", "nan"])
def test_an_action_that_is_not_finite_ends_the_episode_without_reward(divided: float) -> None:
    start = f"s0 = -10.0\n    s1 = {divided}\n    s2 = 1.0"
    program = program_of(Memory(4, 1, 4, 5), start, "s0 = s0 + s2\n    action = s1 / s0")  # s0 = 0 in the tenth step
    outcome, rows = evaluate(program, Cartpole(), fresh_episodes(5)), record(program, Cartpole(), fresh_episodes(5))
    assert np.all(outcome.statuses == Status.ACTION_NOT_FINITE.number)
    assert np.all(outcome.lengths == 10)
    assert np.all(np.isfinite(rows["action"][:, :9]))
    assert same_bits(rows["action"][:, 9], np.full(5, divided * math.inf))
    assert np.all(rows["reward"][:, 8] > 0)
    assert np.all(rows["reward"][:, 9] == 0)
    assert np.all(np.isnan(rows["reward"][:, 10:]))
    assert same_bits(np.cumsum(rows["reward"][:, :10], axis=1)[:, -1], outcome.returns[0])


@pytest.mark.parametrize("memory", [Memory(5, 1), Memory(4, 2)], ids=["5 observations", "2 actions"])
@pytest.mark.parametrize("run", [evaluate, record])
def test_programs_that_do_not_fit_the_task_are_refused(memory: Memory, run: Callable[..., object]) -> None:
    sizes = f"{memory.observations} and {memory.actions}"
    with pytest.raises(ValueError, match=f"the task has 4 observations and 1 actions, the policies have {sizes}"):
        run(Program.build(memory, []), Cartpole(), [1])


def test_no_episodes_give_no_columns() -> None:
    outcome = evaluate([PAPER, PAPER, PAPER], Cartpole(), [])
    assert all(getattr(outcome, column).shape == (3, 0) for column in COLUMNS)
    assert all(rows.shape == (0, 1000) for rows in record(PAPER, Cartpole(), []).values())


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (
            {"change": "suden"},
            "change must be one of none, sudden, continuous, both, not 'suden'. Did you mean 'sudden'",
        ),
        ({"change": "everything"}, "change must be one of none, sudden, continuous, both, not 'everything'.$"),
        ({"parameters": "trackangle"}, "no cartpole task called 'trackangle'.* Did you mean 'track_angle'"),
        ({"parameters": ("force", "dampin")}, "not 'dampin'. Did you mean 'damping'"),
        ({"parameters": ("noise",)}, "parameters must be among force, damping, track_angle, not 'noise'"),
        ({"x_limit": 0.0}, "x_limit must be"),
        ({"x_limit": math.nan}, "x_limit must be"),
        ({"noise_sigma": -0.1}, "noise_sigma must"),
        ({"noise_sigma": math.inf}, "noise_sigma must"),
        ({"steps": 0}, "steps must be a whole number from 1 to 1000000"),
        ({"steps": 1_000_001}, "steps must be a whole number from 1 to 1000000"),
    ],
)
def test_a_wrong_variant_gets_a_sentence(wrong: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Cartpole(**wrong)


# ---- laws of nature ----


def test_without_motor_and_friction_energy_stays() -> None:
    """To second order in the time step, if velocities are met where they are at home: half a step before positions."""
    physics, episodes = Physics(), fresh_episodes(50)
    native = record(Program.build(Memory(4, 1), []), Cartpole("none"), episodes)
    for n in range(len(episodes)):
        energies, potentials = [], []
        for time in range(1, 16):
            x, theta, x_dot, theta_dot = (float(native[name][n, time]) for name in STATES)
            halfway = (x - physics.step / 2 * x_dot, theta - physics.step / 2 * theta_dot)
            energies.append(physics.energy(State(*halfway, x_dot, theta_dot)))
            potentials.append(physics.energy(State(*halfway, 0.0, 0.0)))
        assert np.ptp(energies) < 0.002 * np.ptp(potentials)
        assert np.all(native["applied"][n, :16] == 0)


@pytest.mark.parametrize("track_angle", [0.0, 0.2])
def test_the_reference_keeps_energy_the_better_the_finer_its_steps(track_angle: float) -> None:
    """Semi-implicit Euler is of first order: a tenth of the step, a tenth of the drift. A wrong equation would stay."""
    drifts = []
    for parts in (1, 10, 100):
        physics = replace(Physics(), step=1 / 60 / parts)
        states = [State(0.0, 0.15 + track_angle, 0.3, -1.5)]
        for _ in range(15 * parts):
            states.append(states[-1].after(physics, 0.0, 0.0, track_angle))
        drifts.append(np.ptp([physics.energy(state, track_angle) for state in states]))
    assert drifts[0] / drifts[1] == pytest.approx(10, rel=0.2)
    assert drifts[1] / drifts[2] == pytest.approx(10, rel=0.05)


def test_a_mirrored_start_gives_the_mirrored_trajectory() -> None:
    episode = key(3, "mirror")
    start, schedules = draw(episode, "continuous")
    mirrored = State(-start.x, -start.theta, -start.x_dot, -start.theta_dot)
    turned = {**schedules, "track_angle": replace(schedules["track_angle"], target=-schedules["track_angle"].target)}
    one = simulate(driven_by(PAPER, episode), ALL, episode, start=start, schedules=schedules)
    act = driven_by(PAPER, episode)
    other = simulate(
        lambda seen: -act((-seen[0], -seen[1], -seen[2], -seen[3])), ALL, episode, start=mirrored, schedules=turned
    )
    assert len(one) == len(other) == 1000
    for name in (*STATES, "track_angle", "theta_vertical", "action", "applied"):
        assert same_bits(one[name] + 0.0, -other[name] + 0.0)
    assert same_bits(one["reward"], other["reward"])


# ---- one lane of a policy starts anew ----


@pytest.mark.parametrize("memory", MEMORIES, ids=memory_id)
def test_resetting_a_lane_starts_it_anew_and_leaves_the_others_alone(memory: Memory) -> None:
    seen = tame_observations(memory, steps=16, lanes=20)
    names = np.arange(100, 120, dtype=np.uint64)
    changed = 0
    for program in [*assorted(memory).unpack(), *random_batch(memory, 60).unpack()]:
        steppers = [core.Stepper(program.packed, 0, lanes) for lanes in (20, 20, 1)]
        going_on, reset, fresh = steppers
        going_on.reset(names)
        reset.reset(names)
        fresh.reset(np.array([7000], np.uint64))
        for time, rows in enumerate(seen):
            if time == 8:
                reset.reset_lane(7, 7000)
            expected, actions = going_on.act(rows), reset.act(rows)
            changed += time >= 8 and not same_bits(expected[7], actions[7])
            if time >= 8:
                expected[7] = fresh.act(np.ascontiguousarray(rows[7:8]))[0]
            assert same_bits(actions, expected), (time, program)
    assert changed > 50  # memory and random numbers of the lane did matter


def test_there_is_no_lane_to_reset_beyond_the_last() -> None:
    stepper = core.Stepper(PAPER.packed, 0, 20)
    for lane in (-1, 20):
        with pytest.raises(ValueError, match=f"lane {lane} is not among 20"):
            stepper.reset_lane(lane, 0)


@pytest.mark.parametrize(
    "wrong",
    [{"steps": 1.5}, {"steps": "5"}, {"steps": 10**12}, {"partial_observability": 3}, {"change": None}, {"parameters": None},
     {"parameters": 3}, {"noise_sigma": None}, {"x_limit": 10**400}],
)  # fmt: skip
def test_a_value_of_the_wrong_type_gets_a_sentence(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Cartpole(**wrong)


def test_keys_may_lie_on_both_sides_of_2_to_the_63() -> None:
    program = PAPER
    whole = fresh_episodes(6)
    assert (whole >= 2**63).any()
    assert (whole < 2**63).any()
    assert np.array_equal(
        evaluate(program, Cartpole(), whole.tolist()).returns, evaluate(program, Cartpole(), whole).returns
    )
    with pytest.raises(ValueError, match="whole numbers"):
        evaluate(program, Cartpole(), [1.5, 2])  # type: ignore[list-item]
    assert evaluate(program, Cartpole(), []).mean.tolist() == [0.0]


def test_both_kinds_of_changes_are_told_by_the_last_bit_of_the_key() -> None:
    """Odd episodes are those of continuous changes, bit for bit; even ones are sudden."""
    episodes, both = fresh_episodes(40), Cartpole("both")
    found = evaluate(assorted(MEMORIES[0]), both, episodes)
    is_odd = (episodes & np.uint64(1)).astype(bool)
    assert 5 < is_odd.sum() < 35
    for change, which in (("continuous", is_odd), ("sudden", ~is_odd)):
        alone = evaluate(assorted(MEMORIES[0]), Cartpole(change), episodes[which])
        assert same_bits(found.returns[:, which], alone.returns)
    assert np.array_equal(both.cases(episodes), is_odd)
    assert both.case_names == ("sudden", "continuous")
    spread = both.stratified(episodes)
    assert both.cases(spread).tolist() == [0, 1] * 20
    assert np.array_equal(Cartpole("sudden").stratified(episodes), episodes)
    assert Cartpole("sudden").cases(episodes).tolist() == [0] * 40
    means = {("sudden", "all"): 900.0, ("continuous", "all"): 800.0}
    assert both.test_score(means) == 850.0
    assert both.test_score({("sudden", "all"): 900.0}) is None
