"""The compiled core at its boundary: hostile calls raise, long ones can be interrupted, and threads may be scarce."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import hostile
from tests.runs_support import wait_until_busy

ROOT = Path(__file__).parent.parent
CALLS = hostile.calls()


def test_every_function_of_the_core_has_hostile_calls() -> None:
    assert {name for name in CALLS if "(" not in name} == hostile.public_names()


class Caller:
    """A process that makes hostile calls, so that a crash is seen as one; another takes its place then."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def answer(self, name: str) -> str:
        """What it says of the calls of this name; nothing if it dies of them."""
        if self._process is None or self._process.poll() is not None:
            command, pipe = [sys.executable, "-m", "tests.hostile"], subprocess.PIPE
            self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{name}\n")
        watchdog = threading.Timer(300, self._process.kill)
        watchdog.start()
        try:
            return self._process.stdout.readline() or f"exit {self._process.wait()}"
        finally:
            watchdog.cancel()

    def close(self) -> int:
        """How the last one ends."""
        if self._process is None:
            return 0
        self._process.communicate()
        return self._process.returncode


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    made = Caller()
    yield made
    assert made.close() == 0


@pytest.mark.parametrize("name", CALLS)
def test_hostile_calls_raise(name: str, caller: Caller) -> None:
    answer = caller.answer(name)
    assert answer.startswith("{"), answer
    found: dict[str, Any] = json.loads(answer)
    assert found["tried"]
    assert found["through"] == []


@pytest.mark.parametrize("name", [name for name in CALLS if "(" not in name])
def test_the_calls_that_hostile_ones_are_made_of_are_good(name: str) -> None:
    call = CALLS[name]
    if not call.good and isinstance(call.function, type):
        with pytest.raises(TypeError):
            call.function()  # made by another function
    else:
        call.function(*call.good)


# ---- interruptions ----

LONG = {
    "keys of programs": "core.program_keys(BATCH.take(np.zeros(10**7, int)).core, 2)",
    "actions": "execute_batch(BATCH, np.zeros((10**7, 1, 4)), threads=2, only_effective=False)",
    "tournaments": "core.tournaments(np.zeros(10**6, np.uint64), np.zeros(10**6, int), np.zeros(100), 100, 10**6)",
    "cartpole on one thread": "evaluate(POLE, Cartpole(steps=10**6, x_limit=1e6), fresh_episodes(10**6), threads=1)",
    "cartpole on threads": "evaluate(POLE, Cartpole(steps=10**6, x_limit=1e6), fresh_episodes(10**6), threads=3)",
    "quadruped": "evaluate(TROT, Quadruped(steps=10**6, contact_iterations=1000), fresh_episodes(10**5), threads=2)",
    "recorded quadruped": "record(TROT, Quadruped(leg='none', steps=10**6, contact_iterations=1000), [0])",
    "even episodes": "Quadruped(steps=10**6).stratified(fresh_episodes(10**6))",
    "steps of robots": "core.QuadrupedStepper(Quadruped().native, SLOW, 10**6).step(np.zeros((10**6, 12)))",
    "physics": "core.laikago_simulated(STANDING, np.zeros(12), np.ones(4), 10**6, 1000)",
    "standing robots": "core.exercise(SLOW, 10**5, 10**6)",
}
"""Work that takes minutes, or days."""

SCRIPT = """
import numpy as np
from arz import Cartpole, Memory, Program, Quadruped, Variation, evaluate, execute_batch, fresh_episodes
from arz import random_programs, record
from arz.native import core
BATCH = random_programs(Memory(4, 1), np.arange(4, dtype=np.uint64), Variation(length=(5000, 5000)))
POLE, TROT = Program.load("examples/paper_cartpole.arz"), Program.load("examples/reflex_trot.arz")
SLOW = core.own_engine(False, 1000, core.laikago_world(1.0, 0.0, 1.0, 0, 0.0, 0))
STANDING = core.QuadrupedStepper(Quadruped().native, SLOW, 1).states()[0]
try:
    print("ready", flush=True)
    {work}
except KeyboardInterrupt:
    evaluate(POLE, Cartpole(steps=100), fresh_episodes(100), threads=2)  # goes on as if nothing had happened
    print("interrupted", flush=True)
"""


def interrupt(command: list[str], signals: int = 1) -> tuple[int, str, str]:
    """Code, output and errors of a command that gets Ctrl-C, once or twice, a while after it has said that it is ready."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(signals):
            wait_until_busy(process, 0.2)
            process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=300)
    finally:
        process.kill()
        process.wait()
    return process.returncode, output, errors


@pytest.mark.parametrize("what", LONG)
def test_long_work_can_be_interrupted(what: str) -> None:
    command = [sys.executable, "-c", SCRIPT.replace("{work}", LONG[what])]
    assert interrupt(command) == (0, "interrupted\n", "")


WAITING = """
import threading, time
from arz import Cartpole, Program, evaluate, fresh_episodes
POLE = Program.load("examples/paper_cartpole.arz")
def work():
    evaluate(POLE, Cartpole(steps=10**6, x_limit=1e6), fresh_episodes(10**6), threads=2)
began = time.process_time()
threading.Thread(target=work, daemon=True).start()
while time.process_time() < began + 0.2:
    time.sleep(0.01)
try:
    print("ready", flush=True)
    work()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_waiting_for_the_threads_of_another_call_can_be_interrupted() -> None:
    assert interrupt([sys.executable, "-c", WAITING]) == (0, "interrupted\n", "")


SLOW_ROBOTS = ["--contact-iterations", "1000"]
COMMAND = "import sys, arz.cli; print('ready', flush=True); sys.exit(arz.cli.main(sys.argv[1:]))"


@pytest.mark.parametrize(
    ("command", "signals"),
    [
        (["test", "examples/reflex_trot.arz", "--episodes", "1000000", *SLOW_ROBOTS], 1),
        (["ablate", "examples/reflex_trot.arz", "--episodes", "1000", *SLOW_ROBOTS, "--output"], 1),
        (["evolve", "quadruped-nsga2", "--episodes", "10000", *SLOW_ROBOTS, "--output"], 2),
        (["evolve", "cartpole-regularized", "--tournament", "1000000", "--islands", "1000", "--output"], 2),
    ],
)
def test_commands_can_be_interrupted(command: list[str], signals: int, tmp_path: Path) -> None:
    """The first Ctrl-C ends a search after its batch, the second at once."""
    output = [str(tmp_path / "new")] if command[-1] == "--output" else []
    code, _, errors = interrupt([sys.executable, "-c", COMMAND, *command, *output], signals)
    assert code == 130, errors
    assert "Traceback" not in errors


def test_a_handler_of_a_signal_cannot_take_the_place_of_what_it_interrupts() -> None:
    script = SCRIPT.replace("{work}", LONG["cartpole on one thread"]).replace(
        "KeyboardInterrupt", "ValueError as error"
    )
    handler = "import signal; signal.signal(signal.SIGINT, lambda *_: evaluate(POLE, Cartpole(), [0]))\ntry:"
    script = script.replace("try:", handler).replace('"interrupted"', "error")
    said = "a signal handler cannot run programs while it interrupts others that run\n"
    assert interrupt([sys.executable, "-c", script]) == (0, said, "")


# ---- threads ----

SCARCE = """
import os, re, resource, sys
import numpy as np
from arz import Cartpole, Quadruped, Memory, evaluate, fresh_episodes, random_programs
stacks = float(sys.argv[1])
results = {}
for task in (Cartpole(), Quadruped(steps=50)):
    programs = random_programs(Memory(task.observations, task.actions), np.arange(100, dtype=np.uint64))
    for threads in (1, 8):
        found = evaluate(programs, task, fresh_episodes(9), threads=threads)
        results.setdefault(threads, []).append(found.returns.tobytes())
        if not results.get("limited"):
            pages = int(open("/proc/self/statm").read().split()[0])
            most = pages * os.sysconf("SC_PAGE_SIZE") + int(stacks * resource.getrlimit(resource.RLIMIT_STACK)[0])
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            results["limited"] = True
assert results[1] == results[8]
print(re.search(r"Threads:\\s*(\\d+)", open("/proc/self/status").read())[1])
"""
STACK = 512 << 20
"""Bytes that each thread wants."""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how many threads there are")
@pytest.mark.parametrize("helpers", [0, 1])
def test_without_threads_to_be_had_the_caller_does_it_all(helpers: int) -> None:
    def want_large_stacks() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))

    command = [sys.executable, "-c", SCARCE, str(helpers + 0.7)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        preexec_fn=want_large_stacks,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert (done.stderr, done.stdout) == ("", f"{1 + helpers}\n")
