"""`answer_match.judge`: the rule where it is sure, else one request to a judge."""

import json
from typing import Any

import pytest
from msgspec.structs import replace
from tests.metrics.judge.judges import shown_in

from ragstone.errors import TimedOut
from ragstone.metrics import Tools
from ragstone.metrics.answer_match_judge import AnswerMatchJudge
from ragstone.models.scripted import Scripted
from ragstone.types import Case, Query, Request, Response, Sample, Score, Turn

LONG = "At any time of the year except in the two weeks before the annual stocktaking."


def case(reference: str = LONG, *, language: str = "en", question: str = "When may leave be taken?") -> Case:
    return Case("c", Sample("s", question, ((reference,),), language=language), {}, Query(question))


def reply(verdict: str = "stated") -> str:
    return json.dumps({"reason": "The two weeks are excepted.", "verdict": verdict})


async def judged(said: Any, one: Case, answer: str) -> tuple[Score, list[Request]]:
    asked: list[Request] = []

    def script(request: Request) -> Any:
        asked.append(request)
        return said(len(asked)) if callable(said) else said

    metric = AnswerMatchJudge.make(Tools(model=Scripted(script)))
    expected = metric.estimate(one, Response(answer))
    score = await metric.score(one, Response(answer))
    assert (expected.requests > 0) == bool(asked)
    return score, asked


@pytest.mark.parametrize(("verdict", "value"), [("stated", 1.0), ("not_stated", 0.0)])
async def test_the_judge_reads_what_the_rule_is_unsure_about(verdict: str, value: float) -> None:
    score, (request,) = await judged(reply(verdict), case(), "Always, but for the fortnight before stocktaking.")
    assert score.value == value
    assert score.evidence["read"] == verdict
    assert len(score.evidence["verdicts"]) == 1
    assert score.reason == "The judge: The two weeks are excepted."
    assert shown_in(request) == {
        "question": "When may leave be taken?", "reference": LONG,
        "answer": "Always, but for the fortnight before stocktaking.",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("reference", "answer", "value"),
    [(LONG, LONG, 1.0), (LONG, "I cannot tell from the documents.", 0.0), ("in May", "In May.", 1.0),
     ("in May", "In June.", 0.0)],
)  # fmt: skip
async def test_nothing_is_asked_where_the_rule_is_sure(reference: str, answer: str, value: float) -> None:
    score, asked = await judged(reply(), case(reference), answer)
    assert (score.value, asked) == (value, [])


async def test_the_prompt_is_in_the_language_of_the_case() -> None:
    long = "先关机并拔下插头，再打开背板取出旧滤芯，最后装入新滤芯并合上背板。"
    one = case(long, language="zh", question="更换滤芯的步骤是什么？")
    _, (request,) = await judged(reply(), one, "断电后拆开后盖换上新的。")
    assert "参考答案" in request.messages[0].content


async def test_an_unusable_reply_is_asked_again_and_then_fails_and_so_does_a_judge_that_is_away() -> None:
    score, asked = await judged("maybe", case(), "Not before stocktaking.")
    assert (score.status, len(asked)) == ("failed", 2)
    assert "slots" in score.evidence
    score, asked = await judged(lambda number: "maybe" if number == 1 else reply(), case(), "Not before stocktaking.")
    assert (score.value, len(asked)) == (1.0, 2)

    def away(_: int) -> str:
        raise TimedOut("too late")

    score, _ = await judged(away, case(), "Not before stocktaking.")
    assert score.status == "failed"
    assert "too late" in score.reason


async def test_each_judgement_asks_anew_and_a_question_of_a_conversation_stands_after_what_was_said() -> None:
    answer = "Not before stocktaking."
    history = (Turn("user", "Tell me about leave."), Turn("assistant", "Of what kind?"))
    plain = case()
    query = replace(plain.query, history=history)
    one = replace(plain, condition={"judge_repeat": 2}, query=query)
    _, (request,) = await judged(reply(), one, answer)
    assert request.sample == 2
    assert "Tell me about leave." in shown_in(request)["question"]
    assert plain.query.question in shown_in(request)["question"]
