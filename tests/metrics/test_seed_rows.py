"""The seed's three rows about 张伟 through a whole judge: its requests, the matrix, the metrics."""

import json
from typing import Any

import pytest
from tests.metrics.matrices import StubEmbedder, resolve

from ragstone.metrics import GROUPS, Tools, make_metrics
from ragstone.metrics.judge import MatrixJudge
from ragstone.metrics.judge.envelope import opened
from ragstone.models.scripted import Scripted
from ragstone.types import Case, Passage, Query, Request, Response, Sample

QUESTION, REFERENCE = "张伟是哪个部门的?", "张伟是教研部的成员"
REFUSAL = "根据提供的信息,没有提到张伟所在的部门。如果您能提供更多关于张伟的信息,我可能能够帮助您找到答案。"
ROWS = [
    (REFUSAL, ("提供行政管理与协调支持,优化行政工作流程。 ", "绩效管理部 韩杉 李飞 I902 041 人力资源")),
    ("张伟是人事部门的", ("李凯 教研部主任 ", "牛顿发现了万有引力")),
    ("张伟是教研部的", ("牛顿发现了万有引力", "张伟 教研部工程师,他最近在负责课程研发")),
]
FACT = "张伟是教研部的"
# Cosines with the question (1, 0): what was asked 1, another question 0.6; answers with the reference by the text.
VECTORS = {
    QUESTION: (1.0, 0.0),
    "张伟在哪个部门?": (1.0, 0.0),
    REFERENCE: (0.0, 1.0),
    REFUSAL: (0.8, 0.6),
    "张伟是人事部门的": (0.6, 0.8),
    "张伟是教研部的": (0.28, 0.96),
}


def replies(request: Request) -> str:
    """What a careful judge would reply, computed from what it is shown."""
    shown = opened(request.messages[-1].content)
    if request.schema_name == "decompose":
        refuses = shown["answer"]["1"].startswith("根据")
        claims = [] if refuses else [{"sentence": 1, "text": shown["answer"]["1"], "relevant": True}]
        return json.dumps(
            {
                "answer_claims": claims,
                "reference_claims": [{"text": FACT}],
                "questions": [] if refuses else ["张伟在哪个部门?"],
                "noncommittal": refuses,
            }
        )
    supporting = [int(place) for place, text in shown["passages"].items() if "张伟 教研部" in text]
    right = [claim == FACT for claim in shown["answer_claims"].values()]

    def verdict(number: int, holds: bool) -> dict[str, Any]:
        return {
            "id": number,
            "supported_by": supporting if holds else [],
            "contradicted_by": [],
            "quote": "教研部" if holds and supporting else "",
        }

    return json.dumps(
        {
            "answer_claims": [verdict(place, holds) | {"in_reference": holds} for place, holds in enumerate(right, 1)],
            "reference_claims": [verdict(1, True) | {"in_answer": any(right) if right else None}],
            "passages": [
                {"id": int(place), "relevant": int(place) in supporting, "useful": int(place) in supporting}
                for place in shown["passages"]
            ],
        }
    )


@pytest.fixture
async def scores() -> list[dict[str, float | None]]:
    """The five of each row, by one judge."""
    rows = []
    for number, (answer, contexts) in enumerate(ROWS):
        model, embedder = Scripted(replies), StubEmbedder(VECTORS)
        judge = MatrixJudge(model, embedder=embedder)
        passages = tuple(Passage(f"c{place}", text) for place, text in enumerate(contexts))
        case = Case(f"{number}", Sample(f"s{number}", QUESTION, ((REFERENCE,),)), {}, Query(QUESTION))
        metrics = make_metrics(["five"], Tools(judge, model, embedder))
        found = {metric.name: await resolve(metric.score(case, Response(answer, passages))) for metric in metrics}
        assert {result.status for result in found.values()} <= {"scored", "not_applicable"}
        assert [request.schema_name for request in model.requests] == ["decompose", "verify"]
        assert len(embedder.asked) == 1
        rows.append({name: result.value for name, result in found.items()})
    return rows


async def test_row_three_has_a_context_recall_of_1_and_a_context_precision_of_one_half(
    scores: list[dict[str, float | None]],
) -> None:
    assert [row["context_recall"] for row in scores] == [0.0, 0.0, 1.0]
    assert [row["context_precision"] for row in scores] == [0.0, 0.0, 0.5]


async def test_the_answers_are_ordered_as_in_the_seed(scores: list[dict[str, float | None]]) -> None:
    correctness = [row["answer_correctness"] for row in scores]
    assert correctness == pytest.approx([0.25 * 0.6, 0.25 * 0.8, 0.75 + 0.25 * 0.96])


async def test_a_refusal_is_not_relevant_and_neither_faithful_nor_unfaithful(
    scores: list[dict[str, float | None]],
) -> None:
    assert [row["faithfulness"] for row in scores] == [None, 0.0, 1.0]
    assert [row["answer_relevancy"] for row in scores] == pytest.approx([0.0, 1.0, 1.0])
    assert set(scores[0]) == set(GROUPS["five"])
