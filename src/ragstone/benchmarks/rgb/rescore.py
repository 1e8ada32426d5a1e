"""Re-scores saved predictions of RGB's official program, with exactly the official counts.

A prediction file has one JSON object per line, whatever its extension: `id`, `query`, `ans` (the answer, as in the data
file), `prediction`, `noise_rate`, and optionally `docs`, `label`, `factlabel`. The labels are recomputed; a warning
reports where the file has others. Failed rows are not in the file and therefore not in `nums`.

A judge's replies (from the official judge programs or any other: one JSON object per line with `id` and `evaluation`,
or `evaluation` in the prediction rows) add the figures of both judge programs. The replies do not tell which of the two
questions was asked, so both readings are given, but only the matching one is meaningful: `reject` ("not addressed") for
the base sets, `fact` ("has identified", "Yes") for the counterfactual ones."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragstone.datasets.jsonlines import json_objects, kind_of
from ragstone.datasets.rgb import NAMES, RGBSet
from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.metrics.rgb_judge import error_verdict, rejection_verdict
from ragstone.metrics.rgb_official import official_counts, official_labels

_IN_NAME = re.compile(r"_noise(\d+(?:\.\d+)?)_")  # prediction_en_chatgpt_temp0.2_noise0.6_passage5_correct0.0.json


@dataclass(frozen=True)
class _Prediction:
    line: int
    id: str | None
    label: list[int]
    factlabel: int
    noise: float | None
    evaluation: str | None

    @property
    def right(self) -> bool:
        """Every slot is found: what the judge programs count at any noise ratio."""
        return 0 not in self.label and 1 in self.label


@dataclass
class _Discrepancies:
    """The lines on which a file differs from the recomputed values, by kind of difference."""

    lines: dict[str, list[int]] = field(default_factory=dict)

    def add(self, kind: str, line: int) -> None:
        self.lines.setdefault(kind, []).append(line)

    def messages(self) -> list[str]:
        return [f"{kind} in {len(lines)} rows (first: line {lines[0]})." for kind, lines in sorted(self.lines.items())]


def rescore(
    predictions: Sequence[str | Path],
    *,
    dataset: str,
    judge_replies: str | Path | None = None,
    data: RGBSet | None = None,
) -> list[dict[str, Any]]:
    """The official result of each file: the official keys in their order, then `judge` (with replies), `file`,
    `dataset` and `warnings`.

    `dataset` is the official name (or that of `data`): it decides whether spaces are removed from predictions ("zh")
    and whether there are counterfactual figures ("_fact"). `data` has the answers of rows without `ans`. Raises
    UnknownName, or DataError with file, line and field."""
    if dataset not in NAMES and (data is None or dataset != data.name):
        raise UnknownName("data set", dataset, NAMES)
    if not predictions:
        raise UsageError("No prediction files to score.")
    answers = {} if data is None else {str(row.id): row.slots for row in data.rows}
    replies = None if judge_replies is None else _read_replies(Path(judge_replies))
    return [_rescore(Path(path), dataset, replies, answers) for path in predictions]


def _rescore(
    path: Path, dataset: str, replies: Mapping[str, str] | None, answers: Mapping[str, Sequence[Sequence[str]]]
) -> dict[str, Any]:
    notes = _Discrepancies()
    rows = list(_read(path, "zh" in dataset, answers, notes))
    if not rows:
        raise DataError(path, "contains no predictions; expected one JSON object per line.")
    noise, warnings = _noise(path, rows)
    counted = sum(official_counts(row.label, noise or 0.0) for row in rows)
    result: dict[str, Any] = {
        "all_rate": counted / len(rows),
        "noise_rate": noise,
        "tt": counted,
        "nums": len(rows),
    }
    if "_fact" in dataset:
        detected = [row for row in rows if row.factlabel == 1]
        corrected = sum(0 not in row.label for row in detected)  # a refusal too: [-1] has no 0
        result |= {
            "fact_check_rate": len(detected) / len(rows),
            "correct_rate": corrected / len(detected) if detected else 0,
            "fact_tt": len(detected),
            "correct_tt": corrected,
        }
    judged, missing_replies = _judged(path, rows, replies)
    if judged:
        result["judge"] = {
            "reject": _reject(judged),
            "fact": _fact(judged),
        }
    return result | {"file": str(path), "dataset": dataset, "warnings": notes.messages() + warnings + missing_replies}


def _reject(judged: Sequence[tuple[_Prediction, str]]) -> dict[str, Any]:
    rejected = sum(rejection_verdict(reply) for _, reply in judged)
    right = sum(row.right for row, _ in judged)
    return {
        "reject_rate": rejected / len(judged),
        "all_rate": right / len(judged),
        "tt": right,
        "rejecttt": rejected,
        "nums": len(judged),
    }


def _fact(judged: Sequence[tuple[_Prediction, str]]) -> dict[str, Any]:
    identified = [row for row, reply in judged if error_verdict(reply)]
    corrected = sum(row.right for row in identified)
    right = sum(row.right for row, _ in judged)
    return {
        "reject_rate": len(identified) / len(judged),
        "all_rate": right / len(judged),
        "correct_rate": corrected / len(identified) if identified else 0,
        "tt": right,
        "rejecttt": len(identified),
        "correct_tt": corrected,
        "nums": len(judged),
    }


def _judged(
    path: Path, rows: Sequence[_Prediction], replies: Mapping[str, str] | None
) -> tuple[list[tuple[_Prediction, str]], list[str]]:
    """The rows with a reply, and a warning about the others, which the official programs drop."""
    judged: list[tuple[_Prediction, str]] = []
    for row in rows:
        if replies is None:
            reply = row.evaluation
        elif row.id is None:
            raise DataError(path, "is missing; replies are matched by id.", line=row.line, field="id")
        else:
            reply = replies.get(row.id)
        if reply is not None:
            judged.append((row, reply))
    if replies is not None and not judged:
        raise DataError(path, "no id occurs in the file of judge replies.", field="id")
    missing = len(rows) - len(judged) if judged else 0
    return judged, [f"{missing} rows have no reply from the judge and are left out of its figures."] if missing else []


def _noise(path: Path, rows: Sequence[_Prediction]) -> tuple[float | None, list[str]]:
    """The noise ratio of a file: from its rows, or else from its name."""
    lines_by_ratio = {row.noise: row.line for row in reversed(rows) if row.noise is not None}
    if len(lines_by_ratio) > 1:
        ratios = ", ".join(f"{ratio:g} (line {line})" for ratio, line in sorted(lines_by_ratio.items()))
        raise DataError(path, f"has rows with different ratios: {ratios}; expected one.", field="noise_rate")
    if lines_by_ratio:
        return next(iter(lines_by_ratio)), []
    if named := _IN_NAME.search(path.name):
        return float(named[1]), [f"No row has noise_rate; {named[1]} is taken from the file's name."]
    refusal = next((row for row in rows if row.label[:1] == [-1]), None)
    if refusal is not None:
        raise DataError(
            path,
            "is missing, but needed: this row refuses, which counts only at a ratio of 1.",
            line=refusal.line,
            field="noise_rate",
            advice="Add it, or name the file as the official program does (…_noise1.0_…).",
        )
    return None, ["No row has noise_rate; no row refuses either, so the figures do not depend on it."]


def _read(
    path: Path, chinese: bool, answers: Mapping[str, Sequence[Sequence[str]]], notes: _Discrepancies
) -> Iterable[_Prediction]:
    seen: set[str] = set()
    for line, row in json_objects(path):
        cell = _Fields(path, line, row)
        row_id = cell.id()
        if row_id is not None and row_id in seen:
            notes.add("a repeated id (each row counts, as in the official program)", line)
        seen.add(row_id or "")
        slots = cell.slots(answers.get(row_id or ""))
        label, factlabel = official_labels(cell.text("prediction"), slots, chinese=chinese)
        for name, computed in (("label", label), ("factlabel", factlabel)):
            if name in row and row[name] != computed:
                notes.add(f"`{name}` differs from the official rules, which are used here,", line)
        evaluation = cell.text("evaluation") if "evaluation" in row else None
        yield _Prediction(line, row_id, label, factlabel, cell.noise(), evaluation)


@dataclass(frozen=True)
class _Fields:
    """The fields of one row, checked on access."""

    path: Path
    line: int
    row: Mapping[str, Any]

    def _fail(self, name: str, what: str) -> DataError:
        problem = (
            f"found {kind_of(self.row[name])}; expected {what}."
            if name in self.row
            else f"is missing; expected {what}."
        )
        return DataError(self.path, problem, line=self.line, field=name)

    def _take(self, name: str, what: str, good: Callable[[Any], bool]) -> Any:
        value = self.row.get(name)
        if name not in self.row or not good(value):
            raise self._fail(name, what)
        return value

    def text(self, name: str) -> str:
        return str(self._take(name, "a text", lambda value: isinstance(value, str)))

    def id(self, *, required: bool = False) -> str | None:
        if "id" not in self.row and not required:
            return None
        what = "a whole number or a text"
        return str(self._take("id", what, lambda value: isinstance(value, (int, str)) and not isinstance(value, bool)))

    def noise(self) -> float | None:
        if self.row.get("noise_rate") is None:
            return None
        what = "a number from 0 to 1"
        number = self._take("noise_rate", what, lambda value: type(value) in (int, float) and 0 <= value <= 1)
        return number if isinstance(number, float) else int(number)

    def slots(self, known: Sequence[Sequence[str]] | None) -> str | Sequence[str | Sequence[str]]:
        """The answer as it is: a text, or slots that are texts or lists of aliases."""
        if "ans" not in self.row and known is not None:
            return known
        value: Any = self._take("ans", "a text, or a list of texts and of lists of aliases", _is_answer)
        return value if isinstance(value, str) else list(value)


def _is_answer(value: Any) -> bool:
    if isinstance(value, str):
        return True
    return isinstance(value, list) and all(
        isinstance(slot, str) or (isinstance(slot, list) and all(isinstance(alias, str) for alias in slot))
        for slot in value
    )


def _read_replies(path: Path) -> dict[str, str]:
    replies: dict[str, str] = {}
    for line, row in json_objects(path):
        cell = _Fields(path, line, row)
        row_id, reply = cell.id(required=True) or "", cell.text("evaluation")
        if replies.setdefault(row_id, reply) != reply:
            raise DataError(path, f"{row_id} has a different reply on an earlier line.", line=line, field="id")
    if not replies:
        raise DataError(path, "contains no replies; expected one JSON object per line, with `id` and `evaluation`.")
    return replies
