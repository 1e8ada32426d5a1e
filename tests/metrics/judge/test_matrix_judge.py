"""The judge of the matrix: what it asks, once, and what it makes of the replies."""

import asyncio
import json
from typing import Any

import pytest
from tests.metrics.judge.judges import (
    ANSWER,
    BARE,
    CASE,
    GIVEN,
    PASSAGES,
    REFERENCE,
    Embedder,
    careful,
    case,
    judge_by,
    response,
    shown_in,
)

from ragstone.errors import RateLimited, UsageError
from ragstone.metrics import GROUPS, Tools, make_metrics
from ragstone.metrics.judge import MatrixJudge, Prompts
from ragstone.metrics.judge.record import (
    AnswerClaim,
    Claim,
    PassageVerdict,
    Quote,
    ReferenceClaim,
    evidence,
    merged,
    parted,
    reunited,
    steps_of,
)
from ragstone.models.scripted import Scripted
from ragstone.structs import from_json, to_json
from ragstone.types import Metric, Request, Response, Sample, Score

OPENED = "The mill opened in 1902"


async def test_two_requests_give_every_claim_and_every_verdict() -> None:
    judge, model = judge_by()
    judged = await judge.verify(CASE, GIVEN)
    assert [request.schema_name for request in model.requests] == ["decompose", "verify"]
    assert judged.sentences == ("The mill opened in 1902.", "Ada built it.", "The mill, by the way, is red.")
    assert judged.answer_claims == (
        AnswerClaim(1, OPENED, 1, True, (1,), (), True, OPENED, (Quote(OPENED, 1),), verified=True),
        AnswerClaim(2, "Ada built it", 2, True, (), (2,), False, verified=True),
        AnswerClaim(3, "The mill, by the way, is red", 3, False, (), (), False, verified=True),
    )
    assert judged.reference_claims == (
        ReferenceClaim(1, OPENED, (1,), (), True, OPENED, (Quote(OPENED, 1),), verified=True),
        ReferenceClaim(2, "Bo built it", (2,), (), False, "Bo built it", (Quote("Bo built it", 2),), verified=True),
    )
    assert judged.passages == (
        PassageVerdict(1, True, True), PassageVerdict(2, False, True), PassageVerdict(3, False, False)
    )  # fmt: skip
    assert judged.questions == ("What about The mill opened in 1902?", "What about Ada built it?")
    assert judged.noncommittal is False


async def test_the_requests_show_the_sample_and_ask_for_its_number() -> None:
    judge, model = judge_by()
    await judge.verify(case(reference=REFERENCE, repeat=2), GIVEN)
    first, second = model.requests
    assert shown_in(first) == {
        "question": BARE.query.question,
        "answer": {"1": "The mill opened in 1902.", "2": "Ada built it.", "3": "The mill, by the way, is red."},
        "reference": REFERENCE,
    }
    assert list(shown_in(second)) == ["question", "reference", "answer_claims", "reference_claims", "passages"]
    assert shown_in(second)["passages"] == {str(place): text for place, text in enumerate(PASSAGES, start=1)}
    assert {request.sample for request in model.requests} == {2}
    assert {request.sampling.temperature for request in model.requests} == {0.0}


async def test_steps_keep_the_raw_replies_and_what_was_made_of_them() -> None:
    judge, _ = judge_by()
    judged = await judge.verify(CASE, GIVEN)
    decompose, verify = judged.steps
    assert json.loads(decompose.reply or "")["noncommittal"] is False
    assert decompose.answer_claims[2] == Claim(3, "The mill, by the way, is red", 3, False)
    assert decompose.reference_claims[0] == Claim(1, "The mill opened in 1902")
    assert (decompose.sentences, decompose.questions) == (judged.sentences, judged.questions)
    assert decompose.prompt.startswith("decompose/en@")
    quote = "The mill opened in 1902"
    assert verify.answer_claims[0] == Claim(1, supported_by=(1,), in_reference=True, quote=quote, quote_found=True)
    assert verify.reference_claims[1].in_answer is False
    assert verify.passages == judged.passages
    assert judged.passages == (
        PassageVerdict(1, True, True), PassageVerdict(2, False, True), PassageVerdict(3, False, False)
    )  # fmt: skip
    assert all(step.name and step.model and step.prompt and step.reply and step.usage for step in judged.steps)


async def test_what_is_read_back_from_a_score_is_what_the_judge_left_there() -> None:
    judge, _ = judge_by()
    judged = await judge.verify(CASE, GIVEN)
    stored = from_json(to_json(Score.of(1.0, evidence=evidence(judged.steps, {"of": 3}))), Score)
    assert steps_of(stored) == judged.steps
    assert merged(steps_of(stored)) == judged
    rest, verdicts = parted(stored)
    assert rest.evidence == {"of": 3}
    assert reunited(rest, verdicts) == stored


async def test_five_metrics_at_once_take_two_requests_and_one_of_the_embedder() -> None:
    embedder = Embedder()
    judge, model = judge_by(embedder=embedder)
    metrics = make_metrics([*GROUPS["five"], *GROUPS["ragchecker"]], Tools(judge, model, embedder))
    scores = await asyncio.gather(*(scored(metric) for metric in metrics))
    assert len(scores) > 10
    assert {score.status for score in scores} == {"scored"}
    assert len(model.requests) == 2
    assert len(embedder.asked) == 1
    again = await asyncio.gather(*(scored(metric) for metric in metrics))
    assert again == scores
    assert len(model.requests) == 2


async def scored(metric: Metric) -> Any:
    result: Any = metric.score(CASE, GIVEN)
    return await result


async def test_the_same_texts_are_judged_once_whatever_the_case_is_called() -> None:
    judge, model = judge_by()
    first = await judge.verify(CASE, GIVEN)
    other = Sample("another", CASE.sample.question, CASE.sample.references, meta={"row": 7})
    renamed = type(CASE)("c2", other, {"group:topic": "mills"}, CASE.query)
    passages = tuple(type(one)(f"x{one.id}", one.text, score=0.5) for one in GIVEN.passages)
    assert await judge.verify(renamed, Response(ANSWER, passages, model="another")) == first
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("asked", "given_response"),
    [
        (case("Another question?", REFERENCE), GIVEN),
        (case(reference="Another."), GIVEN),
        (case(reference=REFERENCE, repeat=1), GIVEN),
        (case(reference=REFERENCE, language="zh"), GIVEN),
        (CASE, response("Another.", PASSAGES)),
        (CASE, response(ANSWER, PASSAGES[:2])),
        (CASE, response(ANSWER, PASSAGES[::-1])),
    ],
    ids=["question", "reference", "repeat", "language", "answer", "passages", "order"],
)
async def test_other_texts_another_repeat_or_another_language_are_judged_anew(
    asked: Any, given_response: Response
) -> None:
    judge, model = judge_by()
    await judge.verify(CASE, GIVEN)
    await judge.verify(asked, given_response)
    assert len(model.requests) == 4


async def test_which_steps_are_wanted_changes_no_request() -> None:
    """Each request is a pure function of the sample, the protocol and the prompts."""
    orders: list[list[str]] = [
        ["verify"], ["decompose", "verify"], ["similarities", "verify"], ["verify", "similarities", "decompose"]
    ]  # fmt: skip
    asked = []
    for order in orders:
        judge, model = judge_by(embedder=Embedder())
        for step in order:
            await getattr(judge, step)(CASE, GIVEN)
        asked.append(model.requests)
    assert all(requests == asked[0] for requests in asked)


async def test_a_failure_is_shared_and_the_next_who_asks_may_have_more_luck() -> None:
    replies: list[Any] = [RateLimited("too many")]
    judge, model = judge_by(lambda request: replies.pop(0) if replies else careful(request))
    failures = await asyncio.gather(*(judge.verify(CASE, GIVEN) for _ in range(5)), return_exceptions=True)
    assert [str(error) for error in failures] == ["rate_limited: too many"] * 5
    assert len(model.requests) == 1
    assert (await judge.verify(CASE, GIVEN)).answer_claims
    assert len(model.requests) == 3


async def test_a_metric_that_is_cancelled_takes_nothing_from_the_others() -> None:
    gate = asyncio.Event()

    async def slow(request: Request) -> str:
        await gate.wait()
        return careful(request)

    judge, model = judge_by(slow)
    tasks = [asyncio.create_task(judge.verify(CASE, GIVEN)) for _ in range(3)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    await asyncio.gather(tasks[0], return_exceptions=True)
    gate.set()
    first, second = await asyncio.gather(*tasks[1:])
    assert first == second
    assert len(model.requests) == 2


def test_what_makes_a_judge_the_one_it_is_enters_the_run_file() -> None:
    model, prompts = Scripted(careful, id="scripted/j"), Prompts.load()
    joint = MatrixJudge(model, prompts=prompts).spec
    assert (joint["model"], joint["protocol"], joint["verify"]) == ("scripted/j", "matrix", "joint")
    assert joint["prompts"]["decompose/zh"] == prompts.spec["decompose/zh"]
    assert {name.split("/")[0] for name in joint["prompts"]} == {"decompose", "verify", "verify_reference"}
    assert "embedder" not in joint
    others = [
        MatrixJudge(model, verify="separate"), MatrixJudge(model, budget=500), MatrixJudge(model, language="zh"),
        MatrixJudge(model, embedder=Embedder()), MatrixJudge(Scripted(careful, id="scripted/k")),
    ]  # fmt: skip
    specs = [to_json(judge.spec) for judge in others]
    assert len({*specs, to_json(joint)}) == len(others) + 1


@pytest.mark.parametrize("wrong", [{"verify": "both"}, {"budget": 10}, {"language": "fr"}])
def test_a_judge_that_cannot_be_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError):
        MatrixJudge(Scripted(careful), **wrong)
