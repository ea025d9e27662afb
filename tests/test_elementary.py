"""The elementary functions: near the truth, right at the edges, and the same bits in the native core."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from arz import Batch, Program, elementary
from arz.native import load, runs_here

EDGES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    0.25,
    0.75,
    math.inf,
    -math.inf,
    math.nan,
    1e308,
    -1e308,
]
EDGES += [5e-324, 1e-320, 2.0**-1022, 709.78, 709.79, -745.1, -745.2, 746.0, 2.0**20, 2.0**20 - 1, 2.0**52, 2.0**52 + 1]
EDGES += [
    2.0**53 + 2,
    4503599627370496.5,
    math.pi,
    math.pi / 2,
    math.pi / 4,
    math.sqrt(0.5),
    1 - 2.0**-53,
    1 + 2.0**-52,
]

TRUE: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "arcsin": math.asin,
    "arccos": math.acos,
    "arctan": math.atan,
    "exp": math.exp,
    "log": math.log,
}
ALLOWED = dict.fromkeys(TRUE, 4) | {"tan": 5}
"""In units of the last place, one of which may be the C library's own error."""


def drawn(name: str, count: int = 3000) -> np.ndarray:
    rng = np.random.default_rng(1)
    if name in ("arcsin", "arccos"):
        near_one = np.sign(rng.normal(size=count)) * (1 - 10 ** rng.uniform(-16, -1, count))
        return np.concatenate([rng.uniform(-1, 1, count), near_one, 10 ** rng.uniform(-300, 0, count)])
    if name == "exp":
        return np.concatenate(
            [rng.uniform(-745, 709.7, count), rng.uniform(-2, 2, count), 10 ** rng.uniform(-20, 0, count)]
        )
    if name == "log":
        return np.concatenate([10 ** rng.uniform(-323, 308, count), 1 + rng.uniform(-0.5, 0.5, count)])
    multiples = rng.integers(1, 600_000, count) * (math.pi / 2)
    return np.concatenate([rng.uniform(-10, 10, count), 10 ** rng.uniform(-300, 308, count), multiples])


@pytest.mark.parametrize("name", TRUE)
def test_results_are_near_the_truth(name: str) -> None:
    ours, true = getattr(elementary, name), TRUE[name]
    errors = [abs(ours(x) - true(x)) / math.ulp(true(x)) for x in drawn(name).tolist()]
    assert all(error <= ALLOWED[name] for error in errors)


def test_powers_are_near_the_truth() -> None:
    rng = np.random.default_rng(2)
    for low, high, allowed in ((1e-9, 1e9, 3), (1e-305, 1e305, 30)):
        x = np.where(rng.random(4000) < 0.5, 10 ** rng.uniform(-5, 5, 4000), rng.uniform(0.7, 1.3, 4000))
        y = rng.uniform(math.log(low), math.log(high), 4000) / np.log(x)
        for a, b in zip(x.tolist(), y.tolist(), strict=True):
            true = math.pow(a, b)
            assert abs(elementary.power(a, b) - true) <= allowed * math.ulp(true), (a, b)


def test_whole_powers_of_small_whole_numbers_are_exact() -> None:
    for x in range(-12, 13):
        for y in range(16):
            assert elementary.power(float(x), float(y)) == float(x**y)


def in_c(function: Callable[..., float], *x: float) -> float:
    """What C gives where Python raises."""
    try:
        return function(*x)
    except OverflowError:
        return -math.inf if function is math.pow and x[0] < 0 and math.fmod(x[1], 2) != 0 else math.inf
    except ValueError:
        if function is math.log and x[0] == 0:
            return -math.inf
        if function is math.pow and x[0] == 0:
            is_odd = math.isfinite(x[1]) and abs(math.fmod(x[1], 2)) == 1
            return math.copysign(math.inf, x[0]) if is_odd else math.inf
        return math.nan


def check_edge(got: float, want: float, allowed: int) -> None:
    assert math.isnan(got) == math.isnan(want)
    if not math.isnan(want):
        assert math.copysign(1.0, got) == math.copysign(1.0, want)
        assert got == want or abs(got - want) <= allowed * math.ulp(want)


@pytest.mark.parametrize("name", TRUE)
def test_edges_are_those_of_c(name: str) -> None:
    for x in EDGES:
        check_edge(getattr(elementary, name)(x), in_c(TRUE[name], x), ALLOWED[name])


def test_edges_of_powers_are_those_of_c() -> None:
    for x in EDGES:
        for y in EDGES:
            check_edge(elementary.power(x, y), in_c(math.pow, x, y), 30)


def hostile(count: int) -> np.ndarray:
    """Any bits at all, and numbers of every size."""
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)
    sizes = rng.normal(size=count) * 10 ** rng.uniform(-10, 10, count)
    return np.concatenate([bits, sizes, rng.uniform(-2, 2, count), np.array(EDGES)])


HEAD = "memory(observations=2, actions=1, scalars=4, vectors=4, matrices=0, indices=1, stateful=False)\n\ndef GetAction(obs, action):\n"


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray((a.view(np.uint64) == b.view(np.uint64)) | (np.isnan(a) & np.isnan(b)))


def in_build(build: str, body: str, seen: np.ndarray) -> np.ndarray:
    """The actions of a program for rows of observations, by one of the builds."""
    native, batch = load(build), Batch.pack([Program.parse(HEAD + body)])
    shape = native.memory_shape(2, 1, 4, 4, 0, 1, False)
    keys = np.zeros(len(seen), np.uint64)
    return np.asarray(native.run(native.batch(shape, *batch.core.arrays()), seen[None], keys, 1, True))[0, 0, :, 0]


@pytest.mark.parametrize("build", runs_here())
@pytest.mark.parametrize("name", TRUE)
def test_the_native_core_gives_the_same_bits(name: str, build: str) -> None:
    x = hostile(2000)
    found = in_build(build, f"    s0 = obs[i0]\n    action = {name}(s0)\n", np.stack([x, x], axis=1))
    expected = np.array([getattr(elementary, name)(value) for value in x.tolist()])
    assert same(found, expected).all(), x[~same(found, expected)][:5]


@pytest.mark.parametrize("build", runs_here())
def test_the_native_core_gives_the_same_bits_for_powers(build: str) -> None:
    body = "    s0 = obs[i0]\n    v0 = bcast(s0)\n    i0 = len(obs) - 1\n    s0 = obs[i0]\n    v2 = bcast(s0)\n"
    x, y = (values.ravel() for values in np.meshgrid(EDGES, EDGES))
    rng = np.random.default_rng(4)
    bases, exponents = 10 ** rng.uniform(-20, 20, 6000), rng.normal(size=6000) * 10 ** rng.uniform(-3, 3, 6000)
    signs = np.where(rng.random(6000) < 0.3, -1.0, 1.0)
    x = np.concatenate([x, signs * bases, hostile(1000)])
    y = np.concatenate([y, np.where(rng.random(6000) < 0.4, np.round(exponents), exponents), hostile(1000)[::-1]])
    found = in_build(build, body + "    v2 = power(v0, v2)\n    action = v2[i0]\n", np.stack([x, y], axis=1))
    expected = np.array([elementary.power(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)])
    assert same(found, expected).all(), (x[~same(found, expected)][:5], y[~same(found, expected)][:5])
