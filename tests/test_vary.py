"""Variation: valid children that differ from their parents, in the proportions asked for, from keys alone."""

from collections.abc import Iterator

import numpy as np
import pytest

from arz import Batch, Memory, MutationWeights, Program, Stream, Variation, crossover, mutate, operator, random_programs
from arz.ops import OPS
from arz.program import NONE
from arz.streams import keys
from arz.vary import MUTATIONS, NO_MUTATION, OPERATORS
from tests.support import CALLING, random_batch

MEMORY = Memory(observations=4, actions=2, scalars=5, vectors=6, matrices=2, indices=3)
QUADRUPED = Memory(observations=37, actions=12)


def only(name: str) -> Variation:
    """Settings under which one mutation alone is drawn."""
    return Variation(weights=MutationWeights(**{other: float(other == name) for other in MUTATIONS}))


def code(program: Program) -> list[list[bytes]]:
    return [[record.tobytes() for record in function] for function in program.functions]


@pytest.mark.parametrize("memory", [MEMORY, QUADRUPED, Memory(1, 1, 4, 2, 0, 0)], ids=["small", "quadruped", "least"])
def test_a_chain_of_a_thousand_mutations_yields_valid_programs(memory: Memory) -> None:
    variation = Variation(max_cadfs=6 if memory.indices >= 2 else 0, op_weights={"call": 10.0})
    chains = 8
    batch = random_programs(memory, keys(0, "start", range(chains)), variation)
    lengths = []
    for step in range(1000):
        parents = batch
        batch, _ = mutate(parents, range(chains), keys(step, "chain", range(chains)), variation)
        if step % 50 == 0:
            programs = batch.unpack()  # refuses invalid ones
            assert all(Program.parse(str(program)) == program for program in programs)
            assert all(child != parent for child, parent in zip(programs, parents.unpack(), strict=True))
            lengths += [len(program.functions[0]) for program in programs]
    assert max(lengths) > 2


def test_every_child_differs_from_its_parent() -> None:
    batch = random_batch(MEMORY, 500)
    for round_ in range(4):
        children, applied = mutate(batch, range(500), keys(round_, "m", range(500)))
        assert not np.any(applied == NO_MUTATION)
        for child, parent in zip(children.unpack(), batch.unpack(), strict=True):
            assert child != parent


def test_frequencies_match_the_papers_weights() -> None:
    """On a program to which each mutation can apply in each function, so that none is drawn again."""
    parent = Program.parse(
        """memory(observations=4, actions=2, scalars=5, vectors=6, matrices=2, indices=3)
def f0(s0, s1, s2, s3, v0, v1, i0, i1):
    v3[1] = 0.5
    s4 = s0 + s1
def GetAction(obs, action):
    v2[2] = 0.25
    if s0 < s1: s4, action, i2 = f0(s0, s1, s2, s3, obs, v2, i0, i1)
"""
    )
    count = 40000
    _, applied = mutate(Batch.pack([parent]), np.zeros(count, np.int64), keys(1, "frequency", range(count)))
    weights = np.array([0.5, 1.0, 1.0, 0.1, 0.5, 0.5, 0.5])
    expected = weights / weights.sum() * count
    found = np.bincount(applied, minlength=7)
    assert np.all(np.abs(found - expected) < 4.5 * np.sqrt(expected)), (found, expected)


def test_the_function_to_change_is_uniform_over_those_present() -> None:
    batch = random_batch(MEMORY, 1, variation=Variation(initial_cadfs=3, length=(5, 5), cadf_length=(5, 5)))
    parent = batch[0]
    count = 8000
    children, _ = mutate(batch, np.zeros(count, np.int64), keys(2, "f", range(count)), only("delete_instruction"))
    changed = np.zeros(parent.cadfs + 1)
    for child in children.unpack():
        changed += [len(a) != len(b) for a, b in zip(child.functions, parent.functions, strict=True)]
    assert changed.sum() == count
    assert np.all(np.abs(changed - count / len(changed)) < 4.5 * np.sqrt(count / len(changed)))


def test_each_mutation_changes_what_it_says() -> None:
    batch = random_batch(MEMORY, 300, variation=Variation(length=(3, 12), initial_cadfs=2, op_weights={"call": 9.0}))
    parents = batch.unpack()
    for name in MUTATIONS[:7]:  # the others have a file of their own
        children, applied = mutate(batch, range(300), keys(3, name, range(300)), only(name))
        happened = 0
        for child, parent, number in zip(children.unpack(), parents, applied.tolist(), strict=True):
            if number == NO_MUTATION:
                assert child == parent
                continue
            assert MUTATIONS[number] == name
            happened += 1
            same_image = np.array_equal(child.image, parent.image)
            assert same_image == (name != "randomize_constants")
            check_change(name, child, parent)
        assert happened > 100, name


def check_change(name: str, child: Program, parent: Program) -> None:
    before, after = code(parent), code(child)
    changed = [f for f in range(len(before)) if before[f] != after[f]]
    if name == "randomize_constants":
        assert changed == []
        touched = np.flatnonzero(child.image != parent.image)
        assert 1 <= len(touched) <= 3  # a fifth of a matrix of 16
        return
    assert len(changed) == 1
    old, new = before[changed[0]], after[changed[0]]
    if name == "insert_instruction":
        assert len(new) == len(old) + 1
        assert any(new[:at] + new[at + 1 :] == old for at in range(len(new)))
    elif name == "delete_instruction":
        assert any(old[:at] + old[at + 1 :] == new for at in range(len(old)))
    elif name == "randomize_function":
        assert sorted(old) == sorted(new)
    else:
        differing = [at for at in range(len(old)) if old[at] != new[at]]
        assert len(old) == len(new)
        assert len(differing) == 1
        was, now = (program.lines(changed[0])[differing[0]] for program in (parent, child))
        if name != "randomize_instruction":
            fields = [a != b for a, b in zip(was.args + was.constants, now.args + now.constants, strict=True)]
            assert was.op == now.op
            assert sum(fields) == 1
            place = fields.index(True)
            is_position = place < len(was.op.slots) and was.op.slots[place] == "d"
            assert is_position == (name == "randomize_dim_indices")


def test_a_constant_changes_by_sign_or_scale_and_zero_gets_a_new_draw() -> None:
    text = (
        "memory(observations=1, actions=1, scalars=4, vectors=2, indices=2)\ndef GetAction(obs, action):\n    s0 = {}\n"
    )
    count = 6000
    for value in (0.5, 0.0):
        batch = Batch.pack([Program.parse(text.format(value))])
        children, _ = mutate(batch, np.zeros(count, np.int64), keys(4, "k", range(count)), only("randomize_parameter"))
        lines = [child.lines()[0] for child in children.unpack()]
        constants = np.array([line.constants[0] for line in lines if line.args == (0,)])
        assert abs(len(constants) - count / 2) < 250
        if value:
            assert abs(np.mean(constants < 0) - 0.1) < 0.03
            scaled = np.log(constants[constants > 0] / value)
            assert abs(scaled.mean()) < 0.1
            assert abs(scaled.std() - 1) < 0.1
        else:
            assert np.all(np.abs(constants) <= 1)
            assert np.all(constants != 0)


def test_noise_on_start_values_has_the_papers_size() -> None:
    batch = Batch.pack([Program.build(QUADRUPED, [])])
    count = 3000
    children, _ = mutate(batch, np.zeros(count, np.int64), keys(5, "n", range(count)), only("randomize_constants"))
    touched = np.array([int(np.sum(child.image != 0)) for child in children.unpack()])
    assert set(touched.tolist()) == {1, 7}  # a scalar, or a fifth of 37 entries of a vector
    noise = np.concatenate([child.image[child.image != 0] for child in children.unpack()])
    assert abs(noise.std() - 0.05) < 0.002


def test_mutations_that_cannot_apply_are_drawn_again_and_if_none_can_the_child_says_so() -> None:
    empty = Batch.pack([Program.build(MEMORY, [])])
    _, applied = mutate(empty, np.zeros(500, np.int64), keys(6, "e", range(500)))
    names = {MUTATIONS[number] for number in applied}
    assert names == {"insert_instruction", "randomize_constants"}
    children, applied = mutate(empty, [0], keys(6, "e", [0]), only("delete_instruction"))
    assert applied.tolist() == [NO_MUTATION]
    assert children[0] == empty[0]


def test_children_come_from_keys_alone() -> None:
    batch = random_batch(MEMORY, 50)
    drawn = keys(7, "same", range(50))
    children = mutate(batch, range(50), drawn)[0].unpack()
    assert mutate(batch, range(50), drawn)[0].unpack() == children
    order = np.random.default_rng(0).permutation(50)
    shuffled = mutate(batch, order, drawn[order])[0].unpack()
    assert shuffled == [children[n] for n in order]
    assert mutate(batch, range(50), keys(8, "same", range(50)))[0].unpack() != children


@pytest.mark.parametrize("count", [1, 31, 500])
def test_threads_make_no_difference(count: int) -> None:
    variation = Variation(max_cadfs=6, initial_cadfs=2, initial_constants=1.0)
    drawn = keys(11, "threads", range(count))
    batch = random_programs(MEMORY, drawn, variation)
    parents = np.random.default_rng(0).permutation(count)
    children, applied = mutate(batch, parents, drawn, variation)
    crossed = crossover(batch, parents, range(count), drawn)
    for threads in (2, 3, 16):
        assert random_programs(MEMORY, drawn, variation, threads=threads).unpack() == batch.unpack()
        others, numbers = mutate(batch, parents, drawn, variation, threads=threads)
        assert others.unpack() == children.unpack()
        assert np.array_equal(numbers, applied)
        assert crossover(batch, parents, range(count), drawn, threads=threads).unpack() == crossed.unpack()
    with pytest.raises(ValueError, match="1 to 1024 threads"):
        mutate(batch, parents, drawn, variation, threads=0)


def test_random_programs_use_every_op_that_fits_and_no_other() -> None:
    batch = random_batch(MEMORY, 1000, variation=Variation(length=(10, 20)))
    used = {line.op.name for program in batch.unpack() for f in range(program.cadfs + 1) for line in program.lines(f)}
    assert used == {op.name for op in OPS}
    flat = random_batch(QUADRUPED, 400, variation=Variation(length=(10, 20), max_cadfs=0))
    used = {line.op.name for program in flat.unpack() for line in program.lines()}
    assert used == {op.name for op in OPS if "m" not in op.slots and not op.is_call}


def test_random_programs_follow_their_settings() -> None:
    variation = Variation(
        length=(3, 6), cadf_length=(2, 2), initial_cadfs=2, initial_constants=0.5, op_weights={"no_op": 0.0}
    )
    programs = random_batch(MEMORY, 300, variation=variation).unpack()
    assert {len(program.functions[0]) for program in programs} == {3, 4, 5, 6}
    assert all(len(body) == 2 for program in programs for body in program.functions[1:])
    assert {program.cadfs for program in programs} >= {2, 3}
    image = np.concatenate([program.image for program in programs])
    assert -0.5 <= image.min() < -0.49
    assert 0.49 < image.max() < 0.5
    assert "no_op" not in str(programs)


def test_calls_create_cadfs_up_to_the_limit() -> None:
    programs = random_batch(
        MEMORY, 300, variation=Variation(length=(30, 30), max_cadfs=3, op_weights={"call": 200.0})
    ).unpack()
    assert {program.cadfs for program in programs} == {3}
    assert all(NONE not in line.args for program in programs for line in program.lines())


def test_a_memory_without_room_for_calls_gets_none() -> None:
    small = Memory(observations=4, actions=1, scalars=9, vectors=4, matrices=0, indices=0)
    assert {
        program.cadfs for program in random_batch(small, 200, variation=Variation(op_weights={"call": 99.0})).unpack()
    } == {0}


@pytest.mark.parametrize("scale", [1e308, 5e-324, 1.0])
def test_weights_of_any_size_are_relative(scale: float) -> None:
    variation = Variation(
        weights=MutationWeights(*[scale] * 7),
        op_weights={op.name: scale for op in OPS},
        length=(10, 10),
        initial_cadfs=1,
    )
    batch = random_batch(MEMORY, 200, variation=variation)
    used = {line.op.name for program in batch.unpack() for line in program.lines()}
    assert used == {op.name for op in OPS}
    _, applied = mutate(batch, range(200), keys(0, "s", range(200)), variation)
    assert set(applied.tolist()) == set(range(7))
    one = Variation(op_weights={op.name: scale * (op.name == "scalar_add") for op in OPS}, length=(5, 5))
    assert {
        line.op.name for program in random_batch(MEMORY, 50, variation=one).unpack() for line in program.lines()
    } == {"scalar_add"}


def test_crossover_swaps_in_one_cadf() -> None:
    batch = random_batch(MEMORY, 40, variation=Variation(initial_cadfs=3, cadf_length=(3, 5), op_weights={"call": 9.0}))
    parents = batch.unpack()
    first, second = list(range(40)), list(range(39, -1, -1))
    children = crossover(batch, first, second, keys(9, "x", range(40))).unpack()
    for child, a, b in zip(children, first, second, strict=True):
        mother, father = code(parents[a]), code(parents[b])
        assert code(child)[0] == mother[0]
        assert np.array_equal(child.image, parents[a].image)
        changed = [f for f in range(len(mother)) if code(child)[f] != mother[f]]
        assert len(changed) <= 1
        assert all(code(child)[f] in father[1:] for f in changed)


def test_crossover_without_cadfs_passes_one_parent_at_random() -> None:
    plain = Variation(max_cadfs=0)
    batch = random_batch(MEMORY, 1, 1, plain) + random_batch(MEMORY, 1, 2, Variation(initial_cadfs=2))
    children = crossover(batch, [0] * 400, [1] * 400, keys(10, "x", range(400))).unpack()
    count = sum(child == batch[0] for child in children)
    assert count + sum(child == batch[1] for child in children) == 400
    assert abs(count - 200) < 60


@pytest.fixture
def negate() -> Iterator[str]:
    """A custom operator, and its removal."""

    @operator("negate_start")
    def negate_start(program: Program, stream: Stream) -> Program | None:
        if not np.any(program.image):
            return None
        return Program(program.memory, program.functions, -program.image * (1 + stream.below(2)))

    yield "negate_start"
    del OPERATORS["negate_start"]


def test_a_custom_operator_plugs_in_by_name(negate: str) -> None:
    variation = Variation(custom={negate: 4.1})
    assert variation.names[len(MUTATIONS)] == negate
    batch = random_batch(MEMORY, 200, variation=CALLING)
    children, applied = mutate(batch, range(200), keys(11, "c", range(200)), variation)
    used = np.flatnonzero(applied == len(MUTATIONS))
    assert 60 < len(used) < 140  # half of the weight
    for n in used.tolist():
        ratio = children[n].image / batch[n].image
        assert np.all((ratio == -1) | (ratio == -2))
    again = mutate(batch, range(200), keys(11, "c", range(200)), variation)[0]
    assert again.unpack() == children.unpack()
    zero = Batch.pack([Program.build(MEMORY, [])])
    children, applied = mutate(zero, [0] * 50, keys(12, "c", range(50)), variation)
    assert 7 not in applied  # it cannot apply there
    assert all(child != zero[0] for child in children.unpack())


def test_an_operator_must_return_a_program_of_the_same_memory() -> None:
    results: list[object] = [5, Program.build(Memory(1, 1), [])]
    operator("wrong")(lambda program, stream: results[0])  # type: ignore[arg-type,return-value]
    try:
        for _ in range(2):
            with pytest.raises(ValueError, match="operator 'wrong' must return None or a program of the same memory"):
                mutate(random_batch(MEMORY, 1), [0], keys(0, "x", [0]), Variation(custom={"wrong": 1e9}))
            results.pop(0)
    finally:
        del OPERATORS["wrong"]


def test_an_operator_that_never_applies_leaves_a_copy() -> None:
    operator("never")(lambda program, stream: None)
    variation = Variation(weights=MutationWeights(*[0.0] * 7), custom={"never": 1.0})
    try:
        children, applied = mutate(random_batch(MEMORY, 1), [0], keys(0, "x", [0]), variation)
    finally:
        del OPERATORS["never"]
    assert applied.tolist() == [NO_MUTATION]
    assert children[0] == random_batch(MEMORY, 1)[0]


def test_an_operator_must_be_there_when_it_is_used(negate: str) -> None:
    unknown = Variation(custom={"negate_stat": 1.0})
    assert unknown.names[-1] == "negate_stat"
    with pytest.raises(ValueError, match=r"no operator called 'negate_stat'. Did you mean 'negate_start'\?"):
        mutate(random_batch(MEMORY, 1), [0], keys(0, "x", [0]), unknown)


def test_wrong_settings_get_a_sentence(negate: str) -> None:
    for settings, problem in [
        ({"op_weights": {"scalar_ad": 1.0}}, "no op called 'scalar_ad'. Did you mean 'scalar_add'?"),
        ({"op_weights": {"scalar_add": -1.0}}, "an op weight must be a number of 0 or more"),
        ({"weights": MutationWeights(*[0.0] * 7)}, "at least one mutation weight must be above 0"),
        ({"weights": MutationWeights(insert_instruction=float("nan"))}, "a mutation weight must be a number"),
        ({"sigma": -1.0}, "sigma must be 0 or more"),
        ({"fraction": 2.0}, "fraction must lie in 0 to 1"),
        ({"max_cadfs": 7}, "max_cadfs must be 0 to 6"),
        ({"max_cadfs": 1, "initial_cadfs": 2}, "initial_cadfs must be 0 to max_cadfs"),
        ({"length": (5, 2)}, "the smaller number first"),
        ({"length": (5, 2, 3)}, "length must be two numbers"),
    ]:
        with pytest.raises(ValueError, match=problem.replace("?", "\\?")):
            Variation(**settings)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="already a mutation called 'negate_start'"):
        operator(negate)
    with pytest.raises(ValueError, match="no op of positive weight fits"):
        random_batch(MEMORY, 1, variation=Variation(op_weights={op.name: 0.0 for op in OPS}))
    with pytest.raises(ValueError, match="indices must be 2"):
        random_batch(Memory(1, 1, 4, 2, 0, 0), 1, variation=Variation(initial_cadfs=1))
    with pytest.raises(ValueError, match="positions that are whole numbers"):
        mutate(random_batch(MEMORY, 1), [0.2], keys(0, "x", [0]))  # type: ignore[list-item]
    with pytest.raises(ValueError, match="policy 5 is not in a batch of 1"):
        mutate(random_batch(MEMORY, 1), [5], keys(0, "x", [0]))
    with pytest.raises(ValueError, match="one key for each of 2 children"):
        mutate(random_batch(MEMORY, 1), [0, 0], keys(0, "x", [0]))
