"""Evaluations by a judge at Anthropic's own interface: its prompt cache, and what failed meanwhile."""

from pathlib import Path
from typing import Any

import pytest
from tests.engine.test_batches import values
from tests.evaluation.judging import Embedder
from tests.evaluation.test_eval import judging
from tests.evaluation.test_evaluate import rows
from tests.servers.batch_endpoint import BatchEndpoint

from ragstone import evaluate_async
from ragstone.models import ModelOptions


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-test")
    monkeypatch.chdir(tmp_path)


async def judged(endpoint: BatchEndpoint, run: str, judge: str = "anthropic/claude-haiku-5-5", copies: int = 1) -> Any:
    """The evaluation of these tests. Without a cache of replies, and each request is sent once."""
    data = [row | {"question": row["question"] + " " * copy} for copy in range(copies) for row in rows()]
    options = ModelOptions(base_url=endpoint.base_url, attempts=1)
    return await evaluate_async(
        data, ["five"], judge=judge, judge_base_url=endpoint.base_url, embedder=Embedder(), run=run,
        model_options=options,
    )  # fmt: skip


async def test_most_of_the_judges_prompts_come_from_the_cache_and_change_no_verdict() -> None:
    async with BatchEndpoint(judging) as endpoint:
        assert (await judged(endpoint, "plain.run", "anthropic/claude-haiku-4-5", copies=12)).outcome.complete
        assert "cache_control" not in str(endpoint.single)  # it keeps from 4,096 tokens on
        endpoint.messages.keeps_from = 512
        assert (await judged(endpoint, "kept.run", copies=12)).outcome.complete
        usages = endpoint.messages.usages
    assert values(Path("kept.run")) == values(Path("plain.run"))
    read, written, fresh = (
        sum(usage[name] for usage in usages)
        for name in ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens")
    )
    assert read > (read + written + fresh) / 2
    openings = len(endpoint.messages._kept)
    assert sum(usage["cache_creation_input_tokens"] > 0 for usage in usages) == openings >= 4


async def test_what_met_an_overload_is_asked_again_by_the_same_command() -> None:
    async with BatchEndpoint(judging) as endpoint:
        assert (await judged(endpoint, "whole.run")).outcome.complete
        whole = endpoint.counts["POST messages"]
        endpoint.fault.status = lambda body: 529 if "mill" in body["messages"][-1]["content"] else 200
        assert (await judged(endpoint, "a.run")).outcome.unscored
        met = endpoint.counts["POST messages"] - whole
        endpoint.fault.status = lambda body: 200
        assert (await judged(endpoint, "a.run")).outcome.complete
        assert endpoint.counts["POST messages"] - whole - met < whole / 2
    assert values(Path("a.run")) == values(Path("whole.run"))
