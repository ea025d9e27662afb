"""What every task promises to everybody else: swept over all that there are."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, fields, replace
from typing import Any

import gymnasium
import numpy as np
import pytest

import arz
from arz.cluster.packing import pack_task
from arz.episode import run_episode
from arz.policy import AnyPolicy
from arz.runs import config as configs
from arz.streams import keys
from arz.tasks import TASKS, Task
from arz.tasks.status import STATUS, Status
from arz.vary import random_programs

STEPS = 30


def usual(kind: str) -> Task:
    """A short variant of a task, settled."""
    made: Any = TASKS[kind]()
    return replace(made, steps=STEPS).settled()  # type: ignore[no-any-return]


def policies(task: Task, count: int = 3) -> arz.Batch:
    memory = arz.Memory(task.observations, task.actions)
    return random_programs(memory, keys(7, "policies", np.arange(count)), arz.Variation(length=(20, 30)))


@pytest.fixture(params=TASKS)
def task(request: pytest.FixtureRequest) -> Task:
    return usual(request.param)


@pytest.fixture
def policy(task: Task) -> AnyPolicy:
    return policies(task)[0]


def test_the_registry_has_each_task_under_its_name(task: Task) -> None:
    assert TASKS[task.kind] is type(task)
    assert configs.RECORD_KINDS["task"][task.kind] is type(task)
    assert task.title
    assert task.name in task.full_name


def test_it_is_a_record_that_reads_back(task: Task) -> None:
    assert type(task)(**asdict(task)) == task
    assert type(task)(**json.loads(json.dumps(asdict(task)))) == task
    assert {*task.variant} <= {item.name for item in fields(task)}
    json.dumps(task.variant)


def test_sizes_names_and_bounds_agree(task: Task) -> None:
    assert task.observations > 0
    assert task.most_steps == STEPS
    if task.observation_names is not None:
        assert len(task.observation_names) == task.observations
    assert sum(len(group.names) for group in task.action_groups) == task.actions
    low, high = task.bounds
    assert low.shape == high.shape == (task.actions,)
    assert np.all(low < high)
    assert max(np.max(-low), np.max(high)) <= task.most_action


def test_actions_are_applied_within_the_bounds(task: Task) -> None:
    given = np.array([[-1e9] * task.actions, [0.0] * task.actions, [1e9] * task.actions])
    done = task.applied(given)
    low, high = task.bounds
    if task.first_choice is None:
        np.testing.assert_array_equal(done[[0, 2]], np.stack([low, high]))
    else:
        assert np.all(done >= task.first_choice)


def test_the_same_episodes_are_the_same(task: Task) -> None:
    batch, episodes = policies(task), arz.fresh_episodes(4)
    one, two = (arz.evaluate(batch, task, episodes, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.returns, two.returns)
    assert np.array_equal(one.lengths, two.lengths)
    assert np.array_equal(one.statuses, two.statuses)
    rows = [[arz.record(batch[p], task, arz.fresh_episodes(4, seed)) for p in range(len(batch))] for seed in (0, 1)]
    assert any(  # others are others, also where all of them earn as much
        not np.array_equal(values, other[name], equal_nan=True)
        for this, other in zip(*rows, strict=True)
        for name, values in this.items()
    )


def test_stepped_recorded_and_rolled_out_are_one_episode(task: Task, policy: AnyPolicy) -> None:
    key = arz.fresh_episodes(1)
    found = arz.evaluate(policy, task, key, threads=1)
    episode = run_episode(policy, task, int(key[0]))
    assert episode.total_reward == found.returns[0, 0]
    assert len(episode.actions) == found.lengths[0, 0]
    assert episode.ending == task.sentence(STATUS[int(found.statuses[0, 0])])
    recorded = arz.record(policy, task, key)
    assert np.array_equal(recorded["reward"][0, : len(episode.rewards)], episode.rewards)
    assert all(values.shape == (1, STEPS) for values in recorded.values())
    assert {name: values.shape for name, values in task.changing(episode.rows).items()} == dict.fromkeys(
        task.changing(episode.rows), episode.rewards.shape
    )


def test_objectives_and_cases_are_of_the_episodes(task: Task) -> None:
    batch, episodes = policies(task), task.stratified(arz.fresh_episodes(8))
    found = arz.evaluate(batch, task, episodes, threads=1, **task.scoring)
    objectives = task.objectives(task.objective_names, found, episodes)
    assert objectives.shape == (len(batch), len(task.objective_names))
    assert not np.any(np.isnan(objectives))
    cases = task.cases(episodes)
    assert cases.shape == episodes.shape
    assert set(cases.tolist()) <= set(range(len(task.case_names)))


def test_variants_for_a_search_are_of_the_same_kind_and_size(task: Task) -> None:
    for other in (task.easier(), task.shorter(10), task.brief(10), task.eased([0.0] * len(task.case_names))):
        assert type(other) is type(task)
        assert (other.observations, other.actions) == (task.observations, task.actions)
        assert other.most_steps <= task.most_steps
    assert task.varied(3, 0.0) == task


def test_tests_are_variants_and_make_one_number(task: Task) -> None:
    suite = task.test_suite()
    assert suite
    assert all(type(variant) is type(task) for variant in suite.values())
    assert task.test_score(dict.fromkeys(suite, 5.0)) == 5.0
    assert task.test_score({}) is None
    assert task.compared_group in (None, *(group for group, _ in suite))
    results = arz.assess(policies(task)[0], task, episodes=2, threads=1)
    assert [(result.change, result.task) for result in results] == list(suite)


def test_every_ending_is_a_sentence(task: Task) -> None:
    for status in Status:
        if status is not Status.LEFT_TRACK or task.kind != "gymnasium":  # where nobody can leave
            assert task.sentence(status).endswith(".")


def test_its_options_are_fields(task: Task) -> None:
    known = {item.name for item in fields(task)}
    assert {option.field for option in (*task.test_options, *task.episode_options)} <= known
    for option in task.test_options:
        assert option.text or configs.field_help(("task", option.field))


def test_its_environments_are_made_and_play_the_same_episodes(task: Task, policy: AnyPolicy) -> None:
    for name in task.environments:
        with gymnasium.make(name, steps=STEPS) as environment:
            key = int(arz.fresh_episodes(1)[0])
            seen, _ = environment.reset(options={"episode": key})
            runner = policy.interpreter()
            runner.reset_lane(0, key)
            total, is_over = 0.0, False
            while not is_over:
                seen, reward, terminated, truncated, _ = environment.step(runner.act(np.array([seen]))[0])
                total, is_over = total + float(reward), terminated or truncated
        assert total == run_episode(policy, task, key).total_reward


def test_what_it_does_not_take_is_refused(task: Task) -> None:
    task.check("programs")
    for kind, sentence in task.cannot.items():
        with pytest.raises(ValueError, match=sentence[:20]):
            task.check(kind)


def test_its_probe_is_short_and_native(task: Task) -> None:
    probe = type(task).probe()
    assert probe is None or (probe.observations, probe.actions) == (task.observations, task.actions)


def test_it_has_one_engine_or_none(task: Task) -> None:
    if task.simulation is None:
        with pytest.raises(NotImplementedError):
            task.shared_engine()
    else:
        episodes = arz.fresh_episodes(2)
        together = arz.evaluate(policies(task), task, episodes, threads=1, engine=task.shared_engine())
        assert np.array_equal(together.returns, arz.evaluate(policies(task), task, episodes, threads=1).returns)


@pytest.mark.parametrize("value", [7, -1, 2.5, 1e999, "a", "", [], ["a"], {}, None, True], ids=repr)
def test_a_value_of_another_kind_gives_a_task_or_a_sentence(task: Task, value: Any) -> None:
    """Variants are read from files of strangers."""
    for item in fields(task):
        with contextlib.suppress(ValueError):
            assert replace(task, **{item.name: value}).kind == task.kind


class Mine(arz.Cartpole):
    """A task of one's own, which nobody registered."""

    def rollout(self, *args: Any, **options: Any) -> arz.Evaluation:
        found = super().rollout(*args, **options)
        return replace(found, returns=-found.returns)


def test_a_task_of_ones_own_is_evaluated_and_not_taken_for_another() -> None:
    batch, episodes = policies(usual("cartpole")), arz.fresh_episodes(2)
    ours, own = (arz.evaluate(batch, kind(steps=STEPS), episodes).returns for kind in (arz.Cartpole, Mine))
    assert np.array_equal(ours, -own)
    there = ", ".join(TASKS)
    with pytest.raises(ValueError, match=f"workers elsewhere know the tasks {there}, not Mine"):
        pack_task(Mine())
    with pytest.raises(ValueError, match=f"knows the kinds of task {there}, not Mine"):
        configs.render(replace(arz.preset("cartpole"), task=Mine()))


def test_films_and_viewers_are_there_where_a_task_says_so(task: Task) -> None:
    own = vars(type(task))
    assert task.has_pictures == ("film" in own)
    assert task.has_viewer == ("view" in own)
