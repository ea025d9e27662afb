"""Exports: their actions are the interpreter's, bit for bit, on random programs and on whole episodes of champions."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import arz
from arz import Memory, Program, Variation, elementary, machine
from arz.cli import main
from arz.commands.export import TARGETS
from arz.episode import run_episode
from arz.export.c import memory_bytes, stack_bytes, to_c
from arz.export.exported_program import MOST_STEPS, TAKEN_AS_IT_IS, Exported
from arz.export.python import to_python
from arz.network import Architecture
from arz.ops import OP, OPS
from arz.program import Instruction, last_written
from tests.support import SPECIAL, Draw, blank_batch, long_programs, random_batch, same_bits, tame_observations
from tests.test_interpreter import FILLING, SMALL, WITH_OUTPUT, any_line

ROOT = Path(__file__).parent.parent
COMPILER = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
STRICT = ("-std=c99", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror", "-pedantic")
SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
MEMORIES = [
    Memory(4, 1, scalars=6, vectors=5, matrices=0, indices=3),
    Memory(3, 5, scalars=7, vectors=6, matrices=2, indices=4),
    Memory(5, 2, scalars=5, vectors=7, matrices=3, indices=2),
    Memory(2, 1, scalars=5, vectors=6, matrices=2, indices=3, stateful=False),
]
MATRICES = Variation(
    length=(15, 40),
    cadf_length=(0, 8),
    initial_constants=1.0,
    op_weights={"call": 25.0, **{op.name: 6.0 for op in OPS if "m" in op.slots}},
)
"""Programs that work on matrices."""
DRIVER = """
#include <stdio.h>
#include "policy.h"
int main(void) {
  static arz_policy policy;
  double observation[ARZ_OBSERVATIONS], action[ARZ_ACTIONS];
  arz_reset(&policy, UINT64_C(KEY));
  while (fread(observation, sizeof observation, 1, stdin) == 1) {
    arz_step(&policy, observation, action);
    if (fwrite(action, sizeof action, 1, stdout) != 1) return 1;
  }
  fprintf(stderr, "%lu", (unsigned long)sizeof policy);
  return 0;
}
"""


KINDS = len(MEMORIES) + 1


@cache
def random_cases(kind: int) -> list[tuple[Program, NDArray[np.float64]]]:
    """Random programs with CADFs, of one of the memories or many matrices, and observations with hostile numbers."""
    count, matrices = 50, kind == len(MEMORIES)
    memory = MEMORIES[1 if matrices else kind]
    batch = random_batch(memory, count, 9, MATRICES) if matrices else blank_batch(memory, count, kind)
    seen = tame_observations(memory, steps=24, lanes=count, seed=kind)
    return [(program, seen[:, lane]) for lane, program in enumerate(batch.unpack())]


def all_cases() -> list[tuple[Program, NDArray[np.float64]]]:
    return [case for kind in range(KINDS) for case in random_cases(kind)]


@cache
def random_headers(kind: int) -> list[str]:
    """The cases in C, with vectors that are the reference's."""
    made = []
    for number, (program, seen) in enumerate(random_cases(kind)):
        expected = machine.execute(program, seen[:, None], keys=[12345])[:, 0]
        assert same_bits(Exported.of(program, "x", seen).actions, expected)
        made.append(to_c(program, name=f"p{number}", observations=seen))
    return made


def module(text: str) -> ModuleType:
    made = ModuleType("exported")
    exec(compile(text, "exported.py", "exec"), made.__dict__)
    return made


def compiled(folder: Path, source: str, *flags: str) -> Path:
    assert COMPILER is not None
    (folder / "main.c").write_text(source)
    command = [COMPILER, *STRICT, *flags, "main.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "main"


def run_c(folder: Path, program: Program, observations: NDArray[np.float64], key: int = 0) -> tuple[Any, int]:
    """Actions of the C export, and the size of its policy."""
    (folder / "policy.h").write_text(to_c(program))
    made = compiled(folder, DRIVER.replace("KEY", str(key)), "-O2")
    done = subprocess.run([made], input=np.ascontiguousarray(observations).tobytes(), capture_output=True, check=True)
    actions = np.frombuffer(done.stdout).reshape(len(observations), program.memory.actions)
    return actions, int(done.stderr)


def check_in_c(folder: Path, headers: list[str], flags: tuple[str, ...]) -> None:
    """Exports called p0, p1, ... must give the actions of their vectors."""
    calls, source = "", "#include <stdio.h>\n"
    for n, text in enumerate(headers):
        (folder / f"p{n}.h").write_text(text)
        source += f'#define P{n}_SELF_CHECK\n#include "p{n}.h"\n'
        calls += f'  if (p{n}_self_check()) {{ printf("p{n}\\n"); wrong = 1; }}\n'
    made = compiled(folder, f"{source}int main(void) {{\n  int wrong = 0;\n{calls}  return wrong;\n}}\n", *flags)
    done = subprocess.run([made], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")


@needs_compiler
@pytest.mark.parametrize("kind", range(KINDS))
@pytest.mark.parametrize("flags", [SANITIZED, ("-O3",)], ids=["sanitized", "optimised"])
def test_random_programs_in_c_are_the_interpreter_bit_for_bit(
    tmp_path: Path, flags: tuple[str, ...], kind: int
) -> None:
    check_in_c(tmp_path, random_headers(kind), flags)


def exposed(kind: str, register: int, n: int) -> Instruction:
    """The line that makes a register, or an element of it, the action."""
    if kind == "s":
        return Instruction(OP["scalar_scale"], (3, register), (1.0,))
    if kind == "i":
        return Instruction(OP["vector_element"], (3, 2, register))
    place = (n,) if kind == "v" else (n, 1 - n)
    return Instruction(OP["vector_element" if kind == "v" else "matrix_element"], (3, register, *place))


PER_EXPORTED_OP = 4


def op_headers() -> list[str]:
    """Every op on hostile numbers, in C, with vectors that are the reference's; what exports in Python do is compared."""
    made: list[str] = []
    for op in WITH_OUTPUT:
        for number in range(PER_EXPORTED_OP):
            draw = Draw(f"export {op.name}", number)
            line = any_line(op, draw)
            lines = [*FILLING.lines(), line, exposed(op.outputs[0], line.args[0], number % 2)]
            program, seen = Program.build(SMALL, lines), draw.observations(SMALL, 24, 1)[:, 0]
            expected = machine.execute(program, seen[:, None], keys=[12345])[:, 0]
            assert same_bits(Exported.of(program, "x", seen).actions, expected), op.name
            assert module(to_python(program, observations=seen)).self_check(), op.name
            made.append(to_c(program, name=f"p{len(made)}", observations=seen))
    return made


@needs_compiler
def test_every_op_in_c_and_python_is_the_reference_on_hostile_numbers(tmp_path: Path) -> None:
    check_in_c(tmp_path, op_headers(), ("-O1",))


@pytest.mark.parametrize("kind", range(KINDS))
def test_random_programs_in_python_are_the_interpreter_bit_for_bit(kind: int) -> None:
    for program, seen in random_cases(kind):
        made = module(to_python(program, observations=seen))
        assert made.self_check()
        policy = made.Policy()
        for key in (7, 8):  # a second episode begins as the first did
            policy.reset(key)
            found = np.array([policy.step(row) for row in seen])
            assert same_bits(found, machine.execute(program, seen[:, None], keys=[key])[:, 0])


def test_the_random_programs_use_every_op() -> None:
    """Guards the tests above."""
    exported = [Exported.of(program, "x", seen) for program, seen in all_cases()]
    used = {line.op.name for each in exported for lines in each.code for line in lines}
    assert {op.name for op in OPS if op.outputs} - used == set()
    assert sum(stack_bytes(each) > 0 for each in exported) > 10
    assert any(each.draws for each in exported)


@needs_compiler
@pytest.mark.parametrize("name", sorted(["sin", "cos", "tan", "arcsin", "arccos", "arctan", "exp", "log", "power"]))
def test_elementary_functions_in_c_are_the_reference_bit_for_bit(name: str, tmp_path: Path) -> None:
    draws = np.random.default_rng(1)
    size = 2500
    x = np.concatenate(
        [
            draws.normal(size=size),
            np.exp(draws.uniform(-700, 700, size)) * draws.choice([-1, 1], size),
            draws.integers(-60, 60, size).astype(float),
            np.pi / 2 * draws.integers(-(2**40), 2**40, size),
            np.array(SPECIAL),
        ]
    )
    y = np.concatenate([draws.permutation(x), x[:1]])[: len(x)]
    call = "power(v0, v2)" if name == "power" else None
    body = (
        f"    v0 = obs\n    i1 = len(obs) - 1\n    s1 = v0[i1]\n    v2 = bcast(s1)\n    v0 = {call}\n    action = v0[i0]\n"
        if call
        else f"    s0 = obs[i0]\n    action = {name}(s0)\n"
    )
    head = "memory(observations=2, actions=1, scalars=4, vectors=3, matrices=0, indices=2)\n"
    program = Program.parse(f"{head}def GetAction(obs, action):\n{body}")
    found, _ = run_c(tmp_path, program, np.stack([x, y], axis=1))
    function = getattr(elementary, name)
    expected = [function(a, b) if call else function(a) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert same_bits(found[:, 0], expected)


CHAMPIONS = [
    ("examples/paper_cartpole.arz", arz.Cartpole(change="sudden", parameters=("force", "damping", "track_angle"))),
    ("results/cartpole/champions/continuous-2.arz", arz.Cartpole(change="continuous")),
    ("results/quadruped/champions/reflexes-2.arz", arz.Quadruped(leg="FR", contact_iterations=5)),
    ("results/quadruped/champions/default-1.arz", arz.Quadruped(leg="RL", contact_iterations=5)),
    ("examples/paper_quadruped.arz", arz.Quadruped()),
]


@needs_compiler
@pytest.mark.parametrize(("path", "task"), CHAMPIONS)
def test_champions_agree_over_whole_episodes(path: str, task: Any, tmp_path: Path) -> None:
    program = Program.load(ROOT / path)
    key = int(arz.fresh_episodes(1)[0])
    episode = run_episode(program, task, key)
    found, size = run_c(tmp_path, program, episode.observations, key)
    assert same_bits(found, episode.actions)
    made = Exported.of(program, "arz", None)
    assert size == memory_bytes(made)
    assert f"Memory: {size} bytes" in (tmp_path / "policy.h").read_text()
    policy = module(to_python(program)).Policy()
    policy.reset(key)
    few = slice(0, 40 if task.observations == 37 else None)
    assert same_bits([policy.step(row) for row in episode.observations[few]], episode.actions[few])


@needs_compiler
def test_the_self_checks_notice_a_wrong_number(tmp_path: Path) -> None:
    program = Program.load(ROOT / "examples" / "paper_cartpole.arz")
    for language, text in (("c", to_c(program)), ("py", to_python(program))):
        broken = text.replace("-5.284", "-5.2840000000000007", 1)
        assert broken != text
        path = tmp_path / f"policy.{language}"
        path.write_text(broken)
        if language == "c":
            made = compiled(tmp_path, broken, "-DARZ_MAIN")
            done = subprocess.run([made], capture_output=True, text=True)
            assert "steps differ from those of arz" in done.stdout
        else:
            done = subprocess.run([sys.executable, path], capture_output=True, text=True)
            assert "the actions are not those of arz" in done.stderr
        assert done.returncode == 1


@needs_compiler
def test_two_policies_go_into_one_program(tmp_path: Path) -> None:
    for name in ("left", "right"):
        (tmp_path / f"{name}.h").write_text(to_c(Program.load(ROOT / "examples" / "paper_cartpole.arz"), name=name))
    source = """#include "left.h"
#include "right.h"
int main(void) {
  static left_policy a;
  static right_policy b;
  left_reset(&a, 0);
  right_reset(&b, 0);
  return (int)LEFT_DIM - (int)RIGHT_DIM;
}
"""
    assert subprocess.run([compiled(tmp_path, source)]).returncode == 0


@needs_compiler
def test_the_command_writes_files_that_check_themselves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(ROOT / "examples" / "paper_cartpole.arz")
    for language, name in (("c", "policy.h"), ("python", "policy.py")):
        path = tmp_path / name
        assert main(["export", source, "--to", language, "--output", str(path), "--name", "pole"]) == 0
        said = capsys.readouterr().out
        command = said.split("Check it: ")[1].strip()
        command = command.replace("-o check && ./check", f"-o {tmp_path}/check && {tmp_path}/check")
        done = subprocess.run(re.sub(r"^python", sys.executable, command), shell=True, capture_output=True, text=True)
        assert done.stdout == f"pole: {MOST_STEPS} steps equal those of arz bit for bit\n"
        text = path.read_text()
        assert "actions are clipped to -1 ... 1." in text
        if language == "c":  # what stands in the file is right too
            (own,) = re.findall(r"cc -std.*check", text)
            assert own == "cc -std=c99 -ffp-contract=off -DPOLE_MAIN -x c FILE -lm -o check && ./check"
        assert main(["export", source, "--to", language, "--output", str(path)]) == 2
        assert "exists already" in capsys.readouterr().err
    assert main(["export", source, "--to", "c"]) == 0
    assert "arz_step" in capsys.readouterr().out


def test_what_cannot_be_exported_gets_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shape = Architecture("mlp", 4, 1, (3, 3))
    (tmp_path / "network.arz").write_text(str(arz.Network(shape, np.zeros(shape.size))))
    assert main(["export", str(tmp_path / "network.arz"), "--to", "c"]) == 2
    assert "is a network, and only programs can be exported" in capsys.readouterr().err
    program = str(ROOT / "examples" / "paper_cartpole.arz")
    assert main(["export", program, "--to", "c", "--name", "my-policy"]) == 2
    assert "letters, digits and _" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"expected observations \[step, 4\]"):
        to_c(Program.load(program), observations=np.zeros((3, 5)))


def test_text_from_a_file_never_becomes_code(tmp_path: Path) -> None:
    """All that reaches an export from a program is numbers and the op table's own texts."""
    program = Program.load(ROOT / "examples" / "paper_quadruped.arz")
    for text in (to_c(program), to_python(program)):
        assert "obs" in text
        assert not re.search(r"\b(eval|exec|system|__import__)\b", text)


HOSTILE = [
    "a*/int x;/*",
    'a""" + exit() + """',
    "a\nb",
    "a\n",
    "a\\",
    'a"b',
    "a'b",
    "a`b`",
    "a<b>",
    "\x1b[2J",
    "a b",
    "",
    "1a",
    "a" * 64,
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_cannot_break_out_of_comments_and_strings(name: str) -> None:
    program = Program.load(ROOT / "examples" / "paper_cartpole.arz")
    for make in (to_c, to_python):
        with pytest.raises(ValueError, match="the name of an export is letters, digits and _"):
            make(program, name=name)
    with pytest.raises(ValueError, match="the name of an export is letters, digits and _"):
        Exported(program, name, np.zeros((1, 4)), TAKEN_AS_IT_IS)


@pytest.mark.parametrize("name", ["p*", 'p"""q', "p\nq", "p'; rm -rf x; '", "p\x1b[2J", "*"])
@pytest.mark.parametrize("language", TARGETS)
def test_names_of_files_do_not_get_into_an_export(
    name: str, language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are a stranger's, and would be compiled or run by whoever takes the export."""
    program = (ROOT / "examples" / "paper_cartpole.arz").read_text()
    (tmp_path / "plain.arz").write_text(program)
    (tmp_path / f"{name}.arz").write_text(program)
    made = []
    for source in ("plain", name):
        assert main(["export", str(tmp_path / f"{source}.arz"), "--to", language]) == 0
        made.append(capsys.readouterr().out)
    assert made[0] == made[1]
    path = tmp_path / f"{name}.out"
    assert main(["export", str(tmp_path / "plain.arz"), "--to", language, "--output", str(path)]) == 0
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "\x1b" not in said
    if name.isprintable():
        assert str(path) in shlex.split(said.split("Check it: ")[1])  # what is to be typed is about this file alone


def test_many_calls_are_exported_without_reading_their_function_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program.parse(long_programs(400)["functions"])
    read: list[int] = []

    def counted(lines: Iterable[Instruction]) -> tuple[int, int, int]:
        read.append(1)
        return last_written(lines)

    monkeypatch.setattr("arz.export.exported_program.last_written", counted)
    monkeypatch.setattr("arz.program.last_written", counted)
    assert to_c(program).count("if (") >= 150
    assert len(read) <= len(program.functions)
