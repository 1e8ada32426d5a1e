"""How much of what a model has to read is of use."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._matrix import FromMatrix
from ragstone.metrics._passages import retrieved
from ragstone.metrics.context_precision import helpful
from ragstone.metrics.judge.claims import JudgeFailed
from ragstone.metrics.judge.record import Judged
from ragstone.text import estimate_tokens
from ragstone.types import Case, Need, Response, Score


@dataclass(frozen=True)
class KnowledgeDensity(FromMatrix):
    """`knowledge_density`: the share of the passages' tokens that stand in passages that help.

    Formula: Σ tokens of passages that help / Σ tokens of all passages. Tokens are estimated (`estimate_tokens`).
    Range: 0 to 1, higher is better.
    Needs: passages; a judge. With a reference a passage helps if it is useful to reach it, without one if it is
    relevant to the question.
    Evidence: {"what": "passages", "counted": places of those that help, "of": how many there are, "tokens": of each
    passage in order, "by": "useful" or "relevant", "verdicts"}.
    Source: the share of useful information in the context, 知识浓度, that the course in seed 004 names as what bounds
    the precision of a RAG system; measured here by tokens.

    | case | result |
    |---|---|
    | the answer declines | scored; the answer makes no difference |
    | the answer is empty | scored; the answer makes no difference |
    | the answer makes no claim | scored; the answer makes no difference |
    | no passages | not applicable; nor are passages without any text |
    | nothing was retrieved | 0 |
    | no reference | scored, by relevance to the question |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "knowledge_density"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PASSAGES})
    only_answerable: ClassVar[bool] = True
    of_retrieval: ClassVar[bool] = True

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        by, helping = helpful(judged)
        tokens = [estimate_tokens(passage.text) for passage in retrieved(case, response)]
        if len(tokens) != len(judged.passages):
            raise JudgeFailed(f"The judge gave {len(judged.passages)} verdicts on {len(tokens)} passages.", ())
        if not sum(tokens):
            return Score.not_applicable("the passages hold no text")
        evidence = {"what": "passages", "counted": helping, "of": len(tokens), "tokens": tokens, "by": by}
        return Score.of(sum(tokens[place - 1] for place in helping) / sum(tokens), evidence=evidence)


PLUGINS = {"knowledge_density": KnowledgeDensity}
