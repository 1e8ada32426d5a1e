"""`ragstone agreement protocols`: what it prints, and that what failed is never passed over."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told, one_line
from tests.evaluation.test_eval import judging, ran
from tests.evaluation.test_evaluate import rows
from tests.servers.fake_endpoint import Act, FakeEndpoint

ASK = ("agreement", "protocols", "data.jsonl")
MUTE = ("--judge", "scripted/judge.jsonl", "--embedder", "compat/e", "--embedder-base-url", "http://127.0.0.1:1/v1")


@pytest.fixture(autouse=True)
def data() -> None:
    Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")


def test_a_judge_that_cannot_be_used_is_told_with_the_reason_and_exit_3(ragstone: Callable[..., Told]) -> None:
    Path("judge.jsonl").write_text('{"contains": "judged", "text": "no"}\n')
    told = ragstone(*ASK, *MUTE, "--no-ragas")
    assert told.code == 3
    assert "could not be judged by both protocols" in told.out
    assert "it has no JSON object" in " ".join(told.out.split())
    (way,) = ragstone(*ASK, *MUTE, "--no-ragas", "--json").document
    assert way["failed"] == way["samples"] == len(rows())


async def test_kappas_and_differences_are_printed_for_few_and_many_passages(tmp_path: Path) -> None:
    async with FakeEndpoint(answer=judging) as endpoint:
        judge = ("--judge", "compat/m", "--judge-base-url", endpoint.base_url)
        embedder = ("--embedder", "compat/e", "--embedder-base-url", endpoint.base_url)
        told = await ran(tmp_path, *ASK, *judge, *embedder, "--no-ragas", "--passages", "5", "--tokens", "60")
    assert told.code == 0, told.err
    for words in ("joint and separate: agreement", "with 5 passages", "useful passages", "context_precision"):
        assert words in told.out


@pytest.mark.parametrize("count", ["0", "five", "5,-1"])
def test_passages_are_numbers(ragstone: Callable[..., Told], count: str) -> None:
    one_line(ragstone(*ASK, *MUTE, "--passages", count), "--passages", count)


async def test_a_wrong_key_is_one_line_and_not_tried_for_every_sample(tmp_path: Path) -> None:
    many = [json.dumps(row | {"question": f"{row['question']} {n}"}) + "\n" for n in range(10) for row in rows()]
    (tmp_path / "data.jsonl").write_text("".join(many), encoding="utf-8")
    async with FakeEndpoint(lambda *_: Act("status", status=401)) as endpoint:
        judge = ("--judge", "compat/m", "--judge-base-url", endpoint.base_url)
        embedder = ("--embedder", "compat/e", "--embedder-base-url", endpoint.base_url)
        one_line(await ran(tmp_path, *ASK, *judge, *embedder), "COMPAT_API_KEY", "requests in a row")
        assert len(endpoint.seen) < 30  # 5, and what was under way
