"""One step: what is sent, what is asked again, and what is kept of it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from ragstone.errors import ContentBlocked, ModelError, TimedOut, Unauthorized
from ragstone.metrics.judge.claims import JudgeFailed
from ragstone.metrics.judge.envelope import opened
from ragstone.metrics.judge.prompts import Example, Prompt, Prompts
from ragstone.metrics.judge.record import JudgeStep
from ragstone.metrics.judge.request import ask, turns_of
from ragstone.metrics.judge.schemas import OUTPUTS
from ragstone.models.scripted import Scripted
from ragstone.types import Completion, Request, Usage

SHOWN = {"question": "Who?", "text": "Ada did."}
EXAMPLE = Example({"question": "Wer?", "text": "Ich."}, {"statements": ["Ich war es."]})
PROMPT = Prompt("ragas_statements", "en", 1, "  Take it apart.\n", (EXAMPLE,), "\nNo: {problem}. Again.\n")
GOOD = '{"statements": ["Ada did it."]}'


class Replies:
    """Gives these in turn."""

    def __init__(self, *replies: str | Completion | ModelError) -> None:
        self.replies = list(replies)

    def __call__(self, request: Request) -> str | Completion | ModelError:
        return self.replies.pop(0)


async def asked(*replies: str | Completion | ModelError, **options: Any) -> tuple[Any, list[Any], list[Request]]:
    model, steps = Scripted(Replies(*replies)), list[Any]()
    found = await ask(model, PROMPT, SHOWN, steps=steps, **options)
    return found, steps, model.requests


async def failed(*replies: str | Completion | ModelError, **options: Any) -> tuple[JudgeFailed, list[Request]]:
    model = Scripted(Replies(*replies))
    with pytest.raises(JudgeFailed) as caught:
        await ask(model, PROMPT, SHOWN, steps=[], **options)
    return caught.value, model.requests


async def test_a_request_has_the_instruction_the_examples_as_a_conversation_and_the_sample() -> None:
    _, _, (request,) = await asked(GOOD, sample=3)
    system, user, assistant, last = request.messages
    assert [turn.role for turn in request.messages] == ["system", "user", "assistant", "user"]
    assert system.content == "Take it apart."
    assert opened(user.content) == EXAMPLE.input
    assert json.loads(assistant.content) == EXAMPLE.output
    assert opened(last.content) == SHOWN
    assert request.sampling.temperature == 0.0
    assert (request.schema, request.schema_name, request.sample) == (
        OUTPUTS["ragas_statements"], "ragas_statements", 3
    )  # fmt: skip


async def test_a_step_tells_the_model_the_prompt_the_raw_reply_and_what_it_cost() -> None:
    usage = Usage(10, 3, 0, 1)
    found, (step,), _ = await asked(Completion(GOOD, usage=usage, model="judge-0714", cached=True))
    assert found == {"statements": ["Ada did it."]}
    prompt = f"ragas_statements/en@{PROMPT.hash[:12]}"
    assert step == JudgeStep("ragas_statements", prompt, "judge-0714", GOOD, usage, cached=True)


@pytest.mark.parametrize("bad", ["{}", "Well…", "", Completion(GOOD, finish_reason="length")], ids=range(4))
async def test_an_unusable_reply_is_asked_again_once_with_the_problem_named(bad: str | Completion) -> None:
    found, steps, (first, second) = await asked(bad, GOOD)
    assert found == {"statements": ["Ada did it."]}
    assert second.messages[:-2] == first.messages
    said, again = second.messages[-2:]
    assert said.role == "assistant"
    assert said.content == ((bad if isinstance(bad, str) else bad.text) or "…")  # no endpoint takes an empty message
    assert again.content == f"No: {steps[0].problem}. Again."
    assert (second.schema, second.sampling, second.sample) == (first.schema, first.sampling, first.sample)
    assert not steps[1].problem


async def test_two_unusable_replies_fail_with_both_kept() -> None:
    error, requests = await failed("{}", '{"statements": 1}')
    assert str(error) == "The judge's reply to 'ragas_statements' could not be used: statements is not a list"
    assert [step.reply for step in error.steps] == ["{}", '{"statements": 1}']
    assert [step.problem for step in error.steps] == ["statements is missing", "statements is not a list"]
    assert len(requests) == 2


@pytest.mark.parametrize(("stored", "sent"), [("No.", [False, True]), (GOOD, [False])])
async def test_a_reply_of_the_cache_is_requested_anew_where_it_cannot_be_used(stored: str, sent: list[bool]) -> None:
    found, steps, requests = await asked(Completion(stored, cached=True), GOOD)
    assert found == json.loads(GOOD)
    assert [request.renew for request in requests] == sent
    assert [(step.reply, step.cached, step.problem) for step in steps] == [(GOOD, len(sent) == 1, "")]


async def test_what_the_check_says_is_a_problem_too() -> None:
    def check(reply: Mapping[str, Any]) -> str:
        return "statements is empty" if not reply["statements"] else ""

    found, steps, requests = await asked('{"statements": []}', GOOD, check=check, step="mine")
    assert found["statements"]
    assert steps[0].problem == "statements is empty"
    assert "statements is empty" in requests[1].messages[-1].content
    assert {step.name for step in steps} == {"mine"}


@pytest.mark.parametrize(
    "error", [ContentBlocked("inspected"), TimedOut("no reply"), Unauthorized("wrong key")], ids=lambda one: one.kind
)
async def test_a_call_that_fails_is_not_asked_again_and_fails_with_its_kind(error: ModelError) -> None:
    raised, requests = await failed(error)
    assert str(raised) == f"{error.kind}: {error}"
    assert [step.problem for step in raised.steps] == [f"{error.kind}: {error}"]
    assert len(requests) == 1


async def test_a_second_call_that_fails_keeps_the_first_reply() -> None:
    raised, _ = await failed("{}", TimedOut("no reply"))
    assert [step.reply for step in raised.steps] == ["{}", None]


async def test_a_reply_without_end_is_not_sent_back_whole_but_is_kept_whole() -> None:
    endless = '{"statements": [' + '"so", ' * 10_000
    _, steps, (_, second) = await asked(Completion(endless, finish_reason="length"), GOOD)
    assert len(second.messages[-2].content) < 5_000
    assert steps[0].reply == endless


async def test_a_problem_with_braces_comes_through_as_it_is() -> None:
    _, _, (_, second) = await asked('{"statements": [], "new {problem}{0}": 1}', GOOD)
    assert second.messages[-1].content == "No: new {problem}{0} is not asked for. Again."


def test_the_judge_is_asked_again_in_the_language_of_the_prompt() -> None:
    prompts = Prompts.load()
    for name in prompts.names():
        assert "{problem}" in prompts.get(name, "en").again
        assert "刚才的回复无法使用" in prompts.get(name, "zh").again
        assert turns_of(prompts.get(name, "zh"), {})[0].content == prompts.get(name, "zh").instruction


def strict(schema: Mapping[str, Any]) -> bool:
    """Whether an endpoint that takes strict schemas only takes it."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "object" in kinds:
        properties = schema["properties"]
        closed = schema["additionalProperties"] is False and set(schema["required"]) == set(properties)
        return closed and all(strict(inner) for inner in properties.values())
    if "array" in kinds:
        return strict(schema["items"])
    return set(kinds) <= {"string", "integer", "boolean", "null"} and set(schema) <= {"type", "enum"}


@pytest.mark.parametrize("name", OUTPUTS)
def test_every_schema_of_a_reply_is_one_that_strict_endpoints_take(name: str) -> None:
    assert strict(OUTPUTS[name])


def test_what_may_be_missing_is_null_and_never_left_out() -> None:
    verify = OUTPUTS["verify"]["properties"]
    assert verify["answer_claims"]["items"]["properties"]["in_reference"]["type"] == ["boolean", "null"]
    assert verify["reference_claims"]["items"]["properties"]["in_answer"]["type"] == ["boolean", "null"]
    assert verify["passages"]["items"]["properties"]["useful"]["type"] == ["boolean", "null"]
