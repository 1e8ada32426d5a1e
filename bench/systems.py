"""What ragstone adds to a user's own system: wall time over the floor, and CPU a question in all its processes.

    python bench/systems.py [--questions 3000] [--in-flight 64] [--delay 0.05]

Three systems that only wait for `--delay` seconds are asked by the whole path of a run: cases, the system, scores, and
the run file with a commit before each case counts as done. A function and a coroutine of a file (`app.py:NAME`) run in
a process of their own; an HTTP address is served by another process, which is not counted. The floor is questions /
in flight x delay: what a program that costs nothing would take. CPU is that of ragstone's process while it asks and of
the process with the user's code, less what a run of one question takes there (starting it).

Goals: at most 1.15 times the floor, and at most 1.5 ms of CPU a question in both processes together.
"""

import argparse
import asyncio
import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from ragstone.metrics.answer_match import AnswerMatch
from ragstone.models import ModelOptions
from ragstone.runs import RunFile, run_cases
from ragstone.systems import open_system
from ragstone.systems.rag import RAG_TEMPLATE
from ragstone.types import Case, Query, Sample

__all__ = ["main"]

GOALS = {"wall": 1.15, "cpu_ms": 1.5}
PASSAGES = ["The harvest festival of the valley drew visitors from every village. " * 8] * 5
REPLY = {"answer": "It is 7.", "contexts": [f"{number} {text}" for number, text in enumerate(PASSAGES)]}
APP = f"""
import asyncio, time
ANSWER = {REPLY!r}

def blocking(question):
    time.sleep(DELAY)
    return ANSWER

async def coroutine(question):
    await asyncio.sleep(DELAY)
    return ANSWER
"""


def cases(count: int) -> Iterator[Case]:
    for number in range(count):
        sample = Sample(f"q{number}", f"Question {number}?", references=(("7",),), language="en")
        yield Case(f"run/{number:06d}", sample, {}, Query(sample.question, language="en"))


def child_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


async def run_once(name: str, count: int, in_flight: int, path: Path) -> tuple[float, float, float]:
    """One run: its seconds, the CPU seconds of this process while it asks, and those of the processes it started."""
    before = child_seconds()
    async with open_system(name, template=RAG_TEMPLATE, options=ModelOptions(in_flight=in_flight)) as system:
        with RunFile.create_or_open(path, question={"n": count}, info={}, systems={system.id: system.spec}) as file:
            wall, cpu = time.perf_counter(), time.process_time()
            outcome = await run_cases(
                file, lambda: cases(count), systems=[system], metrics=[AnswerMatch()], concurrency=in_flight
            )
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert outcome.done == count, outcome
    return wall, cpu, child_seconds() - before


async def measure(name: str, count: int, in_flight: int, folder: Path) -> dict[str, float]:
    """Seconds, and milliseconds of CPU a question in this process and in that of the user's code."""
    _, _, start = await run_once(name, 1, in_flight, folder / "one.run")
    wall, cpu, other = await run_once(name, count, in_flight, folder / "all.run")
    return {"wall": wall, "own_ms": cpu / count * 1000, "other_ms": max(0.0, other - start) / count * 1000}


@contextlib.contextmanager
def endpoint(delay: float) -> Iterator[str]:
    """The address of a server in a process of its own that answers every request after `delay` seconds."""
    command = [sys.executable, str(Path(__file__).with_name("overhead.py")), "--serve", "--delay", str(delay)]
    command += ["--reply", json.dumps(REPLY)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/ask"
        server.communicate("")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--questions", type=int, default=3000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds until a system answers")
    args = parser.parse_args()
    floor = args.questions / args.in_flight * args.delay
    print(f"{args.questions} questions, {args.in_flight} in flight, answers after {args.delay * 1000:.0f} ms")
    missed = False
    with tempfile.TemporaryDirectory() as folder, endpoint(args.delay) as url:
        app = Path(folder) / "app.py"
        app.write_text(APP.replace("DELAY", str(args.delay)), "utf-8")
        for label, name in (("function", f"{app}:blocking"), ("coroutine", f"{app}:coroutine"), ("HTTP", url)):
            place = Path(folder) / label
            place.mkdir()
            found = asyncio.run(measure(name, args.questions, args.in_flight, place))
            ratio, cpu = found["wall"] / floor, found["own_ms"] + found["other_ms"]
            print(
                f"{label:9}  wall {found['wall']:.2f} s = {ratio:.3f} x the floor of {floor:.2f} s (goal "
                f"{GOALS['wall']});  CPU {cpu:.3f} ms a question (goal {GOALS['cpu_ms']}): {found['own_ms']:.3f} in "
                f"ragstone's process, {found['other_ms']:.3f} in the user's"
            )
            missed = missed or ratio > GOALS["wall"] or cpu > GOALS["cpu_ms"]
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
