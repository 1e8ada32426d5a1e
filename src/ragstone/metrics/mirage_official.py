"""Answers as MIRAGE's own program scores them, to the count (Park et al. 2025).

The rules have known flaws (an alias of two letters is found within any word; a perfect first alias of a question with
several scores less than 1 by `mirage.f1`); they are kept here exactly, so that published figures can be compared with.
ragstone's own rule is `answer_match`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragstone.types import Case, Need, Response, Score


def em_loose(prediction: str, aliases: Sequence[str]) -> bool:
    """Whether the prediction holds an alias."""
    answer = prediction.lower()
    return any(alias.lower() in answer for alias in aliases)


def em_strict(prediction: str, aliases: Sequence[str]) -> bool:
    """Whether the prediction is an alias."""
    answer = prediction.lower()
    return any(alias.lower() == answer for alias in aliases)


def token_set_f1(prediction: str, aliases: Sequence[str]) -> float:
    """F1 of two sets of tokens: the prediction's, and those of all aliases together. 0 where they share none."""
    answer_tokens = set(prediction.lower().split())
    reference_tokens = {token for alias in aliases for token in alias.lower().split()}
    common = len(answer_tokens & reference_tokens)
    return 2 * common / (len(answer_tokens) + len(reference_tokens)) if common else 0.0


class _Official:
    """One rule over the aliases of all slots. Answers are stripped first, as the program does with its models'."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})
    rule: ClassVar[Callable[[str, Sequence[str]], float]]

    def score(self, case: Case, response: Response, /) -> Score:
        aliases = [alias for slot in case.sample.references for alias in slot]
        if not any(alias.strip() for alias in aliases):
            return Score.not_applicable("the sample has no reference answers")
        return Score.of(float(type(self).rule(response.answer.strip(), aliases)))


@dataclass(frozen=True)
class MirageEmLoose(_Official):
    """`mirage.em_loose`: 1.0 if the answer holds an alias anywhere, else 0.0.

    Formula: 1 if an alias, lower-cased, is a substring of the lower-cased answer, else 0.
    Range: 0 or 1, higher is better.
    Needs: the answer, the reference.
    Evidence: none.
    Source: "EM loose" in the program of Park et al. 2025, "MIRAGE: A Metric-Intensive Benchmark for Retrieval-Augmented
    Generation Evaluation".

    | case | result |
    |---|---|
    | the answer declines | as any other answer |
    | the answer is empty | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable |
    """

    name: ClassVar[str] = "mirage.em_loose"
    rule: ClassVar[Callable[[str, Sequence[str]], float]] = staticmethod(em_loose)


@dataclass(frozen=True)
class MirageEmStrict(_Official):
    """`mirage.em_strict`: 1.0 if the answer is an alias and nothing else, else 0.0.

    Formula: 1 if an alias, lower-cased, equals the lower-cased answer, else 0.
    Range: 0 or 1, higher is better.
    Needs: the answer, the reference.
    Evidence: none.
    Source: "EM strict" in the program of Park et al. 2025.

    | case | result |
    |---|---|
    | the answer declines | as any other answer |
    | the answer is empty | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable |
    """

    name: ClassVar[str] = "mirage.em_strict"
    rule: ClassVar[Callable[[str, Sequence[str]], float]] = staticmethod(em_strict)


@dataclass(frozen=True)
class MirageF1(_Official):
    """`mirage.f1`: F1 of the words of the answer and of all aliases together.

    Formula: F1 of two sets of lower-cased tokens parted by whitespace: the answer's, and those of all aliases.
    Range: [0, 1], higher is better; a perfect first alias of a question with several scores less than 1, and Chinese,
    which has no spaces, counts as one token.
    Needs: the answer, the reference.
    Evidence: none.
    Source: the F1 of answers in the program of Park et al. 2025.

    | case | result |
    |---|---|
    | the answer declines | as any other answer |
    | the answer is empty | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable |
    """

    name: ClassVar[str] = "mirage.f1"
    rule: ClassVar[Callable[[str, Sequence[str]], float]] = staticmethod(token_set_f1)


PLUGINS = {metric.name: metric for metric in (MirageEmLoose(), MirageEmStrict(), MirageF1())}
