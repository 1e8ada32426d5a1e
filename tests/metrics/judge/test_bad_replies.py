"""What becomes of replies that cannot be used: asked again once, then failed; never a smaller denominator."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.metrics.judge.judges import CASE, GIVEN, careful, changed, claim, judge_by, spoiling

from ragstone.errors import ContentBlocked
from ragstone.metrics.judge import JudgeFailed
from ragstone.metrics.judge.record import Judged
from ragstone.types import Completion, Request


def without(at: str, index: int = 0) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda reply: reply | {at: [item for number, item in enumerate(reply[at]) if number != index]}


def twice(at: str, index: int = 0) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda reply: reply | {at: [*reply[at], reply[at][index]]}


BAD: dict[str, tuple[str, Callable[[dict[str, Any]], Any], str]] = {
    "a claim without a text": ("decompose", claim(text=" "), "answer_claims[1] is empty"),
    "a reference claim without a text": ("decompose", claim(1, "reference_claims", text=""), "reference_claims[2]"),
    "a sentence in words": ("decompose", claim(sentence="the first"), "sentence is not a whole number or null"),
    "no answer to whether it commits": ("decompose", changed(noncommittal=None), "noncommittal is not true or"),
    "questions that are numbers": ("decompose", changed(questions=[1]), "questions[1] is not a text"),
    "claims that are texts": ("decompose", changed(answer_claims=["It opened."]), "[1] is not an object"),
    "a missing verdict": ("verify", without("answer_claims"), "answer_claims lacks the verdict on 1"),
    "all verdicts missing": ("verify", changed(answer_claims=[]), "lacks the verdict on 1, 2, 3"),
    "a missing verdict on the reference": ("verify", without("reference_claims", 1), "lacks the verdict on 2"),
    "a missing passage": ("verify", without("passages", 2), "passages lacks the verdict on 3"),
    "a verdict twice": ("verify", twice("answer_claims"), "answer_claims has the id 1 twice"),
    "a passage twice": ("verify", twice("passages", 2), "passages has the id 3 twice"),
    "a claim that is not there": ("verify", claim(2, id=4), "has the id 4, expected ids 1 to 3"),
    "a claim 0": ("verify", claim(0, id=0), "has the id 0"),
    "a passage that is not there": ("verify", claim(0, "passages", id=9), "has the id 9"),
    "support by what is not there": ("verify", claim(supported_by=[1, 4]), "id 1, names passage 4"),
    "contradiction by what is not there": ("verify", claim(1, contradicted_by=[0]), "id 2, names passage 0"),
    "support and contradiction": ("verify", claim(contradicted_by=[1]), "passage 1 both support and contradict"),
    "a verdict of 5": ("verify", claim(in_reference=5), "in_reference is not true or false or null"),
    "a verdict of 1": ("verify", claim(0, "passages", relevant=1), "relevant is not true or false"),
    "support by true": ("verify", claim(supported_by=[True]), "supported_by[1] is not a whole number"),
    "support by a word": ("verify", claim(supported_by="most"), "supported_by[1] is not a whole number"),
    "null beside a reference": ("verify", claim(in_reference=None), "in_reference is null, but there is a"),
    "null beside claims": ("verify", claim(0, "reference_claims", in_answer=None), "in_answer is null, but"),
    "null for the use": ("verify", claim(1, "passages", useful=None), "useful is null, but there is a reference"),
    "a correction in a key": ("verify", changed(corrected_passages=[]), "corrected_passages is not asked for"),
    "prose": ("verify", lambda reply: "All claims are supported.", "it has no JSON object"),
    "prose around half of it": ("decompose", lambda reply: f"Here: {json.dumps(reply)[:-1]}", "has no end"),
    "two objects": ("verify", lambda reply: json.dumps(reply) + json.dumps(reply | {"passages": []}), "that differ"),
    "NaN": ("verify", lambda reply: json.dumps(reply | {"passages": float("nan")}), "NaN is not JSON"),
    "nothing": ("decompose", lambda reply: "", "it is empty"),
    "a cut-off reply": (
        "verify", lambda reply: Completion(json.dumps(reply), finish_reason="length"), "cut off before its end"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("step", "spoil", "told"), BAD.values(), ids=BAD)
async def test_an_unusable_reply_is_asked_again_and_leaves_no_trace_in_the_verdicts(
    step: str, spoil: Callable[[dict[str, Any]], Any], told: str
) -> None:
    judge, model = judge_by(spoiling(step, spoil, times=1))
    judged = await judge.verify(CASE, GIVEN)
    assert len(model.requests) == 3
    assert told in model.requests[-1 if step == "verify" else 1].messages[-1].content
    problems = [one for one in judged.steps if one.problem]
    assert len(problems) == 1
    assert told in problems[0].problem
    wanted = await judge_by()[0].verify(CASE, GIVEN)
    assert strip(judged) == strip(wanted)


@pytest.mark.parametrize(("step", "spoil", "told"), BAD.values(), ids=BAD)
async def test_two_unusable_replies_fail_with_the_problem_and_the_raw_replies(
    step: str, spoil: Callable[[dict[str, Any]], Any], told: str
) -> None:
    judge, _ = judge_by(spoiling(step, spoil, times=2))
    with pytest.raises(JudgeFailed) as caught:
        await judge.verify(CASE, GIVEN)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    kept = [one for one in caught.value.steps if one.name == step]
    assert len(kept) == 2
    assert all(one.reply is not None and told in one.problem for one in kept)
    if step == "verify":  # what came before is kept too
        assert caught.value.steps[0].name == "decompose"
        assert not caught.value.steps[0].problem


def strip(judged: Judged) -> list[Any]:
    return [getattr(judged, field) for field in judged.__struct_fields__ if field != "steps"]


async def test_a_provider_that_refuses_the_text_fails_the_sample_at_once() -> None:
    judge, model = judge_by(lambda request: ContentBlocked("the text was inspected"))
    with pytest.raises(JudgeFailed, match="content_blocked: the text was inspected"):
        await judge.verify(CASE, GIVEN)
    assert len(model.requests) == 1


@pytest.mark.parametrize("verify", ["joint", "separate"])
@given(replies=st.lists(st.text(max_size=40) | st.just("{}"), min_size=1, max_size=3))
@settings(max_examples=examples(30))
def test_any_replies_fail_or_give_a_verdict_on_every_claim(verify: Any, replies: list[str]) -> None:
    """What is not understood never makes the denominator smaller."""

    def script(request: Request) -> str:
        return replies.pop(0) if replies and request.schema_name != "decompose" else careful(request)

    async def judged() -> Judged | JudgeFailed:
        try:
            return await judge_by(script, verify=verify)[0].verify(CASE, GIVEN)
        except JudgeFailed as error:
            return error

    found = asyncio.run(judged())
    if isinstance(found, JudgeFailed):
        assert any(step.problem for step in found.steps)
    else:
        assert [one.id for one in found.answer_claims] == [1, 2, 3]
        assert all(one.in_reference is not None for one in found.answer_claims)
        assert [one.in_answer for one in found.reference_claims] == [True, False]
        assert [one.id for one in found.passages] == [1, 2, 3]


VALUES: st.SearchStrategy[Any] = st.sampled_from([None, True, 0, 1, 2, 5, -1, 1.0, "1", [], [1], [9], {}])


@given(st.data())
@settings(max_examples=examples(60))
def test_a_change_anywhere_in_the_verdicts_is_found_or_gives_a_verdict_on_every_claim(data: st.DataObject) -> None:
    at = data.draw(st.sampled_from(["answer_claims", "reference_claims", "passages"]))
    value = data.draw(VALUES)

    def spoil(reply: dict[str, Any]) -> dict[str, Any]:
        items = [dict(item) for item in reply[at]]
        item = items[data.draw(st.integers(0, len(items) - 1))]
        item[data.draw(st.sampled_from(sorted(item)))] = value
        return reply | {at: items}

    found = asyncio.run(judge_by(spoiling("verify", spoil, times=1))[0].verify(CASE, GIVEN))
    assert [one.id for one in found.answer_claims] == [1, 2, 3]
    assert {type(one.in_reference) for one in found.answer_claims} == {bool}
    assert {place for one in found.answer_claims for place in one.supported_by} <= {1, 2, 3}
    assert {place for one in found.reference_claims for place in one.contradicted_by} <= {1, 2, 3}
    assert {type(verdict) for one in found.passages for verdict in (one.relevant, one.useful)} == {bool}
