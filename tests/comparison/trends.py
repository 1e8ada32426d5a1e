"""Series of runs in memory, for the tests of trends."""

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.benchmarks.recorded.memory_run import MemoryRun

from ragstone.analysis.sides import Side
from ragstone.comparison.trend_figures import Trend, trend_of
from ragstone.comparison.trend_runs import read_whole
from ragstone.plans import Plan
from ragstone.prices import Price
from ragstone.types import Case, Query, Record, Response, Sample, Score, Usage

__all__ = ["START", "night", "nights", "records", "trend"]

START = datetime(2026, 10, 25, 2, tzinfo=UTC)
PRICE = Price(1.0, 2.0)


def records(
    values: Sequence[float | Score | None], *, first: int = 0, metric: str = "faithfulness", seconds: float = 1.0,
    tokens: int = 100, columns: Mapping[str, Any] | None = None, **more: Any,
) -> list[Record]:  # fmt: skip
    """A record for each value; None is an answer that failed."""
    made = []
    for number, value in enumerate(values, first):
        meta = {"columns": {**(columns or {}), **more}} if columns or more else {}
        case = Case(
            f"q{number}", Sample(f"q{number}", f"Question {number}?", meta=meta), {}, Query(f"Question {number}?")
        )
        if value is None:
            made.append(Record("app", case, None, "timed_out: late"))
            continue
        response = Response("So.", usage=Usage(tokens, 10), seconds=seconds * (1 + number % 5))
        score = value if isinstance(value, Score) else Score.of(value)
        made.append(Record("app", case, response, None, {metric: score}))
    return made


def night(
    number: int, held: Sequence[Record], *, planned: int = 0, benchmark: str = "eval",
    system: Mapping[str, Any] | None = None, **meta: Any,
) -> Side:  # fmt: skip
    """The run of a night."""
    started = (START + timedelta(days=number)).isoformat()
    run = MemoryRun(held, **{"started": started, "question": {"benchmark": benchmark}} | meta)
    run.systems = {"app": system or {"kind": "ours"}}
    run.planned = {"app": Plan(planned, len(held))} if planned else {}
    return Side(run, "app", f"n{number:02}.run")


def nights(count: int = 14, *, at: int = 9, fall: float = 0.12, questions: int = 80, **more: Any) -> list[Side]:
    """Nightly runs of the same questions; the share of right answers falls by `fall` in the night `at`."""
    rng = random.Random(3)
    ease = [rng.betavariate(6, 1) for _ in range(questions)]
    return [
        night(number, records([float(rng.random() < p - fall * (number >= at)) for p in ease], **more))
        for number in range(count)
    ]


def trend(sides: Sequence[Side], *metrics: str, **options: Any) -> Trend:
    """The trend of runs, with prices."""
    readings = [read_whole(side, Path(__file__), {}, PRICE) for side in sides]
    for reading in readings:
        reading.path = f"nightly/{reading.name}"
    return trend_of(readings, metrics, **options)


def moved(held: Sequence[Record], by: int) -> list[Record]:
    """The same records of other questions."""
    return [
        replace(one, case=replace(one.case, sample=replace(one.case.sample, question=f"{one.case.id} and {by}?")))
        for one in held
    ]
