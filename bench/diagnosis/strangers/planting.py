"""What a fault does: the questions that fail with it and are right without it, in the same random state."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.diagnosis.strangers import asking, texts
from bench.diagnosis.strangers.faults import BY_NAME, EVALUATION, FAULTS
from bench.diagnosis.strangers.judgement import doubtful, right, states
from bench.diagnosis.strangers.settings import CHUNKINGS, IDS, LANGUAGES, Settings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from bench.diagnosis.strangers.texts import Question

ENOUGH = 4


@dataclass(frozen=True)
class Case:
    """A fault in an application."""

    app: str
    fault: str
    settings: Settings


@functools.lru_cache(maxsize=512)
def answers(app: str, settings: Settings, which: str = "questions") -> tuple[str, ...]:
    """The answers of a newly built application to all questions, in their order."""
    system = asking.build(app, settings)
    return tuple(asking.ask(app, system, question.text) for question in texts.questions(settings.language, which))


def misjudged(question: Question, answer: str, fault: str) -> bool:
    """Whether an evaluation with this fault takes a right answer for a wrong one."""
    if not question.keys or not right(question, answer):
        return False
    if fault == "wrong_reference":
        return doubtful(question)
    wordings = [fact.value for fact in question.facts()]
    return fault == "other_notation" and not all(states(answer, value) for value in wordings)


def planted(case: Case, which: str = "questions") -> list[int]:
    """The numbers of the questions that the fault made fail."""
    asked = texts.questions(case.settings.language, which)
    with_fault = answers(case.app, case.settings, which)
    if case.fault in EVALUATION:
        pairs = enumerate(zip(asked, with_fault, strict=True))
        return [at for at, (question, answer) in pairs if misjudged(question, answer, case.fault)]
    without = answers(case.app, replace(case.settings, fault=""), which)
    trios = enumerate(zip(asked, with_fault, without, strict=True))
    return [at for at, (question, bad, good) in trios if right(question, good) and not right(question, bad)]


def selection(per_fault: int = 3, only: Collection[str] = ()) -> Iterator[Case]:
    """A Latin square: each fault in some of its applications, with turning languages, chunkings and ids.

    A chunking in which the fault makes fewer than four questions fail is passed over for the next one.
    """
    for row, fault in enumerate(FAULTS):
        columns = {(row + turn * len(fault.apps) // per_fault) % len(fault.apps) for turn in range(per_fault)}
        for column in sorted(columns):
            app = fault.apps[column]
            if not only or fault.name in only or app in only:
                yield from _first(app, fault.name, row, column)


def _first(app: str, fault: str, row: int, column: int) -> Iterator[Case]:
    language = LANGUAGES[(row + column // 3 + row // 3) % 2]
    for turn in range(len(CHUNKINGS)):
        chunking = CHUNKINGS[(row + 2 * column + turn) % len(CHUNKINGS)]
        case = Case(app, fault, Settings(language, chunking, IDS[(row // 3 + column) % len(IDS)], fault))
        if len(planted(case)) >= ENOUGH:
            yield case
            return


def table(apps: list[str], chunking: str = "headings", only: tuple[str, ...] = ()) -> None:
    """Print how many questions each fault makes fail, by application and language."""
    for fault in (fault for fault in FAULTS if not only or fault.name in only):
        cells = []
        for app in apps:
            if app in BY_NAME[fault.name].apps:
                counts = [
                    len(planted(Case(app, fault.name, Settings(lang, chunking, fault=fault.name))))
                    for lang in LANGUAGES
                ]
                cells.append(f"{app} {counts}")
        print(f"{fault.name:24}", *cells, flush=True)
