"""Faithfulness among RAGChecker's measures of the generator."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics.faithfulness import Faithfulness

__all__ = ["PLUGINS", "GeneratorFaithfulness"]


@dataclass(frozen=True)
class GeneratorFaithfulness(Faithfulness):
    """`ragchecker.faithfulness`: the share of the answer's claims that the passages support; the same as
    `faithfulness`.

    Formula: answer claims that at least one passage supports / answer claims.
    Range: 0 to 1, higher is better.
    Needs: the answer, passages; a judge.
    Evidence: {"what": "answer_claims", "counted": ids of the supported ones, "of": how many there are, "verdicts"}.
    Source: Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation",
    faithfulness.

    | case | result |
    |---|---|
    | the answer declines | the claims that it makes all the same; not applicable where there are none |
    | the answer is empty | not applicable |
    | the answer makes no claim | not applicable; RAGChecker's program says 0 |
    | no passages | not applicable; RAGChecker's program says 0 |
    | no reference | scored; none is needed |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "ragchecker.faithfulness"


PLUGINS = {"ragchecker.faithfulness": GeneratorFaithfulness}
