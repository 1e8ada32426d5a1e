"""Whether the contexts hold what an answer needs, as ragas asks for it."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ragstone.metrics._ragas import Planned, RagasStyle, Talk
from ragstone.text import estimate_tokens
from ragstone.types import Need, Score

VERDICT = 35  # tokens of a verdict with its reason, about


@dataclass(frozen=True)
class RagasContextRecall(RagasStyle):
    """`ragas.context_recall`: the share of the reference's statements that can be attributed to all contexts together.

    Formula: statements with attributed 1 / statements. One request, in which the judge makes the statements too; so,
    as in ragas, nothing shows whether it left one out.
    Range: 0 to 1, higher is better.
    Needs: the reference, passages; a judge's model.
    Evidence: {"what": "reference_statements", "counted": numbers of those attributed, "of": how many there are,
    "statements": their texts, "verdicts"}.
    Source: ragas, "context recall" with a reference; ragas-style: its steps and formula with prompts of our own.

    | case | result |
    |---|---|
    | the answer declines | scored; the answer makes no difference |
    | the answer is empty | scored; the answer makes no difference |
    | the answer makes no claim | scored; the answer makes no difference |
    | no passages | not applicable |
    | nothing was retrieved | 0 |
    | no reference | not applicable |
    | the judge failed | failed; so is a reply without any statement |
    """

    name: ClassVar[str] = "ragas.context_recall"
    asks: ClassVar[tuple[str, ...]] = ("ragas_context_recall",)
    needs: ClassVar[frozenset[Need]] = frozenset({Need.REFERENCES, Need.PASSAGES})
    of_retrieval: ClassVar[bool] = True

    async def _measure(self, talk: Talk) -> Score:
        (planned,) = self._plan(talk)
        reply = await talk.ask(planned.step, planned.shown, check=_without_statements)
        attributed = [statement["attributed"] for statement in reply["classification"]]
        counted = [number for number, verdict in enumerate(attributed, start=1) if verdict]
        texts = [statement["statement"] for statement in reply["classification"]]
        evidence = {"what": "reference_statements", "counted": counted, "of": len(attributed), "statements": texts}
        return Score.of(len(counted) / len(attributed), evidence=evidence)

    def _plan(self, talk: Talk) -> list[Planned]:
        shown = {"question": talk.question, "context": talk.context, "answer": talk.reference}
        written = 1.25 * estimate_tokens(talk.reference) + VERDICT * len(talk.guessed_statements(talk.reference))
        return [Planned("ragas_context_recall", shown, 10 + written)]


def _without_statements(reply: dict[str, Any]) -> str:
    return "" if reply["classification"] else "classification holds no statement"


PLUGINS = {"ragas.context_recall": RagasContextRecall}
