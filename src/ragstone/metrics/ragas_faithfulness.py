"""Whether what an answer says stands in its contexts, as ragas asks for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._ragas import NO_STATEMENTS, Planned, RagasStyle, Talk, numbered
from ragstone.types import Need, Score

VERDICT = 38  # tokens of a verdict with its reason, about


@dataclass(frozen=True)
class RagasFaithfulness(RagasStyle):
    """`ragas.faithfulness`: the share of the answer's statements that can be inferred from all contexts together.

    Formula: statements with verdict 1 / statements. Two requests: the answer into statements; a verdict on each.
    Range: 0 to 1, higher is better.
    Needs: the answer, passages; a judge's model.
    Evidence: {"what": "statements", "counted": numbers of those with verdict 1, "of": how many there are, "statements":
    their texts, "verdicts"}.
    Source: ragas, "faithfulness"; ragas-style: its steps and formula with prompts of our own.

    | case | result |
    |---|---|
    | the answer declines | the statements that it makes all the same; not applicable where there are none |
    | the answer is empty | not applicable |
    | the answer makes no claim | not applicable |
    | no passages | not applicable |
    | nothing was retrieved | no claim has support |
    | no reference | scored; none is needed |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "ragas.faithfulness"
    asks: ClassVar[tuple[str, ...]] = ("ragas_statements", "ragas_faithfulness")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.PASSAGES})

    async def _measure(self, talk: Talk) -> Score:
        statements = await talk.statements(talk.answer)
        if not statements:
            return Score.not_applicable(NO_STATEMENTS)
        shown = {"context": talk.context, "statements": numbered(statements)}
        reply = await talk.ask("ragas_faithfulness", shown, ids={"verdicts": len(statements)})
        counted = [verdict["id"] for verdict in reply["verdicts"] if verdict["verdict"]]
        evidence = {"what": "statements", "counted": counted, "of": len(statements), "statements": statements}
        return Score.of(len(counted) / len(statements), evidence=evidence)

    def _plan(self, talk: Talk) -> Iterator[Planned]:
        yield talk.plan_of_statements(talk.answer)
        statements = talk.guessed_statements(talk.answer)
        shown = {"context": talk.context, "statements": numbered(statements)}
        yield Planned("ragas_faithfulness", shown, 10 + VERDICT * len(statements))


PLUGINS = {"ragas.faithfulness": RagasFaithfulness}
