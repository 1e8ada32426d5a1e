"""Many workers: speed-up, what a case costs beside its answer, and what is lost when workers and nodes are killed.

    python bench/cluster.py [--cases 640] [--delay 1.0] [--concurrency 16] [--workers 1,2,4]
    python bench/cluster.py --kills 20 --cases 100000 [--delay 0.05] [--nodes 3]

Real Ray in a network namespace of its own (root, Linux): nodes on this machine, and an endpoint that answers after
`--delay` seconds and counts what it is asked. With `--kills`, workers (kill -9) and nodes die while a run goes on, one
after the other; the run file is then compared with what was to be asked. Goals: a speed-up of 1.9 with two workers and
of 3.7 with four; 0 answers lost, 0 answered twice in the file.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from bench.overhead import REPLY, Endpoint

from ragstone.cluster.cluster import Cluster
from ragstone.datasets.tabular.eval_data import read_data
from ragstone.engine.execute import RunOptions, Shell
from ragstone.engine.judge_tools import Judging
from ragstone.evaluation.questions import plan_questions, run_questions
from ragstone.models import ModelOptions
from ragstone.runs import open_run

__all__ = ["main"]

GOALS = {2: 1.9, 4: 3.7}
_INSIDE = "RAGSTONE_BENCH_NAMESPACE"
_NUMBER = re.compile(rb"number (\d+)\?")


class Counting(Endpoint):
    """Also counts the requests for each question, and notes when the first came and the last was answered."""

    asked: Counter[int] = Counter()  # noqa: RUF012  (of the process)
    times: list[float] = []  # noqa: RUF012

    def data_received(self, data: bytes) -> None:
        if found := _NUMBER.search(data):
            self.asked[int(found[1])] += 1
            self.times.append(time.monotonic())
        super().data_received(data)


async def serve(delay: float) -> None:
    """Prints the port; for each line on standard input prints what was counted, and begins anew."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Counting(delay, REPLY.encode()), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        times = Counting.times or [0.0]
        print(json.dumps([sum(Counting.asked.values()), len(Counting.asked), times[-1] + delay - times[0]]), flush=True)
        Counting.asked.clear()
        Counting.times.clear()
    server.close()


class Server:
    """The endpoint in a process of its own."""

    def __init__(self, delay: float) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", "--delay", str(delay)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/v1"

    def counts(self) -> tuple[int, int, float]:
        """Requests, different questions, and seconds from the first request to the last answer, since the last time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        requests, different, seconds = json.loads(self._process.stdout.readline())
        return requests, different, seconds

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@contextlib.contextmanager
def nodes(count: int, cpus: int, folder: Path, gpus: int = 0) -> Iterator[Any]:
    """A Ray cluster of so many nodes on this machine, besides its head, which has no worker. `gpus`: what each says it
    has."""
    from ray.cluster_utils import Cluster as Nodes  # noqa: PLC0415

    # Ray notes the cluster's address here, and makes the folder only for a cluster without a folder of its own.
    Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir(), "ray").mkdir(exist_ok=True)
    store: Any = {"object_store_memory": 200 * 2**20, "include_dashboard": False}
    cluster: Any = Nodes(initialize_head=True, head_node_args={"num_cpus": 0, "temp_dir": str(folder / "ray"), **store})
    try:
        for _ in range(count):
            cluster.add_node(num_cpus=cpus, num_gpus=gpus, **store)
        yield cluster
    finally:
        import ray  # noqa: PLC0415

        ray.shutdown()
        cluster.shutdown()


def workers_of(node: Any) -> list[int]:
    """The processes on a node that ask cases."""
    found = []
    (raylet,) = [each.process.pid for each in node.all_processes["raylet"]]
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == raylet and b"ShardWorker" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
    return found


def kill(cluster: Any, kills: int, cpus: int, progress: "Seen", ended: threading.Event) -> list[str]:
    """Kills a worker, a worker, a node… spread over the run, until it has ended. A node that died is replaced."""
    chance, killed = random.Random(0), list[str]()
    while len(killed) < kills and not ended.wait(0.05):
        if progress.done < progress.total * (len(killed) + 0.5) / (kills + 1) or not progress.total:
            continue
        living = sorted(cluster.worker_nodes, key=str)
        node = chance.choice(living)
        if len(killed) % 3 == 2 and len(living) > 1:
            cluster.remove_node(node, allow_graceful=False)
            cluster.add_node(num_cpus=cpus, object_store_memory=200 * 2**20)
            killed.append("node")
        elif found := workers_of(node):
            os.kill(chance.choice(found), signal.SIGKILL)
            killed.append("worker")
    return killed


class Seen:
    """A progress that counts."""

    total = done = 0

    def start(self, total: int | None, done: int = 0) -> None:
        self.total, self.done = total or 0, done

    def already(self, count: int) -> None:
        self.done += count

    def case_done(self, record: Any, *, free: bool = False) -> None:
        self.done += 1

    def finish(self, outcome: Any) -> None: ...


def ask(cluster: Any, path: Path, count: int, url: str, arguments: Any, workers: int) -> tuple[Any, list[str]]:
    """How a run with so many workers ended, and what was killed meanwhile. The nodes are of this thread."""
    rows = [{"id": f"q{at}", "question": f"What is number {at}?", "reference": "7"} for at in range(count)]
    plan = plan_questions(read_data(rows), "compat/slow", ["answer_match"], Judging())
    options = ModelOptions(base_url=url, in_flight=4 * arguments.concurrency)
    progress, ended = Seen(), threading.Event()
    shell = Shell(progress=progress, cluster=Cluster(cluster.address, workers))

    def run() -> Any:
        try:
            most = arguments.concurrency
            return asyncio.run(
                run_questions(plan, RunOptions(run=path, model_options=options, concurrency=most, shell=shell))
            )
        finally:
            ended.set()

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run)
        killed = kill(cluster, arguments.kills, arguments.cpus, progress, ended)
        return running.result().outcome, killed


def speed(arguments: Any, folder: Path) -> int:
    """The table of speed-ups."""
    counts = [int(part) for part in arguments.workers.split(",")]
    server, base, good = Server(arguments.delay), 0.0, True
    print(f"{arguments.cases} cases, answers after {arguments.delay:g} s, {arguments.concurrency} at once in a worker")
    print(f"{'workers':>7} {'asking':>9} {'speed-up':>8} {'goal':>5} {'busy':>6} {'command':>9} {'CPU a case':>10}")
    with nodes(max(counts), 1, folder) as cluster:
        for count in counts:
            started, cpu = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
            outcome, _ = ask(cluster, folder / f"{count}.run", arguments.cases, server.url, arguments, count)
            whole, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_SELF)
            assert outcome.complete, outcome
            requests, _, seconds = server.counts()
            assert requests == arguments.cases
            base = base or seconds * counts[0]
            used = 1000 * (after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime) / arguments.cases
            busy = requests * arguments.delay / (seconds * count * arguments.concurrency)
            goal = GOALS.get(count, 0.0)
            good = good and base / seconds >= goal
            line = f"{count:7} {seconds:8.1f}s {base / seconds:8.2f} {goal or '':>5} {busy:6.0%} {whole:8.1f}s"
            print(f"{line} {used:7.2f} ms")
    server.close()
    return 0 if good else 1


def killing(arguments: Any, folder: Path) -> int:
    """The table of a run with kills."""
    server = Server(arguments.delay)
    path, started = folder / "killed.run", time.monotonic()
    with nodes(arguments.nodes, arguments.cpus, folder) as cluster:
        workers = arguments.nodes * arguments.cpus
        outcome, killed = ask(cluster, path, arguments.cases, server.url, arguments, workers)
    requests, different, _ = server.counts()
    server.close()
    with open_run(path) as run:
        seen = Counter(record.case.id for record in run.records() if record.error is None)
    document = {
        "cases": arguments.cases, "kills": dict(Counter(killed)), "answered": len(seen),
        "lost": arguments.cases - len(seen), "duplicated": sum(seen.values()) - len(seen), "failed": outcome.failed,
        "asked_again": requests - different, "seconds": round(time.monotonic() - started, 1),
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip
    print(json.dumps(document))
    return 0 if not (document["lost"] or document["duplicated"] or outcome.failed) else 1


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cases", type=int, default=640)
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--cpus", type=int, default=2, help="CPUs, and so workers, of a node that may be killed")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        asyncio.run(serve(options.delay))
        return 0
    if _INSIDE not in os.environ:
        inside = shlex.join([sys.executable, __file__, *(sys.argv[1:] if arguments is None else arguments)])
        command = ["unshare", "-n", "sh", "-c", f"ip link set lo up && exec {inside}"]
        return subprocess.run(command, env={**os.environ, _INSIDE: "1"}, check=False).returncode
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_raylet_start_wait_time_s"] = "300"  # noqa: SIM112  (the machine may be busy)
    os.environ.setdefault("COMPAT_API_KEY", "sk-bench")
    with tempfile.TemporaryDirectory(prefix="rb-") as folder:  # short: Ray makes sockets in it
        return (killing if options.kills else speed)(options, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
