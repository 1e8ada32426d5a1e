"""Faithfulness under the name that the RAG triad gives it."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics.faithfulness import Faithfulness


@dataclass(frozen=True)
class Groundedness(Faithfulness):
    """`groundedness`: `faithfulness` as the first of the RAG triad; the same claims, verdicts and number.

    Formula: supported answer claims / answer claims.
    Range: 0 to 1, higher is better.
    Needs: the answer, passages; a judge.
    Evidence: {"what": "answer_claims", "counted": ids of the supported ones, "of": how many there are, "verdicts"}.
    Source: the RAG triad of TruLens. Its program rates each sentence from 0 to 1 and counts an admission of ignorance
    as grounded; here a claim is supported or not, and one that is not made counts nowhere.

    | case | result |
    |---|---|
    | the answer declines | the claims that it makes all the same; not applicable where there are none |
    | the answer is empty | not applicable |
    | the answer makes no claim | not applicable |
    | no passages | not applicable |
    | nothing was retrieved | no claim has support |
    | no reference | scored; none is needed |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "groundedness"


PLUGINS = {"groundedness": Groundedness}
