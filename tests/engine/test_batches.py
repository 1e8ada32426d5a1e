"""Runs through a provider's batch interface: the same results as online, each request sent once."""

import asyncio
import contextlib
import json
import shlex
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from tests.construction.test_questions import documents as chunks
from tests.diagnosis.planted import documents, questions
from tests.evaluation.judging import Embedder
from tests.evaluation.test_eval import judging
from tests.evaluation.test_evaluate import rows
from tests.servers.batch_endpoint import BatchEndpoint, Fault
from tests.servers.messages_endpoint import text_of

from ragstone import bench_async, diagnose_async, evaluate_async, run_async
from ragstone.construction.builders.questions.pipeline import QuestionSettings, questions_pipeline
from ragstone.construction.builders.template_model import TemplateModel
from ragstone.construction.construction import construct
from ragstone.engine.execute import RunOptions
from ragstone.errors import Unfinished, Unreachable, UsageError
from ragstone.models import ModelOptions
from ragstone.models.allowance import Allowance
from ragstone.models.batches import Batches
from ragstone.models.batches.files import FileBatches
from ragstone.models.batches.message_batches import MessageBatches
from ragstone.prices import Price
from ragstone.runs import open_run
from ragstone.systems.rag import RagTarget
from ragstone.text import estimate_tokens
from ragstone.types import Request, Turn


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for provider in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{provider}_API_KEY", "sk-of-the-test")
    monkeypatch.chdir(tmp_path)


def options(folder: Path, endpoint: BatchEndpoint, **more: Any) -> ModelOptions:
    given: dict[str, Any] = {"batch": Batches(folder / "batches"), "cache": folder / "cache"}
    return ModelOptions(base_url=endpoint.base_url, **(given | more))


def shown(path: Path) -> Iterator[Any]:
    """Everything of a run but the clock."""
    with open_run(path) as run:
        yield dict(run.systems)
        for record in run.records():
            response = record.response and msgspec.structs.replace(record.response, seconds=None)
            yield msgspec.structs.replace(record, response=response)
        yield run.counts()


async def judged(folder: Path, endpoint: BatchEndpoint, model: str = "openai/gpt-4o-mini", **more: Any) -> Any:
    """The evaluation of these tests, with `--batch` unless `more` has other options."""
    given: dict[str, Any] = {"model_options": options(folder, endpoint), "metrics": ["five", "ragchecker"]}
    return await evaluate_async(
        rows(), judge=model, judge_base_url=endpoint.base_url, embedder=Embedder(), run=folder / "e.run",
        **(given | more),
    )  # fmt: skip


async def online(folder: Path, endpoint: BatchEndpoint, **more: Any) -> list[Any]:
    """What the evaluation is without batches."""
    calling = options(folder / "online", endpoint, batch=None)
    result = await judged(folder / "online", endpoint, model_options=calling, **more)
    assert result.outcome.complete
    return list(shown(folder / "online" / "e.run"))


def values(path: Path) -> dict[tuple[str, str], float | None]:
    with open_run(path) as run:
        return {(row.case.id, name): score.value for row in run.records() for name, score in row.scores.items()}


def reasons(path: Path) -> str:
    """Why scores failed."""
    with open_run(path) as run:
        return " ".join(score.reason for record in run.records() for score in record.scores.values() if score.reason)


def once_each(endpoint: BatchEndpoint) -> bool:
    """Whether no request was in two batches."""
    return len({line["custom_id"] for line in endpoint.lines}) == len(endpoint.lines) > 0


async def test_an_evaluation_in_batches_is_that_of_single_requests(tmp_path: Path) -> None:
    async with BatchEndpoint(judging) as endpoint:
        expected = await online(tmp_path, endpoint)
        alone = len(endpoint.single)
        result = await judged(tmp_path, endpoint)
        assert result.outcome.complete
        assert list(shown(tmp_path / "e.run")) == expected
        # One request asks whether the model takes the form; the claims are a batch, and their verification another.
        assert len(endpoint.single) == alone + 1
        assert len(endpoint.batches) == 2
        assert 1 + len(endpoint.lines) == alone
        assert once_each(endpoint)


async def test_a_benchmark_goes_in_one_batch(tmp_path: Path) -> None:
    async with BatchEndpoint(lambda body: "It is 7, the report says.") as endpoint:
        for folder, batch in (("online", None), ("batched", Batches(tmp_path / "batches"))):
            calling = options(tmp_path / folder, endpoint, batch=batch)
            done = await bench_async(
                "rgb", model="openai/gpt-4o-mini", run=tmp_path / folder / "a.run", model_options=calling,
                fictional_size=3, data_languages=["en", "zh"], limit=2, noise_ratios=[0.0, 0.4],
            )  # fmt: skip
            assert done.outcome.complete
        assert list(shown(tmp_path / "batched" / "a.run")) == list(shown(tmp_path / "online" / "a.run"))
        assert len(endpoint.batches) == 1
        assert once_each(endpoint)


@pytest.mark.parametrize(
    ("provider", "shape"),
    [
        ("openai", {}), ("groq", {}), ("dashscope", {}), ("compat", {}), ("anthropic", {}),
        ("zhipu", {"endpoint": "/v4/chat/completions", "window": False}),
    ],
)  # fmt: skip
async def test_every_provider_with_batches_is_asked_as_its_reference_says(
    provider: str, shape: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZHIPUAI_API_KEY" if provider == "zhipu" else f"{provider.upper()}_API_KEY", "sk-of-the-test")
    async with BatchEndpoint(judging, key="sk-of-the-test", **shape) as endpoint:
        expected = await online(tmp_path, endpoint, model=f"{provider}/m")
        assert (await judged(tmp_path, endpoint, f"{provider}/m")).outcome.complete
        assert list(shown(tmp_path / "e.run")) == expected
        assert once_each(endpoint)


@pytest.mark.parametrize("model", ["openai/m", "anthropic/m"])
async def test_expired_requests_are_asked_again(model: str, tmp_path: Path) -> None:
    fault = Fault(ends={0: "expired"}, unasked=lambda number, body: "mill" in body["messages"][-1]["content"])
    async with BatchEndpoint(judging, fault=fault) as endpoint:
        expected = await online(tmp_path, endpoint, model=model)
        assert (await judged(tmp_path, endpoint, model)).outcome.complete
        assert list(shown(tmp_path / "e.run")) == expected
        assert len(endpoint.lines) == len({line["custom_id"] for line in endpoint.lines}) + 1


async def test_a_request_that_always_expires_fails_after_three_batches_and_the_rest_is_done(tmp_path: Path) -> None:
    unasked = lambda number, body: "mill" in body["messages"][-1]["content"]  # noqa: E731
    fault = Fault(ends=dict.fromkeys(range(9), "expired"), unasked=unasked)
    async with BatchEndpoint(judging, fault=fault) as endpoint:
        result = await judged(tmp_path, endpoint)
        assert result.outcome.unscored
        asked = Counter(line["custom_id"] for line in endpoint.lines)
        assert max(asked.values()) == 3
        assert "3 batches without a reply" in reasons(tmp_path / "e.run")


@pytest.mark.parametrize("model", ["openai/m", "anthropic/m"])
async def test_a_line_that_failed_for_a_passing_reason_is_asked_again(model: str, tmp_path: Path) -> None:
    failed: list[Any] = []

    def status(body: Any) -> int:
        if "mill" in body["messages"][-1]["content"] and body not in failed and endpoint.lines:
            failed.append(body)
            return 503
        return 200

    async with BatchEndpoint(judging) as endpoint:
        expected = await online(tmp_path, endpoint, model=model)
        endpoint.fault.status = status
        assert (await judged(tmp_path, endpoint, model)).outcome.complete
        assert list(shown(tmp_path / "e.run")) == expected
        assert failed


async def test_a_line_that_was_refused_fails_its_case_as_online_and_the_next_command_asks_it_again(
    tmp_path: Path,
) -> None:
    async with BatchEndpoint(judging) as endpoint:
        await online(tmp_path, endpoint)
        endpoint.fault.status = lambda body: 400 if "mill" in body["messages"][-1]["content"] else 200
        result = await judged(tmp_path, endpoint)
        assert result.outcome.unscored
        assert "rejected (400" in reasons(tmp_path / "e.run")
        endpoint.fault.status = lambda body: 200
        assert (await judged(tmp_path, endpoint)).outcome.complete
        assert values(tmp_path / "e.run") == values(tmp_path / "online" / "e.run")


async def test_a_reply_that_breaks_its_schema_is_asked_about_once_more_as_online(tmp_path: Path) -> None:
    def first(body: Any) -> Any:
        """The judge of these tests, whose first reply about the mill is of another form."""
        last = body["messages"][-1]["content"]
        if "<judged " not in last:  # it is asked once more, and why
            return judging({**body, "messages": body["messages"][:-2]})
        return judging(body) | ({"answer_claims": 3} if "mill" in last else {})

    async with BatchEndpoint(first) as endpoint:
        expected = await online(tmp_path, endpoint)
        assert (await judged(tmp_path, endpoint)).outcome.complete
        assert list(shown(tmp_path / "e.run")) == expected
        assert len(endpoint.batches) == 4  # claims, once more, verification, once more


async def test_passages_judged_alone_take_no_more_rounds(tmp_path: Path) -> None:
    async with BatchEndpoint(judging) as endpoint:
        assert (await judged(tmp_path, endpoint, verify="separate")).outcome.complete
        assert len(endpoint.batches) == 2


@pytest.mark.parametrize("reaches", [True, False])
@pytest.mark.parametrize("model", ["anthropic", "openai"])
async def test_models_with_as_many_requests_whose_replies_are_lost_find_each_its_own_batch(
    model: str, reaches: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider has both batches (or, not `reaches`, the second one only), and neither command knows its id."""
    monkeypatch.setattr("ragstone.models.batches.session._FIRST_PAUSE", 0.01)
    kind = MessageBatches if model == "anthropic" else FileBatches
    create, asked = kind.create, list[int]()

    async def lost(self: Any, batch: Any) -> str:
        asked.append(batch.id)
        if len(asked) > 2:
            return str(await create(self, batch))
        if reaches or len(asked) == 2:
            await create(self, batch)
        raise Unreachable("the reply broke off")

    monkeypatch.setattr(kind, "create", lost)
    async with BatchEndpoint(looks=2) as endpoint:
        models, calling = [f"{model}/a", f"{model}/b"], options(tmp_path, endpoint)
        result = await bench_async(
            "rgb", model=models, run=tmp_path / "r.run", model_options=calling,
            fictional_size=4, abilities="noise", data_languages="en",
        )  # fmt: skip
        assert result.outcome.complete
        assert once_each(endpoint)
        assert len(endpoint.single) == 2  # the first of each model
    assert len(asked) == 2 + (not reaches)


async def test_a_file_that_is_too_large_is_split(tmp_path: Path) -> None:
    async with BatchEndpoint(judging, most_bytes=10_000) as endpoint:
        expected = await online(tmp_path, endpoint)
        assert (await judged(tmp_path, endpoint)).outcome.complete
        assert list(shown(tmp_path / "e.run")) == expected
        assert len(endpoint.batches) > 2
        assert once_each(endpoint)


async def test_a_command_that_leaves_comes_back_to_its_batches(tmp_path: Path) -> None:
    async with BatchEndpoint(judging, looks=1) as endpoint:
        expected = await online(tmp_path, endpoint)
        told = []
        for _ in range(30):
            leaving = options(tmp_path, endpoint, batch=Batches(tmp_path / "batches", leave=True))
            try:
                result = await judged(tmp_path, endpoint, model_options=leaving)
            except Unfinished as error:
                told.append(str(error))
                continue
            break
        assert result.outcome.complete
        assert list(shown(tmp_path / "e.run")) == expected
        assert len(endpoint.batches) == 2
        assert once_each(endpoint)
        assert "Run the same command again" in told[0]
        assert told[0].count("\n") == 0


async def test_a_cancelled_batch_ends_the_command_and_the_next_asks_for_the_rest(tmp_path: Path) -> None:
    fault = Fault(unasked=lambda number, body: "mill" in body["messages"][-1]["content"])
    async with BatchEndpoint(judging, looks=1, fault=fault) as endpoint:
        expected = await online(tmp_path, endpoint)

        def report(batches: list[Any]) -> None:
            if not asked:
                asked.append(batches[0].remote)
                endpoint.cancel(batches[0].remote)

        asked: list[str] = []
        calling = options(tmp_path, endpoint, batch=Batches(tmp_path / "batches", report=report))
        with pytest.raises(Unfinished, match="was cancelled"):
            await judged(tmp_path, endpoint, model_options=calling)
        assert (await judged(tmp_path, endpoint)).outcome.complete
        assert list(shown(tmp_path / "e.run")) == expected
        assert len(endpoint.lines) == len({line["custom_id"] for line in endpoint.lines}) + 1


async def test_a_batch_that_fails_validation_says_the_line_and_is_not_kept(tmp_path: Path) -> None:
    errors = [{"code": "invalid_json_line", "message": "This line is not parseable.", "param": None, "line": 2}]
    async with BatchEndpoint(judging, fault=Fault(errors={0: errors})) as endpoint:
        with pytest.raises(UsageError, match=r"refused batch batch_0 .*line 2: This line is not parseable"):
            await judged(tmp_path, endpoint)
        assert (await judged(tmp_path, endpoint)).outcome.complete


async def test_a_provider_without_batches_is_told_with_those_that_have_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "k")
    async with BatchEndpoint(judging, batches=False) as endpoint:
        with pytest.raises(UsageError, match=r"deepseek/m has no batch interface.*openai, dashscope, zhipu, groq"):
            await judged(tmp_path, endpoint, "deepseek/m")
        with pytest.raises(UsageError, match="compat/m has no batch interface"):
            await judged(tmp_path, endpoint, "compat/m")
        assert len(endpoint.single) == 1


async def test_a_wrong_key_is_found_out_before_a_batch_is_made(tmp_path: Path) -> None:
    async with BatchEndpoint(judging, key="another") as endpoint:
        result = await judged(tmp_path, endpoint)
        (error,) = result.outcome.refused
        assert "Check OPENAI_API_KEY" in str(error)
        assert not endpoint.files


async def test_a_limit_on_requests_holds_for_batches(tmp_path: Path) -> None:
    async with BatchEndpoint(judging) as endpoint:
        result = await judged(tmp_path, endpoint, max_requests=4)
        assert result.outcome.remaining
        assert "--max-requests" in str(result.outcome.refused[0]) or "max_requests" in str(result.outcome.refused[0])
        assert len(endpoint.single) + len(endpoint.lines) == 4


async def test_replies_of_a_batch_cost_half(tmp_path: Path) -> None:
    allowance = Allowance(cost=100.0, price=Price(1e6, 0.0))
    async with BatchEndpoint(judging) as endpoint:
        await judged(tmp_path, endpoint, model_options=options(tmp_path, endpoint, allowance=allowance))
        assert allowance.spent.cost == pytest.approx(11 * (len(endpoint.single) + 0.5 * len(endpoint.lines)))


async def test_vllm_is_given_files_and_its_replies_are_read(tmp_path: Path) -> None:
    async with BatchEndpoint(judging, endpoint="/v1/chat/completions") as endpoint:
        expected = await online(tmp_path, endpoint, model="vllm/m")
        before, runs = len(endpoint.single), 0
        for _ in range(5):
            leaving = options(tmp_path, endpoint, batch=Batches(tmp_path / "batches", leave=True))
            try:
                result = await judged(tmp_path, endpoint, "vllm/m", model_options=leaving)
                break
            except Unfinished as error:
                runs += 1
                words = shlex.split(str(error).split("`")[1])
                assert words[:2] == ["vllm", "run-batch"]
                endpoint.run_batch(Path(words[3]), Path(words[5]))
        assert result.outcome.complete
        assert list(shown(tmp_path / "e.run")) == expected
        assert len(endpoint.single) == before
        assert runs == 2


async def test_a_system_of_the_users_own_is_asked_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def system(question: str) -> str:
        asked.append(question)
        return "The tower is tall."

    async with BatchEndpoint(judging) as endpoint:
        result = await run_async(
            [{"question": row["question"], "reference": row["reference"]} for row in rows()], system,
            metrics=["answer_correctness"], judge="openai/gpt-4o-mini", judge_base_url=endpoint.base_url,
            embedder=Embedder(), run=tmp_path / "q.run", model_options=options(tmp_path, endpoint),
        )  # fmt: skip
        assert result.outcome.complete
        assert sorted(asked) == sorted(row["question"] for row in rows())
        assert result.outcome.asked == len(rows())


async def test_a_limit_on_the_cost_ends_the_collecting(tmp_path: Path) -> None:
    async with BatchEndpoint(judging) as endpoint:
        result = await judged(tmp_path, endpoint, max_cost=0.03, price="1000/0")
        assert result.outcome.remaining
        assert result.outcome.refused
        cost = 11 * (len(endpoint.single) + 0.5 * len(endpoint.lines)) * 1000 / 1e6
        assert 0.03 <= cost < 0.04


async def test_batches_beyond_the_providers_quota_wait_for_the_others(tmp_path: Path) -> None:
    errors = [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached.", "line": None}]
    async with BatchEndpoint(judging, most_bytes=30_000, looks=2, fault=Fault(errors={1: errors})) as endpoint:
        expected = await online(tmp_path, endpoint)
        endpoint.most_bytes = 10_000
        assert (await judged(tmp_path, endpoint)).outcome.complete
        assert list(shown(tmp_path / "e.run")) == expected
        assert once_each(endpoint)


async def test_the_same_model_as_system_and_judge_shares_its_batches(tmp_path: Path) -> None:
    def answer(body: Any) -> Any:
        return judging(body) if "<judged " in str(body["messages"]) else "The tower is tall."

    async with BatchEndpoint(answer) as endpoint:
        result = await run_async(
            [{"question": row["question"], "reference": row["reference"]} for row in rows()], "openai/m",
            metrics=["answer_correctness"], judge="openai/m", embedder=Embedder(), run=tmp_path / "q.run",
            model_options=options(tmp_path, endpoint), judge_base_url=endpoint.base_url,
        )  # fmt: skip
        assert result.outcome.complete
        assert once_each(endpoint)
        with contextlib.closing(sqlite3.connect(tmp_path / "batches" / "batches.sqlite")) as store:
            assert store.execute("SELECT count(*) FROM requests").fetchone() == (0,)


async def test_a_diagnosis_in_batches_finds_the_same_causes(tmp_path: Path) -> None:
    corpus = tmp_path / "documents.jsonl"
    corpus.write_text("".join(json.dumps({"id": one.id, "text": one.text}) + "\n" for one in documents()), "utf-8")
    causes = []
    async with BatchEndpoint(lambda body: "It weighs 317 kg. I do not know more.") as endpoint:
        for folder, batch in (("online", None), ("batched", Batches(tmp_path / "batches"))):
            result = await diagnose_async(
                questions()[:4], RagTarget(corpus, model="openai/m"), run=tmp_path / folder / "d.run",
                model_options=options(tmp_path / folder, endpoint, batch=batch),
            )  # fmt: skip
            assert result.outcome.complete
            causes.append(result.causes())
        assert causes[0] == causes[1]
        assert once_each(endpoint)


async def test_a_construction_goes_in_a_batch_for_each_pass(tmp_path: Path) -> None:
    def templated(body: Any) -> Any:
        turns = tuple(Turn(turn["role"], turn["content"]) for turn in body["messages"] if turn["content"][:1] == "{")
        request = Request(turns, schema_name=body["response_format"]["json_schema"]["name"])
        with pytest.raises(StopIteration) as end:
            TemplateModel().generate(request).send(None)
        return json.loads(end.value.value.text)

    async with BatchEndpoint(templated) as endpoint:
        pipeline = questions_pipeline(chunks(), QuestionSettings(4, {"single": 1.0}))
        calling = options(tmp_path, endpoint)
        roles: Any = dict.fromkeys(("writer", "checker"), "openai/m")
        done = await construct(pipeline, roles, how=RunOptions(run=tmp_path / "b.run", model_options=calling))
        assert done.complete
        assert len(done.state.items) == 4
        assert once_each(endpoint)
        assert len(endpoint.single) == 1


async def test_two_commands_at_once_share_their_batches(tmp_path: Path) -> None:
    async with BatchEndpoint(judging, looks=3) as endpoint:
        expected = await online(tmp_path, endpoint)
        places = [tmp_path / "one", tmp_path / "two"]
        shared = [options(place, endpoint, batch=Batches(tmp_path / "b")) for place in places]
        both = [judged(place, endpoint, model_options=calling) for place, calling in zip(places, shared, strict=True)]
        for place, result in zip(places, await asyncio.gather(*both), strict=True):
            assert result.outcome.complete
            assert list(shown(place / "e.run")) == expected
        assert once_each(endpoint)


async def test_damaged_results_cost_the_damaged_requests_only(tmp_path: Path) -> None:
    damaged: list[bytes] = []

    def damage(data: bytes) -> bytes:
        """The first file that is fetched has lost half of its last line, and has lines of other kinds besides."""
        if damaged:
            return data
        damaged.append(data)
        strange = b'\n[1, 2]\n"text"\n\xff\xfe\n{"custom_id": "zz"}\n{"custom_id": null, "response": {"body": 3}}\n'
        return strange + data[: -len(data.splitlines()[-1]) // 2]

    async with BatchEndpoint(judging, fault=Fault(damage=damage)) as endpoint:
        expected = await online(tmp_path, endpoint)
        assert (await judged(tmp_path, endpoint)).outcome.complete
        assert list(shown(tmp_path / "e.run")) == expected
        asked = Counter(line["custom_id"] for line in endpoint.lines)
        assert sorted(asked.values())[-2:] == [1, 2]


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ([], "is not a JSON object"), ({"id": "../../secret", "status": "completed"}, "has no id of the file"),
        ({"object": "file"}, "has no id of the file"),
    ],
)  # fmt: skip
async def test_a_strange_reply_about_a_batch_is_one_line(
    reply: Any, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def strange(self: BatchEndpoint, request: web.Request) -> web.Response:
        return web.json_response(reply)

    monkeypatch.setattr(BatchEndpoint, "_upload", strange)
    async with BatchEndpoint(judging) as endpoint:
        leaving = options(tmp_path, endpoint, batch=Batches(tmp_path / "batches", leave=True))
        with pytest.raises(Unfinished, match=told) as caught:
            await judged(tmp_path, endpoint, model_options=leaving)
        assert str(caught.value).count("\n") == 0


async def test_anthropic_is_told_what_requests_begin_with_that_came_before(tmp_path: Path) -> None:
    async with BatchEndpoint(judging) as endpoint:
        assert (await judged(tmp_path, endpoint, "anthropic/m")).outcome.complete
        marks: dict[str, list[bool]] = {}
        for params in [*endpoint.single, *(line["params"] for line in endpoint.lines)]:
            *opening, _ = [params["system"], *(text_of(turn["content"]) for turn in params["messages"])]
            if sum(map(estimate_tokens, opening)) > 900:  # the openings of the other steps are too short
                marks.setdefault(str(opening), []).append("cache_control" in json.dumps(params["messages"][-2]))
        assert len(marks) == 4  # what an answer states, and its verification, in two languages
        assert all(marked == [False, *[True] * (len(marked) - 1)] for marked in marks.values())
        assert max(map(len, marks.values())) > 2
    async with BatchEndpoint(lambda body: "It is 7.") as endpoint:
        await bench_async(
            "rgb", model="anthropic/m", run="a.run", model_options=options(tmp_path / "short", endpoint),
            fictional_size=2, limit=1, noise_ratios=[0.0], data_languages=["en"],
        )  # fmt: skip
        assert endpoint.lines
        assert "cache_control" not in json.dumps(endpoint.lines)
