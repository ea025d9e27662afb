"""What README and docs show is what happens."""

import doctest
import os
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import arz
from arz.cli import main
from arz.listing import ops_markdown

ROOT = Path(__file__).parent.parent


PAGES = [
    str(path.relative_to(ROOT))
    for path in (
        *sorted(ROOT.glob("*.md")),
        *(path for folder in ("docs", "results") for path in sorted((ROOT / folder).rglob("*.md"))),
    )
]


def pages_with(mark: str) -> list[str]:
    return [page for page in PAGES if mark in (ROOT / page).read_text()]


def test_pages_with_sessions() -> None:
    assert pages_with("\n>>> ") == ["README.md", "docs/python.md"]
    assert pages_with("```console\n") == ["docs/cartpole.md", "docs/machine.md"]


@pytest.mark.parametrize(("page", "least"), [("README.md", 6), ("docs/python.md", 20)])
def test_python_sessions(page: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.S)
    text = "\n".join(re.sub(r"^$", "<BLANKLINE>", block.rstrip(), flags=re.M) + "\n" for block in blocks)
    session = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    assert len(session.examples) >= least
    printed: list[str] = []
    result = doctest.DocTestRunner().run(session, out=printed.append)
    assert result.failed == 0, "".join(printed)


@pytest.mark.parametrize("page", ["docs/cartpole.md", "docs/machine.md"])
def test_console_sessions(page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    sessions = re.findall(r"```console\n\$ (.*?)\n(.*?)```", (ROOT / page).read_text(), flags=re.S)
    assert sessions
    for command, expected in sessions:
        assert main(command.removeprefix(".venv/bin/arz ").split()) == 0
        printed = capsys.readouterr().out
        for part in expected.split("...\n"):
            assert part in printed


def test_the_page_of_operations_is_current() -> None:
    assert (ROOT / "docs" / "ops.md").read_text() == ops_markdown()


def without_code(text: str) -> str:
    return re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.S | re.M)


def anchors(page: Path) -> set[str]:
    """What links may name of a page: its headings, as GitHub spells them."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ (.*)$", without_code(page.read_text()), flags=re.M):
        shown = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


def links(page: str) -> list[tuple[Path, str]]:
    """The files that a page links or shows, and the anchors in them."""
    text = without_code((ROOT / page).read_text())
    named = [*re.findall(r"\]\(([^)\s]+)\)", text), *re.findall(r'\bsrc="([^"]+)"', text)]
    found = []
    for link in named:
        if not re.match(r"https?:", link):
            name, _, anchor = link.partition("#")
            found.append(((ROOT / page).parent / name if name else ROOT / page, anchor))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_links_and_named_files_exist(page: str) -> None:
    for path, anchor in links(page):
        assert path.exists(), path
        if anchor:
            assert anchor in anchors(path), f"{path}#{anchor}"
    for name in re.findall(r"`((?:src|docs|tests|native|bench|examples|results)/[\w./]+)`", (ROOT / page).read_text()):
        is_pattern = "NAME" in name  # of a recipe
        assert (ROOT / name).exists() or is_pattern or page == "CHANGELOG.md", name


def test_the_index_leads_to_every_page() -> None:
    """To those of docs/ at once; to those of results/ by way of others."""
    linked = {page: {os.path.relpath(path, ROOT) for path, _ in links(page)} for page in PAGES}
    index = "docs/index.md"
    assert {page for page in PAGES if page.startswith("docs/")} - linked[index] == {index}
    reached, left = set(), [index]
    while left:
        page = left.pop()
        if page not in reached:
            reached.add(page)
            left += linked[page] & set(PAGES)
    assert set(PAGES) - reached == set()


def test_the_program_that_readme_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """It is what `make evolve` found, as the kept champion of its seed is, and has these scores."""
    text = (ROOT / "README.md").read_text()
    champion = ROOT / "results" / "grow" / "champions" / "cartpole-1.arz"
    program = arz.Program.load(champion)
    shown = "\n\n".join(str(arz.readable(program).program).split("\n\n")[1:])
    assert shown in text
    assert main(["show", str(champion)]) == 0
    assert re.findall(r"^# Cost .*$", capsys.readouterr().out, flags=re.M)[0] in text
    assert main(["test", str(champion)]) == 0
    table = capsys.readouterr().out.partition("┏")
    assert table[1] + table[2].partition("┘")[0] in text


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
