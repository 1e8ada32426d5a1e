"""Runs through a provider's batch interface: the same results as online, each request sent once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.api.judging import Embedder
from tests.api.test_evaluate import rows
from tests.cli.test_eval import judging
from tests.servers.batch_endpoint import BatchEndpoint

from ragstone import bench_async, evaluate_async
from ragstone.models import ModelOptions
from ragstone.models.batches import Batches
from ragstone.runs import open_run

PRICE = "1/2"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
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


async def judged(folder: Path, endpoint: BatchEndpoint, calling: ModelOptions, **more: Any) -> Any:
    return await evaluate_async(
        rows(), ["five", "ragchecker"], "openai/gpt-4o-mini", judge_base_url=endpoint.base_url, embedder=Embedder(),
        run=folder / "e.run", model_options=calling, **more,
    )  # fmt: skip


async def test_an_evaluation_in_batches_is_that_of_single_requests(tmp_path: Path) -> None:
    async with BatchEndpoint(judging) as endpoint:
        online, batched = tmp_path / "online", tmp_path / "batched"
        assert (await judged(online, endpoint, options(online, endpoint, batch=None))).outcome.complete
        alone = len(endpoint.single)
        result = await judged(batched, endpoint, options(batched, endpoint))
        assert result.outcome.complete
        assert list(shown(batched / "e.run")) == list(shown(online / "e.run"))
        # One request asks whether the model takes the form; the claims are a batch, and their verification another.
        assert len(endpoint.single) == alone + 1
        assert len(endpoint.batches) == 2
        assert 1 + len(endpoint.lines) == alone
        assert len({line["custom_id"] for line in endpoint.lines}) == len(endpoint.lines)


async def test_a_benchmark_and_its_judge_go_in_batches(tmp_path: Path) -> None:
    async with BatchEndpoint(lambda body: "It is 7, the report says.") as endpoint:
        for folder, batch in (("online", None), ("batched", Batches(tmp_path / "batches"))):
            calling = options(tmp_path / folder, endpoint, batch=batch)
            done = await bench_async(
                "rgb", model="openai/gpt-4o-mini", run=tmp_path / folder / "a.run", model_options=calling,
                fictional_size=3, data_languages=["en"], limit=2, noise_ratios=[0.0, 0.4],
            )  # fmt: skip
            assert done.outcome.complete
        assert list(shown(tmp_path / "batched" / "a.run")) == list(shown(tmp_path / "online" / "a.run"))
        assert len(endpoint.batches) == 1
