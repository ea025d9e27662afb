"""Programs as text: what is printed can be read back, and what cannot be read gets a helpful error."""

import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arz import Memory, ParseError, Program
from arz.parser import parse
from arz.tokens import MAX_CHARACTERS, MAX_LINES, MOST_TOKENS, Token
from tests.support import Draw, examples, random_program

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.arz"))
GOOD = str(random_program(Memory(observations=3, actions=1, scalars=6, vectors=5, matrices=2, indices=3), 5))
HEAD = "memory(observations=3, actions=1, scalars=6, vectors=5, matrices=2, indices=3)\n"
CADF = "def f0(s0, s1, s2, s3, v0, v1, i0, i1):\n"


@examples(200)
def test_parse_of_text_is_the_program(draw: Draw) -> None:
    program = draw.program()
    assert parse(str(program)) == program


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_programs(path: Path) -> None:
    program = Program.load(path)
    assert parse(str(program)) == program


def test_spaces_comments_line_ends_and_aliases_do_not_matter() -> None:
    plain = parse(HEAD + "def GetAction(obs, action):\n    s3 = v1[i0]\n    action = s3 * -2.5\n    return action\n")
    odd = parse(
        "# a comment\r\n\r\nmemory( observations = 3,\n actions=1, scalars=6, vectors=5,\n  matrices=2, indices=3 )  # more\r\n"
        "def GetAction(obs,action) :\r\n\taction=obs[i0]\r\n  # in between\r\n\ts3   =   action*-2.5e0"
    )
    assert odd == plain


def test_an_integer_is_a_constant_where_the_op_has_no_such_word() -> None:
    program = parse(
        HEAD + "def GetAction(obs, action):\n    s0 = 0\n    s0 = 0.0\n    s0 = 3\n    v2[1] = 0\n    s1 = s0 * 2\n"
    )
    assert [line.op.name for line in program.lines()] == [
        "scalar_zero",
        "scalar_set",
        "scalar_set",
        "vector_set_element",
        "scalar_scale",
    ]


GET = HEAD + "def GetAction(obs, action):\n"


@pytest.mark.parametrize(
    ("text", "problem", "line", "column"),
    [
        ("", "expected 'memory(", 1, 0),
        ("   \n# nothing\n", "expected 'memory(", 1, 0),
        ("memry(observations=1)", "expected 'memory', found 'memry'", 1, 0),
        ("memory(observation=1)", "Did you mean 'observations'?", 1, 7),
        ("memory(observations=1, observations=1)", "given twice", 1, 23),
        ("memory(observations=1 actions=1)", "expected ',' or ')', found 'actions'", 1, 22),
        ("memory(observations=x, actions=1)", "expected a whole number, found 'x'", 1, 20),
        ("memory(observations=1, actions=1, stateful=yes)", "expected True or False", 1, 43),
        ("memory(observations=1)", "expected actions=...", 1, 0),
        ("memory(observations=0, actions=1)", "observations must be 1 to 4096, not 0", 1, 0),
        ("memory(observations=99999999999, actions=1)", "expected a whole number", 1, 20),
        (HEAD, "expected 'def GetAction(obs, action):', found the end", 1, 78),
        (HEAD + "def GetActoin(obs, action):", "Did you mean 'GetAction'?", 2, 4),
        (HEAD + "def GetAction(obs):", "expected ',', found ')'", 2, 17),
        (HEAD + "def GetAction(obs, action)", "expected ':', found the end of the line", 2, 26),
        (HEAD + "def f1(s0, s1, s2, s3, v0, v1, i0, i1):", "expected f0, the next function in order, found 'f1'", 2, 4),
        (HEAD + "x = 1", "expected 'def', found 'x'", 2, 0),
        (HEAD + "    s0 = 1", "found an indented one", 2, 4),
        (HEAD + "def StartEpisode():\n  s9 = 1", "register s9 does not exist, the memory has 6 scalars", 3, 2),
        (HEAD + "def StartEpisode():\n  i0 = 1", "expected a scalar register or a vector register or a matrix", 3, 2),
        (HEAD + "def StartEpisode():\n  s0 = 1\n  s0 = 2", "s0 is set twice", 4, 2),
        (HEAD + "def StartEpisode():\n  s0 = nan", "expected a number, found 'nan'", 3, 7),
        (HEAD + "def StartEpisode():\n  s0 = 1e999", "too large", 3, 7),
        (HEAD + "def StartEpisode():\n  v2 = [1, 2]", "expected ',', found ']'", 3, 12),
        (HEAD + "def StartEpisode():\n  v2 = [1, 2, 3, 4]", "expected ']' after 3 entries, found ','", 3, 15),
        (HEAD + "def StartEpisode():\n  s0 = 1\ndef StartEpisode():\n  s0 = 1", "defined twice", 4, 4),
        (GET + "    s0 = s1 + v2", "expected a scalar register, found 'v2'", 3, 14),
        (GET + "    s0 = sine(s1)", "Did you mean 'sin'?", 3, 9),
        (GET + "    s0 = s1 +", "expected a scalar register, found the end of the line", 3, 13),
        (GET + "    s0 = s1", "There is no copy of a scalar: multiply it by 1.0", 3, 11),
        (GET + "    s0 = dot(v2 obs)", "expected ',', '[', found 'obs'", 3, 16),
        (GET + "    s0 = s17 + s1", "register s17 does not exist", 3, 9),
        (GET + "    s0 = s1 + s2 + s3", "expected the end of the line, found '+'", 3, 17),
        (GET + "    v2[3] = 0.5", "expected an element position below 3, found '3'", 3, 7),
        (GET + "    s0 = v2[i0] * v3[i1] + s1", "expected 'i0' again, found 'i1'", 3, 21),
        (GET + "    s0 = dot(v2, v3", "'(' is never closed", 3, 12),
        (GET + "    s0 = s1)", "closes nothing", 3, 11),
        (GET + "    s0 = ((((s1", "found '(' inside more than 3 others", 3, 12),
        (GET + "    s1\u0663 = s1 * 2.0", "expected", 3, 6),
        (GET + "    s0 = s1 * \u0663.\u0665", "expected a number, a scalar register, found", 3, 14),
        (GET + "    import os", "expected", 3, 4),
        (GET + "    s0 = __import__('os')", "expected", 3, 9),
        (GET + "    return s3", "expected 'return action', found 's3'", 3, 11),
        (GET + "    return action\n    s0 = 0", "nothing can follow the return", 4, 4),
        (GET + "    if s0 < s1: s0, v0, i0 = f0(s0, s1, s2, s3, v0, v1, i0, i1)", "function f0 does not exist", 3, 29),
        (
            GET + "    if s0 < s1: s0, v0, i0 = f0(s0, s2, s2, s3, v0, v1, i0, i1)",
            "expected 's1' again, found 's2'",
            3,
            36,
        ),
        (
            GET + "    if _ < s1: s0, v0, i0 = f0(_, s1, s2, s3, v0, v1, i0, i1)",
            "expected a scalar register, found '_'",
            3,
            7,
        ),
        (GET + "    s0 = uniform(0.0, 1.0, stream=65535)", "expected a stream number below 65535", 3, 34),
        (HEAD + CADF + "    if s0 < s1: s0, v0, i0 = f0(s0, s1, _, _, _, _, _, _)", "cannot call a function", 3, 4),
        (
            HEAD + CADF + "    s5 = 0\n    return s4, v0, i0",
            "expected 'return s5, v0, i0', since a function returns what it wrote last",
            4,
            11,
        ),
        (HEAD + CADF + "    obs = v1", "expected", 3, 4),
    ],
)
def test_errors_say_what_and_where(text: str, problem: str, line: int, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text, "policy.arz")
    error = caught.value
    assert problem in error.problem
    assert (error.line, error.column) == (line, column), str(error)
    assert str(error).startswith(f"policy.arz, line {line}: ")


def test_the_caret_stands_under_the_place() -> None:
    with pytest.raises(ParseError) as caught:
        parse(GET + "    s0 = s1 + v2\n")
    assert str(caught.value).splitlines() == [
        "program, line 3: expected a scalar register, found 'v2'",
        "        s0 = s1 + v2",
        "                  ^",
    ]


@examples(300)
def test_a_broken_text_is_a_program_or_one_error(draw: Draw) -> None:
    text, noise = GOOD, draw.text(8)
    for _ in range(draw.integer(1, 3)):
        at = draw.integer(0, len(text) - 1)
        change = draw.choice(["cut", "insert", "swap", "double"])
        until = at + draw.integer(1, 12)
        text = {
            "cut": text[:at] + text[until:],
            "insert": text[:at] + noise + text[at:],
            "swap": text[:at] + text[until : until + 5] + text[at:until] + text[until + 5 :],
            "double": text[:until] + text[at:],
        }[change]
    try:
        assert isinstance(parse(text), Program)
    except ParseError as error:
        assert 1 <= error.line <= text.count("\n") + text.count("\r") + 1  # noqa: PT017


@pytest.mark.parametrize(
    "text",
    [
        GET + "    s0 = s1 + s2\n" * 30000,
        GET + "    s0 = s1 +" + " (" * 100000,
        GET + "    s0 = " + "9" * 100000,
        GET + "    s0 = " + "-" * 100000,
        GET + "    " + "s0 = " * 50000,
        HEAD + "def StartEpisode():\n  m0 = " + "[" * 100000,
        "memory(" * 50000,
        "\x00" * 100000,
        "(" * 100000,
        "#" * 1000000,
        GET + "    s0 = a" + "\u0665" * 1000,
        "\ud800",
    ],
    ids=range(12),
)
def test_hostile_texts_neither_hang_nor_crash(text: str) -> None:
    started = time.process_time()
    try:
        parse(text)
    except ParseError as error:
        assert len(str(error)) < 1000  # noqa: PT017
    assert time.process_time() - started < 20


def test_an_error_shows_nothing_that_a_terminal_would_obey() -> None:
    with pytest.raises(ParseError) as caught:
        parse(GET + "    \x1b[31ms0\x00 = \t3 ? 4\n", "evil\x1b[2J.arz")
    assert all(letter.isprintable() or letter == "\n" for letter in str(caught.value))


def test_what_is_not_text_is_refused() -> None:
    with pytest.raises(TypeError, match="expected the text of a program, got int"):
        parse(5)  # type: ignore[arg-type]


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "bom.arz"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert Program.load(path) == parse(GOOD)


def test_a_text_that_is_too_long_is_refused_at_once() -> None:
    with pytest.raises(ParseError, match="at most"):
        parse(" " * (1 << 24) + " ")


def count_tokens(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that holds how many tokens were cut since."""
    count = [0]

    class Counted(Token):
        def __new__(cls, *fields: Any) -> Token:  # type: ignore[misc]
            count[0] += 1
            return Token.__new__(cls, *fields)

    monkeypatch.setattr("arz.tokens.Token", Counted)
    return count


@pytest.mark.parametrize("unit", ["-", "a ", "1,", "()", "s0 = ", "x" * 999 + " "])
def test_a_line_is_not_cut_further_than_any_line_goes(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    count = count_tokens(monkeypatch)
    with pytest.raises(ParseError):
        parse(GET + "    s0 = " + unit * 100_000)
    assert count[0] <= 2 * MOST_TOKENS


def test_what_follows_an_error_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    count = count_tokens(monkeypatch)
    with pytest.raises(ParseError, match="line 3: "):
        parse(GET + "    s0 = nonsense\n" + "    s0 = s1 + s2\n" * 50_000)
    assert count[0] < 100


def test_a_text_of_too_many_lines_is_refused_before_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    count = count_tokens(monkeypatch)
    for end in ("\n", "\r", "\r\n"):
        assert parse(GET + end * (MAX_LINES - 3))
        with pytest.raises(ParseError, match=f"at most {MAX_LINES} lines of text"):
            parse(GET + end * MAX_LINES)
    assert count[0] < 1000


def test_many_start_values_take_little_more_room_than_their_text() -> None:
    memory = Memory(observations=200, actions=1, scalars=4, vectors=5, matrices=1, indices=0)
    text = str(Program.build(memory, [], image=np.random.default_rng(0).random(memory.image_size)))
    tracemalloc.start()
    try:
        parse(text)
        assert tracemalloc.get_traced_memory()[1] < 6 * len(text)
    finally:
        tracemalloc.stop()


def test_the_largest_memory_prints_to_a_text_that_can_be_read() -> None:
    memory = Memory(observations=716, actions=1, scalars=4, vectors=15, matrices=1, indices=0)
    image = -np.random.default_rng(0).random(memory.image_size) * 1e-200
    program = Program.build(memory, [], image=image)
    assert 0.99 * 2**19 < memory.image_size <= 2**19
    assert len(str(program)) < MAX_CHARACTERS
    assert parse(str(program)) == program


def test_a_file_that_is_not_text_gets_an_error_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "noise.arz"
    path.write_bytes(b"memory\n\xff\xfe\x00")
    with pytest.raises(ParseError, match=r"noise\.arz, line 2: expected text in UTF-8"):
        Program.load(path)
