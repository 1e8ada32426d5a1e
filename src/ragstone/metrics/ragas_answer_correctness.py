"""Whether an answer says what the reference says, and nothing else, as ragas asks for it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ragstone.metrics._ragas import Planned, RagasStyle, Talk, numbered
from ragstone.metrics.answerable import refusal_score
from ragstone.metrics.refusal import refusal_spans
from ragstone.types import Need, Score

FACTS, MEANING = 0.75, 0.25
VERDICT = 38  # tokens of a verdict with its reason, about


@dataclass(frozen=True)
class RagasAnswerCorrectness(RagasStyle):
    """`ragas.answer_correctness`: how far the answer's statements are the reference's, and how close the two texts are.

    Formula: 0.75 · F1 + 0.25 · cosine(answer, reference), F1 = TP / (TP + 0.5 · (FP + FN)), and 0 if TP = 0. TP: answer
    statements that the reference supports; FP: the other answer statements; FN: reference statements that the answer
    does not contain. A cosine below 0 counts as 0. Three requests: either text into statements, then their comparison.
    Range: 0 to 1, higher is better. An embedder's cosines of unrelated texts may lie far above 0, so compare values of
    one embedder only.
    Needs: the answer, the reference; a judge's model, an embedder.
    Evidence: {"tp", "fp": numbers of answer statements, "fn": numbers of reference statements, "f1", "cosine",
    "statements", "reference_statements": their texts, "verdicts"}.
    Source: ragas, "answer correctness"; ragas-style: its steps and formula with prompts of our own.

    | case | result |
    |---|---|
    | only a refusal is correct | 1 where the answer declines by its wording, else 0 |
    | the answer declines | by the statements that it makes all the same: F1 is 0 where there are none |
    | the answer is empty | 0, and the judge is not asked |
    | the answer makes no claim | F1 is 0 (in ragas it is 1 if the reference makes none either); the cosine counts |
    | no passages | scored; none are needed |
    | no reference | not applicable; nor is a reference that states nothing |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "ragas.answer_correctness"
    asks: ClassVar[tuple[str, ...]] = ("ragas_statements", "ragas_correctness")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})
    uses: ClassVar[tuple[str, ...]] = ("model", "embedder")
    empty: ClassVar[float | None] = 0.0
    scores_refusals: ClassVar[bool] = True

    async def _measure(self, talk: Talk) -> Score:
        if talk.refusal_expected:
            return refusal_score(bool(refusal_spans(talk.answer)))
        answer_statements, reference_statements = await talk.all(
            [talk.statements(talk.answer), talk.statements(talk.reference)]
        )
        if not reference_statements:
            return Score.not_applicable("the reference makes no statement")
        true, false, missing = [], [], list(range(1, len(reference_statements) + 1))
        if answer_statements:
            ids = {"answer": len(answer_statements), "ground_truth": len(reference_statements)}
            shown = _shown(talk, answer_statements, reference_statements)
            reply = await talk.ask("ragas_correctness", shown, ids=ids)
            true = [statement["id"] for statement in reply["answer"] if statement["verdict"] == "TP"]
            false = [statement["id"] for statement in reply["answer"] if statement["verdict"] == "FP"]
            missing = [statement["id"] for statement in reply["ground_truth"] if statement["verdict"] == "FN"]
        (cosine,) = await talk.cosines(talk.reference, [talk.answer])
        facts = f1(len(true), len(false), len(missing))
        evidence = {
            "tp": true, "fp": false, "fn": missing, "f1": facts, "cosine": cosine,
            "statements": answer_statements, "reference_statements": reference_statements,
        }  # fmt: skip
        return Score.of(FACTS * facts + MEANING * min(max(cosine, 0.0), 1.0), evidence=evidence)

    def _plan(self, talk: Talk) -> Iterator[Planned]:
        if talk.refusal_expected:
            return
        yield talk.plan_of_statements(talk.answer)
        yield talk.plan_of_statements(talk.reference)
        statements = talk.guessed_statements(talk.answer), talk.guessed_statements(talk.reference)
        yield Planned("ragas_correctness", _shown(talk, *statements), 20 + VERDICT * sum(map(len, statements)))


def _shown(talk: Talk, answer: Sequence[str], reference: Sequence[str]) -> dict[str, Any]:
    """What the judge is shown: the statements of the answer and of the reference."""
    return {"question": talk.question, "answer": numbered(answer), "ground_truth": numbered(reference)}


def f1(tp: int, fp: int, fn: int) -> float:
    """TP / (TP + 0.5 · (FP + FN)); 0.0 where TP is 0."""
    return tp / (tp + 0.5 * (fp + fn)) if tp else 0.0


PLUGINS = {"ragas.answer_correctness": RagasAnswerCorrectness}
