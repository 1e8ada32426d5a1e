"""Whether the contexts that help stand first, as ragas asks for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._ragas import Planned, RagasStyle, Talk
from ragstone.types import Need, Score

WRITTEN = 30  # tokens of a reply, about


@dataclass(frozen=True)
class RagasContextPrecision(RagasStyle):
    """`ragas.context_precision`: whether the contexts that help to reach the reference stand before the others.

    Formula: Σ_k (precision@k · v_k) / Σ_k v_k, where v_k is the verdict on context k (1: useful, 0: not) and
    precision@k the share of useful ones in the first k; 0 where none is useful. One request a context.
    Range: 0 to 1, higher is better.
    Needs: the reference, passages; a judge's model.
    Evidence: {"what": "passages", "counted": places of the useful ones, "of": how many there are, "verdicts"}.
    Source: ragas, "context precision" with a reference; ragas-style: its steps and formula with prompts of our own.

    | case | result |
    |---|---|
    | the answer declines | scored; the answer makes no difference |
    | the answer is empty | scored; the answer makes no difference |
    | the answer makes no claim | scored; the answer makes no difference |
    | no passages | not applicable |
    | nothing was retrieved | 0 |
    | no reference | not applicable |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "ragas.context_precision"
    asks: ClassVar[tuple[str, ...]] = ("ragas_context_precision",)
    needs: ClassVar[frozenset[Need]] = frozenset({Need.REFERENCES, Need.PASSAGES})
    of_retrieval: ClassVar[bool] = True

    async def _measure(self, talk: Talk) -> Score:
        replies = await talk.all(talk.ask(planned.step, planned.shown) for planned in self._plan(talk))
        verdicts = [reply["verdict"] for reply in replies]
        counted = [place for place, verdict in enumerate(verdicts, start=1) if verdict]
        evidence = {"what": "passages", "counted": counted, "of": len(verdicts)}
        return Score.of(average_precision(verdicts), evidence=evidence)

    def _plan(self, talk: Talk) -> list[Planned]:
        inputs = {"question": talk.question, "answer": talk.reference}
        return [Planned("ragas_context_precision", {**inputs, "context": text}, WRITTEN) for text in talk.contexts]


def average_precision(verdicts: Sequence[int]) -> float:
    """The mean of precision@k over the places k whose verdict is 1; 0.0 where there is none."""
    places = [place for place, verdict in enumerate(verdicts, start=1) if verdict]
    return sum(hits / place for hits, place in enumerate(places, start=1)) / len(places) if places else 0.0


PLUGINS = {"ragas.context_precision": RagasContextPrecision}
