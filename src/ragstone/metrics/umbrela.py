"""How relevant the passages are, by UMBRELA's grades from 0 to 3."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._ragas import Planned, RagasStyle, Talk
from ragstone.types import Need, Score

HIGHEST, RELEVANT = 3, 2  # the highest grade, and the lowest that counts as relevant where grades become yes or no
_WRITTEN = 20  # tokens of a reply, about


@dataclass(frozen=True)
class Umbrela(RagasStyle):
    """`umbrela`: the mean relevance of the passages to the question, graded from 0 to 3 by a judge.

    Formula: mean of grade / 3 over the passages. One request a passage.
    Range: 0 to 1, higher is better.
    Needs: passages; a judge's model.
    Evidence: {"grades": of the passages in order, "relevant": how many have a grade of 2 or 3, "verdicts"}.
    Source: Upadhyay et al. 2024, "UMBRELA: UMbrela is the (Open-Source Reproduction of the) Bing RELevance Assessor",
    after Thomas et al. 2024 (the scale, and the steps intent, match and trust; the prompt is ours).

    | case | result |
    |---|---|
    | the answer declines | scored; the answer makes no difference |
    | the answer is empty | scored; the answer makes no difference |
    | no passages | not applicable |
    | nothing was retrieved | 0 |
    | no reference | scored; none is needed |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "umbrela"
    label: ClassVar[str] = ""
    asks: ClassVar[tuple[str, ...]] = ("umbrela",)
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PASSAGES})
    of_retrieval: ClassVar[bool] = True

    async def _measure(self, talk: Talk) -> Score:
        replies = await talk.all(talk.ask(planned.step, planned.shown) for planned in self._plan(talk))
        grades = [int(reply["grade"]) for reply in replies]
        evidence = {"grades": grades, "relevant": sum(grade >= RELEVANT for grade in grades)}
        return Score.of(sum(grades) / (HIGHEST * len(grades)), evidence=evidence)

    def _plan(self, talk: Talk) -> list[Planned]:
        shown = [{"question": talk.question, "passage": text} for text in talk.contexts]
        return [Planned("umbrela", passage, _WRITTEN) for passage in shown]


PLUGINS = {"umbrela": Umbrela}
