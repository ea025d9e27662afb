"""The Gymnasium environments of Cataclysmic Cartpole: the same episodes as in the native rollout, and good manners."""

from __future__ import annotations

import math
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from arz import Interpreter, Program
from arz.evaluate import STATUS, Status, evaluate, record
from arz.evaluate import fresh_episodes as episodes_for_tests
from arz.registration import register
from arz.streams import mix
from arz.tasks.cartpole import PARAMETERS, SENTENCES, TRUTH, Cartpole
from arz.tasks.cartpole.drawing import CART, FORCE, POLE_FALLEN, POLE_FINE, STRIP_CHANGED, frame
from arz.tasks.cartpole.environment import CataclysmicCartpole, CataclysmicCartpoleVector
from tests.support import same_bits

PAPER = Program.load(Path(__file__).parent.parent / "examples" / "paper_cartpole.arz")

VARIANTS: list[dict[str, Any]] = [
    {"change": "none"},
    {"change": "sudden", "parameters": "all"},
    {"change": "continuous", "parameters": ["track_angle"], "x_limit": 2.4},
    {"partial_observability": True},
    {"actuator_noise": True, "noise_sigma": 0.3, "steps": 300},
]

# What pygame meets at its import where old packaging tools are installed.
PYGAME = ["ignore:pkg_resources is deprecated", "ignore:Deprecated call to `pkg_resources:DeprecationWarning"]
# The checker doubts observations without bounds, but speeds have none.
BOUNDLESS = [r"ignore:.*A Box observation space (minimum|maximum) value is -?infinity:UserWarning"]


@pytest.fixture
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("PYGAME_HIDE_SUPPORT_PROMPT", "1")


def driven(env: CataclysmicCartpole, program: Program, episode: int) -> tuple[dict[str, list[float]], Status]:
    """What happens when a program drives an episode, under the names of `record`, and how it ends."""
    policy = Interpreter(program)
    policy.reset([mix(episode ^ 0x706F6C696379)])
    seen, info = env.reset(options={"episode": episode})
    rows: dict[str, list[float]] = {name: [] for name in TRUTH}
    terminated = truncated = False
    while not (terminated or truncated):
        before = info
        action = policy.act([seen])[0]
        seen, reward, terminated, truncated, info = env.step(action)
        now = {**before, "action": float(action[0]), "applied": info["applied"], "reward": reward}
        for name in TRUTH:
            rows[name].append(now[name])
    assert truncated == (info["status"] == SENTENCES[Status.COMPLETED])
    assert terminated != truncated
    return rows, next(status for status in Status if SENTENCES[status] == info["status"])


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: Cartpole(**v).name)
def test_a_program_does_exactly_as_in_the_native_rollout(variant: dict[str, Any]) -> None:
    env, task, episodes = CataclysmicCartpole(**variant), Cartpole(**variant), episodes_for_tests(3)
    result, recorded = evaluate(PAPER, task, episodes), record(PAPER, task, episodes)
    for n, episode in enumerate(episodes.tolist()):
        rows, status = driven(env, PAPER, episode)
        length = len(rows["x"])
        assert length == result.lengths[0, n]
        assert status is STATUS[int(result.statuses[0, n])]
        total = 0.0
        for reward in rows["reward"]:
            total += reward
        assert total == result.returns[0, n]
        for name, values in rows.items():
            assert same_bits(values, recorded[name][n, :length]), name


def test_a_program_that_draws_random_numbers_does_too() -> None:
    head = "memory(observations=4, actions=1, scalars=4, vectors=2, matrices=0, indices=0, stateful=True)"
    program = Program.parse(f"{head}\ndef GetAction(obs, action):\n    action = uniform(-0.5, 0.5, stream=3)\n")
    episodes = episodes_for_tests(2)
    recorded = record(program, Cartpole(), episodes)
    for n, episode in enumerate(episodes.tolist()):
        rows, _ = driven(CataclysmicCartpole(), program, episode)
        assert same_bits(rows["action"], recorded["action"][n, : len(rows["x"])])
        assert len(set(rows["action"])) > 10


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: Cartpole(**v).name)
@pytest.mark.filterwarnings(*BOUNDLESS)
def test_gymnasium_finds_nothing_wrong(variant: dict[str, Any]) -> None:
    check_env(CataclysmicCartpole(**variant, render_mode="rgb_array"), skip_render_check=True)


@pytest.mark.filterwarnings(*BOUNDLESS, *PYGAME)
@pytest.mark.usefixtures("no_screen")
def test_gymnasium_makes_it_and_finds_nothing_wrong_in_any_render_mode() -> None:
    register()
    register()  # once more does no harm
    env = gymnasium.make("ARZ/CataclysmicCartpole-v0", change="sudden", parameters=["force", "damping"], x_limit=1.0)
    assert isinstance(env.unwrapped, CataclysmicCartpole)
    assert env.unwrapped.task == Cartpole(change="sudden", parameters=("force", "damping"), x_limit=1.0)
    assert env.spec is not None
    assert env.spec.max_episode_steps is None
    check_env(env.unwrapped)
    vector = gymnasium.make_vec("ARZ/CataclysmicCartpole-v0", num_envs=2, steps=7)
    assert isinstance(vector, CataclysmicCartpoleVector)
    assert vector.task == Cartpole(steps=7)


def test_keywords_are_the_fields_of_the_variant() -> None:
    variant = Cartpole("sudden", ("force",), 1.5, True, True, 0.2, 77)
    values = {field.name: getattr(variant, field.name) for field in fields(Cartpole)}
    assert CataclysmicCartpole(**values).task == variant
    assert CataclysmicCartpoleVector(2, **values).task == variant
    with pytest.raises(TypeError, match="Did you mean 'x_limit'"):
        CataclysmicCartpole(xlimit=0.3)
    with pytest.raises(ValueError, match="change must be one of"):
        CataclysmicCartpole(change="never")
    with pytest.raises(ValueError, match="render_mode must be None or rgb_array or human"):
        CataclysmicCartpole(render_mode="text")
    with pytest.raises(ValueError, match="render_mode must be None or rgb_array, "):
        CataclysmicCartpoleVector(2, render_mode="human")


def trajectory(seed: int, steps: int = 30) -> list[list[float]]:
    env = CataclysmicCartpole(actuator_noise=True)
    rows = [env.reset(seed=seed)[0].tolist()]
    return rows + [env.step(np.array([0.1 * (-1) ** n]))[0].tolist() for n in range(steps)]


def test_same_seed_same_trajectory_another_seed_another_start() -> None:
    assert trajectory(5) == trajectory(5)
    assert trajectory(5)[0] != trajectory(6)[0]


def test_an_episode_can_be_asked_for_by_its_key() -> None:
    env = CataclysmicCartpole()
    first, info = env.reset(seed=1)
    assert 0 <= info["episode_key"] < 2**63
    again, told = env.reset(options={"episode": info["episode_key"]})
    assert same_bits(first, again)
    assert told == info
    assert env.reset(options={"episode": 2**64 - 1})[1]["episode_key"] == 2**64 - 1
    with pytest.raises(ValueError, match="whole numbers from 0"):
        env.reset(options={"episode": -1})
    with pytest.raises(ValueError, match="only option of reset is 'episode', got 'epsiode'"):
        env.reset(options={"epsiode": 3})
    with pytest.raises(ValueError, match="expected 1 episode key in options, got 2"):
        env.reset(options={"episode": [3, 4]})


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: Cartpole(**v).name)
def test_a_vector_goes_as_single_environments_through_resets(variant: dict[str, Any]) -> None:
    count, seed = 3, 40
    vector, singles = (
        CataclysmicCartpoleVector(count, **variant),
        [CataclysmicCartpole(**variant) for _ in range(count)],
    )
    assert vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    seen, infos = vector.reset(seed=seed)
    over, ends, random = [False] * count, 0, np.random.default_rng(0)
    for i, env in enumerate(singles):
        first, info = env.reset(seed=seed + i)
        assert same_bits(seen[i], first)
        assert_told(infos, i, info)
    for _ in range(150):
        actions = random.uniform(-1.0, 1.0, (count, 1)) + 0.2 * np.arange(count)[:, None]
        actions[over] = np.nan  # must be ignored
        seen, rewards, terminated, truncated, infos = vector.step(actions)
        for i, env in enumerate(singles):
            one = (*env.reset(), 0.0, False, False) if over[i] else None
            expected, reward, *ended, info = env.step(actions[i]) if one is None else (one[0], *one[2:], one[1])
            assert same_bits(seen[i], expected)
            assert (rewards[i], terminated[i], truncated[i]) == (reward, *ended)
            assert_told(infos, i, info)
            over[i] = any(ended)
            ends += over[i]
    assert ends >= 3


def assert_told(infos: dict[str, Any], i: int, info: dict[str, Any]) -> None:
    """The columns hold what the single environment tells, and nothing else."""
    assert {name for name in infos if not name.startswith("_") and infos[f"_{name}"][i]} == set(info)
    assert all(infos[name][i] == value for name, value in info.items())


def test_a_vector_takes_a_list_of_seeds_or_episodes() -> None:
    vector = CataclysmicCartpoleVector(3)
    first = vector.reset(seed=9)[0]
    assert vector.np_random_seed == (9, 10, 11)
    assert same_bits(vector.reset(seed=[11, 10, 9])[0], first[::-1])
    assert not same_bits(vector.reset()[0], first)
    assert vector.reset(options={"episode": [7, 8, 2**63]})[1]["episode_key"].tolist() == [7, 8, 2**63]
    with pytest.raises(ValueError, match="one seed for each of the 3"):
        vector.reset(seed=[1, 2])
    with pytest.raises(ValueError, match=r"expected actions of shape \(3, 1\)"):
        vector.step(np.zeros((1, 3)))
    vector.close()
    vector.close()
    with pytest.raises(ResetNeeded, match="call reset"):
        CataclysmicCartpoleVector(3).step(np.zeros((3, 1)))


def test_a_vector_keeps_nothing_of_what_it_returned() -> None:
    vector = CataclysmicCartpoleVector(2)
    seen, infos = vector.reset(seed=0)
    before = [seen.copy(), infos["time"].copy(), infos["episode_key"].copy(), infos["x"].copy()]
    vector.reset(seed=1)
    vector.step(np.ones((2, 1)))
    assert all(
        same_bits(a, b) for a, b in zip(before, [seen, *(infos[n] for n in ("time", "episode_key", "x"))], strict=True)
    )


def test_the_truth_is_in_info_and_hidden_from_the_policy() -> None:
    env = CataclysmicCartpole(partial_observability=True, change="sudden")
    seen, info = env.reset(options={"episode": 3})
    plain, _ = CataclysmicCartpole(change="sudden").reset(options={"episode": 3})
    assert {"x", "theta", "force", "damping", "track_angle", "noise", "theta_vertical", "time"} <= set(info)
    assert seen.dtype == np.float64
    assert seen[:2].tolist() == [0.0, 0.0]
    assert [info["x"], info["theta"], *seen[2:].tolist()] == plain.tolist()
    assert "status" not in info
    _, _, _, _, info = env.step([0.5])
    assert info["time"] == 1
    assert info["applied"] == 0.5
    assert info["theta_vertical"] == info["theta"] - info["track_angle"]


def test_changes_show_in_info() -> None:
    rows, _ = driven(CataclysmicCartpole(change="sudden"), PAPER, 0)
    assert all(len(set(rows[name])) == 2 for name in PARAMETERS)


def test_actions_are_clipped_and_never_rounded() -> None:
    env = CataclysmicCartpole()
    applied = []
    for action in (1.0 / 3.0, [3.0], np.array([-3.0], np.float32), np.float32(0.1)):
        env.reset(seed=0)
        applied.append(env.step(action)[4]["applied"])
    assert applied == [1.0 / 3.0, 1.0, -1.0, float(np.float32(0.1))]
    with pytest.raises(ValueError, match=r"shape \(1,\), got one of shape \(2,\)"):
        env.step([0.0, 0.0])


@pytest.mark.parametrize(
    ("variant", "action", "status"),
    [
        ({"steps": 4}, 0.0, Status.COMPLETED),
        ({}, 1.0, Status.FELL),
        ({"x_limit": 0.01}, 0.0, Status.LEFT_TRACK),
        ({}, math.nan, Status.ACTION_NOT_FINITE),
        ({}, math.inf, Status.ACTION_NOT_FINITE),
    ],
)
def test_ends(variant: dict[str, Any], action: float, status: Status) -> None:
    env = CataclysmicCartpole(**variant)
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step([0.0])
    env.reset(seed=0)
    for _ in range(200):
        seen, _, terminated, truncated, info = env.step([action])
        if terminated or truncated:
            break
    assert info["status"] == SENTENCES[status]
    assert (terminated, truncated) == (status is not Status.COMPLETED, status is Status.COMPLETED)
    assert np.isfinite(seen).all()
    if not math.isfinite(action):
        assert info["time"] == 1
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step([0.0])
    assert "status" not in env.reset()[1]
    env.step([0.0])


@pytest.mark.filterwarnings(*BOUNDLESS)
def test_gymnasium_can_add_its_statistics() -> None:
    env = gymnasium.wrappers.RecordEpisodeStatistics(CataclysmicCartpole(steps=5))
    env.reset(seed=0)
    for _ in range(5):
        info = env.step(np.zeros(1))[4]
    assert info["episode"]["l"] == 5


def colours(picture: Any, colour: tuple[int, int, int]) -> Any:
    """Where [row, column] a picture has a colour."""
    return np.argwhere((picture == colour).all(axis=2))


def test_pictures_show_where_things_are() -> None:
    plain = frame(0.0, 0.0, 0.0, 0.4)
    assert plain.shape == (400, 640, 3)
    assert plain.dtype == np.uint8
    assert frame(0.0, 0.0, 0.0, 0.4, size=(320, 240)).shape == (240, 320, 3)
    others = [
        frame(0.2, 0.0, 0.0, 0.4),
        frame(0.0, 0.1, 0.0, 0.4),
        frame(0.0, 0.0, 0.1, 0.4),
        frame(0.0, 0.0, 0.0, 0.8),
        frame(0.0, 0.0, 0.0, 0.4, caption="text"),
        frame(0.0, 0.0, 0.0, 0.4, caption="text", changed=True),
        frame(0.0, 0.0, 0.0, 0.4, force=1.0),
        frame(0.0, 0.0, 0.0, 0.4, force=-1.0),
    ]
    assert len({picture.tobytes() for picture in [plain, *others]}) == len(others) + 1


def test_in_pictures_positive_is_right_and_gravity_pulls_down() -> None:
    cart = [colours(frame(x, 0.0, 0.0, 0.4), CART)[:, 1].mean() for x in (-0.2, 0.0, 0.2)]
    assert cart[0] < cart[1] < cart[2]
    for track in (-0.2, 0.0, 0.2):  # the angle to the vertical is theta - track_angle
        for lean in (-0.15, 0.15):
            pole = colours(frame(0.0, track + lean, track, 0.4), POLE_FINE)
            assert (pole[0, 1] > pole[-1, 1]) == (lean > 0)  # the first row is the tip's
    heights = [colours(frame(x, 0.2, 0.2, 0.4), CART)[:, 0].mean() for x in (-0.2, 0.2)]
    assert heights[1] < heights[0]  # the right end is up: fewer rows from the top
    arrow = [colours(frame(0.0, 0.0, 0.0, 0.4, force=force), FORCE)[:, 1].mean() for force in (-1.0, 1.0)]
    assert arrow[0] < cart[1] < arrow[1]
    assert len(colours(frame(0.0, 0.3, 0.0, 0.4), POLE_FALLEN)) > 100
    assert len(colours(frame(99.0, 0.0, 0.0, 1e6), CART)) > 50  # the view follows the cart


def test_the_strip_changes_colour_when_the_task_has_changed() -> None:
    env = CataclysmicCartpole(change="sudden", render_mode="rgb_array")
    with pytest.raises(ResetNeeded, match="call reset"):
        env.render()
    policy, seen = Interpreter(PAPER), env.reset(options={"episode": 0})[0]
    kinds = set()
    for _ in range(900):
        seen, _, _, _, info = env.step(policy.act([seen])[0])
        has_changed = (info["force"], info["damping"], info["track_angle"]) != (1.0, 0.0, 0.0)
        if info["time"] % 50 == 0:
            picture = env.render()
            assert picture is not None
            assert (tuple(picture[2, 600]) == STRIP_CHANGED) == has_changed
            kinds.add(has_changed)
    assert kinds == {False, True}


def test_a_vector_draws_each_episode() -> None:
    vector = CataclysmicCartpoleVector(2, render_mode="rgb_array")
    vector.reset(seed=0)
    pictures = vector.render()
    assert pictures is not None
    assert [picture.shape for picture in pictures] == [(400, 640, 3)] * 2
    assert not np.array_equal(pictures[0], pictures[1])


def test_without_a_render_mode_there_is_nothing_to_show() -> None:
    for env in (CataclysmicCartpole(), CataclysmicCartpoleVector(2)):
        env.reset(seed=0)
        with pytest.warns(UserWarning, match="render_mode"):
            assert env.render() is None


@pytest.mark.filterwarnings(*PYGAME)
@pytest.mark.usefixtures("no_screen")
def test_a_window_opens_draws_and_closes() -> None:
    import pygame

    env = CataclysmicCartpole(render_mode="human")
    env.reset(seed=0)
    assert pygame.display.get_init()
    shown = []
    for _ in range(2):
        env.step([1.0])
        shown.append(pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1))
    assert shown[0].shape == (400, 640, 3)
    assert len(colours(shown[0], CART)) > 100
    assert len(colours(shown[0], FORCE)) > 20  # the arrow of the action
    assert not np.array_equal(shown[0], shown[1])
    assert env.render() is None
    env.close()
    assert not pygame.display.get_init()
    env.close()


def test_a_missing_pygame_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(DependencyNotInstalled, match=r"pip install '.\[human\]'"):
        CataclysmicCartpole(render_mode="human").reset(seed=0)
