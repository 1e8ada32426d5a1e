"""deepeval on the samples of the bench, run by its environment's Python. Prints one line of JSON.

    PYTHON run_deepeval.py --url http://127.0.0.1:PORT/v1 --samples 100 --workers 64 [--reasons]

Its five RAG metrics through `deepeval.evaluate`, asynchronously, 64 at once, with the aiohttp client of the openai
package. `--reasons`: as it comes, with a sentence for every score; without them it asks less.
"""

import argparse
import contextlib
import io
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.update({
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "ERROR_REPORTING": "0",
})  # fmt: skip
os.environ.setdefault("OPENAI_API_KEY", "none")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from bench.peers.data import rows
from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import (
    AnswerRelevancyMetric,
    ContextualPrecisionMetric,
    ContextualRecallMetric,
    ContextualRelevancyMetric,
    FaithfulnessMetric,
)
from deepeval.models import OpenAIModel
from deepeval.test_case import LLMTestCase

__all__ = ["main"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--reasons", action="store_true")
    parser.add_argument("--client", choices=["aiohttp", "own"], default="aiohttp")
    args = parser.parse_args()
    more: dict[str, Any] = {}
    if args.client == "aiohttp":
        import openai  # noqa: PLC0415

        more["async_http_client"] = openai.DefaultAioHttpClient()
    model = OpenAIModel(model="gpt-4o-mini", base_url=args.url, api_key="none", **more)
    kinds = (
        FaithfulnessMetric, AnswerRelevancyMetric, ContextualPrecisionMetric, ContextualRecallMetric,
        ContextualRelevancyMetric,
    )  # fmt: skip
    metrics = [kind(model=model, include_reason=args.reasons) for kind in kinds]
    cases = [
        LLMTestCase(
            input=row.user_input,
            actual_output=row.response,
            expected_output=row.reference,
            retrieval_context=list(row.retrieved_contexts),
        )
        for row in rows(args.samples)
    ]
    wall, cpu = time.perf_counter(), time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        result = evaluate(
            cases,
            metrics,
            async_config=AsyncConfig(max_concurrent=args.workers),
            display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
            cache_config=CacheConfig(write_cache=False),
            error_config=ErrorConfig(ignore_errors=True),
        )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    scores = [metric for test in result.test_results for metric in test.metrics_data or []]
    lost = 5 * len(cases) - sum(metric.score is not None for metric in scores)
    first = {metric.name: metric.score for metric in result.test_results[0].metrics_data or []}
    print(json.dumps({"wall": wall, "cpu": cpu, "scores": 5 * len(cases), "lost": lost, "first": first}))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
