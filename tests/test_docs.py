"""What README and docs show is what happens."""

import doctest
import re
import tomllib
from pathlib import Path

import pytest

import arz
from arz.cli import main
from arz.listing import ops_markdown

ROOT = Path(__file__).parent.parent


def test_readmes_python_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    text = "\n".join(re.sub(r"^$", "<BLANKLINE>", block.rstrip(), flags=re.M) + "\n" for block in blocks)
    session = doctest.DocTestParser().get_doctest(text, {}, "README.md", "README.md", 0)
    assert len(session.examples) > 10
    printed: list[str] = []
    result = doctest.DocTestRunner().run(session, out=printed.append)
    assert result.failed == 0, "".join(printed)


def test_readmes_console_sessions(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    sessions = re.findall(r"```console\n\$ (.*?)\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    assert sessions
    for command, expected in sessions:
        assert main(command.removeprefix(".venv/bin/arz ").split()) == 0
        printed = capsys.readouterr().out
        for part in expected.split("...\n"):
            assert part in printed


def test_the_page_of_operations_is_current() -> None:
    assert (ROOT / "docs" / "ops.md").read_text() == ops_markdown()


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
        "results/README.md",
    ],
)
def test_links_and_named_files_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("http")]
    named = re.findall(r"`((?:src|docs|tests|native|bench|examples|results)/[\w./]+)`", text)
    for name in links:
        assert ((ROOT / page).parent / name).exists(), name
    for name in named:
        assert (ROOT / name).exists(), name


def test_files_that_sources_name_exist() -> None:
    sources = [path for folder in ("src", "native", "bench") for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in sources:
        if path.suffix in (".py", ".hpp", ".cpp", ".arz"):
            for name in re.findall(
                r"\b(?:src|docs|tests|native|bench|examples)/[\w/]+\.(?:py|hpp|cpp|arz|md)\b", path.read_text()
            ):
                assert (ROOT / name).exists(), f"{path}: {name}"


def test_the_citation_names_this_version() -> None:
    assert f"version: {arz.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_what_a_distribution_leaves_out_is_named_from_the_root() -> None:
    """A bare name would leave out folders of that name inside the package, too."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    assert all(pattern.startswith("/") for pattern in settings["sdist"]["exclude"])
