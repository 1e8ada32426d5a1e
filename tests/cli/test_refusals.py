"""A wrong key ends `bench` and `eval` at once, with the reason and an exit code that says whether anything came."""

import json
from pathlib import Path

import pytest
from tests.evaluation.test_eval import asked, judging, ran
from tests.evaluation.test_evaluate import rows
from tests.servers.fake_endpoint import Act, FakeEndpoint

MANY = ("--fictional-size", "20", "--data-language", "en", "--noise", "0,0.2,0.4", "--limit", "20", "--quiet")


async def test_a_wrong_key_ends_a_benchmark_and_the_right_one_goes_on(tmp_path: Path) -> None:
    right = False

    def plan(*_: object) -> Act:
        return Act() if right else Act("status", status=401, body={"error": {"message": "Incorrect API key"}})

    async with FakeEndpoint(plan) as endpoint:
        arguments = ("bench", "rgb", "--model", "compat/m", "--base-url", endpoint.base_url, *MANY, "--run", "a.run")
        told = await ran(tmp_path, *arguments)
        assert told.code == 2, told
        assert len(endpoint.seen) <= 5 + 16
        assert "Incorrect API key" in told.err
        assert "COMPAT_API_KEY" in told.err
        before, right = len(endpoint.seen), True
        told = await ran(tmp_path, *arguments, "--json")
        assert told.code == 0, told.err
        assert len(endpoint.seen) - before == told.document["done"] > 60


async def test_a_system_that_answers_beside_one_that_is_not_there_is_measured(tmp_path: Path) -> None:
    async with FakeEndpoint(lambda *_: Act("status", status=404)) as endpoint:
        models = ("--model", "compat/missing", "--model", "local/extractive", "--base-url", endpoint.base_url)
        told = await ran(tmp_path, "bench", "rgb", *models, *MANY, "--run", "a.run", "--json")
        assert len(endpoint.seen) <= 5 + 16
    assert told.code == 3, told
    systems = told.document["systems"]
    assert systems["local/extractive"]["answered"] > 60
    assert "compat/missing" in told.err


@pytest.mark.parametrize("who", ["judge", "embedder"])
async def test_a_wrong_key_of_the_judge_or_the_embedder_ends_an_evaluation(tmp_path: Path, who: str) -> None:
    data = tmp_path / "answers.jsonl"
    many = [{**row, "id": f"{row.get('id', '')}-{n}", "answer": f"{row['answer']} {n}"} for n in range(20)
            for row in rows() if row.get("answer")]  # fmt: skip
    data.write_text("".join(json.dumps(row) + "\n" for row in many), encoding="utf-8")
    async with FakeEndpoint(lambda *_: Act("status", status=403)) as wrong, FakeEndpoint(answer=judging) as right:
        judge, embedder = (wrong, right) if who == "judge" else (right, wrong)
        told = await ran(
            tmp_path, "eval", data, "--judge", "compat/j", "--judge-base-url", judge.base_url, "--embedder", "compat/e",
            "--embedder-base-url", embedder.base_url, "--metrics", "faithfulness,semantic_similarity", "--run", "a.run",
            "--quiet", "--concurrency", 8,
        )  # fmt: skip
        assert 5 <= len(wrong.seen) <= 5 + 8
        if who == "judge":
            assert asked(right) == 0
    assert told.code == 2, told
    assert "compat/" in told.err
    assert "in a row" in told.err
