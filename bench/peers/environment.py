"""An isolated environment for each other tool, made once and kept: a virtual environment in a folder of the user's.

`environment("ragas", folder)` gives its Python, or None with the reason where it cannot be made (no package index).
"""

from pathlib import Path

from ragstone.errors import UsageError
from ragstone_conform.environments import environment as make

__all__ = ["PACKAGES", "environment"]

PACKAGES: dict[str, tuple[str, ...]] = {
    # `langchain-community` 0.4 has no longer what ragas 0.4.3 imports; aiohttp is its fastest transport; litellm,
    # without what it needs, carries OpenAI's vocabularies, so that tiktoken counts without a network.
    "ragas": ("ragas==0.4.3", "langchain-community<0.4", "httpx-aiohttp", "tiktoken"),
    "deepeval": ("deepeval==4.3.1", "aiohttp"),
    # Not a peer: what `evaluate` is called in (tests/engine/test_loops.py).
    "loops": ("ipykernel", "jupyter_client", "uvloop"),
    # What users build applications with (tests/systems/test_frameworks.py). lark reads the queries of a self-query
    # retriever.
    "frameworks": (
        "langchain-core==1.7.2",
        "langchain-classic==1.0.8",
        "langchain-community==0.4.2",
        "lark==1.3.1",
        "langgraph==1.2.22",
        "llama-index-core==0.14.25",
        "llama-index-retrievers-bm25==0.8.0",
        "rank-bm25==0.2.2",
        "haystack-ai==3.4.0",
        "dspy==3.4.1",
    ),
    # The same with OpenInference's instrumentation (tests/systems/test_traced_frameworks.py).
    "traced": (
        "langchain-core==1.7.2",
        "llama-index-core==0.14.25",
        "openinference-instrumentation-langchain==0.1.80",
        "openinference-instrumentation-llama-index==4.6.1",
        "opentelemetry-exporter-otlp-proto-http==1.45.2",
        "opentelemetry-sdk==1.45.2",
    ),
    # They name the cause of a wrong answer. ragmortem does without sentence-transformers, which it only searches with.
    "ragmortem": ("numpy", "rich", "pytest"),
    "rag-doctor": ("rag-doctor==1.0.0", "numpy"),
    "ragxray": ("ragxray==0.1.0",),
    # Engines that run in the process, and PostgreSQL 16 with pgvector (tests/retrieval/test_engines.py).
    "engines": (
        "qdrant-client==1.20.0",
        "chromadb==1.5.9",
        "pymilvus==3.0.2",
        "milvus-lite==3.2.2",
        "psycopg[binary]==3.3.9",
        "pgserver==0.1.4",
    ),
}
_WITHOUT_DEPENDENCIES = {"ragas": ("litellm",), "ragmortem": ("ragmortem==0.2.0",)}


def environment(name: str, folder: Path) -> tuple[Path | None, str]:
    """(the environment's Python, "") or (None, why there is none). Takes minutes the first time."""
    try:
        return make(name, PACKAGES[name], folder, without_dependencies=_WITHOUT_DEPENDENCIES.get(name, ())), ""
    except UsageError as error:
        return None, str(error)
