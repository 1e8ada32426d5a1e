"""Runs the tool on a case as a user would, and compares what it says with what was planted."""

from __future__ import annotations

import inspect
import json
import time
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bench.diagnosis.strangers import asking, texts
from bench.diagnosis.strangers.faults import BY_NAME, EVALUATION
from bench.diagnosis.strangers.ingest import rows
from bench.diagnosis.strangers.judgement import right, write_documents, write_questions
from bench.diagnosis.strangers.planting import answers, misjudged, planted
from bench.diagnosis.strangers.saying import Said, from_python, on_the_command_line
from bench.diagnosis.strangers.serving import service
from bench.diagnosis.strangers.settings import share

import ragstone

if TYPE_CHECKING:
    from pathlib import Path

    from bench.diagnosis.strangers.planting import Case

# The order of the questions, or chance, decides which answers these faults spoil: the tool's own answers are judged.
UNORDERED = ("history_leaks", "flaky")
FINE = ("healthy", "right", "")
STAGES = {
    "index": ("not_in_index", "stale", "chunking", "contradiction"),
    "search": ("rewriting", "search_mismatch", "not_retrieved", "filtered", "language"),
    "ranking": ("reranking", "ranking", "k_too_small", "duplicates"),
    "prompt": ("prompt_cut", "position", "noise", "history"),
    "answer": ("memory", "integration", "reading", "instruction", "units", "cached_answer", "unstable"),
    "refusal": ("refused_wrongly", "should_have_refused", "guard"),
    "error": ("error",),
    "reference": ("metric", "reference_in_doubt"),
}
# "generation" is what the tool says of a system that takes no passages: the answer went wrong, it cannot say more.
STAGE_OF = {cause: stage for stage, causes in STAGES.items() for cause in causes} | {"generation": "answer"}


@dataclass
class Found:
    """What the tool said about a case, beside what is true."""

    app: str
    fault: str
    settings: dict[str, Any]
    index_named: bool
    planted: int = 0
    stage_right: int = 0
    cause_right: int = 0
    named: Counter[str] = field(default_factory=Counter)
    right: int = 0
    unknown: int = 0
    """Right answers that the tool takes for wrong ones, of which it says that it does not know the cause."""
    alarms: Counter[str] = field(default_factory=Counter)
    advice: str = ""
    gain: tuple[float, float, float] | None = None
    lifted: float = 0.0
    lifted_fresh: float = 0.0
    seconds: float = 0.0
    error: str = ""

    @property
    def covered(self) -> bool | None:
        """Whether the first advice's interval has what lifting the fault buys; None without an interval."""
        return None if self.gain is None else self.gain[1] - 1e-9 <= self.lifted <= self.gain[2] + 1e-9

    @property
    def misled(self) -> bool:
        """Whether the first advice is about another stage than the fault's."""
        return bool(self.advice) and STAGE_OF.get(self.advice, "") not in BY_NAME[self.fault].stages


def names_index(case: Case) -> bool:
    """Whether the user names what is indexed: always if the index is at fault, else in half of the cases."""
    can = "index" in inspect.signature(ragstone.diagnose).parameters
    return can and (BY_NAME[case.fault].in_index or share("index", case.app, case.fault) < 0.5)


def _write_index(path: Path, case: Case) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows(case.settings):
            file.write(json.dumps({"id": row.id, "text": row.text, "title": row.title}, ensure_ascii=False) + "\n")


def lifted(case: Case, which: str = "questions") -> float:
    """The share of questions that lifting the fault makes right, less those that it makes wrong."""
    asked = texts.questions(case.settings.language, which)
    with_fault = answers(case.app, case.settings, which)
    if case.fault in EVALUATION:
        good = [misjudged(question, answer, case.fault) for question, answer in zip(asked, with_fault, strict=True)]
        return sum(good) / len(good)
    without = answers(case.app, replace(case.settings, fault=""), which)
    trios = zip(asked, without, with_fault, strict=True)
    return sum(right(question, good) - right(question, bad) for question, good, bad in trios) / len(asked)


def _diagnose(case: Case, folder: Path, index: bool) -> Said:
    """What the tool says."""
    documents = folder / "docs" / case.settings.language
    write_documents(documents, case.settings.language)
    write_questions(folder / "questions.jsonl", case.settings)
    options: dict[str, Any] = {"corpus": str(documents), "run": str(folder / "case.run")}
    if index:
        _write_index(folder / "index.jsonl", case)
        options["index"] = str(folder / "index.jsonl")
    (folder / "case.run").unlink(missing_ok=True)
    file = str(folder / "questions.jsonl")
    if case.app.startswith("http"):
        with service(case.app, case.settings) as system_options:
            return on_the_command_line(file, system_options, options)
    system = asking.build(case.app, case.settings)
    return from_python(ragstone.diagnose(file, system.ask if case.app == "sqlite" else system, **options))


def compare(case: Case, said: Said, found: Found) -> None:
    """Count what the tool named."""
    fault = BY_NAME[case.fault]
    asked = texts.questions(case.settings.language)
    sure = set(planted(case))
    good = answers(case.app, replace(case.settings, fault=""))
    for at, question in enumerate(asked):
        key = f"q{at:02}"
        if key not in said.answers:
            continue
        cause, answer, failed = said.causes.get(key, ""), said.answers[key], False
        if case.fault in EVALUATION:  # what the tool's metric takes for right did not fail
            failed = misjudged(question, answer, case.fault) and cause not in FINE
        elif not right(question, answer):
            failed = right(question, good[at]) if case.fault in UNORDERED else at in sure
        if failed:
            found.planted += 1
            found.named[cause or "healthy"] += 1
            found.cause_right += cause in fault.causes
            found.stage_right += STAGE_OF.get(cause, "") in fault.stages
        elif right(question, answer):
            found.right += 1
            if cause == "unknown":
                found.unknown += 1
            elif cause not in FINE:
                found.alarms[cause] += 1


def run(case: Case, folder: Path) -> Found:
    """Diagnose a case."""
    index = names_index(case)
    found = Found(case.app, case.fault, asdict(case.settings), index)
    start = time.perf_counter()
    try:
        said = _diagnose(case, folder, index)
        compare(case, said, found)
        found.advice, found.gain = said.advice, said.gain
    except Exception as error:  # a tool that fails on a case has failed that case
        found.error = f"{type(error).__name__}: {str(error)[:200]}"
        found.planted = len(planted(case))
        found.named["(failed)"] = found.planted
    found.seconds = time.perf_counter() - start
    found.lifted = lifted(case)
    found.lifted_fresh = lifted(case, "fresh")
    return found


def as_dict(found: Found) -> dict[str, Any]:
    """A case's result as JSON has it."""
    counts = {"named": dict(found.named), "alarms": dict(found.alarms)}
    return vars(found) | counts | {"covered": found.covered, "misled": found.misled}
