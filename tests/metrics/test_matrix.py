"""Metrics of the claim matrix, against figures worked out by hand."""

from typing import Any

import pytest
from tests.metrics.matrices import (
    JUDGED,
    STEPS,
    VERDICTS,
    case,
    response,
    scored,
    without_reference,
)

from ragstone.metrics import GROUPS, METRICS
from ragstone.metrics.judge.claims import Similarities
from ragstone.metrics.judge.record import AnswerClaim, Judged, PassageVerdict, ReferenceClaim
from ragstone.types import Response

# The matrix of matrices.py: claims of the answer 1 and 3 are correct; 1, 2 and 5 are supported; all but 3 are relevant.
# Of the reference, claims 1 and 2 are supported, 1 and 3 are covered. Passages 2 and 4 are useful; 1, 2, 4 relevant;
# 1 and 2 support a claim of the reference.
BY_HAND = {
    "faithfulness": 3 / 5,
    "groundedness": 3 / 5,
    "answer_relevancy": 0.8,
    "answer_relevance": 4 / 5,
    "context_precision": (1 / 2 + 2 / 4) / 2,
    "context_recall": 2 / 3,
    "context_relevance": 3 / 4,
    # TP 1, 3; FP 2, 4, 5; FN 2: F1 = 2 / (2 + 0.5 · 4) = 0.5.
    "answer_correctness": 0.75 * 0.5 + 0.25 * 0.8,
    # Citations [1] ✓ [9] ✗ | [2] ✗ | [3] ✓ [1] ✗; claims backed: 1 and 5.
    "citation_precision": 2 / 5,
    "citation_recall": 2 / 5,
    "knowledge_density": (67 + 0) / (67 + 67 + 134 + 0),
    "ragchecker.precision": 2 / 5,
    "ragchecker.recall": 2 / 3,
    "ragchecker.f1": 2 * (2 / 5) * (2 / 3) / (2 / 5 + 2 / 3),
    "ragchecker.claim_recall": 2 / 3,
    "ragchecker.context_precision": 2 / 4,
    "ragchecker.context_utilization": 1 / 2,
    "ragchecker.noise_sensitivity_in_relevant": 1 / 5,
    "ragchecker.noise_sensitivity_in_irrelevant": 1 / 5,
    "ragchecker.hallucination": 1 / 5,
    "ragchecker.self_knowledge": 1 / 5,
    "ragchecker.faithfulness": 3 / 5,
}
NAMES = tuple(BY_HAND)


def test_every_metric_of_the_matrix_is_worked_out() -> None:
    judged = {name for name, plugin in METRICS if "judge" in getattr(plugin, "uses", ())}
    assert judged == set(NAMES)
    assert {*GROUPS["five"], *GROUPS["triad"], *GROUPS["citations"], *GROUPS["ragchecker"]} < judged


@pytest.mark.parametrize("name", NAMES)
async def test_the_worked_example(name: str) -> None:
    result = await scored(name)
    assert result.value == pytest.approx(BY_HAND[name], abs=1e-12)
    assert result.evidence["verdicts"] == VERDICTS


COUNTED = {
    "faithfulness": ("answer_claims", [1, 2, 5], 5),
    "answer_relevance": ("answer_claims", [1, 2, 4, 5], 5),
    "context_precision": ("passages", [2, 4], 4),
    "context_recall": ("reference_claims", [1, 2], 3),
    "context_relevance": ("passages", [1, 2, 4], 4),
    "citation_precision": ("citations", [[1, 1], [3, 3]], 5),
    "citation_recall": ("answer_claims", [1, 5], 5),
    "knowledge_density": ("passages", [2, 4], 4),
    "ragchecker.precision": ("answer_claims", [1, 3], 5),
    "ragchecker.recall": ("reference_claims", [1, 3], 3),
    "ragchecker.context_precision": ("passages", [1, 2], 4),
    "ragchecker.context_utilization": ("reference_claims", [1], 2),
    "ragchecker.noise_sensitivity_in_relevant": ("answer_claims", [2], 5),
    "ragchecker.noise_sensitivity_in_irrelevant": ("answer_claims", [5], 5),
    "ragchecker.hallucination": ("answer_claims", [4], 5),
    "ragchecker.self_knowledge": ("answer_claims", [3], 5),
}


@pytest.mark.parametrize("name", COUNTED)
async def test_the_evidence_says_what_was_counted(name: str) -> None:
    evidence = (await scored(name)).evidence
    assert (evidence["what"], evidence["counted"], evidence["of"]) == COUNTED[name]


async def test_answer_correctness_shows_what_is_right_wrong_and_missing() -> None:
    evidence = (await scored("answer_correctness")).evidence
    assert (evidence["tp"], evidence["fp"], evidence["fn"]) == ([1, 3], [2, 4, 5], [2])
    assert (evidence["f1"], evidence["cosine"]) == (0.5, 0.8)


async def test_context_precision_goes_by_relevance_where_there_is_no_reference_and_says_so() -> None:
    result = await scored("context_precision", without_reference(JUDGED), case=case(()))
    assert result.value == pytest.approx((1 / 1 + 2 / 2 + 3 / 4) / 3)
    assert (result.evidence["by"], result.evidence["counted"]) == ("relevant", [1, 2, 4])
    assert (await scored("context_precision")).evidence["by"] == "useful"


async def test_knowledge_density_goes_by_relevance_where_there_is_no_reference() -> None:
    result = await scored("knowledge_density", without_reference(JUDGED), case=case(()))
    assert result.value == pytest.approx((67 + 67 + 0) / 268)
    assert result.evidence["tokens"] == [67, 67, 134, 0]


# The seed's own examples (seed 004).


async def test_the_seed_two_claims_of_which_one_is_shared_have_an_f1_of_one_half() -> None:
    ours = (
        AnswerClaim(1, "张伟是教研部的", in_reference=True),
        AnswerClaim(2, "张伟负责大模型课程", in_reference=False),
    )
    theirs = (
        ReferenceClaim(1, "张伟是教研部的", in_answer=True),
        ReferenceClaim(2, "张伟负责大数据方向", in_answer=False),
    )
    judged = Judged(ours, theirs, (), False, (), STEPS, ("张伟是教研部负责大模型课程的同事。",))
    result = await scored(
        "answer_correctness",
        judged,
        Similarities((), 0.9),
        case=case((("张伟是教研部负责大数据方向的同事。",),)),
        response=Response("张伟是教研部负责大模型课程的同事。"),
    )
    assert result.evidence["f1"] == 0.5
    assert result.value == pytest.approx(0.75 * 0.5 + 0.25 * 0.9)
    assert (await scored("ragchecker.f1", judged)).value == pytest.approx(0.5)


async def test_the_seed_row_three_has_a_context_recall_of_1_and_a_context_precision_of_one_half() -> None:
    judged = Judged(
        (AnswerClaim(1, "张伟是教研部的", 1, True, (2,), (), True),),
        (ReferenceClaim(1, "张伟是教研部的", (2,), (), True),),
        ("张伟是哪个部门的？",),
        False,
        (PassageVerdict(1, False, False), PassageVerdict(2, True, True)),
        STEPS,
        ("张伟是教研部的",),
    )
    row: dict[str, Any] = {
        "case": case((("张伟是教研部的成员",),)),
        "response": response("张伟是教研部的", ("牛顿发现了万有引力", "张伟 教研部工程师，他最近在负责课程研发")),
    }
    assert (await scored("context_recall", judged, **row)).value == 1.0
    assert (await scored("context_precision", judged, **row)).value == 0.5


async def test_the_seed_answer_that_names_the_department_is_the_most_correct_of_the_three() -> None:
    reference = (ReferenceClaim(1, "张伟是教研部的"),)

    def judged(text: str, *claims: AnswerClaim, noncommittal: bool = False, covered: bool | None = None) -> Judged:
        asked = tuple(ReferenceClaim(c.id, c.text, in_answer=covered) for c in reference)
        return Judged(claims, asked, (), noncommittal, (), STEPS, (text,))

    refusal = "根据提供的信息,没有提到张伟所在的部门。如果您能提供更多关于张伟的信息,我可能能够帮助您找到答案。"
    rows = {
        refusal: (judged(refusal, noncommittal=True), 0.55),
        "张伟是人事部门的": (
            judged("张伟是人事部门的", AnswerClaim(1, "张伟是人事部门的", in_reference=False), covered=False),
            0.8,
        ),
        "张伟是教研部的": (
            judged("张伟是教研部的", AnswerClaim(1, "张伟是教研部的", in_reference=True), covered=True),
            0.95,
        ),
    }
    values = []
    for answer, (found, cosine) in rows.items():
        given_case = case((("张伟是教研部的成员",),))
        result = await scored(
            "answer_correctness", found, Similarities((), cosine), case=given_case, response=Response(answer)
        )
        values.append(result.value)
    assert values == pytest.approx([0.25 * 0.55, 0.25 * 0.8, 0.75 + 0.25 * 0.95])


# Refusals.


@pytest.mark.parametrize("answer", ["I cannot answer this from the documents.", "文档信息不足，因此我无法回答该问题。"])
async def test_a_refusal_never_scores_a_perfect_correctness(answer: str) -> None:
    # Whatever the judge makes of it: here it calls what the refusal says correct.
    claims = (AnswerClaim(1, "The documents do not say it.", 1, False, (), (), True),)
    reference = (ReferenceClaim(1, "needed", (), (), True),)
    for noncommittal in (True, False):
        judged = Judged(claims, reference, (), noncommittal, (), STEPS, (answer,))
        result = await scored("answer_correctness", judged, Similarities((), 1.0), response=Response(answer))
        assert result.value == 0.25
        assert result.evidence["noncommittal"] is True


async def test_an_answer_that_names_a_gap_beside_what_was_asked_is_no_refusal() -> None:
    claims = (AnswerClaim(1, "张伟是教研部的", 1, True, (), (), True),)
    judged = Judged(claims, (ReferenceClaim(1, "张伟是教研部的", (), (), True),), (), False, (), STEPS, ())
    answer = Response("张伟是教研部的。至于他的电话，我无法回答该问题。")
    assert (await scored("answer_correctness", judged, Similarities((), 1.0), response=answer)).value == 1.0


def test_the_measures_are_named_as_ragchecker_names_them() -> None:
    names = (
        "precision", "recall", "f1", "claim_recall", "context_precision", "context_utilization",
        "noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant", "hallucination", "self_knowledge",
        "faithfulness",
    )  # fmt: skip
    assert GROUPS["ragchecker"] == tuple(f"ragchecker.{name}" for name in names)
    assert {name for name in METRICS.names() if name.startswith("ragchecker.")} == set(GROUPS["ragchecker"])
