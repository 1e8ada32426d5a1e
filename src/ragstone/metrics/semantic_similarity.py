"""How close an answer is to the reference in meaning, as an embedder sees it."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from ragstone.errors import ModelError
from ragstone.metrics import Tools
from ragstone.metrics._references import NO_REFERENCE, filled
from ragstone.types import Case, Embedder, Need, Response, Score


@dataclass(frozen=True)
class SemanticSimilarity:
    """`semantic_similarity`: the cosine of the answer's and the reference's embeddings.

    Formula: max over the aliases of cosine(answer, alias); of references with several slots cosine(answer, the first
    alias of each, joined). A cosine below 0 counts as 0.
    Range: 0 to 1, higher is better. An embedder's cosines of unrelated texts may lie far above 0, so compare values of
    one embedder only.
    Needs: the answer, the reference; an embedder. One request a sample.
    Evidence: {"reference": the text that is closest, "cosine", "embedder": its id}.
    Source: Risch et al. 2021, "Semantic Answer Similarity for Evaluating Question Answering Models", with a
    bi-encoder.

    | case | result |
    |---|---|
    | the answer declines | by its meaning, as any other |
    | the answer is empty | 0, and the embedder is not asked |
    | no passages | scored; none are needed |
    | no reference | not applicable |
    | the embedder failed | failed |
    """

    name: ClassVar[str] = "semantic_similarity"
    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})
    uses: ClassVar[tuple[str, ...]] = ("embedder",)

    embedder: Embedder

    @classmethod
    def make(cls, tools: Tools, /) -> Self:
        """The metric by the embedder of these tools, which must have one."""
        assert tools.embedder is not None
        return cls(tools.embedder)

    async def score(self, case: Case, response: Response, /) -> Score:
        slots = filled(case.sample)
        if not slots:
            return Score.not_applicable(NO_REFERENCE)
        if not response.answer.strip():
            return Score.of(0.0, reason="the answer is empty")
        references = slots[0] if len(slots) == 1 else (" ".join(slot[0] for slot in slots),)
        try:
            vectors = await self.embedder.embed([response.answer, *references], kind="query")
        except ModelError as error:
            return Score.failed(f"{error.kind}: {error}")
        cosines = [float(cosine) for cosine in vectors[1:] @ vectors[0]]
        if len(cosines) != len(references) or not all(math.isfinite(cosine) for cosine in cosines):
            return Score.failed(f"{self.embedder.id} gave no vector of numbers for each text")
        best = max(range(len(cosines)), key=cosines.__getitem__)
        evidence = {"reference": references[best], "cosine": cosines[best], "embedder": self.embedder.id}
        return Score.of(min(max(cosines[best], 0.0), 1.0), evidence=evidence)


PLUGINS = {"semantic_similarity": SemanticSimilarity}
