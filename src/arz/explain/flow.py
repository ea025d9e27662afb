"""Where the numbers of a program come from: which lines use what the others wrote, in this step or in the last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from arz.ops import CALL_ARGUMENTS
from arz.program import NONE, Instruction, Program, last_written
from arz.text import ARGUMENTS, GET_ACTION_ARGUMENTS, line_text, register_text, start_lines

Register = tuple[str, int]
Place = tuple[int, int]
"""The number of a function, and of a line in it."""
WIDEST = 110
"""Longer rows of start values are cut."""
MOST_NAMES = 6
"""More registers than this are not named in a remark."""
OBSERVATION, LAST_ACTION, RANDOM = "observation", "last action", "random numbers"


class Writers:
    """Some lines, and those of other such sets: thousands of lines may read what thousands wrote, and share this."""

    def __init__(self, places: tuple[Place, ...], parts: tuple[Writers, ...] = ()) -> None:
        self.places, self.parts = places, parts
        self.most: int = len(places) + sum(part.most for part in parts)
        """How many lines there are; more, where parts have some in common."""

    def all(self) -> frozenset[Place]:
        """Their places."""
        return frozenset(place for writers in _with_parts([self]) for place in writers.places)


def _with_parts(some: Iterable[Writers]) -> list[Writers]:
    """These sets and all that they are made of, each once."""
    todo = list(some)
    found = {id(writers): writers for writers in todo}
    while todo:
        for part in todo.pop().parts:
            if id(part) not in found:
                found[id(part)] = part
                todo.append(part)
    return list(found.values())


@dataclass(frozen=True)
class FlowLine:
    """A line of a program, and where what it reads comes from."""

    function: int
    number: int
    text: str
    read: tuple[Writers, ...]
    carried: tuple[Writers, ...]
    sources: frozenset[str]
    """What it reads that no line of this step wrote: `OBSERVATION`, `LAST_ACTION`, `RANDOM`, or `memory of NAME`."""
    callers: Writers
    compared: tuple[Writers, ...] = ()
    """Of a call: the lines of the same step that wrote what it compares."""

    @property
    def uses(self) -> frozenset[Place]:
        """Lines (function, number) of the same step whose results it reads."""
        return frozenset[Place]().union(*(writers.all() for writers in self.read))

    @property
    def carries(self) -> frozenset[Place]:
        """Lines whose results it may read in the next step."""
        return frozenset[Place]().union(*(writers.all() for writers in self.carried))

    @property
    def conditions(self) -> frozenset[Place]:
        """Calls that decide whether it is done."""
        return self.callers.all()


@dataclass(frozen=True)
class Flow:
    """All lines of a program, GetAction's first."""

    program: Program
    lines: tuple[FlowLine, ...]

    @cached_property
    def by_place(self) -> dict[Place, FlowLine]:
        """Lines by function and number."""
        return {(line.function, line.number): line for line in self.lines}

    @cached_property
    def most_uses(self) -> int:
        """How often a line reads what another wrote, in this step or the last, or depends on a call; at most."""
        return sum(w.most for line in self.lines for w in (*line.read, *line.carried, line.callers))

    @cached_property
    def within(self) -> dict[Place, frozenset[str]]:
        """For each line, all that it depends on within a step, directly or by way of other lines and conditions."""
        return self._within[0]

    @cached_property
    def over_time(self) -> dict[Place, frozenset[str]]:
        """The same, also by way of what is remembered from step to step."""
        return self._reached(lambda line: (*line.read, *line.carried, line.callers))[0]

    @cached_property
    def _within(self) -> tuple[dict[Place, frozenset[str]], dict[int, frozenset[str]]]:
        return self._reached(lambda line: (*line.read, line.callers))

    def _reached(
        self, before: Callable[[FlowLine], Iterable[Writers]]
    ) -> tuple[dict[Place, frozenset[str]], dict[int, frozenset[str]]]:
        """All sources that can be reached backwards: from lines by their places, from sets of lines by their ids."""
        compared = [writers for line in self.lines for writers in line.compared]
        sets = _with_parts([*(writers for line in self.lines for writers in before(line)), *compared])
        node = {id(writers): len(self.lines) + n for n, writers in enumerate(sets)}
        line_node = {place: n for n, place in enumerate(self.by_place)}
        edges = [[node[id(writers)] for writers in before(line)] for line in self.lines]
        edges += [[*(line_node[place] for place in w.places), *(node[id(part)] for part in w.parts)] for w in sets]
        names = list(dict.fromkeys(source for line in self.lines for source in sorted(line.sources)))
        bit = {name: 1 << n for n, name in enumerate(names)}
        own = [sum(bit[source] for source in line.sources) for line in self.lines] + [0] * len(sets)
        masks = reached_bits(edges, own)
        spelled = {mask: frozenset(name for name in names if bit[name] & mask) for mask in set(masks)}
        by_line = {place: spelled[masks[n]] for place, n in line_node.items()}
        return by_line, {number: spelled[masks[n]] for number, n in node.items()}

    @cached_property
    def remembered(self) -> tuple[str, ...]:
        """The registers that carry numbers from step to step."""
        names = {
            source.removeprefix("memory of ") for line in self.lines for source in line.sources if "memory of" in source
        }
        return tuple(sorted(names, key=_order))

    @cached_property
    def _code(self) -> list[Instruction]:
        return self.program.lines()

    @property
    def acting(self) -> list[FlowLine]:
        """The lines that write the action."""
        lines = self._code
        return [
            line
            for line in self.lines
            if line.function == 0 and self.program.memory.action in lines[line.number].outputs
        ]

    @property
    def may_repeat(self) -> bool:
        """Whether the action, or a part of it, may stay as it was in the last step."""
        lines = [line for line in self._code if self.program.memory.action in line.outputs]
        return self.program.memory.stateful and all(_keeps(line) for line in lines)

    def depends(self, source: str, over_time: bool = True) -> bool:
        """Whether an action depends on a source."""
        if source == LAST_ACTION and self.may_repeat:
            return True
        found = self.over_time if over_time else self.within
        return any(source in found[line.function, line.number] for line in self.acting)

    @cached_property
    def calls(self) -> list[FlowLine]:
        """The calls of CADFs, in the order of the program."""
        return [line for line in self.lines if line.function == 0 and self._code[line.number].op.is_call]

    def condition_sources(self, call: FlowLine) -> frozenset[str]:
        """What lines of the same step brought into the two numbers that a call compares."""
        return frozenset[str]().union(*(self._within[1][id(writers)] for writers in call.compared))

    def listing(self) -> str:
        """The program with a remark behind each line: what it depends on within a step."""
        whole = start_lines(self.program)
        start = [line for line in whole if not line.startswith(" " * 8)]
        start = [line if len(line) <= WIDEST else f"{line[: WIDEST - 4]} ..." for line in start]
        note = (
            []
            if start == whole
            else ["    # ... long rows and further rows of matrices are left out: arz show has all."]
        )
        blocks = ["\n".join(["def StartEpisode():", *start, *note])] if start else []
        for function in (*range(1, len(self.program.functions)), 0):
            head = f"def f{function - 1}({ARGUMENTS}):" if function else f"def GetAction({GET_ACTION_ARGUMENTS}):"
            own = [line for line in self.lines if line.function == function]
            width = max((len(line.text) for line in own), default=0)
            body = [f"    {line.text:<{width}}  # {self.remark(line)}" for line in own]
            blocks.append("\n".join([head, *body, f"    return {self._returned(function)}"]))
        return "\n\n".join(blocks) + "\n"

    def _returned(self, function: int) -> str:
        if not function:
            return "action"
        return ", ".join(f"{kind}{n}" for kind, n in zip("svi", self.program.returns(function), strict=True))

    def remark(self, line: FlowLine) -> str:
        """What a line depends on, in a few words."""
        found = self.within[line.function, line.number]
        memory = sorted((s.removeprefix("memory of ") for s in found if s.startswith("memory of")), key=_order)
        parts = [source for source in (OBSERVATION, LAST_ACTION, RANDOM) if source in found]
        if memory:
            parts.append(f"memory ({', '.join(memory) if len(memory) <= MOST_NAMES else f'{len(memory)} registers'})")
        return " + ".join(parts) if parts else "constant"


def flow(program: Program) -> Flow:
    """Follows the numbers of a program, as it stands."""
    code = [program.lines(function) for function in range(len(program.functions))]
    bodies = [_Body(program, code, function) for function in range(len(code))]
    return Flow(program, tuple(line for body in bodies for line in body.lines(bodies)))


def reached_bits(edges: Sequence[Sequence[int]], own: Sequence[int]) -> list[int]:
    """For each node of a graph the bits of all nodes that it reaches, and its own: Tarjan's walk, each edge once."""
    found, first, low = list(own), [0] * len(edges), [0] * len(edges)
    is_done = [False] * len(edges)
    open_nodes: list[int] = []
    count = 0
    for root in range(len(edges)):
        path = [] if first[root] else [(root, 0)]
        while path:
            node, at = path.pop()
            if at == 0:
                count += 1
                first[node] = low[node] = count
                open_nodes.append(node)
            for k in range(max(at - 1, 0), len(edges[node])):
                other = edges[node][k]
                if not first[other]:
                    path += [(node, k + 1), (other, 0)]
                    break
                found[node] |= found[other]
                if not is_done[other]:
                    low[node] = min(low[node], low[other])
            else:
                if low[node] == first[node]:  # all that was opened since reaches each other
                    while not is_done[node]:
                        member = open_nodes.pop()
                        found[member], is_done[member] = found[node], True
    return found


def _order(name: str) -> tuple[str, str, int, str]:
    """For sorting names such as s10, f0.v2 and action."""
    function, _, register = name.rpartition(".")
    digits = "".join(filter(str.isdigit, register))
    return function, register[:1], int(digits or 0), register


class _Old(NamedTuple):
    """What a register may hold before a run of a function writes it: who wrote it, in this step and in the last."""

    read: tuple[Writers, ...]
    carried: tuple[Writers, ...]
    sources: frozenset[str]


class _Body:
    """One function, and who wrote what when a line reads it."""

    def __init__(self, program: Program, code: Sequence[Sequence[Instruction]], function: int) -> None:
        self.program, self.function, self.code = program, function, code[function]
        self.calls = [
            (number, line)
            for number, line in enumerate(code[0])
            if function and line.op.is_call and int(line.inputs[0]) == function - 1
        ]
        self.callers = Writers(tuple((0, number) for number, _ in self.calls))
        self.action = program.memory.action if function == 0 else None
        self.at_end: dict[Register, Writers] = {}
        """Which lines may have written what a register holds when the function ends."""
        for number, line in enumerate(self.code):
            self._note(self.at_end, number, line)
        self.returns = tuple(zip("svi", last_written(self.code), strict=True))
        self._olds: dict[Register, _Old] = {}
        self._results: dict[Register, tuple[Writers, bool]] = {}

    def _note(self, written: dict[Register, Writers], number: int, line: Instruction) -> None:
        """Notes that a line wrote."""
        for register in _written(line):
            before = written.get(register) if _keeps(line) else None
            written[register] = Writers(((self.function, number),), () if before is None else (before,))

    def lines(self, bodies: Sequence[_Body]) -> Iterator[FlowLine]:
        """What each line reads, and from whom."""
        present: dict[Register, Writers] = {}
        """Who may have written a register in this run of the function."""
        replaced: set[Register] = set()
        """The registers that hold nothing any more of what was there before."""
        for number, line in enumerate(self.code):
            read: list[Writers] = []
            carried: list[Writers] = []
            sources: set[str] = {RANDOM} if line.op.draws else set()
            found: list[_Old] = []
            for register in _reads(line):
                read += [present[register]] if register in present else []
                found += [] if register in replaced else [self.old(register)]
            if line.op.is_call:
                found += self._taken(line, bodies[int(line.inputs[0]) + 1])
            for old in found:
                read += old.read
                carried += old.carried
                sources |= old.sources
            compared = {("s", int(value)) for value in line.inputs[1:3]} if line.op.is_call else set()
            yield FlowLine(
                self.function,
                number,
                line_text(line, self.program.memory if self.function == 0 else None),
                tuple(read),
                tuple(carried),
                frozenset(sources),
                self.callers,
                # a number is never less than itself
                tuple(present[register] for register in sorted(compared) if len(compared) > 1 and register in present),
            )
            self._note(present, number, line)
            replaced |= set() if _keeps(line) else set(_written(line))

    def old(self, register: Register) -> _Old:
        """What a register holds before this run of the function writes it."""
        if register not in self._olds:
            self._olds[register] = self._find_old(register)
        return self._olds[register]

    def _find_old(self, register: Register) -> _Old:
        if self.function == 0 and register == ("v", 1):
            return _Old((), (), frozenset({OBSERVATION}))
        left = [self.at_end[register]] if register in self.at_end else []
        read: list[Writers] = []
        if self.function and register in CALL_ARGUMENTS:
            place = 1 + CALL_ARGUMENTS.index(register)
            passing = tuple((0, number) for number, call in self.calls if int(call.inputs[place]) != NONE)
            read += [Writers(passing)] if passing else []  # the call hands it over
            if len(passing) == len(self.calls):
                return _Old(tuple(read), (), frozenset())
            left += read
        if len(self.calls) > 1:
            read += left  # an earlier call of the same step
        if not self.program.memory.stateful or (not left and register != self.action):
            return _Old(tuple(read), (), frozenset())  # a constant
        source = LAST_ACTION if register == self.action else f"memory of {self._name(register)}"
        return _Old(tuple(read), tuple(left), frozenset({source}))

    def _name(self, register: Register) -> str:
        prefix = f"f{self.function - 1}." if self.function else ""
        return prefix + register_text(*register, self.program.memory if not self.function else None)

    def _taken(self, call: Instruction, body: _Body) -> list[_Old]:
        """The lines of a CADF whose results a call takes, and what it returns without having written it."""
        found = []
        for (_, target), returned in zip(call.outputs, body.returns, strict=True):
            if target != NONE:
                writers, is_old = body.result(returned)
                found += [_Old((writers,), (), frozenset()), *([body.old(returned)] if is_old else [])]
        return found

    def result(self, register: Register) -> tuple[Writers, bool]:
        """The lines that write a register, and whether it may still hold something of what was there."""
        if register not in self._results:
            numbers = [number for number, line in enumerate(self.code) if register in line.outputs]
            writers = Writers(tuple((self.function, number) for number in numbers))
            self._results[register] = writers, all(_keeps(self.code[number]) for number in numbers)
        return self._results[register]


def _reads(line: Instruction) -> list[Register]:
    """The registers that a line reads; one that it changes in part is not among them."""
    pairs = zip(line.op.inputs, line.inputs, line.op.uses, strict=True)
    return [(kind, int(value)) for kind, value, is_used in pairs if kind in "svmi" and is_used and value != NONE]


def _written(line: Instruction) -> list[Register]:
    return [(kind, number) for kind, number in line.outputs if number != NONE]


def _keeps(line: Instruction) -> bool:
    """Whether what it writes may keep something of what was there."""
    return line.op.is_call or line.op.writes_part
