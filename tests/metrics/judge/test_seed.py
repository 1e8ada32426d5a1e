"""The worked examples of seed 004 as claims and verdicts; `test_matrix`, `test_seed_rows` make scores of them."""

import json
from typing import Any

import pytest
from tests.metrics.judge.judges import case, judge_by, response, shown_in

from ragstone.metrics.judge.record import AnswerClaim, PassageVerdict, Quote, ReferenceClaim
from ragstone.types import Request

ROW_3 = ("牛顿发现了万有引力", "张伟 教研部工程师,他最近在负责课程研发")
QUOTED = (Quote("教研部", 2),)


def judged_as(answer: dict[str, bool], reference: dict[str, bool], place: int) -> Any:
    """A judge that makes these claims (true: the other side has it, too) and finds 教研部 in the passage at `place`."""

    def script(request: Request) -> str:
        shown = shown_in(request)
        if request.schema_name == "decompose":
            return json.dumps({
                "answer_claims": [{"sentence": 1, "text": text, "relevant": True} for text in answer],
                "reference_claims": [{"text": text} for text in reference],
                "questions": [shown["question"]], "noncommittal": False,
            })  # fmt: skip
        other = [("answer_claims", "in_reference", answer), ("reference_claims", "in_answer", reference)]
        if request.schema_name == "verify_reference":
            return json.dumps({
                at: [{"id": number, word: shared} for number, shared in enumerate(claims.values(), start=1)]
                for at, word, claims in other
            })  # fmt: skip
        if request.schema_name == "verify_passage":
            here = "教研部" in shown["passage"]
            return json.dumps({
                at: [
                    {"id": number, "verdict": "supported" if here and "教研部" in text else "neither",
                     "quote": "教研部" if here and "教研部" in text else ""}
                    for number, text in enumerate(claims, start=1)
                ]
                for at, _, claims in other
            } | {"relevant": here, "useful": here})  # fmt: skip
        return json.dumps({
            at: [
                {"id": number, "supported_by": [place] if "教研部" in text else [], "contradicted_by": [],
                 word: shared, "quote": "教研部" if "教研部" in text else ""}
                for number, (text, shared) in enumerate(claims.items(), start=1)
            ]
            for at, word, claims in other
        } | {
            "passages": [
                {"id": int(number), "relevant": "教研部" in text, "useful": "教研部" in text}
                for number, text in shown["passages"].items()
            ]
        })  # fmt: skip

    return script


@pytest.mark.parametrize("verify", ["joint", "separate"])
async def test_two_claims_of_which_one_is_shared(verify: Any) -> None:
    script = judged_as(
        {"张伟是教研部的": True, "张伟负责大模型课程": False}, {"张伟是教研部的": True, "张伟负责大数据方向": False}, 2
    )
    judge, _ = judge_by(script, verify=verify)
    asked = case("张伟是谁?", "张伟是教研部负责大数据方向的同事。")
    judged = await judge.verify(asked, response("张伟是教研部负责大模型课程的同事。", ROW_3))
    assert judged.answer_claims == (
        AnswerClaim(1, "张伟是教研部的", 1, True, (2,), (), True, "教研部", QUOTED, verified=True),
        AnswerClaim(2, "张伟负责大模型课程", 1, True, (), (), False, verified=True),
    )
    assert judged.reference_claims == (
        ReferenceClaim(1, "张伟是教研部的", (2,), (), True, "教研部", QUOTED, verified=True),
        ReferenceClaim(2, "张伟负责大数据方向", (), (), False, verified=True),
    )


@pytest.mark.parametrize("verify", ["joint", "separate"])
async def test_row_three_has_its_only_useful_passage_in_the_second_place(verify: Any) -> None:
    script = judged_as({"张伟是教研部的": True}, {"张伟是教研部的": True}, 2)
    judge, model = judge_by(script, verify=verify)
    asked = case("张伟是哪个部门的?", "张伟是教研部的成员")
    judged = await judge.verify(asked, response("张伟是教研部的", ROW_3))
    assert judged.passages == (PassageVerdict(1, False, False), PassageVerdict(2, True, True))
    assert [claim.supported_by for claim in judged.reference_claims] == [(2,)]
    assert [claim.in_reference for claim in judged.answer_claims] == [True]
    assert "论断" in model.requests[0].messages[0].content
