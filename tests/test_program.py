from pathlib import Path

import numpy as np
import pytest

from arz import Batch, Memory, Program, Variation, execute, machine
from arz.native import core
from arz.ops import OP
from arz.program import INSTRUCTION, Instruction, pack_code
from tests.support import Draw, examples, random_batch, random_program, same_bits, tame_observations

MEMORY = Memory(observations=3, actions=1, scalars=4, vectors=3, matrices=1, indices=2)


@examples(50)
def test_packing_and_unpacking_gives_the_same_program(draw: Draw) -> None:
    program = draw.program()
    (back,) = Batch.pack([program]).unpack()
    assert back == program
    assert hash(back) == hash(program)
    rebuilt = Program.build(
        program.memory, program.lines(), [program.lines(f + 1) for f in range(program.cadfs)], program.image
    )
    assert rebuilt == program


def test_a_batch_keeps_order_and_can_be_cut_and_joined() -> None:
    batch = random_batch(MEMORY, 20)
    programs = batch.unpack()
    assert len(batch) == 20
    assert batch[3] == programs[3]
    assert batch[-1] == programs[19]
    assert batch.take([5, 5, 0]).unpack() == [programs[5], programs[5], programs[0]]
    assert (batch + batch.take([1])).unpack() == [*programs, programs[1]]
    with pytest.raises(IndexError, match="program 20 is not in a batch of 20"):
        batch[20]
    with pytest.raises(ValueError, match="positions that are whole numbers"):
        batch.take([0.9, 1.7])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        batch[0.5]  # type: ignore[index]
    with pytest.raises(ValueError, match="at least one program"):
        Batch.pack([])
    with pytest.raises(ValueError, match="one memory"):
        Batch.pack([programs[0], random_program(Memory(observations=2, actions=1), 0)])
    with pytest.raises(ValueError, match="different memories"):
        _ = batch + random_batch(Memory(observations=2, actions=1), 1)


def test_batches_cut_and_joined_at_random_hold_what_lists_would() -> None:
    rng = np.random.default_rng(0)
    first = random_batch(MEMORY, 40)
    batches, lists = [first], [first.unpack()]
    for _ in range(200):
        a, b = rng.integers(0, len(batches), 2)
        chosen = rng.integers(0, len(batches[a]), rng.integers(1, 60))
        batches.append(batches[a].take(chosen) + batches[b])
        lists.append([*(lists[a][i] for i in chosen), *lists[b]])
        if len(lists[-1]) > 200:
            del batches[-1], lists[-1]
    for batch, wanted in zip(batches[-20:], lists[-20:], strict=True):
        assert batch.unpack() == wanted


def test_a_few_programs_do_not_keep_many_in_memory() -> None:
    batch = random_batch(MEMORY, 100)
    assert batch.take(range(50)).core.kept() == 100  # shared
    assert batch.take([7]).core.kept() == 1  # copied
    living = batch
    for _ in range(20):  # as a search does: the older half dies, newcomers enter
        living = (living.take(range(50, 100)) + random_batch(MEMORY, 50)).take(range(100))
        assert living.core.kept() <= 400
    scattered = batch.take([3])
    for _ in range(30):
        scattered = (scattered + random_batch(MEMORY, 100)).take(range(len(scattered) + 1))
        assert scattered.core.kept() <= 4 * len(scattered)


def test_equality_is_of_bits() -> None:
    program = Program.build(MEMORY, [Instruction(OP["scalar_set"], (0,), (0.0,))])
    assert program != Program.build(MEMORY, [Instruction(OP["scalar_set"], (0,), (-0.0,))])
    assert program != Program.build(MEMORY, program.lines(), image=-np.zeros(MEMORY.image_size))
    assert program != "something else"


def test_a_program_cannot_be_changed() -> None:
    program = random_program(MEMORY, 1)
    with pytest.raises(ValueError, match="read-only"):
        program.image[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        program.functions[0]["op"] = 1


def test_save_overwrites_nothing(tmp_path: Path) -> None:
    path = tmp_path / "p.arz"
    program = random_program(MEMORY, 1)
    program.save(path)
    assert Program.load(path) == program
    with pytest.raises(FileExistsError):
        random_program(MEMORY, 2).save(path)
    assert Program.load(path) == program


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"observations": 0, "actions": 1}, "observations must be 1 to 4096, not 0"),
        ({"observations": 1, "actions": 5000}, "actions must be 1 to 4096"),
        ({"observations": 1, "actions": 1, "scalars": 3}, "scalars must be 4 to 64, not 3"),
        ({"observations": 1, "actions": 2, "vectors": 4}, "vectors must be 5 to 64, not 4"),
        ({"observations": 1, "actions": 1, "indices": 65}, "indices must be 0 to 64"),
        ({"observations": 4096, "actions": 1, "matrices": 1}, "at most 524288"),
        ({"observations": 1.5, "actions": 1}, "observations must be a whole number"),
        ({"observations": 2**40, "actions": 1}, "observations must be a whole number"),
        ({"observations": True, "actions": 1}, "observations must be a whole number"),
        ({"observations": 1, "actions": 1, "stateful": 1}, "stateful must be True or False"),
    ],
)
def test_an_impossible_memory_is_refused(settings: dict[str, int], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Memory(**settings)  # type: ignore[arg-type]


def line(name: str, *args: int, constants: tuple[float, ...] = ()) -> Instruction:
    return Instruction(OP[name], args, constants)


CALL = line("call", 0, 0, 0, 0, 0, 1, 2, 3, 0, 1, 0, 1)


@pytest.mark.parametrize(
    ("get_action", "cadfs", "problem"),
    [
        ([line("scalar_add", 0, 1, 4)], [], "GetAction, line 1: register s4 does not exist, the memory has 4 scalars"),
        ([line("vector_add", 3, 0, 0)], [], "register v3 does not exist"),
        ([line("matrix_copy", 0, 1)], [], "register m1 does not exist"),
        ([line("index_copy", 0, 2)], [], "register i2 does not exist"),
        ([line("vector_set_element", 0, 3, constants=(1.0,))], [], "element position 3 is not below the dimension 3"),
        ([line("scalar_set", 0, constants=(np.nan,))], [], "a constant is not finite"),
        ([line("scalar_set", 0, constants=(np.inf,))], [], "a constant is not finite"),
        ([CALL], [], "function f0 does not exist, the program has 0 CADFs"),
        ([], [[line("no_op"), CALL]], "f0, line 2: a CADF cannot call a CADF"),
        ([line("call", 0, 0, 0, 0, 0xFFFF, 1, 2, 3, 0, 1, 0, 1)], [[]], "register s65535 does not exist"),
        ([line("scalar_add", 0xFFFF, 1, 1)], [], "register s65535 does not exist"),
        ([line("scalar_uniform", 0, 0xFFFF, constants=(0.0, 1.0))], [], "random stream 65535 is not below 65535"),
    ],
)
def test_an_instruction_that_names_what_does_not_exist_is_refused(
    get_action: list[Instruction], cadfs: list[list[Instruction]], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        Program.build(MEMORY, get_action, cadfs)


@pytest.mark.parametrize("args", [(5,), (1, 2, 3, 4), (0, 1, 70000), (0, -1, 2)])
def test_an_instruction_of_the_wrong_shape_is_refused(args: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="scalar_add"):
        line("scalar_add", *args)
    with pytest.raises(ValueError, match="scalar_set has 1 arguments and 1 constants, not 1 and 0"):
        line("scalar_set", 0)


def test_wrong_arrays_are_refused() -> None:
    good = pack_code([line("no_op")])
    image = np.zeros(MEMORY.image_size)
    with pytest.raises(ValueError, match="packed instructions"):
        Program(MEMORY, (np.zeros(3),), image)
    with pytest.raises(ValueError, match="expected 22 start values"):
        Program(MEMORY, (good,), image[1:])
    with pytest.raises(ValueError, match="1 to 7 functions"):
        Program(MEMORY, (good,) * 8, image)
    with pytest.raises(ValueError, match="start value is not finite"):
        Program(MEMORY, (good,), image + np.nan)
    bad = good.copy()
    bad["op"] = 200
    with pytest.raises(ValueError, match="op number 200 does not exist"):
        Program(MEMORY, (bad,), image)
    bad = good.copy()
    bad["unused"][0, 1] = 1
    with pytest.raises(ValueError, match="unused field of no_op is not zero"):
        Program(MEMORY, (bad,), image)
    with pytest.raises(ValueError, match="CADFs take two indices"):
        Program(Memory(observations=3, actions=1, scalars=4, vectors=2, indices=1), (good, good), np.zeros(10))


@pytest.mark.parametrize(
    ("lengths", "cadfs", "problem"),
    [
        ([[2, 0, 0, 0, 0, 0, 0]], [0], "do not add up"),
        ([[-1, 2, 0, 0, 0, 0, 0]], [1], "do not add up"),
        ([[0, 0, 0, 0, 0, 0, 0]], [0], "do not add up"),
        ([[0, 1, 0, 0, 0, 0, 0]], [0], "does not have is not empty"),
        ([[1, 0, 0, 0, 0, 0, 0]], [7], "at most 6 CADFs"),
        ([[1, 0, 0, 0, 0, 0]], [0], "lengths of 7 functions"),
        ([[2**62, 2**62, 2**62, 2**62, 1, 0, 0]], [6], "do not add up"),
    ],
)
def test_the_native_boundary_refuses_columns_that_disagree(
    lengths: list[list[int]], cadfs: list[int], problem: str
) -> None:
    code = np.zeros((1, INSTRUCTION.itemsize), np.uint8)
    image = np.zeros((1, MEMORY.image_size))
    with pytest.raises(ValueError, match=problem):
        core.batch(MEMORY.native, code, np.array(lengths), np.array(cadfs, np.uint8), image)


def test_valid_bytes_with_one_field_changed_run_or_are_refused() -> None:
    """No instruction that gets past the boundary can reach outside of the memory."""
    choose = np.random.default_rng(0)
    batch = random_batch(MEMORY, 1500, variation=Variation(max_cadfs=0))
    accepted = 0
    for program in batch.unpack():
        code = program.functions[0].copy()
        place = int(choose.integers(len(code)))
        field = choose.choice(["op", "args", "args", "args"])
        value = int(choose.choice(np.array([choose.integers(0, 8), choose.integers(0, 100), 0xFFFF])))
        if field == "op":
            code["op"][place] = value
        else:
            code["args"][place][int(choose.integers(12))] = value
        try:
            changed = Program(program.memory, (code,), program.image)
        except ValueError:
            continue
        accepted += 1
        seen = tame_observations(MEMORY, 3, 2)
        assert same_bits(execute(changed, seen), machine.execute(changed, seen))
    assert accepted > 20
