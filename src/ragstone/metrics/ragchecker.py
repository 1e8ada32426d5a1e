"""RAGChecker's measures under its names, by claims: overall (precision, recall, F1), of the retriever (claim recall,
context precision) and of the generator (the rest). Each is one row of `_MEASURES`.

Source: Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation". Where its
program gives 0 because there is nothing to divide by, ours does not apply and says why.

For each answer: faithfulness + hallucination + self-knowledge = 1, and precision + both noise sensitivities +
hallucination = 1.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from ragstone.metrics._matrix import (
    NO_CLAIMS,
    NO_REFERENCE_CLAIMS,
    FromMatrix,
    covered,
    share,
    stated,
    supporting,
)  # fmt: skip
from ragstone.metrics._passages import NO_PASSAGES, retrieved
from ragstone.metrics.judge.claims import JudgeFailed
from ragstone.metrics.judge.record import Judged
from ragstone.types import Case, Need, Response, Score

Formula: TypeAlias = Callable[
    [Judged, int], Score
]  # of the claims with their verdicts, and how many passages there are

_ANSWER, _REFERENCE, _PASSAGES = Need.ANSWER, Need.REFERENCES, Need.PASSAGES
_NEEDS = {_ANSWER: "the answer", _REFERENCE: "the reference", _PASSAGES: "passages"}
_EVIDENCE = '{{"what": "{what}", "counted": ids of {counted}, "of": how many there are, "verdicts"}}'
_RESTS_ON = {
    **dict.fromkeys(("claim_recall", "context_precision", "context_utilization"), ("reference",)),
    **dict.fromkeys(("hallucination", "self_knowledge", "faithfulness"), ("answer",)),
    **dict.fromkeys(("noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant"), ("answer", "reference")),
}
_ZERO = "not applicable; RAGChecker's program says 0"
_DOCUMENT = """`ragchecker.{name}`: {about}.

Formula: {formula}.
Range: 0 to 1, {range}.
Needs: {needs}; a judge.
Evidence: {evidence}.
Source: Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation", {source}.

| case | result |
|---|---|
| the answer declines | {declines} |
| the answer is empty | {empty} |
| the answer makes no claim | {no_claim} |
| no passages | {no_passages} |
| nothing was retrieved | {nothing} |
| no reference | {no_reference} |
| the judge failed | failed |
"""


@dataclass(frozen=True)
class RagChecker(FromMatrix):
    """One of RAGChecker's measures. Each has a class of its own, made from its row."""

    formula: ClassVar[Formula]

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        if _REFERENCE in self.needs and not judged.reference_claims:
            return Score.not_applicable(NO_REFERENCE_CLAIMS)
        return type(self).formula(judged, len(retrieved(case, response)))


def _of_answer(judged: Judged, ids: Iterable[int]) -> Score:
    return share(ids, len(judged.answer_claims), "answer_claims", NO_CLAIMS)


def _precision(judged: Judged, passages: int) -> Score:
    return _of_answer(judged, stated(judged.answer_claims))


def _recall(judged: Judged, passages: int) -> Score:
    covered_count = covered(judged.reference_claims, judged.answer_claims)
    return share(covered_count, len(judged.reference_claims), "reference_claims", NO_REFERENCE_CLAIMS)


def _f1(judged: Judged, passages: int) -> Score:
    correct = stated(judged.answer_claims)
    covered_count = covered(judged.reference_claims, judged.answer_claims)
    precision = len(correct) / len(judged.answer_claims) if judged.answer_claims else 0.0
    recall = len(covered_count) / len(judged.reference_claims)
    value = 2 * precision * recall / (precision + recall) if precision and recall else 0.0
    evidence = {"precision": precision, "recall": recall, "correct": correct, "covered": covered_count}
    return Score.of(value, evidence=evidence)


def _claim_recall(judged: Judged, passages: int) -> Score:
    claims = judged.reference_claims
    supported = (claim.id for claim in claims if claim.supported_by)
    return share(supported, len(claims), "reference_claims", NO_REFERENCE_CLAIMS)


def _context_precision(judged: Judged, passages: int) -> Score:
    relevant = sorted(supporting(judged.reference_claims))
    if relevant and relevant[-1] > passages:
        raise JudgeFailed(f"The judge names passage {relevant[-1]} of {passages}.")
    return share(relevant, passages, "passages", NO_PASSAGES)


def _context_utilization(judged: Judged, passages: int) -> Score:
    covered_count = covered(judged.reference_claims, judged.answer_claims)
    supported = [claim.id for claim in judged.reference_claims if claim.supported_by]
    used = [claim for claim in supported if claim in covered_count]
    return share(used, len(supported), "reference_claims", "the passages support no claim of the reference")


def _noise(judged: Judged, *, relevant: bool) -> Score:
    """Wrong claims from passages, split by whether one of those passages supports a claim of the reference."""
    correct, helpful = stated(judged.answer_claims), supporting(judged.reference_claims)
    wrong = [claim for claim in judged.answer_claims if claim.id not in correct and claim.supported_by]
    return _of_answer(
        judged,
        [wrong_claim.id for wrong_claim in wrong if relevant is not helpful.isdisjoint(wrong_claim.supported_by)],
    )


def _noise_in_relevant(judged: Judged, passages: int) -> Score:
    return _noise(judged, relevant=True)


def _noise_in_irrelevant(judged: Judged, passages: int) -> Score:
    return _noise(judged, relevant=False)


def _hallucination(judged: Judged, passages: int) -> Score:
    correct = stated(judged.answer_claims)
    return _of_answer(
        judged, (claim.id for claim in judged.answer_claims if claim.id not in correct and not claim.supported_by)
    )


def _self_knowledge(judged: Judged, passages: int) -> Score:
    correct = stated(judged.answer_claims)
    return _of_answer(
        judged, (claim.id for claim in judged.answer_claims if claim.id in correct and not claim.supported_by)
    )


def _faithfulness(judged: Judged, passages: int) -> Score:
    return _of_answer(judged, (claim.id for claim in judged.answer_claims if claim.supported_by))


def _plugin(
    name: str,
    needs: tuple[Need, ...],
    formula: Formula,
    about: str,
    text: str,
    source: str,
    evidence: tuple[str, str] | str,
    *,
    better: Literal["higher", "lower", "neither"] = "higher",
    empty: Literal["ask"] | float | None = None,
) -> type[RagChecker]:
    """The class of a measure, with the docstring that every metric has."""
    silent = _ANSWER not in needs
    scored, same = "scored; none {} needed", "scored; the answer makes no difference"
    document = _DOCUMENT.format(
        name=name,
        about=about,
        formula=text,
        range={
            "higher": "higher is better",
            "lower": "lower is better",
            "neither": "lower is better where answers are to come from the passages",
        }[better],
        needs=", ".join(_NEEDS[need] for need in needs),
        evidence=evidence if isinstance(evidence, str) else _EVIDENCE.format(what=evidence[0], counted=evidence[1]),
        source=source,
        declines=same if silent
        else "the claims that it makes all the same; not applicable where there are none" if empty is None
        else "by the claims that it makes; 0 where there are none",
        empty=same
        if silent
        else {None: "not applicable", "ask": "0", 0.0: "0, and the judge is not asked"}[empty],
        no_claim=same if silent else _ZERO if empty is None else "0",
        no_passages=_ZERO if _PASSAGES in needs else scored.format("are"),
        nothing="0" if silent else "no claim has support" if _PASSAGES in needs else "scored; no passage is needed",
        no_reference=(
            "not applicable; nor is a reference that makes no claim"
            + " or has none that a passage supports" * (name == "context_utilization")
            if _REFERENCE in needs
            else scored.format("is")
        ),
    )  # fmt: skip
    title = "".join(map(str.capitalize, name.split("_")))
    fields = {
        "__doc__": document, "__module__": __name__, "name": f"ragchecker.{name}", "needs": frozenset(needs),
        "formula": staticmethod(formula), "better": better, "empty": empty, "rests_on": _RESTS_ON.get(name, ()),
        "of_retrieval": silent,
    }  # fmt: skip
    return dataclass(frozen=True)(type(title, (RagChecker,), fields))


_CLAIMS_OF = "answer claims that {} / answer claims"
_RELEVANT = "A passage is relevant if it supports a claim of the reference"
_ALL = (_ANSWER, _REFERENCE, _PASSAGES)
_MEASURES = (
    _plugin(
        "precision", (_ANSWER, _REFERENCE), _precision, "the share of the answer's claims that are correct",
        _CLAIMS_OF.format("the reference supports"), "claim precision", ("answer_claims", "the correct ones"),
    ),
    _plugin(
        "recall", (_ANSWER, _REFERENCE), _recall, "the share of the reference's claims that the answer covers",
        "reference claims that the answer covers / reference claims", "claim recall",
        ("reference_claims", "the covered ones"), empty=0.0,
    ),
    _plugin(
        "f1", (_ANSWER, _REFERENCE), _f1, "the harmonic mean of `ragchecker.precision` and `ragchecker.recall`",
        "2PR / (P + R), and 0 if either is 0. P: answer claims that the reference supports / answer claims; R:\n"
        "reference claims that the answer covers / reference claims", "F1",
        '{"precision", "recall", "correct": ids of answer claims, "covered": ids of reference claims, "verdicts"}',
        empty=0.0,
    ),
    _plugin(
        "claim_recall", (_REFERENCE, _PASSAGES), _claim_recall,
        "the share of the reference's claims that the passages support; the same as `context_recall`",
        "reference claims that at least one passage supports / reference claims", "claim recall of the retriever",
        ("reference_claims", "the supported ones"),
    ),
    _plugin(
        "context_precision", (_REFERENCE, _PASSAGES), _context_precision,
        "the share of the passages that support a claim of the reference",
        "passages that support at least one reference claim / passages. Their order makes no difference, unlike in\n"
        "`context_precision`", "context precision",
        '{"what": "passages", "counted": places of the relevant ones, "of": how many there are, "verdicts"}',
    ),
    _plugin(
        "context_utilization", _ALL, _context_utilization,
        "the share of what the passages support of the reference that the answer covers",
        "reference claims that at least one passage supports and the answer covers / reference claims that at least\n"
        "one passage supports", "context utilization",
        '{"what": "reference_claims", "counted": ids of those used, "of": how many the passages support,\n"verdicts"}',
        empty="ask",
    ),
    _plugin(
        "noise_sensitivity_in_relevant", _ALL, _noise_in_relevant,
        "the share of the answer's claims that are wrong and come from a relevant passage",
        f"answer claims that the reference does not support and a relevant passage does / answer claims.\n{_RELEVANT}",
        "noise sensitivity in relevant", ("answer_claims", "those claims"), better="lower",
    ),
    _plugin(
        "noise_sensitivity_in_irrelevant", _ALL, _noise_in_irrelevant,
        "the share of the answer's claims that are wrong and come from irrelevant passages",
        "answer claims that the reference does not support and, of the passages, only irrelevant ones do / answer\n"
        f"claims. {_RELEVANT}", "noise sensitivity in irrelevant", ("answer_claims", "those claims"), better="lower",
    ),
    _plugin(
        "hallucination", _ALL, _hallucination,
        "the share of the answer's claims that are wrong and stand in no passage",
        _CLAIMS_OF.format("neither the reference nor any passage supports"), "hallucination",
        ("answer_claims", "those claims"), better="lower",
    ),
    _plugin(
        "self_knowledge", _ALL, _self_knowledge,
        "the share of the answer's claims that are correct and stand in no passage",
        _CLAIMS_OF.format("the reference supports and no passage does"), "self-knowledge",
        ("answer_claims", "those claims"), better="neither",
    ),
    _plugin(
        "faithfulness", (_ANSWER, _PASSAGES), _faithfulness,
        "the share of the answer's claims that the passages support; the same as `faithfulness`",
        _CLAIMS_OF.format("at least one passage supports"), "faithfulness", ("answer_claims", "the supported ones"),
    ),
)  # fmt: skip
PLUGINS: dict[str, type[RagChecker]] = {kind.name: kind for kind in _MEASURES}
globals().update({kind.__name__: kind for kind in _MEASURES})  # so that a metric can be pickled
