"""Opens judge, systems and run file, merges the records of earlier commands, and runs the cases. `bench`, `evaluate`
and the import of results call it."""

import asyncio
import contextlib
import hashlib
import importlib.metadata
import platform
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import platformdirs

from ragstone.api.judging import Judging, Opened, open_tools
from ragstone.api.otlp_export import exporting
from ragstone.api.rounds import in_rounds
from ragstone.api.run_info import GROWING, joined_info
from ragstone.errors import Unfinished
from ragstone.metrics.traits import traits_of
from ragstone.models import ModelOptions
from ragstone.models.allowance import Allowance
from ragstone.prices import Price
from ragstone.runs import Outcome, Progress, RunFile, open_run, run_cases
from ragstone.runs.scoring import is_async
from ragstone.structs import to_json
from ragstone.systems import open_system
from ragstone.systems.expand import Expanding
from ragstone.systems.given_passages import GivenPassages
from ragstone.types import Benchmark, Metric, Resources, Sampling, System, Template

__all__ = [
    "Executed", "Job", "Shell", "all_local", "cache_folder", "concurrency_of", "default_name", "execute",
    "limited",
]  # fmt: skip

# `local/…` models share this machine's cores; more at once would only wait.
LOCAL_CONCURRENCY = 4


def cache_folder() -> Path:
    """The folder of cached model replies."""
    return Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "replies"


def limited(options: ModelOptions, requests: int | None, cost: float | None, price: Price | None) -> ModelOptions:
    """The options with a limit on requests and cost, if there is one. UsageError for a cost without a price."""
    return replace(options, allowance=Allowance.of(requests, cost, price) or options.allowance)


@dataclass(frozen=True)
class Shell:
    """What the command line adds: the command for the run file, the progress display, the event that stops the run, the
    language of the output, which the run file remembers (None: unchanged), and the endpoint that spans are sent to."""

    command: str = ""
    progress: Progress | None = None
    stop: asyncio.Event | None = None
    language: str | None = None
    otlp: str = ""


@dataclass(frozen=True)
class Job:
    """What to run: a benchmark on these systems, scored by its own metrics and by those that `metrics` names.

    `question` and `info` are stored in the run file with the benchmark's own. `replaces`: see `RunFile`."""

    benchmark: Benchmark
    systems: Sequence[Any]
    run: Path
    concurrency: int
    metrics: Sequence[str | Metric] = ()
    judging: Judging = field(default_factory=Judging)
    model_options: ModelOptions = field(default_factory=ModelOptions)
    sampling: Mapping[str, Any] = field(default_factory=dict)
    question: Mapping[str, Any] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)
    replaces: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Executed:
    """How a job ended, the metrics that scored it, the ids of its systems, and what else its caller should know."""

    outcome: Outcome
    metrics: tuple[Metric, ...]
    systems: tuple[str, ...]
    notes: tuple[str, ...] = ()


async def execute(job: Job, shell: Shell) -> Executed:
    """Opens everything a job needs, prepares its benchmark and runs the cases that the run file does not have yet."""
    benchmark = job.benchmark
    progress, export = shell.progress, None
    async with contextlib.AsyncExitStack() as stack:
        if shell.otlp:
            progress = export = await stack.enter_async_context(exporting(shell.otlp, progress))
        opened = await stack.enter_async_context(open_tools(job.judging, job.metrics, job.model_options))
        systems = [await stack.enter_async_context(_system(system, job)) for system in job.systems]
        if benchmark.gives_passages:
            systems = [GivenPassages(system, benchmark.name) for system in systems]
        if benchmark.expand is not None:  # its cases are recipes, made into texts when they are asked
            systems = [Expanding(system, benchmark.expand) for system in systems]
        resources = Resources(cache=str(cache_folder().parent))
        cached = job.model_options.cache is not None
        data_hash = await _until_stopped(benchmark.prepare(resources), shell.stop, cached=cached)
        metrics = tuple({metric.name: metric for metric in (*benchmark.metrics, *opened.metrics)}.values())
        info = _info(job, metrics, shell) | {"data_hash": data_hash}
        specs = {system.id: dict(system.spec) for system in systems}
        question = _question(job, opened)

        async def run(retry_failed: bool) -> Outcome:
            with RunFile.create_or_open(
                job.run, question=question, info=info, systems=specs, growing=GROWING, replaces=job.replaces
            ) as file:
                return await run_cases(
                    file,
                    benchmark.cases,
                    systems=systems,
                    metrics=metrics,
                    concurrency=job.concurrency,
                    axes=benchmark.axes,
                    progress=progress,
                    stop=shell.stop,
                    retry_failed=retry_failed,
                )

        outcome = await in_rounds(job.model_options, run, shell.stop)
    note = export.note(shell.otlp) if export is not None else ""
    return Executed(outcome, metrics, tuple(specs), (note,) if note else ())


def default_name(name: str, question: object) -> Path:
    """The default run file of a question."""
    return Path(f"{name}-{hashlib.sha256(to_json(question).encode()).hexdigest()[:8]}.run")


def all_local(models: Sequence[object]) -> bool:
    """Whether all these models run on this machine."""
    return all(isinstance(name, str) and name.startswith("local/") for name in models)


def concurrency_of(models: Sequence[object], most: int) -> int:
    """How many cases run concurrently."""
    return LOCAL_CONCURRENCY if all_local(models) else most


@contextlib.asynccontextmanager
async def _system(system: Any, job: Job) -> AsyncIterator[System]:
    """The system of this name or object, opened."""
    template, calling, plan = job.benchmark.template, job.model_options, job.benchmark.plan
    if plan is not None:  # long prompts in an order that shares their beginnings
        lanes = plan.lanes if all_local(job.systems) else 1
        calling = replace(calling, context=max(calling.context, plan.window), slots=lanes, prefix_cache=True)
    sampling = _sampling(template, job.sampling)
    async with open_system(system, template=template, sampling=sampling, options=calling) as opened:
        yield opened


def _sampling(template: Template, changes: Mapping[str, Any]) -> Sampling:
    """The template's sampling with the user's overrides."""
    return Sampling(
        **{
            name: changes[name] if changes.get(name) is not None else getattr(template.sampling, name)
            for name in Sampling.__struct_fields__
        }
    )


async def _until_stopped(preparing: Coroutine[Any, Any, str], stop: asyncio.Event | None, *, cached: bool) -> str:
    """What the preparation gives. It may take an hour (a pool that is embedded), so a stop ends it where it is."""
    if stop is None:
        return await preparing
    prepared, stopped = asyncio.ensure_future(preparing), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({prepared, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if prepared.done():
            return prepared.result()
        resume = "Vectors and replies are cached: run the same command again to resume"
        state = resume if cached else "Without a cache nothing was saved"
        raise Unfinished(f"Stopped before the first case. {state}.")
    finally:
        for task in (prepared, stopped):
            task.cancel()
        await asyncio.gather(prepared, stopped, return_exceptions=True)


def _question(job: Job, opened: Opened) -> dict[str, Any]:
    return {**job.benchmark.question, "judge": dict(opened.spec), **job.question}


def _info(job: Job, metrics: Sequence[Metric], shell: Shell) -> dict[str, Any]:
    """What a reader of the file should know besides the question, merged over all commands on it."""
    old: Mapping[str, Any] = {}
    if job.run.exists() and job.run.stat().st_size:
        with open_run(job.run) as run:
            old = dict(run.meta)
    benchmark = job.benchmark
    info = {
        "options": dict(benchmark.options),
        "versions": {"ragstone": importlib.metadata.version("ragstone"), "python": platform.python_version()},
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "license": benchmark.license,
        "citation": benchmark.citation,
        "metrics": {metric.name: metric.version for metric in metrics},
        "better": {metric.name: traits_of(metric).better for metric in metrics},
        "scored_later": [metric.name for metric in metrics if is_async(metric)],
        "command": shell.command,
        "warnings": list(benchmark.warnings),
        "preparation": dict(benchmark.preparation),
        **({"language": shell.language} if shell.language else {}),
        **job.info,
    }
    return joined_info(job.run, old, info, benchmark.growing)
