"""`ragstone eval`: from a file to scores, with a judge behind a real endpoint, and everything that can go wrong."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import ROOT, Told, command, environment, one_line
from tests.evaluation.judging import verdict
from tests.evaluation.test_evaluate import FIVE, rows
from tests.servers.fake_endpoint import Act, FakeEndpoint

from ragstone.runs import open_run
from ragstone.types import Request, Turn

EXAMPLE = ROOT / "examples" / "answers.jsonl"


def judging(payload: dict[str, Any]) -> Any:
    """The test judge behind an endpoint. The forms that an endpoint adds to the last message are taken off."""
    turns = [Turn(turn["role"], turn["content"]) for turn in payload["messages"]]
    form = payload.get("response_format", {}).get("json_schema", {})
    head, end, _ = turns[-1].content.rpartition("</judged ")
    last = head + end + turns[-1].content[len(head + end) :].partition("\n\n")[0]
    asked = Request((*turns[:-1], Turn("user", last)), schema_name=form.get("name", "reply"))
    return json.loads(verdict(asked))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    return path


async def ran(folder: Path, *arguments: object) -> Told:
    """The command in a process of its own, while this one serves the endpoint."""
    process = await asyncio.create_subprocess_exec(
        *command(*arguments), cwd=folder, env=environment(folder, COMPAT_API_KEY="k"),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode is not None
    return Told(process.returncode, out.decode(), err.decode())


def asked(endpoint: FakeEndpoint) -> int:
    """How many chat requests came."""
    return sum(one.path.endswith("/chat/completions") for one in endpoint.seen)


def by_judge(endpoint: FakeEndpoint, *more: object) -> tuple[object, ...]:
    return ("--judge", "compat/judge", "--judge-base-url", endpoint.base_url, "--quiet", *more)


async def test_answers_are_judged_by_an_endpoint_and_a_second_run_asks_nothing(tmp_path: Path, data: Path) -> None:
    metrics = "faithfulness,context_precision,context_recall"
    async with FakeEndpoint(answer=judging) as endpoint:
        told = await ran(tmp_path, "eval", data, *by_judge(endpoint), "--metrics", metrics, "--run", "a.run", "--json")
        assert told.code == 0, told.err
        scores = told.document["scores"]
        assert scores["faithfulness"]["mean"] == pytest.approx(0.7)  # 0 where nothing was retrieved
        assert (scores["context_recall"]["n"], scores["context_recall"]["not_applicable"]) == (5, 1)
        assert asked(endpoint) <= 2 * len(rows()) + 1  # and one to learn which form it takes
        before = asked(endpoint)
        again = await ran(tmp_path, "eval", data, *by_judge(endpoint), "--metrics", metrics, "--run", "b.run", "--json")
        assert again.document["scores"] == scores
        assert asked(endpoint) == before
        another = [*by_judge(endpoint, "--metrics", metrics, "--run", "c.run")]
        another[1] = "compat/other"
        other = await ran(tmp_path, "eval", data, *another)
        assert other.code == 0
        assert asked(endpoint) == 2 * before


async def test_the_end_of_an_evaluation_says_scores_advice_and_the_answers_behind_it(tmp_path: Path) -> None:
    data = tmp_path / "noisy.jsonl"
    noisy = [{**row, "contexts": ["Rain fell.", "Snow fell.", *row["contexts"]]} for row in rows()]
    data.write_text("".join(json.dumps(row) + "\n" for row in noisy), encoding="utf-8")
    async with FakeEndpoint(answer=judging) as endpoint:
        options = by_judge(endpoint, "--metrics", "context_precision,context_recall", "--report", "r.html")
        told = await ran(tmp_path, "eval", data, *options, "--run", "a.run")
        chinese = await ran(tmp_path, "eval", data, *options, "--run", "a.run", "--language", "zh")
    assert told.code == 0, told.err
    for words in ("context_precision", "Rules of thumb", "Rerank", " → ", "Run file: a.run", "r.html"):
        assert words in told.out
    for words in ("经验法则", "重排序", " → "):
        assert words in chinese.out
    assert "context_precision" in (tmp_path / "r.html").read_text(encoding="utf-8")


async def test_a_killed_evaluation_asks_again_only_what_was_in_flight_and_counts_all_it_sent(
    tmp_path: Path,
) -> None:
    """Without a cache: each case has a reply already when its second request is in flight."""
    places = 8
    samples = [row | {"question": f"{row['question']} {n}"} for n in range(3) for row in rows() if row["contexts"]]
    (tmp_path / "many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in samples), encoding="utf-8")
    stalled, kills, finished, verifying = asyncio.Event(), 3, False, 0

    def step(payload: Any) -> str:
        return str(payload["response_format"]["json_schema"]["name"])

    def plan(_: int, payload: Any) -> Act:
        nonlocal verifying
        verifying += step(payload) == "verify"
        if finished or step(payload) != "verify" or verifying == 1:  # from the first it learns the endpoint's form
            return Act()
        if verifying == 1 + places:
            stalled.set()
        return Act("stall")

    async with FakeEndpoint(plan, answer=judging) as endpoint:
        arguments = (
            "eval", "many.jsonl", *by_judge(endpoint), "--metrics", "faithfulness,context_precision", "--no-cache",
            "--concurrency", places, "--run", "a.run", "--json",
        )  # fmt: skip
        for _ in range(kills):
            stalled.clear()
            verifying = 0
            killed = await asyncio.create_subprocess_exec(
                *command(*arguments), cwd=tmp_path, env=environment(tmp_path, COMPAT_API_KEY="k"),
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            await stalled.wait()
            killed.kill()
            await killed.wait()
        finished = True
        told = await ran(tmp_path, *arguments)
        assert told.code == 0, told.err
        sent = Counter(step(one.body) for one in endpoint.seen)
        again = {name: sent[name] - len({one.raw for one in endpoint.seen if step(one.body) == name}) for name in sent}
        assert again == {"decompose": 0, "verify": kills * places}
        (cost,) = (table for table in told.document["tables"] if table["id"] == "eval-cost")
        assert cost["rows"][-1]["cells"][1]["text"] == str(len(endpoint.seen))
    assert not [name for name in os.listdir(tmp_path) if name.startswith("a.run-")]  # noqa: PTH208
    with contextlib.closing(sqlite3.connect(tmp_path / "a.run")) as file:
        assert file.execute("SELECT count(*) FROM verdicts WHERE digest LIKE '%:%'").fetchone() == (0,)


async def test_five_percent_of_errors_lose_no_score(tmp_path: Path) -> None:
    many = [{**row, "question": f"{row['question']} {number}"} for number in range(10) for row in rows()]
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in many), encoding="utf-8")

    def plan(number: int, payload: Any) -> Act:
        return Act("rate_limit", retry_after="0") if number % 20 == 7 else Act("status") if number % 20 == 17 else Act()

    async with FakeEndpoint(plan, answer=judging) as endpoint:
        told = await ran(tmp_path, "eval", path, *by_judge(endpoint), "--metrics", "faithfulness", "--json")
    assert told.code == 0, told.err
    assert told.document["scores"]["faithfulness"]["failed"] == 0
    assert told.document["scores"]["faithfulness"]["total"] == len(many)


async def test_what_fails_for_ever_is_told_with_exit_3_and_all_else_is_scored(tmp_path: Path, data: Path) -> None:
    def plan(number: int, payload: Any) -> Act:
        bad = "mill" in payload["messages"][-1]["content"]
        return Act("status", status=400, body={"error": {"message": "no mills"}}) if bad else Act()

    async with FakeEndpoint(plan, answer=judging) as endpoint:
        told = await ran(
            tmp_path, "eval", data, *by_judge(endpoint), "--metrics", "faithfulness", "--run", "a.run", "--json",
            "--min-coverage", "0.9", "--fail-under", "faithfulness=0.1",
        )  # fmt: skip
    assert told.code == 3
    scores = told.document["scores"]["faithfulness"]
    assert (scores["failed"], scores["n"], scores["not_applicable"]) == (1, 4, 1)
    assert told.document["gates"][0]["verdict"] == "unknown"
    assert "no mills" in told.err


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 2])
async def test_a_killed_evaluation_asks_nothing_twice_that_was_answered(tmp_path: Path, parts: int) -> None:
    """On one machine, and in parts that are killed, merged unfinished, and killed again."""
    many = [{**row, "question": f"{row['question']} {number}"} for number in range(20) for row in rows()]
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in many), encoding="utf-8")
    async with FakeEndpoint(answer=judging, delay=0.02) as endpoint:
        options = (*by_judge(endpoint), "--metrics", "faithfulness,context_recall", "--concurrency", 8)

        async def killed(kill_after: int, *more: str) -> None:
            process = await asyncio.create_subprocess_exec(
                *command("eval", path, *options, *more), cwd=tmp_path, env=environment(tmp_path, COMPAT_API_KEY="k"),
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            await endpoint.until(lambda: asked(endpoint) >= kill_after)
            assert process.returncode is None
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()

        if parts == 1:
            await killed(40, "--run", "a.run")
            await killed(90, "--run", "a.run")
        else:
            for number, kill_after in ((1, 40), (2, 90)):
                await killed(kill_after, "--run", f"{number}.run", "--shard", f"{number}/2")
            assert (await ran(tmp_path, "merge", "1.run", "2.run", "-o", "a.run")).code == 0
        await killed(150, "--run", "a.run")
        told = await ran(tmp_path, "eval", path, *options, "--run", "a.run", "--json")
        assert told.code == 0, told.err
        times = Counter(
            json.dumps(one.body, sort_keys=True) for one in endpoint.seen if one.path.endswith("completions")
        )
        # What was under way at a kill had no answer yet: at most the places in flight, each time.
        assert sum(count - 1 for count in times.values()) <= 3 * 8 + 3
        assert told.document["scores"]["faithfulness"]["total"] == len(many)
        assert told.document["scores"]["faithfulness"]["failed"] == 0


def test_without_a_judge_what_needs_none_is_scored(ragstone: Callable[..., Told], data: Path) -> None:
    told = ragstone("eval", data, "--run", "a.run", "--json", "--quiet")
    assert told.code == 0
    assert set(told.document["scores"]) >= {"token_f1", "rouge_l"}
    assert not set(told.document["scores"]) & set(FIVE)


def test_the_example_is_scored_by_group(ragstone: Callable[..., Told]) -> None:
    told = ragstone("eval", EXAMPLE, "--group-by", "topic", "--run", "a.run", "--quiet")
    assert told.code == 0, told.err
    assert "Scores by topic" in told.out


def test_gates_decide_the_exit_code(ragstone: Callable[..., Told], data: Path) -> None:
    passed = ragstone("eval", data, "--run", "a.run", "--fail-under", "token_f1=0.05", "--gate", "point", "--quiet")
    assert passed.code == 0
    assert "passed: token_f1" in passed.out
    failed = ragstone("eval", data, "--run", "a.run", "--fail-under", "token_f1=0.99999", "--gate", "point", "--quiet")
    assert failed.code == 1
    assert "failed: token_f1" in failed.out
    assert "decided by:" in failed.out


def test_gates_that_cannot_be_checked_are_told_before_anything_is_spent(
    ragstone: Callable[..., Told], data: Path
) -> None:
    asked = ("eval", data, "--metrics", "token_f1", "--run", "a.run", "--quiet")
    one_line(ragstone(*asked, "--fail-under", "faithfulness=0.8"), "faithfulness", "--metrics", "token_f1")
    one_line(ragstone(*asked, "--fail-under", "ragchecker.hallucination=0.1"), "--fail-over")
    assert not Path("a.run").exists()
    # The gates of a project are for all its runs, of which not each has all metrics.
    Path("pyproject.toml").write_text("[tool.ragstone.gates]\nfaithfulness = 0.8\ntoken_f1 = 0.05\n")
    told = ragstone(*asked)
    assert told.code == 0, told.err
    assert "gate not checked: faithfulness" in told.err
    assert "decides nothing below 8" in told.out
    one_line(ragstone("gate", "a.run"), "faithfulness")
    Path("pyproject.toml").write_text("[tool.ragstone.gates]\nfaithfulness = true\n")
    one_line(ragstone("eval", data, "--metrics", "token_f1", "--run", "b.run"), "pyproject.toml")
    assert not Path("b.run").exists()


def test_a_dry_run_asks_nobody_and_needs_no_key(ragstone: Callable[..., Told], data: Path) -> None:
    told = ragstone("eval", data, "--judge", "openai/gpt-4o-mini", "--dry-run", "--price", "0.15/0.6", "--json")
    assert told.code == 0, told.err
    assert told.document["samples"] == len(rows())
    assert 0 < told.document["requests"] <= 2 * len(rows())
    exact = (0.15 * told.document["prompt_tokens"] + 0.6 * told.document["completion_tokens"]) / 1e6
    assert told.document["cost"] == told.document["judge_cost"] == round(exact, 6) > 0
    assert (told.document["embedder"], told.document["embedder_tokens"] > 0) == ("local/e5-small", True)
    ragas = ragstone("eval", data, "--judge", "openai/gpt-4o-mini", "--dry-run", "--judge-protocol", "ragas", "--json")
    assert ragas.document["requests"] > 2 * told.document["requests"]
    assert ragas.document["prompt_tokens"] > told.document["prompt_tokens"]
    cents = ragstone("eval", data, "--judge", "openai/gpt-4o-mini", "--dry-run", "--price", "0.15/0.6").out
    assert f"about {told.document['cost']:.2g} at" in cents  # not "about 0.00"
    warm = ragstone("eval", data, "--judge", "openai/gpt-4o-mini", "--dry-run", "--price", "0.15/0.6/0.015")
    cached = told.document["cached_tokens"]
    assert 0.5 * told.document["prompt_tokens"] < cached < told.document["prompt_tokens"]
    assert f"assumed to come from the provider's cache: {cached:,} prompt tokens" in warm.out
    saved = (0.15 - 0.015) * cached / 1e6
    assert f"about {told.document['cost'] - saved:.2g} at" in warm.out


@pytest.mark.parametrize(
    ("judge", "kept"),
    [
        ("anthropic/claude-haiku-4-5", False), ("anthropic/claude-haiku-5-5", True),
        ("anthropic/claude-sonnet-4.5", True), ("gemini/gemini-3-flash", False), ("deepseek/deepseek-chat", True),
    ],
)  # fmt: skip
def test_a_dry_run_counts_on_the_cache_where_the_judge_keeps_that_many_tokens(
    ragstone: Callable[..., Told], data: Path, judge: str, kept: bool
) -> None:
    told = ragstone("eval", data, "--judge", judge, "--dry-run", "--json")
    assert (told.document["cached_tokens"] > 0) is kept


def test_a_dry_run_on_a_run_file_counts_what_is_missing(ragstone: Callable[..., Told]) -> None:
    judge = ("--judge", f"scripted/{EXAMPLE.parent / 'judge.jsonl'}", "--run", "a.run")
    price = ("--dry-run", "--judge-price", "2/8")

    def dry(*more: str) -> Any:
        return ragstone("eval", EXAMPLE, *judge, *price, *more, "--json").document

    all_of_it = dry("--metrics", "faithfulness")
    assert (all_of_it["done"], all_of_it["embedder_tokens"]) == (0, 0)
    assert ragstone("eval", EXAMPLE, *judge, "--metrics", "faithfulness", "--limit", "2", "--quiet").code == 0
    rest, half = dry("--metrics", "faithfulness"), dry("--metrics", "faithfulness", "--limit", "2")
    assert (rest["done"], half["done"], half["requests"], half["cost"]) == (2, 2, 0, 0.0)
    assert 0 < rest["requests"] == all_of_it["requests"] - 4
    assert rest["cost"] == round((2 * rest["prompt_tokens"] + 8 * rest["completion_tokens"]) / 1e6, 6)
    other = ragstone("eval", EXAMPLE, "--judge", "openai/x", "--run", "a.run", "--metrics", "faithfulness", "--dry-run")
    assert other.code == 2, "another judge's run is refused before anything is spent"


def test_a_dry_run_of_the_example_is_within_a_fifth_of_what_the_table_of_costs_says_then(
    ragstone: Callable[..., Told],
) -> None:
    asked = ("eval", EXAMPLE, "--judge", f"scripted/{EXAMPLE.parent / 'judge.jsonl'}", "--metrics", "faithfulness")
    told = ragstone(*asked, "--dry-run", "--json").document
    (table,) = [
        one for one in ragstone(*asked, "--run", "a.run", "--json").document["tables"] if one["id"] == "eval-cost"
    ]
    _, requests, prompt, written, *_ = [cell.get("text", "").replace(",", "") for cell in table["rows"][-1]["cells"]]
    assert int(requests) == told["requests"]
    assert int(prompt) == pytest.approx(told["prompt_tokens"], rel=0.2)
    assert int(written) == pytest.approx(told["completion_tokens"], rel=0.2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere.jsonl",), ("nowhere.jsonl",)),
        (("answers.jsonl", "--metrics", "faithfulness"), ("faithfulness needs a judge", "--judge")),
        (("answers.jsonl", "--metrics", "faithfullness"), ("Did you mean 'faithfulness'?",)),
        (("answers.jsonl", "--judge", "local/extractive"), ("cannot judge",)),
        (("answers.jsonl", "--judge", "opnai/x", "--metrics", "five"), ("Did you mean 'openai'?",)),
        (("answers.jsonl", "--judge", "deepseek/x", "--metrics", "five"), ("DEEPSEEK_API_KEY",)),
        (("answers.jsonl", "--group-by", "colour"), ("no such column", "topic")),
        (("answers.jsonl", "--map", "reference=gold"), ("gold",)),
        (("answers.jsonl", "--map", "reference"), ("NAME=VALUE",)),
        (("answers.jsonl", "--fail-under", "token_f1"), ("faithfulness=0.8",)),
        (("answers.jsonl", "--fail-under", "token_f1=nan"), ("faithfulness=0.8",)),
        (("answers.jsonl", "--fail-under", "faithfulness=0.5"), ("a gate for faithfulness",)),
        (("answers.jsonl", "--repeat", "0"), ("--repeat",)),
        (("answers.jsonl", "--price", "cheap"), ("price of a million tokens",)),
        (("answers.jsonl", "--prompts", "nowhere", "--judge", "openai/x", "--metrics", "five"), ("nowhere",)),
        (("answers.jsonl", "--rubric", "nowhere.toml", "--judge", "openai/x"), ("nowhere.toml",)),
        (("answers.jsonl", "--report", "."), ("folder",)),
        (("answers.jsonl", "--run", "answers.jsonl"), ("answers.jsonl",)),
    ],
)
def test_bad_input_is_one_clear_line(
    ragstone: Callable[..., Told], data: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...],
    words: tuple[str, ...],
) -> None:  # fmt: skip
    if "openai/x" in arguments:
        monkeypatch.setenv("OPENAI_API_KEY", "k")
    one_line(ragstone("eval", *arguments, "--quiet"), *words)


def test_the_same_run_file_refuses_other_data(ragstone: Callable[..., Told], tmp_path: Path, data: Path) -> None:
    assert ragstone("eval", data, "--run", "a.run", "--quiet").code == 0
    other = tmp_path / "other.jsonl"
    other.write_text(data.read_text(encoding="utf-8").replace("tall", "high"), encoding="utf-8")
    one_line(ragstone("eval", other, "--run", "a.run", "--quiet"), "made with different settings", "data")
    with open_run(tmp_path / "a.run") as run:
        assert len(list(run.records())) == len(rows())


def test_a_copied_run_file_can_be_looked_at_anywhere(ragstone: Callable[..., Told], tmp_path: Path, data: Path) -> None:
    assert ragstone("eval", data, "--run", "a.run", "--quiet").code == 0
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(tmp_path / "a.run", tmp_path / "elsewhere" / "b.run")
    data.unlink()
    assert ragstone("report", "elsewhere/b.run", "-o", "r.html").code == 0
    told = ragstone("export", "elsewhere/b.run", "--format", "csv")
    assert told.code == 0
    assert "token_f1" in told.out
