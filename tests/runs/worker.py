"""One process of a run, for the tests that kill it. `python -m tests.runs.worker PATH COUNT LOG` runs it alone."""

import asyncio
import contextlib
import itertools
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.runs.doubles import QUESTION, Echo, Judge, Length, cases

from ragstone.errors import RagstoneError, Terminated
from ragstone.runs import NullProgress, RunFile, finish_on_interrupt, run_cases
from ragstone.types import Case, Query, Record, Response, Score


@dataclass
class Logged(Echo):
    """Writes each request into a file that only grows, before it is answered after `seconds` (below 0: at once)."""

    log: str = ""
    seconds: float = 0.002

    async def answer(self, query: Query, /) -> Response:
        note(self.log, query.question)
        if self.seconds >= 0:
            await asyncio.sleep(self.seconds)
        return Response(f"It is {query.question.split()[1][:-1]}.")

    @property
    def repeatable(self) -> bool:
        return self.seconds < 0

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "logged"}


@dataclass
class LoggedJudge(Judge):
    """A judge whose requests are written down in the same way."""

    log: str = ""

    async def score(self, case: Case, response: Response, /) -> Score:
        note(self.log, f"judge {case.id}")
        await asyncio.sleep(0.001)
        return Score.of(1.0, evidence={"verdicts": [{"of": case.id}]})


def note(log: str, line: str) -> None:
    """Appends a line in one write, so that several processes and a kill leave whole lines."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


class Telling(NullProgress):
    """Tells each record when it is acknowledged."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell

    def case_done(self, record: Record, *, free: bool = False) -> None:
        self.tell(record.case.id)


async def run(
    path: str,
    count: int,
    log: str,
    tell: Callable[[str], None],
    *,
    concurrency: int = 4,
    seconds: float = 0.002,
    judged: bool = False,
    part: tuple[int, int] = (0, 1),
    announce: Callable[[str], None] | None = None,
) -> tuple[bool, str]:
    """Whether the run is complete, and what it says. `part`: every how-manieth case is asked, from which one on."""
    system = Logged(id="scripted/logged", log=log, seconds=seconds)
    metrics: list[Any] = [Length(), LoggedJudge(log=log)] if judged else [Length()]
    specs = {system.id: system.spec}
    async with finish_on_interrupt(announce) as stop:
        # Commits as often as there are few results for each, so that kills come between many.
        with RunFile.create_or_open(path, question=QUESTION, info={}, systems=specs, gather=0.004) as file:
            outcome = await run_cases(
                file,
                lambda: itertools.islice(cases(count)(), part[0], None, part[1]),
                systems=[system],
                metrics=metrics,
                concurrency=concurrency,
                progress=Telling(tell),
                stop=stop,
            )
    return outcome.complete, outcome.advice


def work(connection: Connection, path: str, count: int, log: str, options: dict[str, Any]) -> None:
    """In a process of its own: sends each acknowledged id, and then what the run says."""
    if limit := options.pop("file_size", None):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    try:
        _, said = asyncio.run(run(path, count, log, connection.send, **options))
    except RagstoneError as error:
        said = str(error)
    connection.send(f"end {said}")
    connection.close()


def open_with(connection: Connection, path: str, question: dict[str, Any]) -> None:
    """Opens a run file with a question and sends what comes of it."""
    try:
        RunFile.create_or_open(path, question=question, info={}, systems={}).close()
        connection.send("opened")
    except RagstoneError as error:
        connection.send(f"{type(error).__name__}: {error}")


def main() -> int:
    path, count, log = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 0.002

    def tell(line: str) -> None:
        print(line, flush=True)

    def announce(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        complete, said = asyncio.run(run(path, count, log, tell, seconds=seconds, announce=announce))
    except RagstoneError as error:
        announce(str(error))
        return error.exit_code
    except KeyboardInterrupt as error:
        return 128 + (error.number if isinstance(error, Terminated) else signal.SIGINT)
    if said:
        announce(said)
    return 0 if complete else 3


def lines(log: Path) -> list[str]:
    """What was written down."""
    with contextlib.suppress(FileNotFoundError):
        return log.read_text().splitlines()
    return []


if __name__ == "__main__":
    sys.exit(main())
