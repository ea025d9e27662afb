import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import arz
from arz.cli import main
from arz.ops import OPS
from arz.runs import config
from tests.runs_support import ARZ, arz_here, content, small_options

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
    for command in ([ARZ], [sys.executable, "-m", "arz"]):
        run = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert run.stdout == f"arz {arz.__version__}\n"


# ---- runs ----


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "run"
    done = arz_here("evolve", "cartpole-regularized", *small_options(), "--output", str(folder))
    assert done.returncode == 0, done.stderr
    assert "def GetAction(obs, action):" in done.stdout
    assert "Mean return over 100 test episodes" in done.stdout
    assert "track_angle" in done.stdout
    assert done.stderr.startswith(
        f"{folder}: all, continuous; seed 1; budget 6k evaluations. Ctrl-C stops and saves.\n"
    )
    assert done.stderr.splitlines()[-1].startswith("Ended: the budget is spent, after")
    return folder


def test_evolve_leaves_a_run_with_its_figures(run: Path) -> None:
    assert sorted(path.name for path in run.iterdir()) == ["progress.png", "run.sqlite", "test.png"]
    for name in ("progress.png", "test.png"):
        assert (run / name).read_bytes().startswith(b"\x89PNG")


def test_evolve_for_scripts_prints_json_and_nothing_else(tmp_path: Path) -> None:
    where = ["--output", str(tmp_path / "run"), "--seed", "7", "--no-stateful", "--change", "sudden"]
    done = arz_here("evolve", "cartpole-regularized", *small_options("1000"), *where, "--json", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["seed"], found["evaluations"], found["ended"], found["task"]) == (7, 1000, "budget", "all, sudden")
    assert len(found["tests"]) == 10
    with arz.Run.open(tmp_path / "run") as made:
        assert made.config.memory.stateful is False
        assert made.config == config.override(made.config, {})


def help_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as end:
        main([*words, "--help"])
    assert end.value.code == 0
    return capsys.readouterr().out


def test_every_field_of_a_configuration_is_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    printed = "".join(help_of(capsys, "evolve", name) for name in config.preset_names())
    printed += help_of(capsys, "train", "ars", "--policy", "mlp")
    for name in config.field_paths():
        assert re.search(rf"--{name.replace('_', '-')}[ ,]", printed), name


@pytest.mark.parametrize(
    ("words", "shown", "hidden"),
    [
        (["evolve", "quadruped-nsga2"], r"--population VALUE [^\[]*\[300\]", "--x-limit"),
        (["evolve", "cartpole-regularized"], r"--population VALUE [^\[]*\[200\]", "--contact-iterations"),
        (["evolve", "--env", "Pendulum-v1"], r"--restart-after VALUE [^\[]*\[4000\]", "--contact-iterations"),
        (["train", "ars", "--task", "quadruped"], "--contact-iterations", "--x-limit"),
        (["sweep", "quadruped-nsga2"], r"--population VALUE [^\[]*\[300\]", "--x-limit"),
    ],
)
def test_help_shows_the_values_of_the_preset(
    capsys: pytest.CaptureFixture[str], words: list[str], shown: str, hidden: str
) -> None:
    printed = " ".join(help_of(capsys, *words).split())
    assert re.search(shown, printed)
    assert hidden not in printed


def test_every_preset_says_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    printed = " ".join(help_of(capsys, "evolve").split())
    pages = "".join(page.read_text() for page in (Path(__file__).parent.parent / "docs").glob("*.md"))
    for name in config.preset_names():
        about = config.preset_about(name)
        assert about.endswith(".")
        assert f"{name} {about}" in printed
        assert f"`{name}`" in pages


def test_new_runs_get_the_next_free_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        assert main(["evolve", "cartpole-regularized", *small_options("400"), "--quiet", "--no-test"]) == 0
        assert (tmp_path / "runs" / f"cartpole-regularized-00{number}" / "run.sqlite").exists()


def test_runs_lists_them(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", str(run.parent)]) == 0
    printed = capsys.readouterr().out
    assert str(run.name) in printed
    assert "finished" in printed
    assert main(["runs", str(run), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["evaluations"], found["status"]) == (6000, "budget")
    assert found["test"] > 20


def test_show_tells_of_a_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(run)]) == 0
    printed = capsys.readouterr().out
    assert "all, continuous, seed 1, finished after 6,000 evaluations" in printed
    assert "# Test, continuous, all:" in printed
    assert main(["show", str(run), "--config"]) == 0
    assert config.parse(capsys.readouterr().out).search.population == 40
    assert main(["show", str(run), "--program"]) == 0
    with arz.Run.open(run) as made:
        assert arz.Program.parse(capsys.readouterr().out) == made.champion
    assert main(["show", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["run"]["seed"] == 1
    assert len(found["tests"]) == 10


def test_test_takes_runs_and_files(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paper = str(EXAMPLES / "paper_cartpole.arz")
    assert main(["test", paper, "--episodes", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    scores = {(row["change"], row["task"]): row["mean"] for row in found["tests"]}
    assert scores["sudden", "all"] > 960
    assert main(["test", paper, "--episodes", "20", "--partial-observability", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tests"][4]["mean"] != scores["sudden", "all"]
    figure = tmp_path / "test.svg"
    assert main(["test", str(run), "--episodes", "5", "--figure", str(figure)]) == 0
    assert figure.read_text().startswith("<?xml")
    assert main(["test", str(run), "--episodes", "5", "--figure", str(figure)]) == 2
    assert "nothing is overwritten" in capsys.readouterr().err


def test_plot_and_replay_draw(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", str(run), "--output", str(tmp_path / "p.png")]) == 0
    assert (tmp_path / "p.png").stat().st_size > 10_000
    paper = str(EXAMPLES / "paper_cartpole.arz")
    film = tmp_path / "film.gif"
    assert main(["replay", paper, "--output", str(film), "--episode", "3", "--change", "sudden", "--every", "20"]) == 0
    assert film.read_bytes().startswith(b"GIF8")
    assert film.with_suffix(".png").exists()
    assert "The episode lasted to its end." in capsys.readouterr().out
    assert main(["replay", paper, "--output", str(film)]) == 2
    assert "nothing is overwritten" in capsys.readouterr().err


def test_resume_extends_and_says_so(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "longer"
    folder.mkdir()
    (folder / "run.sqlite").write_bytes((run / "run.sqlite").read_bytes())
    assert main(["resume", str(folder), "--budget", "7k", "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evaluations"] >= 7000
    assert len(content(folder)["metrics"]) > len(content(run)["metrics"])


def test_tensorboard_gets_the_metrics(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert (
        main(
            [
                "evolve",
                "cartpole-regularized",
                *small_options("1000"),
                "--output",
                str(folder),
                "--quiet",
                "--no-test",
                "--tensorboard",
            ]
        )
        == 0
    )
    (log,) = (folder / "tensorboard").iterdir()
    assert b"champion_score" in log.read_bytes()
    assert b"mean_fitness" in log.read_bytes()


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["evolve", "cartpol"], "there is no preset 'cartpol'"),
        (["evolve", "none.toml"], "none.toml: No such file or directory"),
        (["evolve", "cartpole-regularized", "--popluation", "3"], "there is no option or argument --popluation here. Did you mean '--population'?"),
        (["evolve", "cartpole-regularized", "--population", "many"], "search.population must be a whole number, not 'many'"),
        (["evolve", "cartpole-regularized", "--population", "1"], "population must be a whole number of at least 2, not 1"),
        (["evolve", "cartpole-regularized", "--change", "suddn"], "Did you mean 'sudden'?"),
        (["evolve", "cartpole-regularized", "--budget", "forever"], "a budget is a number of evaluations"),
        (["evolve", "cartpole-regularized", "--seed", "-1"], "a seed is a whole number from 0"),
        (["evolve", "cartpole-regularized", "--threads", "0", "--quiet", "--budget", "10"], "expected 1 to 1024 threads, got 0"),
        (["evolve", "cartpole-regularized", "--cache", "2147483647"], "cache must be at most"),
        (["evolve", "cartpole-regularized", "--tournament", "2147483647"], "tournament must be at most 1000000, not 2147483647: the most that live on an island"),
        (["evolve", "cartpole-regularized", "--length", "ab"], "length must be two numbers"),
        (["evolve", "cartpole-regularized", "--length", "[1.5, 2]"], "length must be two numbers"),
        (["evolve", "cartpole-regularized", "--op-weights", "{scalar_add = 'x'}"], "the weight of op scalar_add must be a number, not 'x'"),
        (["evolve", "cartpole-regularized", "--max-cadfs", "1e30"], "max_cadfs must be a whole number"),
        (["evolve", "cartpole-regularized", "--save-every", "nan"], "--save-every must be a number of seconds"),
        (["test", str(EXAMPLES / "paper_cartpole.arz"), "--seed", "18446744073709551615"], "--seed must be 0 or more"),
        (["test", str(EXAMPLES / "paper_cartpole.arz"), "--episodes", "1000000000000"], "--episodes must be 1 to 1000000"),
        (["replay", str(EXAMPLES / "paper_cartpole.arz"), "--every", "99999999999999999"], "--every must be 1 to 1000"),
        (["resume", "nowhere"], "there is no run nowhere"),
        (["resume", "x.arz"], "x.arz is a program, not a run"),
        (["runs", "nowhere"], "there is no folder nowhere"),
        (["show", "."], ". is not a run"),
        (["test", "nowhere.arz"], "nowhere.arz: No such file or directory"),
        (["test", "x.arz", "--episodes", "0"], "--episodes must be 1 to 1000000"),
        (["plot", "nowhere"], "there is no run nowhere"),
        (["replay", str(EXAMPLES / "paper_cartpole.arz"), "--change", "suddenly"], "change must be one of none, sudden, continuous"),
        (["dance"], "there is no command 'dance'"),
        ([], "required: COMMAND"),
    ],
)  # fmt: skip
def test_mistakes_with_runs_are_one_sentence(
    command: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code = main(command)
    except SystemExit as end:
        code = int(end.code or 0)
    printed = capsys.readouterr()
    assert code == 2
    assert complaint in printed.err
    assert printed.err.startswith("arz: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert list(tmp_path.iterdir()) == []


def test_names_of_files_are_not_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paper = (EXAMPLES / "paper_cartpole.arz").read_text()
    for name in ("p[bold].arz", "q[", "a$_$b.arz", "{x}.arz"):
        (tmp_path / name).write_text(paper)
        assert main(["test", str(tmp_path / name), "--episodes", "2", "--figure", str(tmp_path / f"{name}.png")]) == 0
        assert name in capsys.readouterr().out
    folder = tmp_path / "runs" / "[x]{y}"
    assert main(["evolve", "cartpole-regularized", *small_options("400"), "--output", str(folder), "--no-test"]) == 0
    capsys.readouterr()
    assert main(["runs", str(tmp_path / "runs")]) == 0
    assert "[x]{y}" in capsys.readouterr().out


def test_a_film_of_an_episode_far_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paper = str(EXAMPLES / "paper_cartpole.arz")
    assert (
        main(["replay", paper, "--episode", "1000000000000", "--every", "100", "--output", str(tmp_path / "f.gif")])
        == 0
    )
    assert "Return" in capsys.readouterr().out
