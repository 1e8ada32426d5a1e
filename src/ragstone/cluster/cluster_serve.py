"""`--serve-vllm`: starts the `vllm/…` models of a command on the cluster, by Ray Serve's LLM API.

A proxy on every node answers at http://localhost:8000/v1, which is where `vllm/…` models are asked anyway, so nothing
else of a run changes. Written after Ray's documentation and tested only as far as that goes without vLLM and a GPU: the
configuration that Ray Serve is given, and that it is taken down. No model was ever started by it here.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from importlib import import_module
from typing import Any

from ragstone.errors import MissingExtra, UsageError

_APP = "ragstone"
_PREFIX = "vllm/"
_PORT = 8000


def vllm_models(names: Iterable[object]) -> list[str]:
    """Those of these models that vLLM serves, without the provider."""
    found = [name.removeprefix(_PREFIX) for name in names if isinstance(name, str) and name.startswith(_PREFIX)]
    return list(dict.fromkeys(found))


@contextlib.asynccontextmanager
async def serving(ray: Any, names: Iterable[object]) -> AsyncIterator[None]:
    """Serves the `vllm/…` models among these while the block runs; Ray is connected. UsageError if there are none,
    MissingExtra without vLLM."""
    models = vllm_models(names)
    if not models:
        raise UsageError("--serve-vllm has nothing to serve: name a model vllm/NAME with --model or --judge.")
    try:
        serve, llm = import_module("ray.serve"), import_module("ray.serve.llm")
    except ImportError as error:
        missing = (error.name or "vllm").partition(".")[0]
        raise MissingExtra(
            f"--serve-vllm needs {missing}, which is not installed. Run: pip install 'ray[serve,llm]'"
        ) from None
    most = max(1, int(ray.cluster_resources().get("GPU", 0)) // len(models))
    configs = [
        llm.LLMConfig(
            model_loading_config={"model_id": name, "model_source": name},
            deployment_config={"autoscaling_config": {"min_replicas": 1, "max_replicas": most}},
        )
        for name in models
    ]
    http = {"host": "127.0.0.1", "port": _PORT}
    await asyncio.to_thread(serve.start, proxy_location="EveryNode", http_options=http)
    try:
        app = llm.build_openai_app({"llm_configs": configs})
        await asyncio.to_thread(serve.run, app, name=_APP, route_prefix="/")
        yield
    finally:
        await asyncio.to_thread(serve.delete, _APP)
