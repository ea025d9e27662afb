import json
import subprocess
import sys
from pathlib import Path

import pytest

import arz
from arz.cli import main
from arz.ops import OPS

ARZ = str(Path(sys.executable).parent / "arz")
EXAMPLES = Path(__file__).parent.parent / "examples"


def test_show_prints_the_program_its_simple_form_and_its_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(EXAMPLES / "paper_cartpole.arz")]) == 0
    printed = capsys.readouterr().out
    assert printed.count("def GetAction(obs, action):") == 2
    assert "Cost without dead code: 8 lines, 11 parameters (25 numbers in memory), 25 FLOPs per step." in printed


def test_show_for_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(EXAMPLES / "paper_quadruped.arz"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert arz.Program.parse(shown["program"]) == arz.Program.load(EXAMPLES / "paper_quadruped.arz")
    assert shown["complexity"]["memory"] == 608
    assert shown["guarantees"]["effective"] == str(arz.Guarantee.EXACT)


def test_ops_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(OPS)
    assert lines[0].startswith("OP1   no_op")
    assert "s0 = dot(v1, v2)" in lines[27]
    assert main(["ops", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(OPS)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "No such file or directory"),
        ("memory(observations=1, actions=1)\ndef GetAction(obs, action):\n    s0 = s1 ? s2\n", "line 3: expected"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    tmp_path: Path, content: str | None, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.arz"
    if content is not None:
        path.write_text(content)
    assert main(["show", str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("arz: ")
    assert complaint in printed.err
    assert str(path) in printed.err


def test_show_reads_standard_input() -> None:
    text = (EXAMPLES / "paper_cartpole.arz").read_bytes()
    run = subprocess.run([ARZ, "show", "-"], input=text, capture_output=True, check=True)
    assert b"25 FLOPs per step" in run.stdout
    run = subprocess.run([ARZ, "show", "-"], input=b"\xff", capture_output=True)
    assert (run.returncode, run.stderr) == (
        2,
        b"arz: standard input, line 1: expected text in UTF-8, found other bytes\n",
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", [["ops"], ["show", str(EXAMPLES / "paper_cartpole.arz")]])
def test_a_full_disk_is_one_sentence(command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run([ARZ, *command], stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 2
    assert run.stderr == "arz: [Errno 28] No space left on device\n"


def test_a_reader_that_has_seen_enough_gets_no_complaint() -> None:
    run = subprocess.run(f"{ARZ} ops --markdown | head -1", shell=True, capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("# Operations\n", "")


def test_the_command_is_installed_and_knows_its_version() -> None:
    command = [ARZ, "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"arz {arz.__version__}\n"
