"""The rankings of a run as a TREC run: in order, the deepest of each question, in a few bytes of memory each."""

import io
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.recorded.memory_run import MemoryRun
from tests.report.synthetic import SmallBenchmark

from ragstone.report import export
from ragstone.types import Case, Passage, Query, Record, Response, Sample


def found(query: str, documents: str, *, system: str = "s", k: int = 0) -> Record:
    """A record whose system returned these documents, a letter each."""
    passages = tuple(Passage(document, "", score=float(-place)) for place, document in enumerate(documents))
    case = Case(f"{query}/{k}", Sample(query, "Why?"), {"k": k}, Query("Why?"))
    return Record(system, case, Response("So.", passages), None, {})


def written(run: MemoryRun) -> list[str]:
    stream = io.BytesIO()
    export(run, SmallBenchmark(), "trec", stream)
    return stream.getvalue().decode().splitlines()


def test_lists_are_in_the_order_of_systems_and_questions_and_the_deepest_counts() -> None:
    records = [
        found("q 9", "a", k=1), found("q10", "b"), found("q 9", "cd", k=2), found("q 9", "ef", k=3), found("none", ""),
        found("字", "g"), found("q10", "h", system="other one"),
    ]  # fmt: skip
    assert written(MemoryRun(records)) == [
        "q10 Q0 h 1 0.0 other_one", "q_9 Q0 c 1 0.0 s", "q_9 Q0 d 2 -1.0 s", "q10 Q0 b 1 0.0 s", "字 Q0 g 1 0.0 s",
    ]  # fmt: skip
    assert written(MemoryRun([found("none", "")])) == []


class Many(MemoryRun):
    """Lists made as they are read."""

    def __init__(self, count: int) -> None:
        super().__init__([found("q", "a")])
        self.count = count

    def records(self, **_: Any) -> Iterator[Record]:
        return (found(f"q{number}", "abcde") for number in range(self.count))


def test_a_list_takes_a_few_bytes_of_memory(tmp_path: Path) -> None:
    peaks = []
    for count in (200, 200, 2_200):  # the first warms the caches
        tracemalloc.start()
        export(Many(count), SmallBenchmark(), "trec", tmp_path / "x.trec")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (peaks[2] - peaks[1]) / 2_000 < 150
