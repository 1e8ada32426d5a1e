"""What a construction is expected to cost: every part of it, exact where it is known, and a range that holds."""

import asyncio
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import own_folders, ragstone
from tests.cli.test_commands import Ragstone
from tests.construction.test_mirage import dump, popqa, supporting
from tests.construction.test_questions import changed
from tests.construction.test_rgb import CHINESE, ENGLISH, News, articles, both_languages

from ragstone.construction.build_mirage import plan_mirage_build, run_mirage_build
from ragstone.construction.build_rgb import RGBBuild, plan_rgb_build, run_rgb_build
from ragstone.construction.builders.steps import Role
from ragstone.construction.construction_estimate import Expected, expected
from ragstone.errors import ModelError
from ragstone.models.scripted import Scripted

__all__ = ["dump", "own_folders", "popqa", "ragstone"]

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook" / "docs"
RGB_PASSES = ["event", "check", "label", "join", "together", "known", "fake", "replaced"]


def roles(model: Scripted) -> dict[Role, Scripted]:
    return {"writer": model, "checker": model}


def holds(planned: Expected, model: Scripted) -> None:
    """What was asked is within the range of each bound, and of the whole."""
    least, most = planned.total("least"), planned.total("most")
    assert least.requests <= len(model.requests) <= most.requests
    tokens = sum(len(turn.content) for request in model.requests for turn in request.messages)
    assert least.prompt_tokens < tokens  # a token has a character at least


@both_languages
def test_the_range_of_build_rgb_covers_every_part_and_holds(news: News, tmp_path: Path) -> None:
    model = changed(read=news.knowing)
    plan = plan_rgb_build(articles(tmp_path, news), tmp_path / "rgb", roles(model), retriever="bm25")
    planned = asyncio.run(plan.expected())
    assert list(planned.passes) == RGB_PASSES
    asyncio.run(run_rgb_build(plan))
    holds(planned, model)
    steps = Counter(request.schema_name for request in model.requests)
    assert planned.passes["event"].least == planned.passes["event"].most
    for name in ("event", "join", "fake", "replaced"):
        amounts = planned.passes[name]
        assert amounts.least.requests <= steps[name] <= amounts.most.requests
        assert amounts.most.prompt_tokens > 0
        assert amounts.most.completion_tokens > 0


def test_what_the_run_file_has_is_not_counted_and_narrows_the_range(tmp_path: Path) -> None:
    run = tmp_path / "rgb" / "build.run"

    def plan(**rules: Any) -> RGBBuild:
        model = changed(read=ENGLISH.knowing, **rules)
        return plan_rgb_build(articles(tmp_path, ENGLISH), tmp_path / "rgb", roles(model), retriever="bm25")

    def fails(shown: object, reply: object) -> None:
        raise ModelError("the server is down")

    before = asyncio.run(plan().expected(run))
    stopped = asyncio.run(run_rgb_build(plan(join=fails)))
    assert stopped.files is None
    between = asyncio.run(plan().expected(run))
    assert between.passes["event"].most.requests == between.passes["label"].most.requests == 0
    assert between.passes["join"].least.requests == between.passes["join"].most.requests == 2
    assert between.passes["known"].most.requests == 4 < before.passes["known"].most.requests
    asyncio.run(run_rgb_build(plan()))
    assert asyncio.run(plan().expected(run)).total("most").requests == 0


def test_a_web_search_is_counted_apart_and_its_pages_are_assumed(tmp_path: Path) -> None:
    plan = plan_rgb_build(
        articles(tmp_path, ENGLISH), tmp_path / "rgb", roles(changed()), search="searxng(http://127.0.0.1:9)"
    )
    planned = asyncio.run(plan.expected())
    assert planned.passes["search"].likely.requests == 4
    assert planned.passes["search"].most.requests == 16
    models = [one for name, one in planned.passes.items() if name != "search"]
    assert planned.total("likely").requests == sum(one.likely.requests for one in models)
    assert planned.passes["label"].likely.prompt_tokens > 4 * 30 * 200  # 30 chunks of 300 tokens, and the instruction


def test_the_range_of_build_mirage_holds(dump: Path, popqa: Path, tmp_path: Path) -> None:
    model = changed(answering=supporting)
    plan = plan_mirage_build([popqa], dump, tmp_path / "m", roles(model))
    planned = asyncio.run(expected(plan.pipeline, plan.models))
    assert list(planned.passes) == ["support", "inference"]
    assert planned.passes["support"].least.requests == 6
    assert planned.passes["inference"].most.requests == 18
    asyncio.run(run_mirage_build(plan))
    holds(planned, model)


@pytest.mark.parametrize(("news", "word"), [(ENGLISH, "about"), (CHINESE, "约")], ids=str)
def test_the_command_prints_each_pass_the_sum_and_its_cost(
    news: News, word: str, tmp_path: Path, ragstone: Ragstone
) -> None:
    words = ("build", "rgb", articles(tmp_path, news), "-o", tmp_path / "rgb", "--model", "local/template",
             "--retriever", "bm25", "--dry-run", "--price", "1000/2000")  # fmt: skip
    told = ragstone(*words, "--language", news.language)
    assert told.code == 0, told.err
    rules, *lines = told.out.splitlines()
    assert "local/template" in rules
    assert {"en": "no requests, no tokens", "zh": "不发送请求，不消耗词元"}[news.language] in rules
    assert [re.split("[:：]", line)[0] for line in lines[:8]] == RGB_PASSES
    assert word not in lines[0]
    assert all(word in line for line in lines[1:9])
    document = ragstone(*words, "--json").document
    assert list(document) == RGB_PASSES
    likely = [one["likely"] for one in document.values()]
    cost = sum(one["prompt_tokens"] + 2 * one["reply_tokens"] for one in likely) / 1000
    assert f"{cost:,.2f}" in lines[8]
    assert not (tmp_path / "rgb").exists()


def test_the_tokens_of_the_corpus_that_an_embedder_takes_are_told(tmp_path: Path, ragstone: Ragstone) -> None:
    words = ("build", "questions", HANDBOOK, "-o", tmp_path / "set", "--model", "local/template", "--size", "4",
             "--retriever", "openai/e", "--dry-run")  # fmt: skip
    (embedded,) = ragstone(*words, "--json").document["retrievers"]
    assert (embedded["model"], embedded["requests"]) == ("openai/e", 0)
    assert embedded["tokens"] > 500
    assert f"about {embedded['tokens']:,} tokens for openai/e to embed; not in the cost" in ragstone(*words).out


def test_a_pass_with_several_requests_an_item_is_never_expected_to_ask_less_than_nothing(
    tmp_path: Path, ragstone: Ragstone
) -> None:
    words = ("build", "questions", HANDBOOK, "-o", tmp_path / "set", "--model", "local/template")
    assert ragstone(*words, "--size", "120", "--quiet").code == 0
    left = []
    for size in ("40", "130", "200"):  # fewer than are there, and more
        document = ragstone(*words, "--size", size, "--dry-run", "--json").document
        left.append(document["without_evidence"]["likely"]["requests"])
        for name, one in document.items():
            for key in ("requests", "prompt_tokens", "reply_tokens"):
                assert 0 <= one["least"][key] <= one["likely"][key] <= one["most"][key], (size, name, key)
    assert left[0] == 0 < left[1] < left[2]
