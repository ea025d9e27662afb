"""The reference is the definition; these tests pin what the paper and design say of it, in plain cases."""

import math

import numpy as np
import pytest

from arz import Program
from arz.machine import Machine

HEAD = "memory(observations=2, actions=1, scalars=8, vectors=5, matrices=1, indices=3, stateful=True)\n"
ARGUMENTS = "(s0, s1, s2, s3, v0, v1, i0, i1):\n"


def run(body: str, observations: list[list[float]], cadfs: str = "", head: str = HEAD, start: str = "") -> list[float]:
    """The actions of a program given as the lines of GetAction."""
    start = f"def StartEpisode():\n{start}" if start else ""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    program = Program.parse(f"{head}{start}{cadfs}def GetAction(obs, action):\n{lines}")
    machine = Machine(program)
    return [float(machine.act(row)[0]) for row in observations]


def test_the_action_and_all_memory_persist() -> None:
    assert run("action = action + s0\ns0 = sum(obs)", [[1, 2], [3, 4], [5, 6]]) == [0, 3, 10]


def test_stateless_starts_every_step_anew() -> None:
    head = HEAD.replace("stateful=True", "stateful=False")
    body = "action = action + s0\ns0 = sum(obs)\naction = action + s0"
    assert run(body, [[1, 2], [3, 4]], head=head, start="    s0 = 10.0\n") == [13, 17]


def test_the_observation_is_padded_with_zeros() -> None:
    head = "memory(observations=1, actions=2, scalars=8, vectors=5)\n"
    program = Program.parse(
        head + "def GetAction(obs, action):\n    obs = obs + v2\n    action = obs\n    v2 = bcast(s1)\n"
    )
    assert Machine(program).act([7]).tolist() == [7, 0]


def test_a_call_runs_only_where_the_first_scalar_is_less() -> None:
    cadf = f"def f0{ARGUMENTS}    s5 = s1 * 1.0\n"
    body = "s0 = obs[i0]\ns1 = obs[i2]\ni2 = len(obs) - 1\ns1 = obs[i2]\nif s0 < s1: action, _, _ = f0(s0, s1, _, _, _, _, _, _)"
    seen: list[list[float]] = [[1, 2], [2, 2], [3, 2], [math.nan, 9], [0, math.nan], [-5, 7]]
    assert run(body, seen, cadf) == [2, 2, 2, 2, 2, 7]


def test_arguments_arrive_and_the_last_written_is_returned() -> None:
    cadf = f"def f0{ARGUMENTS}    s6 = s2 + s3\n    s7 = s0 + s1\n    s6 = s6 * s7\n    v3 = v0 + v1\n"
    body = """
s1 = 1.0
s2 = 10.0
s4 = 100.0
if s0 < s1: s5, v2, _ = f0(s0, s1, s2, s4, obs, obs, i0, i1)
action = sum(v2)
action = action + s5
"""
    assert run(body, [[1, 2]], cadf) == [110 * 1 + 6]


def test_before_any_write_a_cadf_returns_register_0_which_holds_an_argument() -> None:
    cadf = f"def f0{ARGUMENTS}    no_op\n"
    body = (
        "s1 = 1.0\nif s0 < s1: action, v2, i2 = f0(s0, s1, s2, s2, obs, v3, i0, i1)\ns5 = sum(v2)\naction = action + s5"
    )
    assert run(body, [[3, 4]], cadf) == [0 + 7]


def test_the_memory_of_a_cadf_persists_and_is_its_own() -> None:
    cadf = f"def f0{ARGUMENTS}    s6 = s6 + s1\n"
    body = "s1 = 1.0\ns6 = 50.0\nif s0 < s1: action, _, _ = f0(s0, s1, _, _, _, _, _, _)"
    assert run(body, [[0, 0]] * 3, cadf) == [1, 2, 3]


def test_random_numbers_differ_by_stream_by_step_and_by_call_and_repeat_by_key() -> None:
    cadf = f"def f0{ARGUMENTS}    s6 = uniform(0.0, 1.0, stream=3)\n"
    call = "if s0 < s1: s{}, _, _ = f0(s0, s1, _, _, _, _, _, _)\n"
    body = f"s1 = 1.0\ns2 = uniform(0.0, 1.0, stream=1)\ns3 = uniform(0.0, 1.0, stream=2)\n{call.format(4)}{call.format(5)}"
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    program = Program.parse(f"{HEAD}{cadf}def GetAction(obs, action):\n{lines}")

    def drawn(key: int) -> list[float]:
        machine = Machine(program, key)
        values: list[float] = []
        for _ in range(3):
            machine.act([0, 0])
            values += [machine.memories[0]["s", n] for n in (2, 3, 4, 5)]
        return values

    first = drawn(1)
    assert first == drawn(1)
    assert not set(first) & set(drawn(2))
    assert len(set(first)) == 12
    assert all(0 <= value < 1 for value in first)


@pytest.mark.parametrize(
    ("line", "x", "y", "expected"),
    [
        ("action = 1 / s1", 0.0, 0, math.inf),
        ("action = 1 / s1", -0.0, 0, -math.inf),
        ("action = log(s1)", -1.0, 0, math.nan),
        ("action = log(s1)", 0.0, 0, -math.inf),
        ("action = arcsin(s1)", 2.0, 0, math.nan),
        ("action = sin(s1)", math.inf, 0, math.nan),
        ("action = exp(s1)", 1e4, 0, math.inf),
        ("action = minimum(s1, s2)", math.nan, 1.0, math.nan),
        ("action = minimum(s1, s2)", 1.0, math.nan, math.nan),
        ("action = maximum(s1, s2)", math.nan, 1.0, math.nan),
        ("action = maximum(s1, s2)", -math.inf, 1.0, 1.0),
        ("action = heaviside(s1)", 0.0, 0, 0.0),
        ("action = heaviside(s1)", 5e-324, 0, 1.0),
        ("action = heaviside(s1)", math.nan, 0, 0.0),
        ("action = sqrt(s1)", -1.0, 0, math.nan),
        ("action = std(obs)", 3.0, 5.0, 1.0),
        ("action = mean(obs)", 3.0, 5.0, 4.0),
        ("action = norm(obs)", 3.0, 4.0, 5.0),
        ("action = dot(obs[:i0+1], obs[:i0+1])", 3.0, 5.0, 9.0),
        ("action = obs[i2] * obs[i2] + s1", 3.0, 5.0, 28.0),
    ],
)
def test_numbers_are_ieees_and_numpys(line: str, x: float, y: float, expected: float) -> None:
    body = f"i2 = len(obs) - 1\ns1 = obs[i0]\ns2 = obs[i2]\n{line}"
    (action,) = run(body, [[x, y]])
    assert action == expected or (math.isnan(action) and math.isnan(expected))


def test_rows_and_columns() -> None:
    body = "m0[0, :] = obs\nm0[1, 0] = 10.0\nm0[1, 1] = 20.0\n{}\naction = sum(v3)\n"
    seen = [[1.0, 2.0]]
    for line, expected in [
        ("v3 = m0[i0, :]", 3),
        ("v3 = m0[:, i0]", 11),
        ("v3 = norm(m0, axis=0)", np.hypot(1, 2) + np.sqrt(500)),
        ("v3 = norm(m0, axis=1)", np.hypot(1, 10) + np.sqrt(404)),
        ("v3 = mean(m0, axis=0)", 16.5),
        ("v3 = std(m0, axis=0)", 5.5),
        ("v3 = dot(m0, obs)", 5 + 50),
        ("m0 = transpose(m0)\n    v3 = m0[i0, :]", 11),
        ("m0 = matmul(m0, m0)\n    v3 = m0[i0, :]", 21 + 42),
        ("m0 = bcast(obs, axis=0)\n    v3 = m0[i0, :]", 2),
        ("m0 = bcast(obs, axis=1)\n    v3 = m0[i0, :]", 3),
        ("m0 = outer(obs, obs)\n    v3 = m0[i0, :]", 3),
        ("m0[:, 0] = obs\n    v3 = m0[:, i0]", 3),
    ]:
        assert run(body.format(line.replace("\n    ", "\n")), seen) == pytest.approx([expected]), line
