"""What a run file weighs and costs where cases share passages, and where they share none.

    python bench/texts_once.py [--cases 2000] [--chunks 1000] [--passages 5] [--rounds 3]

No model: the answers are there at once, so what is timed is the run file (with a commit before each case counts as
done). "given": the query holds the passages; "retrieved": the response does; "unshared": as given, and no two passages
are equal. Times are the best of the rounds.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragstone.runs import RunFile, open_run, run_cases
from ragstone.types import Case, Passage, Query, Response, Sample, Usage

ENGLISH = "the old mill by the river was sold in spring and its owner moved to a town beyond the hills"
WORDS = {"en": ENGLISH.split(), "zh": list("河边的旧磨坊在春天卖掉了它的主人搬到山那边的镇上去了")}


def chunk(number: int, language: str) -> Passage:
    """About 330 tokens, like MIRAGE's."""
    draw, words = random.Random(number), WORDS[language]
    text = "".join(draw.choices(words, k=330)) if language == "zh" else " ".join(draw.choices(words, k=330))
    return Passage(f"doc-{number}", f"{number} {text}", score=round(draw.random(), 4))


class Instant:
    """Answers at once; with the passages that a retriever would have found, where the query brings none."""

    id = "bench/instant"
    spec: Mapping[str, Any] = {"kind": "instant"}

    def __init__(self, found: Mapping[str, tuple[Passage, ...]]) -> None:
        self.found = found

    async def answer(self, query: Query, /) -> Response:
        passages = () if query.passages is not None else self.found[query.question]
        return Response("In spring.", passages, usage=Usage(1700, 5, 0, 1, 0), model="instant")


def make(kind: str, language: str, count: int, chunks: int, passages: int) -> tuple[list[Case], Instant]:
    draw, pool = random.Random(7), [chunk(number, language) for number in range(chunks)]
    cases, found = [], {}
    for number in range(count):
        question = f"Question {number}: when was the mill sold?"
        chosen = tuple(draw.sample(pool, passages))
        if kind == "unshared":
            chosen = tuple(chunk(chunks + number * passages + place, language) for place in range(passages))
        found[question] = chosen
        query = Query(question, None if kind == "retrieved" else chosen)
        sample = Sample(f"q-{number}", question, (("spring",),))
        cases.append(Case(f"{number:06d}", sample, {"setting": kind, "k": passages}, query))
    return cases, Instant(found)


async def write(path: Path, cases: list[Case], system: Instant) -> None:
    def stream() -> Iterator[Case]:
        return iter(cases)

    with RunFile.create_or_open(path, question={"bench": 1}, info={}, systems={system.id: system.spec}) as file:
        await run_cases(file, stream, systems=[system], metrics=[], concurrency=32)


def busy() -> float:
    """CPU seconds of this process so far, of all its threads."""
    return sum(os.times()[:2])


def read(path: Path) -> None:
    with open_run(path) as run:
        for _ in run.records():
            pass


def read_memory(path: Path) -> float:
    tracemalloc.start()
    read(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("cases", 2000), ("chunks", 1000), ("passages", 5), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    sys.stdout.write("kind, language | file MB | write, again, read: s (CPU s) | reading, peak MB\n")
    for kind, language in (("given", "en"), ("given", "zh"), ("retrieved", "en"), ("unshared", "en")):
        cases, system = make(kind, language, options.cases, options.chunks, options.passages)
        times: dict[str, list[tuple[float, float]]] = {"write": [], "again": [], "read": []}
        with tempfile.TemporaryDirectory() as folder:
            for number in range(options.rounds):
                path = Path(folder) / f"{number}.run"
                for name, taken in times.items():
                    start, used = time.perf_counter(), busy()
                    if name == "read":
                        read(path)
                    else:
                        asyncio.run(write(path, cases, system))
                    taken.append((time.perf_counter() - start, busy() - used))
            size, most = path.stat().st_size / 1e6, read_memory(path)
        shown = ", ".join(
            f"{min(pair[0] for pair in t):.2f} ({min(pair[1] for pair in t):.2f})" for t in times.values()
        )
        sys.stdout.write(f"{kind}, {language} | {size:.2f} | {shown} | {most:.1f}\n")


if __name__ == "__main__":
    main()
