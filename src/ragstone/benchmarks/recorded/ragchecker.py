"""RAGChecker's recorded verdicts: the figures that its program computes of them, by our metrics of the same names."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragstone.errors import DataError, UsageError
from ragstone.metrics.judge.record import AnswerClaim, Judged, ReferenceClaim
from ragstone.metrics.ragchecker import PLUGINS as MEASURES
from ragstone.storage import FormatError, parse_json, text_of
from ragstone.types import Need

# What its program groups its metrics by, and the lists of a result that each of them rests on.
_OURS, _THEIRS, _PASSAGES_OURS, _PASSAGES_THEIRS = (
    "answer2response", "response2answer", "retrieved2response", "retrieved2answer"
)  # fmt: skip
_GROUPS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "overall": {"precision": (_OURS,), "recall": (_THEIRS,), "f1": (_OURS, _THEIRS)},
    "retriever": {"claim_recall": (_PASSAGES_THEIRS,), "context_precision": (_PASSAGES_THEIRS,)},
    "generator": {
        "context_utilization": (_PASSAGES_THEIRS, _THEIRS),
        "noise_sensitivity_in_relevant": (_OURS, _PASSAGES_OURS, _PASSAGES_THEIRS),
        "noise_sensitivity_in_irrelevant": (_OURS, _PASSAGES_OURS, _PASSAGES_THEIRS),
        "hallucination": (_OURS, _PASSAGES_OURS),
        "self_knowledge": (_OURS, _PASSAGES_OURS),
        "faithfulness": (_PASSAGES_OURS,),
    },
}
_VERDICTS = ("Entailment", "Neutral", "Contradiction")


def figures(file: Path) -> dict[str, Any]:
    """The figures of one file, in percent with one decimal as RAGChecker prints them: `results` (how many), and by
    group and metric the means over the results. A metric is left out where some result lacks the verdicts for it.
    Raises DataError."""
    results = _results(file)
    metrics: dict[str, dict[str, float]] = {}
    for group, names in _GROUPS.items():
        for name, lists in names.items():
            if all(isinstance(result.get(key), list) for result in results for key in lists):
                values = [_value(file, name, result) for result in results]
                metrics.setdefault(group, {})[name] = round(100 * math.fsum(values) / len(values), 1)
    if not metrics:
        raise DataError(file, "has no verdicts; expected RAGChecker's checking outputs, not its inputs.")
    return {"file": str(file), "results": len(results), "metrics": metrics}


def _value(file: Path, name: str, result: Mapping[str, Any]) -> float:
    """A metric of one result; 0 where there is nothing to divide by, as in RAGChecker's program."""
    kind = MEASURES[f"ragchecker.{name}"]
    ours, theirs = (_supported(file, result, key) for key in (_PASSAGES_OURS, _PASSAGES_THEIRS))
    correct, covered = (_flags(file, result, key) for key in (_OURS, _THEIRS))
    passages = max((len(row) for row in [*(result.get(_PASSAGES_OURS) or ()), *(result.get(_PASSAGES_THEIRS) or ())]),
                   default=0)  # fmt: skip
    judged = Judged(
        tuple(
            AnswerClaim(number, "", supported_by=support, in_reference=flag)
            for number, (support, flag) in enumerate(_side_by_side(ours, correct), start=1)
        ),
        tuple(
            ReferenceClaim(number, "", supported_by=support, in_answer=flag)
            for number, (support, flag) in enumerate(_side_by_side(theirs, covered), start=1)
        ),
    )
    lacking = Need.REFERENCES in kind.needs and not judged.reference_claims
    # Its precision needs no claim of the reference: whether one supports a claim was asked of its whole text.
    if name != "precision" and (lacking or (Need.PASSAGES in kind.needs and not passages)):
        return 0.0
    if name in ("recall", "f1", "context_utilization") and not judged.answer_claims:
        return math.fsum(covered) / len(covered) if name == "recall" and covered else 0.0
    return kind.formula(judged, passages).value or 0.0


def _side_by_side(supports: Sequence[tuple[int, ...]], flags: Sequence[bool]) -> Iterator[tuple[tuple[int, ...], bool]]:
    for number in range(max(len(supports), len(flags))):
        yield (
            supports[number] if number < len(supports) else (),
            flags[number] if number < len(flags) else False,
        )


def _flags(file: Path, result: Mapping[str, Any], key: str) -> list[bool]:
    return [_entails(file, key, verdict) for verdict in result.get(key) or ()]


def _supported(file: Path, result: Mapping[str, Any], key: str) -> list[tuple[int, ...]]:
    """For each claim the places of the passages that entail it."""
    rows = result.get(key) or ()
    if not all(isinstance(row, list) for row in rows):
        raise DataError(file, "is not a list of verdicts for each claim.", field=key)
    return [tuple(place for place, verdict in enumerate(row, start=1) if _entails(file, key, verdict)) for row in rows]


def _entails(file: Path, key: str, verdict: object) -> bool:
    if verdict not in _VERDICTS:
        raise DataError(file, f"{verdict!r:.60} is no verdict; expected {', '.join(_VERDICTS)}.", field=key)
    return verdict == _VERDICTS[0]


def _results(file: Path) -> list[Mapping[str, Any]]:
    if not file.is_file():
        raise UsageError(f"{file}: no such file.")
    try:
        content = parse_json(text_of(file))
    except FormatError as error:
        raise DataError(file, f"{error}.", line=error.line) from None
    except UnicodeDecodeError as error:
        raise DataError(file, f"byte {error.start + 1} is not UTF-8.") from None
    results = content.get("results") if isinstance(content, dict) else None
    if not isinstance(results, list) or not results or not all(isinstance(result, dict) for result in results):
        raise DataError(file, "has no list of results.", field="results")
    return results
