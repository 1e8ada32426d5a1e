"""`--batch` and `ragstone batch` as a user meets them."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import Told, command, environment, one_line
from tests.evaluation.test_eval import judging
from tests.evaluation.test_evaluate import rows
from tests.servers.batch_endpoint import BatchEndpoint

KEYS = {"OPENAI_API_KEY": "sk-of-the-test", "DEEPSEEK_API_KEY": "k"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    return path


async def started(folder: Path, *arguments: object, **more: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command(*arguments), cwd=folder, env=environment(folder, **KEYS, **more),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def ended(process: asyncio.subprocess.Process) -> Told:
    out, err = await process.communicate()
    assert process.returncode is not None
    return Told(process.returncode, out.decode(), err.decode())


async def ran(folder: Path, *arguments: object, **more: str) -> Told:
    return await ended(await started(folder, *arguments, **more))


def evaluation(data: Path, endpoint: BatchEndpoint, *more: object) -> tuple[Any, ...]:
    return ("eval", data, "--judge", "openai/m", "--judge-base-url", endpoint.base_url, "--metrics", "faithfulness",
            "--run", "a.run", "--batch", *more)  # fmt: skip


async def test_a_command_waits_and_says_how_its_batches_stand(data: Path, tmp_path: Path) -> None:
    async with BatchEndpoint(judging) as endpoint:
        told = await ran(tmp_path, *evaluation(data, endpoint))
        assert told.code == 0, told.err
        assert "batch batch_0 (openai/m): in progress, 0 of 6 done, 0 failed" in told.err
        n = len(endpoint.lines) - 6
        assert f"batch batch_1 (openai/m): done, {n} of {n} done, 0 failed" in told.err
        again = await ran(tmp_path, *evaluation(data, endpoint, "--json"), RAGSTONE_LANGUAGE="zh")
        assert again.document["scores"]["faithfulness"]["mean"] == pytest.approx(0.7)
        assert again.err == ""
        assert len(endpoint.batches) == 2
        listed = await ran(tmp_path, "batch", "list", RAGSTONE_LANGUAGE="zh")
        assert f"批次 batch_1（openai/m）：已完成，{n} 个请求已完成 {n} 个，失败 0 个" in listed.out


async def test_ctrl_c_leaves_and_the_same_command_comes_back(data: Path, tmp_path: Path) -> None:
    async with BatchEndpoint(judging, looks=10**6) as endpoint:
        process = await started(tmp_path, *evaluation(data, endpoint))
        await endpoint.until(lambda: endpoint.counts["GET batches"] > 2)
        process.send_signal(signal.SIGINT)
        told = await ended(process)
        assert told.code == 3, told
        *_, last = told.err.splitlines()
        assert "1 batch not finished: batch_0 (openai/m, validating, 0 of 6). Run the same command again" in last
        document = (await ran(tmp_path, "batch", "list", "--json")).document
        assert [(one["id"], one["state"], one["total"]) for one in document] == [("batch_0", "created", 6)]
        endpoint.looks = 0
        assert (await ran(tmp_path, *evaluation(data, endpoint))).code == 0
        assert len(endpoint.batches) == 2


async def test_leave_submits_and_ends(data: Path, tmp_path: Path) -> None:
    async with BatchEndpoint(judging, looks=10**6) as endpoint:
        words = [word if word != "--batch" else "--batch=leave" for word in evaluation(data, endpoint)]
        for _ in range(2):
            told = await ran(tmp_path, *words, "--quiet")
            one_line(told, "Run the same command again to fetch the replies; `ragstone batch list`", code=3)
        assert len(endpoint.batches) == 1


async def test_a_batch_is_cancelled_on_demand(data: Path, tmp_path: Path) -> None:
    async with BatchEndpoint(judging, looks=10**6) as endpoint:
        await ran(tmp_path, *evaluation(data, endpoint, "--batch=leave"))
        one_line(await ran(tmp_path, "batch", "cancel", "batch_7"), "No unfinished batch named 'batch_7'", "batch list")
        told = await ran(tmp_path, "batch", "cancel", "batch_0")
        assert (told.code, "being cancelled" in told.out) == (0, True), told
        assert endpoint.batches["batch_0"].state == "cancelling"
        endpoint.looks = 0
        one_line(await ran(tmp_path, *evaluation(data, endpoint, "--quiet")), "batch_0 was cancelled", code=3)


async def test_what_is_wrong_is_told_in_one_line_before_anything_is_sent(data: Path, tmp_path: Path) -> None:
    async with BatchEndpoint(judging) as endpoint:
        words = list(evaluation(data, endpoint))
        words[words.index("openai/m")] = "deepseek/m"
        one_line(await ran(tmp_path, *words), "deepseek/m has no batch interface", "openai, dashscope, zhipu, groq")
        one_line(await ran(tmp_path, "bench", "rgb", "--model", "local/extractive", "--batch"), "--batch has no effect")
        one_line(await ran(tmp_path, *evaluation(data, endpoint, "--batch=later")), "wait", "leave")
        (tmp_path / "home/XDG_CACHE_HOME/ragstone/batches").mkdir(parents=True, exist_ok=True)
        (tmp_path / "home/XDG_CACHE_HOME/ragstone/batches/batches.sqlite").write_text("not a database, " * 99)
        one_line(await ran(tmp_path, *evaluation(data, endpoint)), "batches.sqlite", "not an SQLite database")
        assert not endpoint.counts


async def test_a_dry_run_counts_half_the_price(data: Path, tmp_path: Path) -> None:
    async with BatchEndpoint(judging) as endpoint:
        half = await ran(tmp_path, *evaluation(data, endpoint, "--dry-run", "--price", "1/2", "--json"))
        whole = await ran(tmp_path, *evaluation(data, endpoint)[:-1], "--dry-run", "--price", "1/2", "--json")
        assert half.document["cost"] == pytest.approx(whole.document["cost"] / 2, abs=1e-6)
        said = await ran(tmp_path, *evaluation(data, endpoint, "--dry-run", "--price", "1/2"))
        assert "at 0.5/1 per million tokens" in said.out
        assert said.out.endswith("  batches cost 50% of the usual price\n")
        usual = await ran(tmp_path, *evaluation(data, endpoint)[:-1], "--dry-run", "--price", "1/2")
        assert "batches" not in usual.out
        bench = ["bench", "rgb", "--fictional-size", "2", "--limit", "2", "--dry-run", "--price", "1/2", "--json"]
        told = [await ran(tmp_path, *bench, "--model", "anthropic/m", *batch) for batch in ([], ["--batch"])]
        costs = [one.document["cost"] for one in told]
        assert costs[1] == pytest.approx(costs[0] / 2, abs=1e-6)
        assert not endpoint.counts


def test_no_batches_are_listed_where_there_are_none(ragstone: Any) -> None:
    assert ragstone("batch", "list").out == "No batches.\n"
    assert ragstone("batch", "list", "--json").document == []


def test_a_damaged_list_of_batches_is_one_line_with_what_moving_it_away_means(
    ragstone: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("ragstone.engine.batches.batch_folder", lambda: tmp_path)
    (tmp_path / "batches.sqlite").write_text("no list " * 50, "utf-8")
    for arguments in (("list",), ("cancel", "batch_1")):
        one_line(ragstone("batch", *arguments), "batches.sqlite", "not an SQLite database", "move it away")
    assert (tmp_path / "batches.sqlite").read_text("utf-8") == "no list " * 50
