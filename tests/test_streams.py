import numpy as np
import pytest

from arz import Stream
from arz.native import core
from arz.streams import GOLDEN, MASK, episode_uniform, key, keys, mix


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1, 0xDEADBEEF])
def test_python_and_native_streams_are_the_same(seed: int) -> None:
    stream = Stream(seed)
    assert [stream.uniform() for _ in range(100)] == core.stream_sample(seed, "uniform", 100)
    stream = Stream(seed)
    assert [stream.normal() for _ in range(100)] == core.stream_sample(seed, "normal", 100)


def test_splitmix64_gives_its_published_numbers() -> None:
    """The first outputs of SplitMix64 for state 1234567, as its author's and other libraries' tests have them."""
    stream = Stream(1234567)
    assert [stream.bits() for _ in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_keys_differ_by_seed_purpose_and_index() -> None:
    found = [
        key(seed, purpose, index) for seed in range(20) for purpose in ("a", "b", "ab", "ba") for index in range(20)
    ]
    assert len(set(found)) == len(found)
    assert keys(3, "vary", range(5)).tolist() == [key(3, "vary", index) for index in range(5)]


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_keys_are_made_by_mixing_seed_purpose_and_index(seed: int) -> None:
    base = mix((seed + GOLDEN) & MASK)
    for byte in b"child":
        base = mix((base + GOLDEN * (byte + 1)) & MASK)
    indices = [0, 1, 2, 1000, 2**40, 2**63, 2**64 - 2]
    assert keys(seed, "child", indices).tolist() == [mix((base + GOLDEN * (i + 1)) & MASK) for i in indices]


def test_draws_are_uniform_and_normal() -> None:
    stream = Stream(key(0, "test"))
    uniform = np.array([stream.uniform(-1, 3) for _ in range(20000)])
    assert abs(uniform.mean() - 1) < 0.05
    assert np.histogram(uniform, 8, (-1, 3))[0].min() > 2300
    normal = np.array([stream.normal() for _ in range(20000)])
    assert abs(normal.mean()) < 0.03
    assert abs(normal.std() - 1) < 0.03
    below = np.bincount([stream.below(7) for _ in range(14000)])
    assert len(below) == 7
    assert below.min() > 1800


def test_episode_numbers_do_not_repeat_over_ticks_streams_and_keys() -> None:
    found = {episode_uniform(k, tick, stream) for k in range(20) for tick in range(20) for stream in range(20)}
    assert len(found) == 8000
