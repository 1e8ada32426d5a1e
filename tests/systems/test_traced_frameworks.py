"""Real LangChain and LlamaIndex under OpenInference's instrumentation, exported by OpenTelemetry's own exporter to
`ragstone trace serve`, and evaluated. The packages are in an environment of their own, made at the first run."""

import os
import signal
import subprocess
from pathlib import Path

import platformdirs
import pytest
from bench.peers.environment import environment
from tests.evaluation.test_traces import Serving

from ragstone.datasets.tabular import Item, read_eval_data
from ragstone.responses.stages import passages_at
from ragstone.types import Turn, Usage

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

APP = Path(__file__).parent / "apps" / "traced" / "app.py"


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python that has the frameworks, their instrumentation and the exporter."""
    found, reason = environment("traced", Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "peers")
    if found is None:
        pytest.skip(reason)
    return found


def traced(python: Path, folder: Path, framework: str) -> dict[str, Item]:
    """What was received of an application, by question."""
    pytest.importorskip("opentelemetry.proto")
    serving = Serving(folder)
    endpoint = serving.address.removesuffix("/v1/traces")
    try:
        subprocess.run(
            [str(python), str(APP), framework], cwd=folder, check=True, capture_output=True, timeout=300,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
                 "LANGSMITH_TRACING": "false", "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
    finally:
        told = serving.end(signal.SIGINT)
    assert told.code == 0
    assert "Wrote " in told.out
    data = read_eval_data(folder / "traces.jsonl")
    assert data.warnings == ()
    return {item.sample.question: item for item in data.items}


def stages(item: Item) -> dict[str, list[str]]:
    assert item.response is not None, item.error
    found = {name: passages_at(item.response, name) for name in ("fetch", "rerank", "prompt")}
    return {name: [passage.id for passage in passages] for name, passages in found.items() if passages is not None}


def test_langchain_through_the_exporter_and_the_receiver(python: Path, tmp_path: Path) -> None:
    items = traced(python, tmp_path, "langchain")
    plain, reranked, rewritten, broken = items.values()
    assert stages(plain) == {"fetch": ["4.md", "5.md", "6.md"], "prompt": ["4.md", "5.md", "6.md"]}
    assert plain.response is not None
    assert plain.response.usage == Usage(prompt_tokens=10, completion_tokens=3, requests=1)
    assert stages(reranked)["fetch"] == ["5.md", "6.md", "7.md"]
    assert stages(reranked)["rerank"] == stages(reranked)["prompt"] == ["6.md", "5.md"]
    assert reranked.history == (
        Turn("user", "How much is item 4?"), Turn("assistant", plain.response.answer),
    )  # fmt: skip
    assert stages(rewritten) == {"fetch": ["6.md", "7.md", "8.md"], "prompt": ["6.md", "7.md"]}
    assert rewritten.history == (Turn("user", "hi"), Turn("assistant", "yes"))
    assert (broken.response, broken.error) == (None, "KeyError: 'no tenant for How '")


def test_llamaindex_through_the_exporter_and_the_receiver(python: Path, tmp_path: Path) -> None:
    items = traced(python, tmp_path, "llamaindex")
    asked, broken = items["How much is item 4?"], items["How much is item 9?"]
    # Its postprocessor turns the first two around, and so does its prompt.
    assert stages(asked) == {"fetch": ["4.md", "5.md", "6.md"], "prompt": ["5.md", "4.md"]}
    assert (broken.response, broken.error) == (None, "KeyError: 'no such index'")
