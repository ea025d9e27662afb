"""The physics of the Laikago: MuJoCo is the referee, and conservation laws are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import laikago_trot
from numpy.typing import NDArray

from arz.native import core
from arz.tasks.quadruped import LEGS, NUMBERS, STATE, Quadruped, mujoco_model

Floats = NDArray[np.float64]

POSE = np.tile(NUMBERS["pose"], 4)
LIMP = np.zeros(4)
WORKS = np.ones(4)


def state_of(
    *,
    quaternion: Any = (0, 0, 0, 1),
    position: Any = (0, 0, 0.48),
    joints: Any = POSE,
    angular: Any = (0, 0, 0),
    velocity: Any = (0, 0, 0),
    joint_velocities: Any = (0,) * 12,
) -> Floats:
    parts = [quaternion, position, joints, angular, velocity, joint_velocities]
    return np.concatenate([np.asarray(part, np.float64) for part in parts])


def random_states(count: int, seed: int = 0) -> list[Floats]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        quaternion = rng.normal(size=4)
        found.append(
            state_of(
                quaternion=quaternion / np.linalg.norm(quaternion),
                position=rng.normal(size=3),
                joints=rng.uniform(-3, 3, 12),
                angular=3 * rng.normal(size=3),
                velocity=2 * rng.normal(size=3),
                joint_velocities=5 * rng.normal(size=12),
            )
        )
    return found


def rotation(state: Floats) -> Floats:
    x, y, z, w = state[:4]
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_accelerations_without_contact_are_mujocos() -> None:
    mujoco = pytest.importorskip("mujoco")
    from arz.tasks.quadruped.rendering import set_pose

    model = mujoco_model.load_model(contact=False)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(1)
    for state in random_states(1000):
        torque = rng.uniform(-50, 50, 12)
        set_pose(data, state)
        data.ctrl[:] = torque
        mujoco.mj_forward(model, data)
        found = core.laikago_accelerations(state, torque)
        ours = np.concatenate([rotation(state) @ found[3:6], found[:3], found[6:]])
        assert np.abs(ours - data.qacc).max() <= 1e-9 * np.abs(data.qacc).max()


def test_the_model_for_mujoco_has_the_masses_of_the_robot() -> None:
    pytest.importorskip("mujoco")
    model = mujoco_model.load_model()
    assert model.body_mass.sum() == pytest.approx(25.567, abs=1e-12)
    assert (model.nq, model.nv, model.nu) == (19, 18, 12)
    assert model.opt.timestep == NUMBERS["step"] == 0.001


def simulated(
    state: Floats, steps: int, *, target: Floats = POSE, works: Floats = WORKS, iterations: int = 1
) -> Floats:
    return core.laikago_simulated(state, target, works, steps, iterations)


def mechanics(state: Floats) -> dict[str, Any]:
    kinetic, potential, *rest = core.laikago_mechanics(state)
    return {"energy": kinetic + potential, "momentum": np.array(rest[:3]), "angular momentum": np.array(rest[3:])}


def test_limp_in_free_fall_energy_and_momentum_are_kept() -> None:
    """High above the ground, with all legs limp: a body in free fall, with legs that swing and swirl."""
    mass = 25.567
    for state in random_states(5, seed=2):
        state[6] = 1000.0
        rows = simulated(state, 300, works=LIMP)
        before, after = mechanics(state), mechanics(rows[-1])
        time = 0.3
        expected = before["momentum"] - [0, 0, mass * NUMBERS["gravity"] * time]
        assert np.allclose(after["momentum"], expected, atol=0.02 * np.linalg.norm(before["momentum"]) + 0.02)
        assert after["energy"] == pytest.approx(
            before["energy"], abs=0.02 * abs(core.laikago_mechanics(state)[0]) + 0.5
        )
        # About the centre of mass, gravity has no moment.
        at_first, at_last = spin(state), spin(rows[-1])
        assert np.allclose(at_first, at_last, atol=float(0.02 * np.linalg.norm(at_first) + 0.02))


def spin(state: Floats) -> Floats:
    """The angular momentum about the centre of mass: what is left of that about the origin."""
    found = mechanics(state)
    momentum = found["momentum"]
    shifted = state.copy()
    shifted[4:7] = 0.0
    here = mechanics(shifted)  # about the trunk
    centre = centre_of_mass(state) - state[4:7]
    return np.asarray(here["angular momentum"] - np.cross(centre, momentum))


def centre_of_mass(state: Floats) -> Floats:
    """By potential energy along each axis: turned so that the axis points up."""
    found = []
    for axis in np.eye(3):
        turned = state.copy()
        # A rotation of the world that takes the axis to z.
        cross, cosine = np.cross(axis, [0, 0, 1]), axis[2]
        quaternion = np.array([*cross, 1 + cosine]) / np.linalg.norm([*cross, 1 + cosine])
        turned[:4] = multiply(quaternion, state[:4])
        turned[4:7] = turn(quaternion, state[4:7])
        found.append(core.laikago_mechanics(turned)[1] / (25.567 * NUMBERS["gravity"]))
    return np.array(found)


def multiply(a: Floats, b: Floats) -> Floats:
    vector = a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3])
    return np.array([*vector, a[3] * b[3] - a[:3] @ b[:3]])


def turn(quaternion: Floats, vector: Floats) -> Floats:
    return rotation(np.concatenate([quaternion, np.zeros(33)])) @ vector


def test_a_still_robot_far_above_the_ground_falls_as_a_stone() -> None:
    rows = simulated(state_of(position=(0, 0, 100)), 500)
    assert rows[-1, 24] == pytest.approx(-9.81 * 0.5, rel=1e-9)
    assert np.abs(rows[-1, 7:19] - POSE).max() < 1e-9
    assert np.abs(rows[-1, :3]).max() < 1e-12


def test_standing_drifts_and_sinks_as_known() -> None:
    """The facts' table: height .434, drift -.12 (.429 and -.065 in a softer MuJoCo), in 10 s at zero action."""
    for engine, height, drift in (("double", 0.434, -0.086), ("batched", 0.434, -0.086), ("mujoco", 0.435, -0.049)):
        if engine == "mujoco":
            pytest.importorskip("mujoco")
        states, length = episode(Quadruped(leg="none", engine=engine), np.zeros((1000, 12)))
        assert length == 1000
        assert states[-1, 6] == pytest.approx(height, abs=0.003)
        assert states[-1, 4] == pytest.approx(drift, abs=0.01)
        assert abs(states[-1, 5]) < 0.01


@pytest.mark.parametrize(("leg", "falls"), [("FR", 582), ("FL", 582), ("RR", 560), ("RL", 560)])
def test_a_standing_robot_falls_when_a_leg_breaks(leg: str, falls: int) -> None:
    """The facts' table: 576 to 589 for a front leg, 558 to 561 for a rear one, when it breaks at step 500."""
    for engine in ("double", "batched", "mujoco"):
        if engine == "mujoco":
            pytest.importorskip("mujoco")
        task = Quadruped(leg=leg, break_step=500, engine=engine)
        _, length = episode(task, np.zeros((1000, 12)))
        assert abs(length - falls) <= 7


def episode(task: Quadruped, actions: Floats) -> tuple[Floats, int]:
    """The states of an episode by these actions, and how long it lasted."""
    stepper = core.QuadrupedStepper(task.native, task.native_engine(), 1)
    stepper.start(0, 0)
    states = []
    for action in actions:
        _, statuses = stepper.step(action[None])
        states.append(stepper.states()[0])
        if statuses[0]:
            break
    return np.array(states), len(states)


@pytest.mark.parametrize("engine", ["batched", "double", "mujoco"])
def test_the_example_trots_on_every_engine(engine: str) -> None:
    if engine == "mujoco":
        pytest.importorskip("mujoco")
    states, length = episode(Quadruped(leg="none", engine=engine), trotting(1000))
    assert length == 1000
    assert 9.0 <= states[-1, 4] <= 10.5  # in 10 s


def trotting(steps: int) -> Floats:
    return np.array([laikago_trot.trot(step) for step in range(steps)])


def test_floats_follow_doubles_for_the_first_second_of_a_gait() -> None:
    single, _ = episode(Quadruped(leg="none"), trotting(100))
    double, _ = episode(Quadruped(leg="none", engine="double"), trotting(100))
    assert len(single) == len(double) == 100
    apart = np.abs(single - double)
    assert apart[:, :19].max() < 0.01  # angles and places
    assert apart[:50, :19].max() < 0.003
    assert 0 < apart[0].max() < 1e-3


@pytest.mark.parametrize("leg", range(4))
def test_a_broken_leg_has_no_torque_at_all(leg: int) -> None:
    """What its motors are told changes nothing, bit for bit; what the others are told does."""
    state = random_states(1, seed=3)[0]
    state[6] = 0.4
    works = WORKS.copy()
    works[leg] = 0.0
    rng = np.random.default_rng(4)
    base = rng.uniform(-1, 1, 12)
    for other in range(4):
        changed = base.copy()
        changed[3 * other : 3 * other + 3] += 0.3
        for function in (core.laikago_simulated, core.laikago_simulated_floats):
            one, two = (function(state, target, works, 20, 1) for target in (base, changed))
            assert np.array_equal(one, two) == (other == leg)
    # And it moves as without torque: the accelerations are those for zero torque there.
    torque = np.clip(100 * (base - state[7:19]) - 2 * state[25:], -50, 50) * np.repeat(works, 3)
    high = state.copy()
    high[6] = 50.0
    step = core.laikago_simulated(high, base, works, 1, 1)[0]
    expected = high[25:] + 0.001 * core.laikago_accelerations(high, torque)[6:]
    assert np.allclose(step[25:], expected, rtol=1e-9, atol=1e-9)


def test_torques_are_limited() -> None:
    high = state_of(position=(0, 0, 50))
    far = core.laikago_simulated(high, POSE + 10.0, WORKS, 1, 1)[0]
    farther = core.laikago_simulated(high, POSE + 100.0, WORKS, 1, 1)[0]
    assert np.array_equal(far, farther)
    expected = 0.001 * core.laikago_accelerations(high, np.full(12, 50.0))[6:]
    assert np.allclose(far[25:], expected, rtol=1e-9, atol=1e-12)


def test_toes_in_the_ground_are_pushed_out_and_do_not_slide() -> None:
    """A standing robot gets a push: it comes to rest where it is, with all toes on the ground."""
    start = state_of(position=(0, 0, 0.46), velocity=(0, 0.1, 0))
    rows = simulated(start, 2000, iterations=5)
    assert np.abs(rows[-1, 22:25]).max() < 0.1  # it rocks a little
    assert np.abs(rows[-1, 4:6]).max() < 0.1
    assert 0.42 < rows[-1, 6] < 0.46
    assert np.abs(rows[-1, :3]).max() < 0.03


def test_eight_robots_side_by_side_do_not_touch_each_other() -> None:
    """Each goes as it goes alone, whatever its neighbours do, NaN among them."""
    task = Quadruped(leg="none")
    rng = np.random.default_rng(5)
    actions = rng.uniform(-0.4, 0.4, (60, 11, 12))
    actions[:, 3] *= 1e30
    actions[10:, 7] = np.nan
    together = core.QuadrupedStepper(task.native, task.native_engine(), 11)
    for i in range(11):
        together.start(i, i)
    alone = [core.QuadrupedStepper(task.native, task.native_engine(), 1) for _ in range(11)]
    for one in alone:
        one.start(0, 0)
    for action in actions:
        rewards, statuses = together.step(action)
        for i, one in enumerate(alone):
            if statuses[i] == 0:
                reward, _ = one.step(np.ascontiguousarray(action[i : i + 1]))
                assert reward[0] == rewards[i]
                assert np.array_equal(one.states()[0], together.states()[i])


def test_the_state_is_named() -> None:
    assert len(STATE) == len(set(STATE)) == Quadruped.observations == 37
    states, _ = episode(Quadruped(leg="none"), np.zeros((1, 12)))
    named = dict(zip(STATE, states[0], strict=True))
    assert named["quaternion w"] == pytest.approx(1.0, abs=1e-3)
    assert named["position z"] == pytest.approx(0.44, abs=0.03)
    for leg in LEGS:
        assert named[f"{leg} knee"] == pytest.approx(-0.85, abs=0.1)
