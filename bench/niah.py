"""How many tokens a local server evaluates for a needle grid, of those that its prompts have.

    python bench/niah.py [--lengths 500,1000,2000] [--depths 0:100:11] [--answers] [--unordered]

The grid's prompts share the haystack up to their needles; asked in the order in which ragstone streams them, the
server (llama.cpp with SmolLM2-135M) need not evaluate that again. Evaluated tokens are the sum of the
`timings.prompt_n` of its replies, and must be what its `/metrics` say in the end. Each measurement has a fresh server
and no reply cache. Goals: at most 0.56 of evaluating every prompt whole with one request in flight, 0.60 with four.
`--answers` also asks everything without the cache, and counts the answers that it changed; `--unordered` asks four in
flight in no order, for comparison.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, fields
from dataclasses import replace as replace_in
from pathlib import Path
from typing import Any
from unittest import mock

import aiohttp
from msgspec.structs import replace

from ragstone.api import read_run
from ragstone.benchmarks.niah.benchmark import NIAH
from ragstone.engine.execute import RunOptions
from ragstone.engine.systems_and_metrics import Expanding
from ragstone.evaluation.bench import BenchPlan, plan_bench, run_bench
from ragstone.models import ModelOptions, client, local, open_model
from ragstone.models.wire import read_chat
from ragstone.systems.reader import Reader
from ragstone.types import Case

MODEL = "local/smollm2"
GOALS = {1: 0.56, 4: 0.60}
_EVALUATED = "llamacpp:prompt_tokens_total"


@dataclass
class Counted:
    """What the server says that it evaluated: of each reply, and in its metrics when all were there."""

    replies: list[int] = field(default_factory=list)
    metrics: int = -1


@contextlib.contextmanager
def counting() -> Iterator[Counted]:
    """Counts what a server evaluates that is started and stopped within."""
    counted, started = Counted(), local.LocalServer.started

    def read(body: bytes, *arguments: Any, **options: Any) -> Any:
        counted.replies.append(json.loads(body)["timings"]["prompt_n"])
        return read_chat(body, *arguments, **options)

    @contextlib.asynccontextmanager
    async def watched(settings: Any) -> AsyncIterator[local.LocalServer]:
        async with started(settings) as server:
            yield server
            if settings.context > 512:  # not the one that only counts tokens
                counted.metrics = await evaluated_by(server.address, settings.key)

    with mock.patch.object(client, "read_chat", read), mock.patch.object(local.LocalServer, "started", watched):
        yield counted


async def evaluated_by(address: str, key: str) -> int:
    """The tokens of prompts that a server has evaluated since it started."""
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(f"{address}/metrics") as reply:
        lines = (await reply.text()).splitlines()
    return int(float(next(line for line in lines if line.startswith(f"{_EVALUATED} ")).split()[-1]))


async def planned(lanes: int, arguments: argparse.Namespace) -> tuple[BenchPlan, NIAH]:
    """The grid, in so many lanes."""
    options = {"lengths": arguments.lengths, "depths": arguments.depths, "control": "none", "lanes": lanes}
    plan = await plan_bench(
        "niah", options, models=[MODEL], sampling={"max_tokens": arguments.answer},
        model_options=ModelOptions(cache=None),
    )  # fmt: skip
    assert isinstance(plan.benchmark, NIAH)
    return plan, plan.benchmark


class Unordered(NIAH):
    """The same cells in the order of a hash, four at a time."""

    def cases(self) -> Iterator[Case]:
        held = sorted(super().cases(), key=lambda case: hashlib.sha256(case.id.encode()).digest())
        yield from (replace(case, lane="") for case in held)


async def prompts_hash(benchmark: NIAH) -> str:
    """A hash over all prompts, in the order of their ids: the same whatever the lanes."""
    digest = hashlib.sha256()
    for case in sorted(benchmark.cases(), key=lambda case: case.id):
        query = await benchmark.expand(case.query)
        for turn in benchmark.template.messages(query):
            digest.update(turn.content.encode())
    return digest.hexdigest()[:16]


async def measured(lanes: int, arguments: argparse.Namespace, folder: Path, *, order: bool = True) -> dict[str, Any]:
    """One run on a fresh server."""
    plan, benchmark = await planned(lanes, arguments)
    if not order:
        benchmark = Unordered(**{one.name: getattr(benchmark, one.name) for one in fields(benchmark)})
    run = folder / f"{lanes}-{order}.run"
    start = time.perf_counter()
    with counting() as counted:
        result = await run_bench(replace_in(plan, benchmark=benchmark), RunOptions(run=run, concurrency=lanes))
    seconds = time.perf_counter() - start
    if not result.outcome.complete:
        raise SystemExit(f"The run is not complete: {result.outcome.advice}")
    whole, answers = 0, {}
    with read_run(run) as opened:
        for record in opened.run.records():
            assert record.response is not None
            assert record.response.usage is not None
            whole += record.response.usage.prompt_tokens
            answers[record.case.id] = record.response.answer
    evaluated = sum(counted.replies)
    return {
        "in_flight": lanes, "ordered": order, "prompts": len(answers), "tokens": whole, "evaluated": evaluated,
        "evaluated_by_metrics": counted.metrics, "ratio": round(evaluated / whole, 4), "seconds": round(seconds, 1),
        "prompts_hash": await prompts_hash(benchmark), "answers": answers,
    }  # fmt: skip


async def without_cache(arguments: argparse.Namespace) -> dict[str, str]:
    """The answers of a server that keeps nothing of the prompt before."""
    _, benchmark = await planned(1, arguments)
    options = ModelOptions(cache=None, context=benchmark.window)
    async with open_model(MODEL, options) as model:
        sampling = replace(benchmark.template.sampling, max_tokens=arguments.answer)
        system = Expanding(Reader(model, benchmark.template, sampling), benchmark.expand)
        return {case.id: (await system.answer(case.query)).answer for case in benchmark.cases()}


def shown(one: dict[str, Any]) -> dict[str, Any]:
    """A measurement without its answers."""
    return {name: value for name, value in one.items() if name != "answers"}


async def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lengths", default="500,1000,2000")
    parser.add_argument("--depths", default="0:100:11")
    parser.add_argument("--answer", type=int, default=24, help="tokens of an answer")
    parser.add_argument("--answers", action="store_true", help="count the answers that the cache changed")
    parser.add_argument("--unordered", action="store_true", help="also ask in no order")
    arguments = parser.parse_args()
    missed, found = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for lanes, goal in GOALS.items():
            one = await measured(lanes, arguments, Path(folder))
            reached = one["ratio"] <= goal and one["evaluated"] == one["evaluated_by_metrics"]
            missed += not reached
            found.append(one)
            print(json.dumps({**shown(one), "goal": goal, "reached": reached}), flush=True)
        if arguments.unordered:
            one = await measured(max(GOALS), arguments, Path(folder), order=False)
            print(json.dumps(shown(one)), flush=True)
    if len({one["prompts_hash"] for one in found}) != 1:
        raise SystemExit("The prompts differ.")
    if arguments.answers:
        plain = await without_cache(arguments)
        for one in found:
            changed = sum(one["answers"][name] != answer for name, answer in plain.items())
            print(
                json.dumps({"in_flight": one["in_flight"], "answers_changed_by_the_cache": changed, "of": len(plain)}),
                flush=True,
            )
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
