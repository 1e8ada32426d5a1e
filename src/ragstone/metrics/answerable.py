"""Questions that cannot be answered from what a system has: a refusal is the right answer to them.

A column `answerable` of the user's data says so (`Sample.meta`), else a reference that declines itself ("The documents
do not say."), and so do RGB's negative rejection and the controls without a needle (`Case.condition`).
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ragstone.metrics._references import filled
from ragstone.metrics.refusal import refusal_spans
from ragstone.types import Case, Response, Score

UNANSWERABLE = "the question cannot be answered"
_CONDITIONS = ("rejection", "control")


def answerable(case: Case) -> bool | None:
    """Whether the question of a case can be answered; None if the data do not say."""
    if "ability" in case.condition:
        return False if case.condition["ability"] in _CONDITIONS else _marked(case)
    marked = _marked(case)
    return False if marked is None and _only_declines(case.sample.references) else marked


def _marked(case: Case) -> bool | None:
    marked = case.sample.meta.get("answerable")
    return marked if isinstance(marked, bool) else None


@lru_cache(maxsize=4096)
def _only_declines(slots: tuple[tuple[str, ...], ...]) -> bool:
    """Whether there is a reference, and every wording of it declines."""
    given = [alias for slot in slots for alias in slot if alias.strip()]
    return bool(given) and all(refusal_spans(alias) for alias in given)


def refusal_expected(case: Case) -> bool:
    """Whether only a refusal is correct: the question cannot be answered, and the reference, if there is one, declines
    too. A reference that states something ("the premise is wrong") is compared as any other."""
    if answerable(case) is not False:
        return False
    slots = () if "ability" in case.condition else filled(case.sample)
    return all(refusal_spans(alias) for slot in slots for alias in slot)


def refusal_score(refused: bool) -> Score:
    """Correctness where only a refusal is correct."""
    reason = f"{UNANSWERABLE}; the answer {'declines' if refused else 'does not decline'}"
    return Score.of(refused, evidence={"noncommittal": refused}, reason=reason)


def declined(response: Response | None, scores: Iterable[Score]) -> bool:
    """Whether an answer declines: by the metrics that read its claims, else by its wording."""
    if response is None:
        return False
    for score in scores:
        evidence: Any = score.evidence
        if isinstance(evidence, Mapping) and isinstance(evidence.get("noncommittal"), bool):
            return bool(evidence["noncommittal"])
    return bool(refusal_spans(response.answer))
