"""Whether an answer states what the references ask for.

An alias is found as `find_answer` finds it. A mention that is denied does not count ("it was not X", "rather than X",
并非X), and neither does anything in an answer that declines to answer.
"""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from ragstone.metrics._phrases import phrases
from ragstone.metrics.answerable import refusal_expected, refusal_score
from ragstone.metrics.refusal import refusal_spans
from ragstone.text import find_answer
from ragstone.text.folding import fold_characters
from ragstone.types import Case, Need, Response, Score

_NEAR = 120


def is_denied(answer: str, start: int, end: int) -> bool:
    """Whether the mention at answer[start:end] is denied where it stands. Only its own clause is looked at."""
    before = fold_characters(answer[max(0, start - _NEAR) : start]).text
    after = fold_characters(answer[end : end + _NEAR]).text
    for language in ("en", "zh"):
        clause = before[_end_of_last(phrases(f"denied.cut.{language}"), before) :]
        if phrases(f"denied.before.{language}").search(clause) or phrases(f"denied.after.{language}").search(after):
            return True
    return False


def _end_of_last(cut: re.Pattern[str], text: str) -> int:
    return max((match.end() for match in cut.finditer(text)), default=0)


@dataclass(frozen=True)
class AnswerMatch:
    """`answer_match`: 1.0 if the answer states an alias of every reference slot, else 0.0.

    Formula: 1 if of each slot at least one alias is stated, else 0. An alias is found as `find_answer` finds it; a
    refusal states nothing, and a denied mention does not count unless the alias is stated elsewhere too.
    Range: 0 or 1, higher is better.
    Needs: the answer, the reference.
    Evidence: {"slots": [[{"alias", "start", "end"}, …], …]}, for each slot the counted mentions, each stretch of the
    answer once; "denied" lists the others in the same form, and "refusal" is true where the answer declines.
    Source: ragstone's counterpart of the match of Chen et al. 2024 (`rgb.official`), which takes any substring.

    | case | result |
    |---|---|
    | only a refusal is correct | 1 where the answer declines, else 0 |
    | the answer declines | 0 |
    | the answer is empty | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable |
    """

    name: str = "answer_match"
    version: int = 3
    needs: frozenset[Need] = frozenset({Need.ANSWER, Need.REFERENCES})
    scores_refusals: ClassVar[bool] = True

    def score(self, case: Case, response: Response, /) -> Score:
        slots = case.sample.references
        # RGB's rejections have a reference that no passage gives, and a metric of their own.
        if case.sample.meta.get("answerable") is False and refusal_expected(case):
            return refusal_score(bool(refusal_spans(response.answer)))
        if not any(alias.strip() for slot in slots for alias in slot):
            return Score.not_applicable("the sample has no reference answers")
        answer = response.answer
        evidence: dict[str, Any] = {"slots": [[] for _ in slots]}
        if refusal_spans(answer):
            evidence["refusal"] = True
            return Score.of(0.0, evidence=evidence)
        denied: list[dict[str, Any]] = []
        for slot, counted in zip(slots, evidence["slots"], strict=True):
            used: set[tuple[int, int]] = set()
            for alias in slot:
                for start, end in find_answer(alias, answer):
                    if (start, end) in used:
                        continue
                    used.add((start, end))
                    mention = {"alias": alias, "start": start, "end": end}
                    (denied if is_denied(answer, start, end) else counted).append(mention)
        if denied:
            evidence["denied"] = denied
        return Score.of(all(evidence["slots"]), evidence=evidence)


PLUGINS = {"answer_match": AnswerMatch()}
