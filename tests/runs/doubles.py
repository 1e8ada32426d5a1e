"""What the tests of runs share: cases, a system and metrics that are deterministic and quick."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragstone.runs import RunFile, RunReader, open_run
from ragstone.structs import to_json
from ragstone.types import Case, Need, Passage, Query, Record, Response, Sample, Score, Usage

QUESTION: dict[str, Any] = {"benchmark": "probe", "data": {"sha256": "0" * 64}, "passages": 5}


def case(number: int, *, lane: str = "", text: str = "The plum harvest began.") -> Case:
    passages = (Passage(f"positive:{number}", f"{text} {number}", relevant=True),)
    name = f"noise/en/{number:05d}"
    return Case(
        name,
        Sample(f"en:{number}", f"Question {number}?", references=((str(number),),)),
        {"ability": "noise", "noise_ratio": 0.2},
        Query(f"Question {number}?", passages),
        lane,
    )


def cases(count: int, *, lanes: int = 0) -> Callable[[], Iterator[Case]]:
    return lambda: (case(number, lane=f"lane {number % lanes}" if lanes else "") for number in range(count))


@dataclass
class Echo:
    """Answers with the question's own words; counts what it is asked. `fails` names questions that raise."""

    id: str = "scripted/echo"
    fails: Callable[[str], BaseException | None] = lambda _: None
    before: Callable[[str], Any] | None = None
    asked: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "echo", "template": {"name": "paper"}}

    async def answer(self, query: Query, /) -> Response:
        self.asked.append(query.question)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(0)
            if self.before is not None:
                await self.before(query.question)
            if (error := self.fails(query.question)) is not None:
                raise error
        finally:
            self.in_flight -= 1
        self.answered.append(query.question)
        return Response(f"It is {query.question.split()[1][:-1]}.", usage=Usage(10, 3, 0, 1, 0), model="echo-1")


@dataclass(frozen=True)
class Length:
    """A metric that needs nothing but the answer."""

    name: str = "length"
    version: int = 1
    needs: frozenset[Need] = frozenset({Need.ANSWER})

    def score(self, case: Case, response: Response, /) -> Score:
        return Score.of(len(response.answer), evidence={"case": case.id})


@dataclass
class Judge:
    """A metric that is_async, with raw verdicts in its evidence."""

    name: str = "judge"
    version: int = 1
    needs: frozenset[Need] = frozenset({Need.ANSWER, Need.REFERENCES})
    fails: bool = False
    asked: list[str] = field(default_factory=list)

    async def score(self, case: Case, response: Response, /) -> Score:
        self.asked.append(case.id)
        await asyncio.sleep(0)
        if self.fails:
            raise RuntimeError("no verdict")
        return Score.of(1.0, evidence={"reply": response.answer, "verdicts": [{"yes": True}, "raw \ud800"]})


def new_file(path: Path, *systems: Echo, question: Mapping[str, Any] = QUESTION, **info: Any) -> RunFile:
    specs = {system.id: system.spec for system in systems or (Echo(),)}
    return RunFile.create_or_open(path, question=question, info=info, systems=specs)


def records(path: Path) -> list[Record]:
    with open_run(path) as run:
        return list(run.records())


def canonical(run: RunReader) -> Iterator[str]:
    """Everything of a run that a report may show, line by line: two runs with the same lines have the same report."""
    yield to_json(dict(run.meta))
    yield to_json(dict(run.systems))
    for record in run.records():
        yield to_json(record)
    for name, counts in run.counts().items():
        yield f"{name}: {counts}"
    yield from map(str, run.failures())


def shown(path: Path, view: Callable[[RunReader], Iterable[str]] = canonical) -> bytes:
    """A run file as `view` shows it. `view` may be any renderer of a report."""
    with open_run(path) as run:
        return "\n".join(view(run)).encode("utf-8", "surrogatepass")
