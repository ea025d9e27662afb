"""A real Ray cluster of several nodes, here: nodes are killed, drivers too, and nothing changes."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import arz
from arz.cluster.handles import WorkerError
from arz.evaluate import evaluate, fresh_episodes
from arz.native import core
from arz.program import Batch
from tests.runs_support import ARZ, content
from tests.test_cluster import assorted, same
from tests.test_quadruped_runs import small_options

os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # Ray listens to this machine only; read when it is imported
ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]
NICENESS = "RAY_worker_niceness"
"""Workers are nice to others, unless this says how much; here others are tests."""
TASK = arz.Quadruped(steps=200, break_step=100)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that does no work, and two nodes of one CPU each."""
    os.environ[NICENESS] = "0"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    store = 80 * 2**20
    made: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": store})
    for _ in range(2):
        made.add_node(num_cpus=1, object_store_memory=store)
    yield made
    made.shutdown()


def wait_for(condition: Callable[[], bool], seconds: float = 90) -> None:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds
        time.sleep(0.1)


def is_worker(path: Path) -> bool:
    """Whether this is the command line of one of our actors; other clusters may be on this machine."""
    with contextlib.suppress(OSError):
        return path.read_bytes().startswith(b"ray::Worker") and is_ours(int(path.parent.name))
    return False


def is_ours(pid: int) -> bool:
    """Whether a process descends from this one."""
    while pid > 1 and pid != os.getpid():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid == os.getpid()


def evaluations(folder: Path) -> int:
    """How far a run is."""
    if not (folder / "run.sqlite").exists():
        return 0
    with arz.Run.open(folder) as run:
        return run.counters.evaluations


def test_a_node_may_die_and_another_join(cluster: Any) -> None:
    """Programs are evaluated on two nodes, one of them is killed meanwhile, and another comes."""
    policies, episodes = assorted(TASK, 300), fresh_episodes(8)
    alone = evaluate(policies, TASK, episodes, threads=1)
    notes: list[str] = []
    with arz.RayWorkers(cluster.address, on_note=notes.append) as workers:
        wait_for(lambda: workers.count == 2)
        assert same(evaluate(policies, TASK, episodes, workers=workers), alone)
        node = sorted(cluster.worker_nodes, key=id)[0]
        killer = threading.Timer(0.5, lambda: cluster.remove_node(node, allow_graceful=False))
        killer.start()
        found = [evaluate(policies, TASK, episodes, workers=workers)]
        killer.join()
        while not notes and len(found) < 100:
            found.append(evaluate(policies, TASK, episodes, workers=workers))
        assert all(same(each, alone) for each in found)
        assert any("is lost" in note for note in notes), notes
        cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
        wait_for(lambda: workers.count == 2)
        assert same(evaluate(policies, TASK, episodes, workers=workers), alone)


def test_a_run_on_a_cluster_that_loses_a_node_and_its_driver(cluster: Any, tmp_path: Path) -> None:
    """The whole way: arz evolve --backend ray, a node killed, the driver killed, arz resume; as if on one thread."""
    there, folder = ["--backend", "ray", "--address", cluster.address], tmp_path / "ray"
    words = [ARZ, "evolve", "quadruped-nsga2", *small_options("4000"), "--no-test", "--output"]
    subprocess.run([*words, str(tmp_path / "local"), "--quiet"], check=True, capture_output=True)
    driver = subprocess.Popen([*words, str(folder), "--save-every", "0", *there], stderr=subprocess.PIPE, text=True)

    wait_for(lambda: evaluations(folder) > 500)
    cluster.remove_node(sorted(cluster.worker_nodes, key=id)[0], allow_graceful=False)
    before = evaluations(folder)
    wait_for(lambda: evaluations(folder) > before + 200)
    driver.send_signal(signal.SIGKILL)
    _, said = driver.communicate()
    assert "1 worker" in said or "2 workers" in said
    cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
    with arz.Run.open(folder) as run:
        assert run.facts["status"] == "running"
    subprocess.run([ARZ, "resume", str(folder), "--quiet", "--no-test", *there], check=True, capture_output=True)
    assert content(folder) == content(tmp_path / "local")


def test_commands_on_a_cluster(cluster: Any, tmp_path: Path) -> None:
    """They give what they give here."""
    there = ["--backend", "ray", "--address", cluster.address]

    def said(*words: str) -> str:
        return subprocess.run([ARZ, *words], check=True, capture_output=True, text=True).stdout

    test = ["test", "examples/paper_cartpole.arz", "--episodes", "20", "--json"]
    assert said(*test, *there) == said(*test)
    training = ["train", "ars", "--policy", "mlp", "--budget", "500", "--steps", "100", "--quiet", "--no-test"]
    for name, more in (("local", []), ("ray", there)):
        said(*training, "--output", str(tmp_path / f"train-{name}"), *more)
    assert content(tmp_path / "train-local") == content(tmp_path / "train-ray")
    grid = ["--grid", "step_size=0.05,0.1", "--policy", "mlp", "--budget", "200", "--steps", "50", "--json"]
    swept = [
        json.loads(said("sweep", "ars-cartpole", "--output", str(tmp_path / name), *grid, *more))
        for name, more in (("sweep-local", []), ("sweep-ray", there))
    ]
    assert [row["score"] for row in swept[0]["tried"]] == [row["score"] for row in swept[1]["tried"]]


def test_an_item_on_a_cluster(cluster: Any, tmp_path: Path) -> None:
    there = ["--backend", "ray", "--address", cluster.address]
    for name, more in (("local", []), ("ray", there)):
        words = ["reproduce", "nsga2-constraints", "--output", str(tmp_path / name), "--quiet"]
        subprocess.run([ARZ, *words, *more], check=True, capture_output=True)
    local, ray = ((tmp_path / name / "smoke/nsga2-constraints/data.csv").read_text() for name in ("local", "ray"))
    assert local == ray


def test_a_node_with_several_workers_may_die_and_json_stays_clean(cluster: Any, tmp_path: Path) -> None:
    node = cluster.add_node(num_cpus=3, object_store_memory=80 * 2**20)
    folder = tmp_path / "run"
    words = [ARZ, "evolve", "quadruped-nsga2", *small_options("1000000"), "--no-test", "--json", "--save-every", "0"]
    words += ["--backend", "ray", "--address", cluster.address, "--output", str(folder)]
    driver = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: evaluations(folder) > 500)
    cluster.remove_node(node, allow_graceful=False)
    assert driver.stderr is not None
    watchdog = threading.Timer(120, driver.kill)
    watchdog.start()
    assert any("is lost" in line for line in driver.stderr)  # reads until it is said
    watchdog.cancel()
    driver.send_signal(signal.SIGINT)
    out, err = driver.communicate(timeout=60)
    assert (driver.returncode, out) == (130, ""), err
    assert "Stopped and saved" in err
    words = [ARZ, "resume", str(folder), "--no-test", "--json", "--target", "-1000", "--backend", "ray"]
    ended = subprocess.run([*words, "--address", cluster.address], capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout)["ended"] == "target"


def test_a_worker_that_is_stopped_is_given_up(cluster: Any) -> None:
    """Its process is there, and does nothing."""
    policies, episodes = assorted(TASK, 300), fresh_episodes(8)
    notes: list[str] = []
    with arz.RayWorkers(cluster.address, time_limit=3, on_note=notes.append) as workers:
        wait_for(lambda: workers.count == 2)
        alone = evaluate(policies, TASK, episodes, threads=1)
        frozen = next(int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if is_worker(path))
        os.kill(frozen, signal.SIGSTOP)
        try:
            assert same(evaluate(policies, TASK, episodes, workers=workers), alone)
            assert any("silent" in note for note in notes)
        finally:
            os.kill(frozen, signal.SIGKILL)
        wait_for(lambda: workers.count == 2)


def test_without_an_address_ray_begins_here(cluster: Any) -> None:
    """Also where a cluster is there."""
    test = [ARZ, "test", "examples/paper_cartpole.arz", "--episodes", "5", "--json"]
    done = subprocess.run([*test, "--backend", "ray"], check=True, capture_output=True, text=True)
    assert done.stdout == subprocess.run(test, check=True, capture_output=True, text=True).stdout
    assert "on this machine" not in done.stderr


def test_the_example_is_what_ray_wants() -> None:
    yaml = pytest.importorskip("yaml")
    from ray.autoscaler._private.util import prepare_config, validate_config

    example = Path(__file__).parent.parent / "examples" / "cluster.yaml"
    validate_config(prepare_config(yaml.safe_load(example.read_text())))


def test_no_cluster_is_a_sentence() -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(
            WorkerError, match=rf"what listens at 127\.0\.0\.1:{server.server_port} is not a Ray cluster"
        ):
            arz.RayWorkers(f"127.0.0.1:{server.server_port}")
        server.shutdown()
    with pytest.raises(WorkerError, match=r"there is no Ray cluster at 127\.0\.0\.1:1: "):
        arz.RayWorkers("127.0.0.1:1")
    with pytest.raises(ValueError, match="above 0"):
        arz.RayWorkers(time_limit=0)
    assert not ray.is_initialized()
    for odd in ("somewhere", "127.0.0.1", "127.0.0.1:port"):
        with pytest.raises(WorkerError, match="auto or HOST:PORT"):
            arz.RayWorkers(odd)


def test_numbers_arrive_as_they_were(cluster: Any) -> None:
    """Also the smallest and the largest, and zeros with a sign."""
    policies, episodes = assorted(TASK, 40), fresh_episodes(2)
    odd = policies.core.arrays()[3].copy()
    for which, number in enumerate((-0.0, 5e-324, -1.7e308)):
        odd[which::3] = number
    strange = Batch(policies.memory, core.batch(policies.memory.native, *policies.core.arrays()[:3], odd))
    alone = evaluate(strange, TASK, episodes, threads=1)
    with arz.RayWorkers(cluster.address, most=1) as workers:
        assert workers.describe() == "1 worker"
        assert same(evaluate(strange, TASK, episodes, workers=workers), alone)
