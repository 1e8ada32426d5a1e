"""Whether the passages that help stand first."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._matrix import FromMatrix
from ragstone.metrics.judge.claims import JudgeFailed
from ragstone.metrics.judge.record import Judged
from ragstone.types import Case, Need, Response, Score


@dataclass(frozen=True)
class ContextPrecision(FromMatrix):
    """`context_precision`: whether the passages that help stand before those that do not.

    Formula: Σ_k (precision@k · v_k) / Σ_k v_k, where v_k is 1 if passage k helps, else 0, and precision@k is the share
    of those that help in the first k; 0 where none helps.
    Range: 0 to 1, higher is better.
    Needs: passages; a judge. With a reference a passage helps if it is useful to reach it, without one if it is
    relevant to the question; the evidence says which of the two it was.
    Evidence: {"what": "passages", "counted": places of those that help, "of": how many there are, "by": "useful" or
    "relevant", "verdicts"}.
    Source: ragas, "context precision"; it is the average precision of Manning et al. 2008, §8.4, over what was
    retrieved.

    | case | result |
    |---|---|
    | the answer declines | scored; the answer makes no difference |
    | the answer is empty | scored; the answer makes no difference |
    | the answer makes no claim | scored; the answer makes no difference |
    | no passages | not applicable |
    | nothing was retrieved | 0 |
    | no reference | scored, by relevance to the question |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "context_precision"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PASSAGES})
    only_answerable: ClassVar[bool] = True
    of_retrieval: ClassVar[bool] = True

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        by, helping = helpful(judged)
        hits = {place: hit for hit, place in enumerate(helping, start=1)}
        precision = sum(hit / place for place, hit in hits.items())
        evidence = {"what": "passages", "counted": helping, "of": len(judged.passages), "by": by}
        return Score.of(precision / len(helping) if helping else 0.0, evidence=evidence)


def helpful(judged: Judged) -> tuple[str, list[int]]:
    """By which verdict a passage helps ("useful" where there is a reference, else "relevant"), and the places, from 1,
    of those that do. JudgeFailed where some have the verdict and others have not."""
    if not judged.passages:
        raise JudgeFailed("The judge gave no verdict on the passages.", ())
    without = [passage.id for passage in judged.passages if passage.useful is None]
    if len(without) == len(judged.passages):
        return "relevant", sorted(passage.id for passage in judged.passages if passage.relevant)
    if without:
        raise JudgeFailed(f"The judge gave no verdict on the use of passage {without[0]}.", ())
    return "useful", sorted(passage.id for passage in judged.passages if passage.useful)


PLUGINS = {"context_precision": ContextPrecision}
