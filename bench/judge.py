"""What a judged evaluation costs, beside ragas and deepeval, and what becomes of it when the endpoint misbehaves.

    python bench/judge.py [--samples 100] [--in-flight 64] [--delay 0.05] [--environments DIR] [--no-peers] [--json]

100 samples, five metrics, five contexts of about 120 words, against a local server in a process of its own that
answers every request after 50 ms as a plausible judge of each tool's prompts (`bench/peers`). Each tool runs in a
process and an environment of its own, with its best settings. One counter counts the prompt tokens of all: GPT-4o's
vocabulary where it can be had (it comes with litellm's files, in ragas' environment), else ragstone's estimate; the
JSON schema of a reply counts, wherever it is sent.

Goals: at most 3 requests and 4,800 prompt tokens a sample (of which a cache of prompts keeps half),
at least 8 times less wall time than the faster of the two,
at most 1.5 ms of CPU a request; with 5 % of random 429 and 500 no score is lost; with 5 % of requests failing for ever
exactly the scores that need them fail and the run ends; killed and started again, nothing that had been answered is
asked again; a second run asks nothing; another model asks everything.
"""

import argparse
import asyncio
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from bench.peers.data import rows
from bench.peers.environment import environment

if TYPE_CHECKING:
    import numpy as np

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
FIVE = ("faithfulness", "answer_relevancy", "context_precision", "context_recall", "answer_correctness")
# What each request of ours is needed for.
NEEDED = {
    "decompose": frozenset(FIVE),
    "verify": frozenset(FIVE) - {"answer_relevancy"},
    "embed": frozenset({"answer_relevancy", "answer_correctness"}),
}
GOALS = {"requests": 3.0, "tokens": 4800.0, "faster": 8.0, "cpu_ms": 1.5}
# A reply that is under way, or not yet on the disk, when the process is killed is lost with it: a commit waits 0.1 s
# for more results, and takes its time on a busy machine.
GRACE_SECONDS = 0.5


class FreeVectors:
    """An embedder in this process that costs nothing, as ragas is given one."""

    id = "free"

    async def embed(
        self, texts: Sequence[str], /, *, kind: Literal["query", "passage"] = "passage"
    ) -> "np.ndarray[Any, Any]":
        import numpy as np  # noqa: PLC0415

        matrix = np.array([[1.0 + len(text) % 7, 2.0, 3.0 + len(text) % 3] for text in texts], dtype=np.float32)
        return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), dtype=np.float32)


# --- one run of ours, in a process of its own -----------------------------------------------------------------------


async def one(args: argparse.Namespace) -> dict[str, Any]:
    """Evaluates the samples once; seconds, CPU seconds and what became of each score."""
    for name in ("aiohttp", "numpy"):  # imports come before the clock, as those of the other tools do
        importlib.import_module(name)
    from ragstone.evaluation.evaluate import evaluate_async  # noqa: PLC0415
    from ragstone.metrics import METRICS  # noqa: PLC0415
    from ragstone.models import PROVIDERS, ModelOptions  # noqa: PLC0415

    list(METRICS), list(PROVIDERS)

    data = [
        {
            "user_input": row.user_input,
            "retrieved_contexts": list(row.retrieved_contexts),
            "response": row.response,
            "reference": row.reference,
        }
        for row in rows(args.samples)
    ]
    folder = Path(args.folder)
    options = ModelOptions(cache=folder / "replies", in_flight=args.in_flight)
    wall, cpu = time.perf_counter(), time.process_time()
    result = await evaluate_async(
        data,
        metrics=["five"],
        judge=f"compat/{args.model}",
        embedder=FreeVectors() if args.free_vectors else "compat/embed-1",
        judge_base_url=args.url,
        embedder_base_url=args.url,
        concurrency=2 * args.in_flight,
        run=folder / args.run,
        model_options=options,
    )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    lost = [
        [int(row["question"].partition("(case ")[2][:4]), metric]
        for row in result.scores
        for metric in FIVE
        if row[metric] is None
    ]
    return {"wall": wall, "cpu": cpu, "scores": len(result.scores) * len(FIVE), "lost": len(lost), "which": lost}


# --- the server and the processes -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Server:
    """The endpoint, from outside."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def call(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.port}/{path}", data)) as reply:
            return json.load(reply)

    @classmethod
    @contextlib.contextmanager
    def started(cls, delay: float) -> Iterator["Server"]:
        command = [sys.executable, "-m", "bench.peers.server", "--delay", str(delay)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stdout is not None
            yield cls(int(process.stdout.readline()))
            process.communicate("")


@dataclass(frozen=True)
class Bench:
    """A server, and how the tools are run against it."""

    server: Server
    args: argparse.Namespace
    folder: Path
    counter: Path | None  # the Python that can count tokens as GPT-4o does

    def ours(self, folder: str, *more: str, run: str = "eval.run") -> list[str]:
        here = self.folder / folder
        here.mkdir(exist_ok=True)
        args = self.args
        return [
            sys.executable, str(ROOT / "bench" / "judge.py"), "--one", "--url", self.server.url,
            "--samples", str(args.samples), "--in-flight", str(args.in_flight), "--folder", str(here), "--run", run,
            *more,
        ]  # fmt: skip

    def measured(self, command: Sequence[str], **page: Any) -> dict[str, Any]:
        """One process on a new page of the server's book: what it printed, and the book."""
        self.server.call("reset", page)
        # Not here: deepeval leaves a folder where it runs.
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)
        if done.returncode:
            raise SystemExit(f"{' '.join(command[:3])} failed: {done.stderr[-2000:]}")
        return {**json.loads(done.stdout.splitlines()[-1]), "book": self.server.call("stats")}

    def best(self, command: Sequence[str]) -> dict[str, Any]:
        """The fastest of some runs, and the prompt tokens of one more. Ours needs a new folder for each."""
        runs = range(self.args.repeat)
        found = [self.measured([part.replace("{n}", str(number)) for part in command]) for number in runs]
        log = self.folder / "prompts.jsonl"
        log.unlink(missing_ok=True)
        self.measured([part.replace("{n}", "log") for part in command], log=str(log))
        fastest = min(found, key=lambda run: float(run["wall"]))
        counts = fastest["book"]["counts"]
        requests = (counts.get("chat", 0) + counts.get("embeddings", 0)) / self.args.samples
        return {
            "wall": fastest["wall"], "walls": sorted(round(run["wall"], 3) for run in found), "requests": requests,
            "chat": counts.get("chat", 0) / self.args.samples, "tokens": self.tokens(log) / self.args.samples,
            "cpu_ms": fastest["cpu"] / requests / self.args.samples * 1000, "lost": fastest["lost"],
            "most_at_once": fastest["book"]["most_at_once"],
        }  # fmt: skip

    def tokens(self, log: Path) -> int:
        if self.counter is not None:
            script = str(ROOT / "bench" / "peers" / "count_tokens.py")
            done = subprocess.run([str(self.counter), script, str(log)], capture_output=True, text=True, check=False)
            if not done.returncode:
                return sum(json.loads(done.stdout).values())
        from ragstone.text import estimate_tokens  # noqa: PLC0415

        total = 0
        for line in log.read_text(encoding="ascii").splitlines():
            asked = json.loads(line)
            total += sum(estimate_tokens(str(turn["content"])) for turn in asked["messages"])
            total += estimate_tokens(json.dumps(asked["form"])) if asked["form"] else 0
        return total


# --- what is measured -----------------------------------------------------------------------------------------------


def costs(bench: Bench, pythons: dict[str, Path]) -> dict[str, Any]:
    """Requests, tokens, wall time and CPU of each tool."""
    found = {
        "ragstone": bench.best(bench.ours("quiet-{n}")),
        "ragstone, vectors in process": bench.best(bench.ours("free-{n}", "--free-vectors")),
    }
    more = ("--url", bench.server.url, "--samples", str(bench.args.samples), "--workers", str(bench.args.in_flight))
    if "ragas" in pythons:
        script = (str(pythons["ragas"]), str(ROOT / "bench" / "peers" / "run_ragas.py"), *more)
        found["ragas"] = bench.best(script)
        found["ragas, vectors in process"] = bench.best([*script, "--embedder", "process"])
        found["ragas, vectors in process, one question"] = bench.best(
            [*script, "--embedder", "process", "--llm", "langchain"]
        )
    if "deepeval" in pythons:
        script = (str(pythons["deepeval"]), str(ROOT / "bench" / "peers" / "run_deepeval.py"), *more)
        found["deepeval"] = bench.best([*script, "--reasons"])
        found["deepeval, no reasons"] = bench.best(script)
    return found


def faults(bench: Bench) -> dict[str, Any]:
    """Random 429 and 500, and requests that fail for ever."""
    passing = bench.measured(bench.ours("faults"), faults=0.05)
    doomed = bench.measured(bench.ours("doomed"), doomed=0.05)
    expected = set()
    for told in doomed["book"]["lost"]:
        step, number = told.split()
        expected |= {(int(number), metric) for metric in NEEDED[step]}
    return {
        "passing": {
            "faults": passing["book"]["counts"]["faults"], "scores": passing["scores"], "lost": passing["lost"],
        },
        "for_ever": {
            "requests": len(doomed["book"]["lost"]), "scores": doomed["scores"], "lost": doomed["lost"],
            "expected": len(expected), "as_expected": {tuple(one) for one in doomed["which"]} == expected,
        },
    }  # fmt: skip


def killed(bench: Bench) -> dict[str, Any]:
    """Killed when about half is answered, then started again. And, of a run that ended well: the same command again,
    the same data into a new run file, and another model."""
    server, samples = bench.server, bench.args.samples
    server.call("reset", {})
    process = subprocess.Popen(bench.ours("killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    until = time.monotonic() + 120
    while server.call("stats")["answered"] < 1.5 * samples and time.monotonic() < until:
        if process.poll() is not None:
            raise SystemExit("The run ended before it could be killed.")
    os.kill(process.pid, signal.SIGKILL)
    died = time.monotonic()
    process.wait()
    before = server.call("stats")
    done = subprocess.run(bench.ours("killed"), capture_output=True, text=True, check=True, cwd=ROOT)
    after = server.call("stats")
    bench.measured(bench.ours("whole"))
    again = bench.measured(bench.ours("whole", run="another.run"))
    same = bench.measured(bench.ours("whole"))
    other = bench.measured(bench.ours("whole", "--model", "judge-2", run="other.run"))
    return {
        "answered": before["answered"],
        "asked_again": sum(at < died - GRACE_SECONDS for at in after["again"]),
        "asked_again_of_the_last_moment": sum(at >= died - GRACE_SECONDS for at in after["again"]),
        "lost": json.loads(done.stdout.splitlines()[-1])["lost"],
        "second_run_asks": _asked(again) + _asked(same),
        "another_model_asks": other["book"]["counts"].get("chat", 0),
    }


def _asked(run: dict[str, Any]) -> int:
    counts = run["book"]["counts"]
    return int(counts.get("chat", 0) + counts.get("embeddings", 0))


# --- telling --------------------------------------------------------------------------------------------------------


def verdict(found: dict[str, Any], samples: int) -> dict[str, bool]:
    """Each goal, and whether it was reached."""
    tools, ours = found["costs"], found["costs"]["ragstone"]
    passing, for_ever, crash = found["faults"]["passing"], found["faults"]["for_ever"], found["killed"]
    goals = {
        f"at most {GOALS['requests']:g} requests a sample": ours["requests"] <= GOALS["requests"],
        f"at most {GOALS['tokens']:,g} prompt tokens a sample": ours["tokens"] <= GOALS["tokens"],
        f"at most {GOALS['cpu_ms']:g} ms of CPU a request": ours["cpu_ms"] <= GOALS["cpu_ms"],
        "5 % of random 429 and 500: no score lost": not passing["lost"],
        "5 % failing for ever: only the scores that need them": for_ever["as_expected"],
        "killed and started again: nothing answered is asked again": not crash["asked_again"] and not crash["lost"],
        "a second run asks nothing": not crash["second_run_asks"],
        "another model asks everything": crash["another_model_asks"] == 2 * samples,
    }
    if (faster := _faster(tools)) is not None:
        goals[f"at least {GOALS['faster']:g} times faster than the faster of the two"] = faster >= GOALS["faster"]
    return goals


def _faster(tools: dict[str, Any]) -> float | None:
    """How much longer the fastest complete setting of the others takes. Where it has its vectors for nothing, so have
    we; one question instead of three is not what the metric is defined by."""
    free = [run["wall"] for name, run in tools.items() if name == "ragas, vectors in process"]
    asked = [run["wall"] for name, run in tools.items() if name in ("ragas", "deepeval", "deepeval, no reasons")]
    ratios = [wall / tools["ragstone, vectors in process"]["wall"] for wall in free]
    ratios += [wall / tools["ragstone"]["wall"] for wall in asked]
    return min(ratios, default=None)


def show(found: dict[str, Any], goals: dict[str, bool]) -> None:
    print(f"{'':42} {'wall s':>8} {'requests':>9} {'tokens':>8} {'CPU ms':>7} {'lost':>5}")
    for name, run in found["costs"].items():
        print(
            f"{name:42} {run['wall']:8.2f} {run['requests']:9.1f} {run['tokens']:8,.0f} {run['cpu_ms']:7.2f} "
            f"{run['lost']:5}"
        )
    print("requests and prompt tokens are a sample's, CPU is a request's; tokens counted by", found["tokens_by"])
    print("faults:", json.dumps(found["faults"]))
    print("killed:", json.dumps(found["killed"]))
    for goal, reached in goals.items():
        print("reached" if reached else "MISSED ", goal)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds until the endpoint answers")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each tool; the fastest counts")
    parser.add_argument("--environments", type=Path, default=None, help="where the other tools' environments are kept")
    parser.add_argument("--no-peers", action="store_true", help="ragstone alone")
    parser.add_argument("--json", action="store_true")
    for name in ("--url", "--folder", "--run"):
        parser.add_argument(name, default="", help=argparse.SUPPRESS)
    parser.add_argument("--model", default="judge-1", help=argparse.SUPPRESS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--free-vectors", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(asyncio.run(one(args))))
        return 0
    return report(args)


def report(args: argparse.Namespace) -> int:
    """Measures everything; 1 where a goal is missed."""
    pythons, absent = {}, []
    if not args.no_peers:
        import platformdirs  # noqa: PLC0415

        folder = args.environments or Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "peers"
        for name in ("ragas", "deepeval"):
            python, reason = environment(name, folder)
            if python is None:
                absent.append(reason)
            else:
                pythons[name] = python
    load = os.getloadavg()[0]
    with Server.started(args.delay) as server, tempfile.TemporaryDirectory() as temporary:
        bench = Bench(server, args, Path(temporary), pythons.get("ragas"))
        found: dict[str, Any] = {
            "costs": costs(bench, pythons), "faults": faults(bench), "killed": killed(bench), "absent": absent,
            "tokens_by": "GPT-4o's vocabulary" if "ragas" in pythons else "ragstone's estimate", "load_before": load,
        }  # fmt: skip
    goals = verdict(found, args.samples)
    if args.json:
        print(json.dumps({**found, "goals": goals, "faster": _faster(found["costs"])}))
    else:
        show(found, goals)
        print("\n".join(absent))
    return int(not all(goals.values()))


if __name__ == "__main__":
    sys.exit(main())
