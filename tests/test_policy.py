"""A program as a policy: the contract of Stable-Baselines3's `predict`."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest

import arz

PAPER = Path(__file__).parent.parent / "examples" / "paper_cartpole.arz"


def test_one_environment_and_several() -> None:
    policy, program = arz.Policy.load(PAPER), arz.Program.load(PAPER)
    seen = np.random.default_rng(1).uniform(-0.1, 0.1, (20, 3, 4))
    expected = arz.execute(program, seen)
    state = None
    for step in range(20):
        actions, state = policy.predict(seen[step], state, episode_start=np.full(3, step == 0))
        assert np.array_equal(actions, expected[step])
    state = None
    for step in range(20):
        action, state = policy.predict(seen[step, 1], state)
        assert action.shape == (1,)
        assert action[0] == expected[step, 1, 0]


def test_an_episode_that_starts_anew_forgets_and_the_others_go_on() -> None:
    policy, program = arz.Policy.load(PAPER), arz.Program.load(PAPER)
    seen = np.random.default_rng(2).uniform(-0.1, 0.1, (20, 3, 4))
    through, restarted = arz.execute(program, seen), arz.execute(program, seen[10:])
    state = None
    for step in range(20):
        starts = np.array([step == 0, step in (0, 10), step == 0])
        actions, state = policy.predict(seen[step], state, starts)
        assert np.array_equal(actions[[0, 2]], through[step, [0, 2]])
        assert actions[1] == (through[step, 1] if step < 10 else restarted[step - 10, 1])


def test_it_scores_in_the_environment_what_evaluation_says() -> None:
    environment = gymnasium.make("ARZ/CataclysmicCartpole-v0", change="sudden")
    policy = arz.Policy.load(PAPER)
    episodes = arz.fresh_episodes(3)
    expected = arz.evaluate(policy.program, arz.Cartpole(change="sudden"), episodes).returns[0]
    state, start = None, True
    for episode, wanted in zip(episodes.tolist(), expected.tolist(), strict=True):
        observation, _ = environment.reset(options={"episode": episode})
        total, over, start = 0.0, False, True
        while not over:
            action, state = policy.predict(observation, state, np.array([start]))
            observation, reward, terminated, truncated, _ = environment.step(action)
            total, over, start = total + float(reward), terminated or truncated, False
        assert total == wanted


def test_stable_baselines_evaluates_it() -> None:
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    environment = gymnasium.make("ARZ/CataclysmicCartpole-v0")
    mean, _ = evaluation.evaluate_policy(arz.Policy.load(PAPER), environment, n_eval_episodes=3, warn=False)
    assert mean > 950


def test_shapes_that_do_not_fit_are_refused() -> None:
    policy = arz.Policy.load(PAPER)
    _, state = policy.predict(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="expected 3 observations"):
        policy.predict(np.zeros((2, 4)), state)
    with pytest.raises(ValueError, match="expected an observation"):
        policy.predict(np.zeros((1, 1, 4)))
    with pytest.raises(ValueError, match="4 numbers"):
        policy.predict(np.zeros((3, 5)))


def test_random_programs_draw_other_numbers_in_other_episodes() -> None:
    text = "memory(observations=1, actions=1)\ndef GetAction(obs, action):\n    action = uniform(0.0, 1.0, stream=3)\n"
    policy = arz.Policy(arz.Program.parse(text))
    first, state = policy.predict(np.zeros((2, 1)))
    assert first[0] != first[1]
    again, _ = policy.predict(np.zeros((2, 1)), state, np.array([True, True]))
    assert not np.array_equal(first, again)
    assert np.array_equal(arz.Policy(policy.program).predict(np.zeros((2, 1)))[0], first)
    assert not np.array_equal(arz.Policy(policy.program, seed=1).predict(np.zeros((2, 1)))[0], first)
