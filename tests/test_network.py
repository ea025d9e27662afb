"""Neural networks: the same as plain NumPy, as texts, and through the same rollouts as programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import arz
from arz import elementary
from arz.cli import main
from arz.native import load, runs_here
from arz.network import MAX_HEAD, MAX_LINES, Architecture, Network, NetworkBatch, NetworkInterpreter, unfold
from arz.policy import load_policy
from arz.tasks.base import Task
from tests.support import same_bits

Floats = NDArray[np.float64]

SHAPES = [
    Architecture("mlp", 37, 12, (32, 32)),
    Architecture("mlp", 4, 1, (5,)),
    Architecture("mlp", 3, 2, ()),
    Architecture("mlp", 6, 2, (11, 5), "relu"),
    Architecture("mlp", 5, 13, (7, 33, 2)),
    Architecture("lstm", 37, 12, (32,)),
    Architecture("lstm", 4, 1, (3,)),
    Architecture("lstm", 4, 1, (1,)),
    Architecture("lstm", 2, 5, (33,)),
]
TASKS: list[Task] = [arz.Cartpole(), arz.Quadruped(steps=120)]


def random_network(shape: Architecture, seed: int = 0, size: float = 1.0) -> Network:
    return Network(shape, np.random.default_rng(seed).normal(size=shape.size, scale=size))


def networks(task: Task, kind: str, count: int = 6) -> NetworkBatch:
    shape = Architecture(kind, task.observations, task.actions, (9,))
    return NetworkBatch.pack([random_network(shape, seed, 0.3) for seed in range(count)])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("size", [0.1, 1.0, 30.0])
def test_forward_passes_equal_plain_numpy(shape: Architecture, size: float) -> None:
    network = random_network(shape, 1, size)
    seen = np.random.default_rng(2).normal(size=(40, 3, shape.observations))
    interpreter = NetworkInterpreter(network, 3)
    found = np.array([interpreter.act(np.ascontiguousarray(rows)) for rows in seen])
    expected = np.stack([unfold(network, seen[:, lane])["output"] for lane in range(3)], axis=1)
    assert np.abs(found - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max())


def test_a_perceptron_cannot_remember_and_an_lstm_can() -> None:
    """What they do after different pasts, on the same observation."""
    now = np.full((1, 4), 0.3)
    for kind, remembers in (("mlp", False), ("lstm", True)):
        network = random_network(Architecture(kind, 4, 1, (8,)), 3)
        actions = []
        for past in (-1.0, 1.0):
            interpreter = NetworkInterpreter(network, 1)
            for _ in range(5):
                interpreter.act(np.full((1, 4), past))
            actions.append(float(interpreter.act(now)[0, 0]))
        assert (actions[0] != actions[1]) == remembers
        interpreter.reset_lane(0, 0)
        fresh = NetworkInterpreter(network, 1)
        assert np.array_equal(interpreter.act(now), fresh.act(now))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
@pytest.mark.parametrize("kind", ["mlp", "lstm"])
def test_rollouts_do_not_depend_on_threads_nor_on_what_runs_beside(task: Task, kind: str) -> None:
    batch, episodes = networks(task, kind), arz.fresh_episodes(21)
    whole = arz.evaluate(batch, task, episodes, threads=1)
    again = arz.evaluate(batch, task, episodes, threads=3)
    for name in ("returns", "lengths", "statuses", "sums"):
        assert np.array_equal(getattr(whole, name), getattr(again, name))
    alone = arz.evaluate(batch[4], task, episodes[13:14])
    assert alone.returns[0, 0] == whole.returns[4, 13]
    assert len(np.unique(whole.lengths)) > 3
    rows = arz.record(batch[4], task, episodes[13:14])
    assert np.isclose(np.nansum(rows["reward"]), whole.returns[4, 13], rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["mlp", "lstm"])
def test_a_rollout_is_what_the_environment_does(kind: str) -> None:
    """The environment, driven by `Policy.predict`, gives the same return."""
    import gymnasium

    task = arz.Cartpole(change="none", parameters=())
    network = networks(task, kind)[2]
    env = gymnasium.make("ARZ/CataclysmicCartpole-v0", change="none", parameters=())
    observation, info = env.reset(seed=5)
    policy, state, total, is_over = arz.Policy(network), None, 0.0, False
    while not is_over:
        action, state = policy.predict(observation, state)
        observation, reward, terminated, truncated, _ = env.step(action)
        total, is_over = total + float(reward), terminated or truncated
    found = arz.evaluate(network, task, [info["episode_key"]])
    assert np.isclose(found.returns[0, 0], total, rtol=0, atol=1e-3)


def test_what_networks_see_is_added_up() -> None:
    task = TASKS[0]
    network, episodes = networks(task, "mlp")[0], arz.fresh_episodes(5)
    rows = arz.record(network, task, episodes)
    seen = np.stack([rows[name].ravel() for name in ("x", "theta", "x_dot", "theta_dot")], axis=1)
    seen = seen[~np.isnan(seen).any(axis=1)] - network.numbers[:4]
    sums = arz.evaluate(network, task, episodes).sums[0].sum(axis=0)
    assert sums[-1] == len(seen)
    assert np.allclose(sums[:4], seen.sum(axis=0), rtol=1e-9)
    assert np.allclose(sums[4:8], (seen**2).sum(axis=0), rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_network_is_a_text(shape: Architecture, tmp_path: Path) -> None:
    network = random_network(shape)
    assert Network.parse(str(network)) == network
    path = tmp_path / "network.arz"
    path.write_text(str(network))
    assert load_policy(path) == Network.load(path) == network
    assert network != random_network(shape, 1)


GOOD = str(random_network(Architecture("mlp", 2, 1, (2,))))


def test_spaces_comments_line_ends_and_commas_do_not_matter() -> None:
    odd = (
        GOOD.replace("[numbers]", "  [numbers] # here")
        .replace("scale = [", "scale\t=  [ # [1,\n+")
        .replace("]]", ", ],\n]")
    )
    assert Network.parse(odd) == Network.parse(GOOD)
    assert Network.parse(odd.replace("\n", "\r\n")) == Network.parse(GOOD)


def test_no_list_is_made_that_is_larger_than_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr("arz.network.json.loads", read.append)
    with pytest.raises(ValueError, match="shift must be numbers"):
        Network.parse(GOOD.replace("shift = [", "shift = [" + "1," * 100_000))
    assert read == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[network]", "expected the tables"),
        ("[network", "never closed"),
        (GOOD.replace('"mlp"', '"gru"'), "kind must be one of mlp, lstm"),
        (GOOD.replace('"tanh"', '"gelu"'), "activation must be tanh or"),
        (GOOD.replace("hidden = [2]", "hidden = [0]"), "the size of a layer"),
        (GOOD.replace("hidden = [2]", "hidden = 2"), "hidden is a list"),
        (GOOD.replace("hidden = [2]", "hidden = [3]"), "must be numbers of shape"),
        (GOOD.replace("hidden = [2]", "hidden = [99999]"), "units of a layer must be 1 to 4096"),
        (GOOD.replace("scale", "skale"), r"\[numbers\] must have shift, scale"),
        (GOOD.replace("output_bias = [", 'output_bias = ["a", '), "output_bias must be numbers"),
        (GOOD.replace("output_bias = [", "output_bias = [nan]\n# "), "must be finite"),
        (GOOD + "[more]\n", "expected the tables"),
        ("[network]\nkind = " + "[" * 10_000, "recursion"),
        ("[network]\n" + "a." * 5000 + "a = 1\n[numbers]\n", r"expected a short table \[network\]"),
        ("[network]\n#" + "a" * MAX_HEAD + "\n[numbers]\n", r"expected a short table \[network\]"),
        (GOOD + "\n" * MAX_LINES, f"in at most {MAX_LINES} lines"),
        (GOOD.replace("scale = ", "scale = [1.0, 1.0]\nscale = "), "one for each part"),
        (GOOD.replace("scale = ", "sc\u00e4le = "), "one for each part"),
        (GOOD.replace("shift = [", "shift = [" + "9" * 5000 + ", "), "shift must be numbers"),
        (GOOD.replace("shift = [", "shift = [" + "[" * 100_000), "shift must be numbers"),
        (GOOD.replace("shift = [", "shift = [[], "), "shift must be numbers"),
    ],
)
def test_odd_texts_get_a_sentence(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.arz"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        load_policy(path)


def test_commands_take_networks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "network.arz"
    path.write_text(str(random_network(Architecture("lstm", 4, 1, (3,)))))
    assert main(["show", str(path)]) == 0
    assert "LSTM of 3 units: 100 trained numbers, 87 in matrices; 174 FLOPs" in capsys.readouterr().out
    assert main(["show", str(path), "--json"]) == 0
    assert '"parameters": 87' in capsys.readouterr().out
    assert main(["test", str(path), "--episodes", "3"]) == 0
    assert "continuous" in capsys.readouterr().out
    assert main(["replay", str(path), "--output", str(tmp_path / "film.gif"), "--every", "50"]) == 0
    assert (tmp_path / "film.gif").exists()


def test_networks_that_do_not_fit_get_a_sentence() -> None:
    network = random_network(Architecture("mlp", 3, 1, ()))
    with pytest.raises(ValueError, match="the policies have 3 and 1"):
        arz.evaluate(network, TASKS[0], [1])
    with pytest.raises(ValueError, match="one architecture"):
        NetworkBatch.pack([network, random_network(Architecture("lstm", 3, 1, (2,)))])
    with pytest.raises(ValueError, match=r"expected 10 numbers"):
        Network(network.architecture, np.zeros(3))
    with pytest.raises(ValueError, match="policy 7 is not in a batch of 1"):
        arz.native.core.NetworkStepper(network.packed, 7, 1)
    with pytest.raises(ValueError, match="lane 3 is not among 2"):
        NetworkInterpreter(network, 2).reset_lane(3, 0)


def test_the_costs_are_the_papers() -> None:
    """Supplement, "Complexity Comparison": MLP 2592 and 5184, LSTM 9216 and 18432; cartpole 1184 and 2368, 9280."""
    costs = {
        (kind, seen, acts): arz.complexity(random_network(Architecture(kind, seen, acts, hidden)))
        for kind, hidden in (("mlp", (32, 32)), ("lstm", (32,)))
        for seen, acts in ((37, 12), (4, 1))
    }
    assert [(cost.parameters, cost.flops) for cost in costs.values()] == [
        (2592, 5184),
        (1184, 2368),
        (9216, 18432),
        (4640, 9280),
    ]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_all_builds_give_the_same_bits(shape: Architecture) -> None:
    network = random_network(shape, 5)
    seen = np.random.default_rng(6).normal(size=(30, 2, shape.observations))
    results = []
    for name in runs_here():
        build = load(name)
        sizes = (shape.kind == "lstm", shape.activation == "relu", shape.observations, shape.actions)
        batch = build.network_batch(build.network_shape(*sizes, list(shape.hidden)), network.numbers[None])
        stepper = build.NetworkStepper(batch, 0, 2)
        results.append([stepper.act(np.ascontiguousarray(rows)).tobytes() for rows in seen])
    assert all(result == results[0] for result in results[1:])


# ---- the same bits as one number after another ----

HOSTILE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -1e-310, 1e308, -1e300]


def hostile(random: np.random.Generator, shape: tuple[int, ...], part: float) -> Floats:
    """Numbers of ordinary size, and among them such as these."""
    numbers = random.normal(size=shape)
    return np.where(random.random(shape) < part, random.choice(HOSTILE, shape), numbers)


def exp(x: Floats) -> Floats:
    return np.reshape([elementary.exp(value) for value in x.ravel().tolist()], x.shape)


def product(matrix: Floats, x: Floats) -> Floats:
    """Of a matrix and the vectors x[lane]: each sum starts at zero and goes through the columns in their order."""
    sums = np.zeros((len(x), len(matrix)))
    with np.errstate(all="ignore"):
        for k in range(matrix.shape[1]):
            sums = sums + matrix[:, k] * x[:, k, None]
    return sums


def sigmoid(x: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + exp(0.0 - x)))


def tanh(x: Floats) -> Floats:
    return np.asarray(1.0 - 2.0 / (exp(x + x) + 1.0))


def steps(network: Network, seen: Floats) -> Floats:
    """What a network does [step, lane, entry], in the order of the native core."""
    shape, part = network.architecture, network.architecture.split(network.numbers)
    hidden = cell = np.zeros((seen.shape[1], shape.hidden[0] if shape.hidden else 0))
    actions = []
    for row in seen:
        x = (row - part["shift"]) * part["scale"]
        if shape.kind == "lstm":
            gates = product(part["recurrent"], hidden) + part["gate_bias"] + product(part["input"], x)
            into, forget, candidate, out = np.split(gates, 4, axis=1)
            cell = cell * sigmoid(forget) + sigmoid(into) * tanh(candidate)
            x = hidden = sigmoid(out) * tanh(cell)
        for layer in range(1, len(shape.hidden) + 1) if shape.kind == "mlp" else ():
            x = product(part[f"weights{layer}"], x) + part[f"bias{layer}"]
            x = tanh(x) if shape.activation == "tanh" else np.maximum(x, 0.0)
        actions.append(product(part["output"], x) + part["output_bias"])
    return np.array(actions)


def stepper(build: Any, shape: Architecture, numbers: Floats, lanes: int) -> Any:
    sizes = (shape.kind == "lstm", shape.activation == "relu", shape.observations, shape.actions)
    batch = build.network_batch(build.network_shape(*sizes, list(shape.hidden)), numbers[None])
    return build.NetworkStepper(batch, 0, lanes)


@pytest.mark.parametrize("name", runs_here())
def test_products_have_the_bits_of_the_plain_loop(name: str) -> None:
    """All rows and columns up to 40, in all lanes up to 17, with numbers of all kinds among them."""
    build, random = load(name), np.random.default_rng(7)
    for size in range(1, 41):
        other = int(random.integers(1, 41))
        for rows, columns in ((size, other), (other, size), (size, size)):
            lanes, part = int(random.integers(1, 18)), float(random.choice([0.0, 0.02]))
            matrix, x = hostile(random, (rows, columns), part), hostile(random, (lanes, columns), part)
            normal = np.concatenate([np.zeros(columns), np.ones(columns)])
            numbers = np.concatenate([normal, matrix.ravel(), np.zeros(rows)])
            found = stepper(build, Architecture("mlp", columns, rows, ()), numbers, lanes).act(x)
            assert same_bits(found, product(matrix, x) + 0.0), (rows, columns, lanes)
    for lanes in range(1, 18):
        for rows in (1, 7, 8, 9, 16, 31, 33, 64, 72):
            matrix, x = random.normal(size=(rows, 5)), random.normal(size=(lanes, 5))
            numbers = np.concatenate([np.zeros(5), np.ones(5), matrix.ravel(), np.zeros(rows)])
            found = stepper(build, Architecture("mlp", 5, rows, ()), numbers, lanes).act(x)
            assert same_bits(found, product(matrix, x) + 0.0), (rows, lanes)


@pytest.mark.parametrize("name", runs_here())
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_networks_have_the_bits_of_the_plain_loop(shape: Architecture, name: str) -> None:
    network = random_network(shape, 3)
    for lanes, size in ((1, 1.0), (2, 0.1), (3, 30.0), (16, 1.0), (19, 1.0)):
        seen = np.random.default_rng(lanes).normal(size=(3, lanes, shape.observations), scale=size)
        own = stepper(load(name), shape, network.numbers, lanes)
        assert same_bits([own.act(np.ascontiguousarray(rows)) for rows in seen], steps(network, seen)), lanes


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape.kind == "lstm"], ids=str)
def test_a_lane_begins_anew_and_its_neighbours_go_on(shape: Architecture) -> None:
    network, lanes = random_network(shape, 3), 5
    seen = np.random.default_rng(1).normal(size=(4, lanes, shape.observations))
    interpreter = NetworkInterpreter(network, lanes)
    found = []
    for step, rows in enumerate(seen):
        if step == 2:
            interpreter.reset_lane(3, 0)
        found.append(interpreter.act(np.ascontiguousarray(rows)))
    expected = steps(network, seen)
    expected[2:, 3] = steps(network, seen[2:])[:, 3]
    assert same_bits(found, expected)


@pytest.mark.parametrize("hidden", [1, 3, 4, 7, 12, 33])
@pytest.mark.parametrize("kind", ["mlp", "lstm"])
def test_lanes_that_have_ended_change_nothing(kind: str, hidden: int) -> None:
    """They stay in between, or the others move together; and what is seen is added up lane after lane."""
    task, episodes = arz.Cartpole(), arz.fresh_episodes(17)
    network = random_network(Architecture(kind, 4, 1, (hidden,)), hidden, 0.3)
    found = [arz.evaluate(network, task, episodes, compact=compact, threads=1) for compact in (True, False)]
    alone = [arz.evaluate(network, task, episodes[k : k + 1]).returns[0, 0] for k in range(17)]
    for one in found:
        assert same_bits(one.returns[0], alone)
        assert np.array_equal(one.lengths, found[0].lengths)
    assert len(np.unique(found[0].lengths)) > 3
    rows = arz.record(network, task, episodes[:16])
    seen = np.stack([rows[name] for name in ("x", "theta", "x_dot", "theta_dot")], axis=-1) - network.numbers[:4]
    sums = np.zeros(9)
    for step in range(seen.shape[1]):
        for difference in seen[:, step][~np.isnan(seen[:, step, 0])]:
            sums += np.concatenate([difference, difference * difference, [1.0]])
    assert same_bits(found[0].sums[0, 0], sums)
    assert same_bits(found[1].sums[0, 0], sums)
