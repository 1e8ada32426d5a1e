"""How many tokens a local server evaluates for a needle grid, of those that its prompts have.

    python bench/niah.py [--lengths 500,1000,2000] [--depths 0:100:11] [--answers]

The grid's prompts share the haystack up to their needles; asked in the order in which ragstone streams them, the server
(llama.cpp with SmolLM2-135M) need not evaluate that again. Evaluated tokens are what the server says of each reply:
prompt tokens less those that it took from its cache. Each measurement has a fresh server and no reply cache. Goals: at
most 0.56 of evaluating every prompt whole with one request in flight, 0.60 with four. `--answers` also asks everything
without the cache, and counts the answers that it changed.
"""

import argparse
import asyncio
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

from ragstone.api import read_run
from ragstone.api.bench import bench_async
from ragstone.api.make_niah import make_niah_async
from ragstone.benchmarks.niah import NIAH
from ragstone.models import ModelOptions, open_model
from ragstone.systems.expanding import Expanding
from ragstone.systems.reader import Reader

MODEL = "local/smollm2"
GOALS = {1: 0.56, 4: 0.60}


async def made(lanes: int, arguments: argparse.Namespace) -> NIAH:
    """The grid, in so many lanes."""
    return await make_niah_async(
        models=[MODEL], lengths=arguments.lengths, depths=arguments.depths, control=False, lanes=lanes,
        answer_tokens=arguments.answer,
    )  # fmt: skip


async def prompts_hash(benchmark: NIAH) -> str:
    """A hash over all prompts, in the order of their ids: the same whatever the lanes."""
    digest = hashlib.sha256()
    for case in sorted(benchmark.cases(), key=lambda case: case.id):
        query = await benchmark.expand(case.query)
        for turn in benchmark.template.messages(query):
            digest.update(turn.content.encode())
    return digest.hexdigest()[:16]


async def measured(lanes: int, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One run on a fresh server."""
    benchmark = await made(lanes, arguments)
    run = folder / f"{lanes}.run"
    result = await bench_async(
        "niah", prepared=benchmark, model=MODEL, run=run, model_options=ModelOptions(cache=None), concurrency=lanes,
        sampling={"max_tokens": arguments.answer},
    )  # fmt: skip
    assert result.outcome.complete, result.outcome
    whole = cached = 0
    answers = {}
    with read_run(run) as opened:
        for record in opened.run.records():
            assert record.response is not None
            assert record.response.usage is not None
            whole += record.response.usage.prompt_tokens
            cached += record.response.usage.cached_tokens
            answers[record.case.id] = record.response.answer
    return {
        "in_flight": lanes, "prompts": len(answers), "tokens": whole, "evaluated": whole - cached,
        "ratio": round((whole - cached) / whole, 4), "prompts_hash": await prompts_hash(benchmark), "answers": answers,
    }  # fmt: skip


async def without_cache(arguments: argparse.Namespace) -> dict[str, str]:
    """The answers of a server that keeps nothing of the prompt before."""
    benchmark = await made(1, arguments)
    options = ModelOptions(cache=None, context=benchmark.window)
    async with open_model(MODEL, options) as model:
        sampling = benchmark.template.sampling
        system = Expanding(Reader(model, benchmark.template, sampling), benchmark.expand)
        return {case.id: (await system.answer(case.query)).answer for case in benchmark.cases()}


async def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lengths", default="500,1000,2000")
    parser.add_argument("--depths", default="0:100:11")
    parser.add_argument("--answer", type=int, default=24, help="tokens of an answer")
    parser.add_argument("--answers", action="store_true", help="count the answers that the cache changed")
    arguments = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        found = [await measured(lanes, arguments, Path(folder)) for lanes in GOALS]
    for one in found:
        goal = GOALS[one["in_flight"]]
        missed += one["ratio"] > goal
        shown = {name: value for name, value in one.items() if name != "answers"}
        print(json.dumps({**shown, "goal": goal, "reached": one["ratio"] <= goal}))
    assert len({one["prompts_hash"] for one in found}) == 1, "the prompts differ"
    if arguments.answers:
        plain = await without_cache(arguments)
        for one in found:
            changed = sum(one["answers"][name] != answer for name, answer in plain.items())
            print(
                json.dumps({"in_flight": one["in_flight"], "answers_changed_by_the_cache": changed, "of": len(plain)})
            )
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
