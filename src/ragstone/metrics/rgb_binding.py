"""Whether every part of an answer to a question of RGB's integration testbed stands with what was asked of it."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._binding import Parts, binding
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.text.labels import without_labels
from ragstone.types import Case, Need, Response, Score


def outcome_of(score: Score | None) -> str:
    """The outcome that a score of `rgb.binding` has as evidence; "" without one."""
    evidence = score.evidence if score is not None and isinstance(score.evidence, dict) else {}
    return str(evidence.get("outcome", ""))


@dataclass(frozen=True)
class RgbBinding:
    """`rgb.binding`: 1.0 if the answer states every part and each stands with its own key, else 0.0.

    Formula: 1 if the outcome is "bound", else 0. "incomplete": `answer_match` finds a part missing. "listed": the
    answer states more other values of a kind than are asked for. Of two values of one kind, each must stand nearer to
    its key than crosswise, or in the order of the keys, in the answer or else in the question: else "misaligned". Where
    neither tells, "unbound". Keys: terms of one side of the question that stand near the part's value in the passages.
    Range: 0 or 1, higher is better.
    Needs: the answer, the reference of several parts.
    Evidence: {"outcome": …, "keys": for each part its terms, empty where its kind tells it from the others}.
    Source: the misalignment errors of Chen et al. 2024, section 4.4, by rule.

    | case | result |
    |---|---|
    | the answer declines | not applicable to a question of one part, else 0 |
    | the answer is empty | not applicable to a question of one part, else 0 |
    | no passages | not applicable to a question of one part, else scored by the kinds of values and the order |
    | no reference | not applicable |
    """

    name: str = "rgb.binding"
    version: int = 2
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})

    def score(self, case: Case, response: Response, /) -> Score:
        slots = case.sample.references
        if sum(map(bool, slots)) < 2:
            return Score.not_applicable("the question has one part")
        response = Response(without_labels(response.answer))
        match = AnswerMatch().score(case, response)
        if not match.value:
            return Score.of(0.0, evidence={"outcome": "incomplete"}) if match.value is not None else match
        mentions = [[(span["start"], span["end"]) for span in slot] for slot in match.evidence["slots"]]
        passages = tuple(passage.text for passage in case.query.passages or () if passage.relevant)
        parts = Parts(case.sample.question, slots, passages, case.sample.language)
        outcome, keys = binding(parts, response.answer, mentions)
        evidence = {"outcome": outcome, "keys": [list(terms) for terms in keys]}
        return Score.of(outcome == "bound", evidence=evidence)


PLUGINS = {"rgb.binding": RgbBinding()}
