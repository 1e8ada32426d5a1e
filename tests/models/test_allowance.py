"""Limits on requests and cost, a prompt that an endpoint cut, and the window that is asked for."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.judging import verdict
from tests.evaluation.test_eval import by_judge, judging, ran
from tests.evaluation.test_evaluate import rows
from tests.servers.fake_endpoint import Act, FakeEndpoint, chat_reply

from ragstone import evaluate, evaluate_async, run
from ragstone.errors import AllowanceSpent, EndpointRefused, PromptCut, UsageError
from ragstone.models import ModelOptions, open_model
from ragstone.models.allowance import Allowance
from ragstone.models.scripted import Scripted
from ragstone.models.work import track_work
from ragstone.prices import Price
from ragstone.types import Request, Turn

LONG = "The tower is tall and the mill is old. " * 400


def ask(text: str = "Question") -> Request:
    return Request((Turn("user", text),))


def counting(prompt_tokens: int) -> Act:
    body = chat_reply("fine")
    body["usage"] = {"prompt_tokens": prompt_tokens, "completion_tokens": 3}
    return Act("body", status=200, body=body)


async def test_no_more_requests_are_sent_than_allowed_retries_included() -> None:
    allowance = Allowance.of(3, None, None)
    plan = [Act(), Act("status", status=500)]
    async with FakeEndpoint(plan) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url, allowance=allowance)
        async with open_model("compat/a", options) as first, open_model("compat/b", options) as second:
            await first.generate(ask())
            with track_work() as work:
                await second.generate(ask())
                with pytest.raises(AllowanceSpent, match=r"limit of 3 requests \(--max-requests\)"):
                    await first.generate(ask("another"))
            assert work.sent == 1  # what was stopped before it went out is not counted
        assert len(endpoint.seen) == 3


async def test_tokens_from_the_providers_cache_count_at_their_own_price() -> None:
    allowance = Allowance.of(None, 1.0, Price(1.0, 0.0, 0.1))
    assert allowance is not None
    body = {**chat_reply("fine"), "usage": {"prompt_tokens": 600, "prompt_tokens_details": {"cached_tokens": 500}}}
    async with FakeEndpoint([Act("body", status=200, body=body)]) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url, allowance=allowance)
        async with open_model("compat/a", options) as model:
            await model.generate(ask())
    assert allowance.spent.cost == pytest.approx((100 + 50) / 1e6)


async def test_the_cost_is_that_of_the_tokens_at_each_models_price() -> None:
    allowance = Allowance.of(None, 0.01, Price(1.0))
    assert allowance is not None
    async with FakeEndpoint(lambda *_: counting(600)) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url, allowance=allowance)
        judge = ModelOptions(base_url=endpoint.base_url, allowance=allowance.at(Price(10.0)))
        async with open_model("compat/a", options) as cheap, open_model("compat/b", judge) as dear:
            await cheap.generate(ask("1"))
            await dear.generate(ask("2"))
            await dear.generate(ask("3"))
            assert allowance.spent.cost == pytest.approx((600 + 6000 + 6000) / 1e6)
        allowance.spent.cost = 0.01
        async with open_model("compat/a", options) as cheap:
            with pytest.raises(AllowanceSpent, match=r"limit of 0.01 for the cost \(--max-cost\)"):
                await cheap.generate(ask("4"))


def test_a_limit_on_the_cost_needs_a_price() -> None:
    with pytest.raises(UsageError, match="--max-cost needs the price"):
        Allowance.of(None, 5.0, None)
    assert Allowance.of(None, None, Price(1.0, 1.0)) is None


async def test_an_evaluation_stops_with_what_is_scored_and_a_larger_limit_resumes_it(tmp_path: Path) -> None:
    async with FakeEndpoint(answer=judging) as endpoint:
        given: dict[str, Any] = {
            "judge_base_url": endpoint.base_url, "run": tmp_path / "e.run", "concurrency": 1,
            "model_options": ModelOptions(cache=None),
        }  # fmt: skip
        first = await evaluate_async(rows(), "faithfulness", "compat/judge", max_requests=5, **given)
        assert len(endpoint.seen) == 5
        assert first.outcome.remaining > 0
        assert [error.exit_code for error in first.outcome.refused] == [3]
        assert "The limit of 5 requests (--max-requests) is reached" in first.outcome.advice
        assert "Raise it, then run the same command again to resume." in first.outcome.advice
        assert first.summary["faithfulness"]["n"] >= 1
        second = await evaluate_async(rows(), "faithfulness", "compat/judge", max_requests=50, **given)
        assert second.outcome.complete
        whole = await evaluate_async(rows(), "faithfulness", Scripted(verdict), run=tmp_path / "w.run")
        assert second.summary["faithfulness"]["mean"] == whole.summary["faithfulness"]["mean"]
        assert len(endpoint.seen) <= 2 * len(rows()) + 2  # nothing is paid for twice


def test_a_model_of_ones_own_is_limited_too(tmp_path: Path) -> None:
    own = Scripted(verdict)
    given: dict[str, Any] = {"run": tmp_path / "e.run", "concurrency": 1}
    first = evaluate(rows(), "faithfulness", own, max_requests=5, **given)
    assert len(own.requests) == 5
    assert [error.exit_code for error in first.outcome.refused] == [3]
    assert evaluate(rows(), "faithfulness", own, max_cost=1e-9, price="1/1", **given).outcome.remaining > 0
    assert len(own.requests) == 6  # the first that costs something is the last
    assert evaluate(rows(), "faithfulness", own, **given).outcome.complete


def test_run_takes_the_judges_and_the_limits_of_evaluate(tmp_path: Path) -> None:
    own = [Scripted(verdict, id="a/one"), Scripted(verdict, id="b/two")]
    questions = [{"question": row["question"], "contexts": row["contexts"]} for row in rows()[:3]]
    given: dict[str, Any] = {"run": tmp_path / "e.run", "combine": "each", "strict_quotes": True, "concurrency": 1}
    asked: list[str] = []

    def answer(question: str) -> dict[str, Any]:
        asked.append(question)
        return {"answer": "The tower is tall.", "contexts": ["The tower is tall."]}

    first = run(questions, answer, "faithfulness", own, max_requests=3, **given)
    assert len(asked) + sum(len(judge.requests) for judge in own) == 3  # the system's answers are requests, too
    assert [error.exit_code for error in first.outcome.refused] == [3]
    second = run(questions, answer, "faithfulness", own, gates={"faithfulness[a/one]": 0.5}, **given)
    assert second.summary["faithfulness[b/two]"]["n"] == 3
    with pytest.raises(UsageError, match="price cheap: expected the price of a million tokens"):
        run(questions, answer, "faithfulness", own, price="cheap", **given)


async def test_the_command_stops_at_its_limit_with_exit_3_and_a_larger_one_resumes(tmp_path: Path) -> None:
    data = tmp_path / "answers.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    async with FakeEndpoint(answer=judging) as endpoint:
        asked = ("eval", data, *by_judge(endpoint), "--metrics", "faithfulness", "--run", "e.run", "--concurrency", "1")
        stopped = await ran(tmp_path, *asked, "--max-requests", "5")
        assert stopped.code == 3
        assert "The limit of 5 requests (--max-requests) is reached" in stopped.err
        assert "faithfulness" in stopped.out  # what is scored is shown
        assert len(endpoint.seen) == 5
        chinese = await ran(tmp_path, *asked, "--max-cost", "0.0000001", "--price", "1/1", "--language", "zh")
        assert chinese.code == 3
        assert "--max-cost" in chinese.err
        assert (await ran(tmp_path, *asked, "--max-requests", "500")).code == 0


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_with_a_bad_key_five_requests_go_out_however_many_wait(status: int, tmp_path: Path) -> None:
    data = [dict(row, id=str(n)) for n in range(10) for row in rows()]
    async with FakeEndpoint(lambda *_: Act("status", status=status)) as endpoint:
        result = await evaluate_async(
            [{**row, "question": f"{row['question']} {row['id']}"} for row in data], "faithfulness", "compat/judge",
            judge_base_url=endpoint.base_url, run=tmp_path / "e.run", concurrency=64,
            model_options=ModelOptions(cache=None),
        )  # fmt: skip
        assert len(endpoint.seen) == 5
    assert len(result.outcome.refused) == 1
    assert not result.outcome.complete


async def test_requests_stopped_by_a_refusal_are_not_counted_as_sent() -> None:
    async with FakeEndpoint(lambda *_: Act("status", status=401)) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url)
        async with open_model("compat/m", options) as model:
            with track_work() as work:
                calls = (model.generate(ask(str(number))) for number in range(30))
                ended = await asyncio.gather(*calls, return_exceptions=True)
    assert work.sent == 5
    assert sum(isinstance(error, EndpointRefused) for error in ended) == 26


async def test_a_prompt_that_the_endpoint_cut_is_a_named_error_with_the_next_step() -> None:
    async with FakeEndpoint(lambda *_: counting(2048)) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url)
        async with open_model("ollama/llama3.2", options) as model:
            with pytest.raises(PromptCut, match=r"it saw 2,048 tokens of a prompt of about 4,0.*OLLAMA_CONTEXT"):
                await model.generate(ask(LONG))
            assert (await model.generate(ask("Short."))).text == "fine"
    assert len(endpoint.seen) == 2  # it is not retried


@pytest.mark.parametrize(("counted", "text"), [(0, LONG), (11, LONG), (3900, LONG), (300, "Tall? " * 80)])
async def test_an_endpoint_that_counts_roughly_or_not_at_all_is_believed(counted: int, text: str) -> None:
    async with FakeEndpoint(lambda *_: counting(counted)) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url)
        async with open_model("compat/m", options) as model:
            reply = await model.generate(ask(text))
    assert reply.text == "fine"


async def test_ollama_is_asked_for_a_window_that_holds_the_prompt() -> None:
    async with FakeEndpoint() as endpoint:
        options = ModelOptions(base_url=endpoint.base_url)
        async with open_model("ollama/llama3.2", options) as model, open_model("compat/m", options) as other:
            await model.generate(ask("Short."))
            await model.generate(ask(LONG * 2))
            await other.generate(ask(LONG))
        bodies = [json.loads(seen.raw) for seen in endpoint.seen]
    assert [body.get("num_ctx") for body in bodies] == [8192, 16384, None]
