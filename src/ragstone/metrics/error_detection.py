"""Whether an answer says that the documents contain factual errors, by phrase, in English and Chinese.

Negated ("there are no factual errors"), conditional ("if there are errors") and merely possible ("may contain errors")
mentions do not count; one that is stated anywhere in the answer does.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ragstone.metrics._clauses import clauses
from ragstone.metrics._phrases import phrases
from ragstone.types import Case, Need, Response, Score

_LONGEST = 600


def error_spans(answer: str) -> list[tuple[int, int]]:
    """Where `answer` states that the documents contain factual errors, as (start, end); [] if it does not."""
    spans = []
    for clause in clauses(answer):
        text = clause.text[:_LONGEST]
        for language in ("en", "zh"):
            negated = phrases(f"error.negated.{language}")
            for match in phrases(f"error.{language}").finditer(text):
                first = negated.search(text)
                before = first is not None and first.start() < match.start()
                if not before and not negated.search(phrases("error.inner").sub("", match.group())):
                    spans.append(clause.span(*match.span()))
    return spans


@dataclass(frozen=True)
class ErrorDetection:
    """`error_detection`: 1.0 if the answer says that the documents contain factual errors, else 0.0.

    Formula: 1 if a phrase says so and is neither negated nor conditional, else 0.
    Range: 0 or 1; which is better depends on whether the documents contain errors.
    Needs: the answer.
    Evidence: {"spans": [[start, end], …]}, the words that say so.
    Source: ragstone's counterpart of ED in Chen et al. 2024, whose program knows one wording a language and takes a
    negated one for a detection.

    | case | result |
    |---|---|
    | the answer declines | 0 |
    | the answer is empty | 0 |
    | no passages | scored; none are needed |
    | no reference | scored; none is needed |
    """

    name: str = "error_detection"
    version: int = 2
    better: ClassVar[Literal["higher", "lower", "neither"]] = "neither"
    needs: frozenset[Need] = frozenset({Need.ANSWER})

    def score(self, case: Case, response: Response, /) -> Score:
        spans = error_spans(response.answer)
        return Score.of(bool(spans), evidence={"spans": [list(span) for span in spans]})


PLUGINS = {"error_detection": ErrorDetection()}
