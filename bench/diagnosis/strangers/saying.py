"""What the tool says about a case: from Python, or from what its command prints and its run file has."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragstone.api import read_run

if TYPE_CHECKING:
    from collections.abc import Mapping

Gain = tuple[float, float, float]


@dataclass(frozen=True)
class Said:
    """The cause of each question, the answer that it was given, and the first advice with its gain."""

    causes: dict[str, str]
    answers: dict[str, str]
    advice: str
    gain: Gain | None


def _gain(value: Any, low: Any, high: Any) -> Gain | None:
    return None if value is None or low is None or high is None else (float(value), float(low), float(high))


def from_python(result: Any) -> Said:
    """What a result has."""
    answers: dict[str, str] = {}
    for one in result.questions:
        response = getattr(one.evidence.records.get("as_is"), "response", None)
        answers[one.id] = getattr(response, "answer", None) or ""
    causes = {key: str(cause.name) for key, cause in result.causes().items()}
    for fix in result.fixes():
        gain = None if fix.gain is None else _gain(fix.gain.value, fix.gain.low, fix.gain.high)
        return Said(causes, answers, str(fix.cause), gain)
    return Said(causes, answers, "", None)


def on_the_command_line(questions: str, system: list[str], options: Mapping[str, Any]) -> Said:
    """What the command prints as JSON; the answers are in its run file."""
    command = [sys.executable, "-m", "ragstone", "diagnose", questions, *system, "--json", "--quiet"]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        raise RuntimeError(done.stderr[-300:])
    printed = json.loads(done.stdout)
    causes = {key: str(cause["cause"]) for key, cause in printed["causes"].items()}
    advice, gain = _first_advice(printed["tables"], causes)
    return Said(causes, _answers(Path(str(options["run"]))), advice, gain)


def _first_advice(tables: list[dict[str, Any]], causes: Mapping[str, str]) -> tuple[str, Gain | None]:
    """The first line of the table of fixes. It has the cause in words; its first question has the name."""
    for table in tables:
        if table["id"] == "diagnosis-fixes" and table["rows"]:
            cells = table["rows"][0]["cells"]
            which = str(cells[table["columns"].index("Which")].get("text", "")).split(",")[0].split()[0]
            gain = cells[table["columns"].index("Gain")]
            return causes.get(which, ""), _gain(gain.get("value"), gain.get("low"), gain.get("high"))
    return "", None


def _answers(run: Path) -> dict[str, str]:
    """The answers as they are, of the run file."""
    exported = run.with_suffix(".jsonl")
    with read_run(str(run)) as shown:
        shown.export(exported, "jsonl", force=True)
    answers: dict[str, str] = {}
    for line in exported.read_text(encoding="utf-8").splitlines():
        record = json.loads(line).get("record", {})
        case = record.get("case", {})
        if str(case.get("id", "")).endswith("/as_is"):
            answers[case["sample"]["id"]] = (record.get("response") or {}).get("answer") or ""
    return answers
