"""How many of the judge's prompt tokens a server that caches prefixes has already: by its own counter.

    python bench/prompt_cache.py [--samples 100] [--slots 1,2] [--json]

The samples of `bench/judge.py`, five metrics, against llama.cpp's real server with the first layer of SmolLM2-135M
(`ragstone setup local`). The server reads every prompt and writes one token; the verdict is that of `bench/peers`, so
that a small model costs no retries. `cache_n` of the server's reply counts the tokens that it did not evaluate again.
With a slot for each of the judge's two steps the prefix of both stays; with one slot, requests of one step have to come
together, which they do: the cases that wait for the server first ask for one step and then for the other.

Goals: at least half of the prompt tokens from the cache, and no score lost. The price of five metrics in fresh tokens
is stated for cached tokens at a quarter and at a tenth of the price.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import msgspec
from bench.judge import FIVE, FreeVectors
from bench.peers.data import rows
from bench.peers.plausible import answer
from bench.short_model import shortened

from ragstone.evaluation.evaluate import evaluate_async
from ragstone.models import ModelOptions, open_model
from ragstone.models.local import smollm2_path
from ragstone.types import Completion, Model, Request, Sampling, Usage

__all__ = ["Relayed", "judged", "main"]

GOAL = 0.5
_CONTEXT = 4_096


class Relayed:
    """A judge whose prompts a real server reads, and whose verdicts are plausible ones."""

    id = "bench/relayed"

    def __init__(self, server: Model) -> None:
        self._server, self.used = server, Usage()

    async def generate(self, request: Request, /) -> Completion:
        seen = await self._server.generate(
            msgspec.structs.replace(request, sampling=Sampling(max_tokens=1), schema=None)
        )
        self.used += seen.usage
        turns = [{"role": turn.role, "content": turn.content} for turn in request.messages]
        form = {"type": "json_schema", "json_schema": {"name": request.schema_name, "schema": request.schema}}
        return msgspec.structs.replace(
            seen, text=answer({"messages": turns, "response_format": form}), finish_reason="stop"
        )


async def judged(samples: int, slots: int, model: Path, folder: Path) -> dict[str, Any]:
    """Judges the samples by a server with so many slots: the tokens that it counted, a sample's."""
    data = [
        {
            "question": row.user_input, "contexts": list(row.retrieved_contexts), "answer": row.response,
            "reference": row.reference,
        }
        for row in rows(samples)
    ]  # fmt: skip
    options = ModelOptions(slots=slots, context=_CONTEXT, prefix_cache=True)
    async with open_model(f"local/{model}", options) as server:
        judge = Relayed(server)
        result = await evaluate_async(
            data, metrics=["five"], judge=judge, embedder=FreeVectors(), concurrency=64,
            run=folder / f"{slots}.run", model_options=ModelOptions(),
        )  # fmt: skip
    used, lost = judge.used, sum(row[metric] is None for row in result.scores for metric in FIVE)
    fresh = used.prompt_tokens - used.cached_tokens
    return {
        "slots": slots, "requests": used.requests / samples, "prompt_tokens": used.prompt_tokens / samples,
        "cached_tokens": used.cached_tokens / samples, "share": used.cached_tokens / used.prompt_tokens,
        "at_a_quarter": (fresh + 0.25 * used.cached_tokens) / samples,
        "at_a_tenth": (fresh + 0.1 * used.cached_tokens) / samples, "lost": lost,
    }  # fmt: skip


def main() -> int:
    """Prints the table; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--slots", default="1,2", help="prompts that the server keeps, one measurement for each")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        model = shortened(smollm2_path(), Path(folder) / "short.gguf")
        found = [asyncio.run(judged(args.samples, int(count), model, Path(folder))) for count in args.slots.split(",")]
    reached = all(row["share"] >= GOAL and not row["lost"] for row in found)
    if args.json:
        print(json.dumps({"rows": found, "samples": args.samples, "load_before": load}))
        return int(not reached)
    print(
        f"{'slots':>6} {'requests':>9} {'prompt':>8} {'cached':>8} {'share':>7} {'at 1/4':>8} {'at 1/10':>8} "
        f"{'lost':>5}"
    )
    for row in found:
        print(
            f"{row['slots']:6} {row['requests']:9.1f} {row['prompt_tokens']:8,.0f} {row['cached_tokens']:8,.0f} "
            f"{row['share']:7.0%} {row['at_a_quarter']:8,.0f} {row['at_a_tenth']:8,.0f} "
            f"{row['lost']:5}"
        )
    print(f"{args.samples} samples; all figures but the share are a sample's, in the server's tokens; load {load:.1f}")
    print(
        "reached" if reached else "MISSED ", f"at least {GOAL:.0%} of the prompt tokens from the cache, no score lost"
    )
    return int(not reached)


if __name__ == "__main__":
    sys.exit(main())
