"""Opens judge, systems and run file, merges the records of earlier commands, and runs the cases. `bench`, `evaluate`
and the import of results call it."""

import asyncio
import contextlib
import hashlib
import importlib.metadata
import platform
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import platformdirs

from ragstone.engine.judge_tools import Judging, Opened
from ragstone.engine.otlp_export import exporting
from ragstone.engine.run_info import GROWING, joined_info
from ragstone.engine.shard import Shard
from ragstone.engine.systems_and_metrics import Workload, all_local
from ragstone.engine.workers import Workers, workers_of
from ragstone.errors import Unfinished, UsageError
from ragstone.messages import checked_language, messages, preferred_language
from ragstone.metrics.traits import traits_of
from ragstone.models import ModelOptions
from ragstone.models.allowance import Allowance
from ragstone.models.batches import Batches
from ragstone.prices import Price
from ragstone.runs import Outcome, Progress, RunFile, open_run, run_cases
from ragstone.runs.scoring import is_async
from ragstone.runs.shards import Pool
from ragstone.structs import to_json
from ragstone.types import Benchmark, Metric, Resources

__all__ = [
    "DEFAULTS", "Executed", "Job", "RunOptions", "Shell", "all_local", "asking", "cache_folder", "concurrency_of",
    "default_name", "execute", "limited",
]  # fmt: skip
_CONCURRENCY = 64
# `local/…` models share this machine's cores; more at once would only wait.
LOCAL_CONCURRENCY = 4


def cache_folder() -> Path:
    """The folder of cached model replies."""
    return Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "replies"


def asking(timeout: float, concurrency: int | None = None, *, cache: Path | None = None) -> ModelOptions:
    """How a system of the user's own is asked, and the judge of its answers: each within `timeout` seconds."""
    in_flight = concurrency or _CONCURRENCY
    return ModelOptions(cache=cache or cache_folder(), deadline=timeout, timeout=timeout, in_flight=in_flight)


def limited(options: ModelOptions, requests: int | None, cost: float | None, price: Price | None) -> ModelOptions:
    """The options with a limit on requests and cost, if there is one. UsageError for a cost without a price."""
    return replace(options, allowance=Allowance.of(requests, cost, price) or options.allowance)


@dataclass(frozen=True)
class Shell:
    """What the command line adds: the command for the run file, the progress display, the event that stops the run, the
    language of the output, which the run file remembers (None: unchanged), the endpoint that spans are sent to, the
    cluster whose workers ask (None: this process), and the shard of the cases that is asked (None: all)."""

    command: str = ""
    progress: Progress | None = None
    stop: asyncio.Event | None = None
    language: str | None = None
    otlp: str = ""
    cluster: Workers | None = None
    shard: Shard | None = None

    @classmethod
    def of(
        cls, *, language: str | None = None, otlp: str = "", cluster: str = "", workers: int | None = None,
        shard: str = "",
    ) -> Self:  # fmt: skip
        """That of a call from Python. Raises UsageError, and MissingExtra for a cluster without Ray."""
        opened = None
        if cluster:
            opened = workers_of(cluster, workers)
        elif workers is not None:
            raise UsageError("--workers needs a --cluster.")
        spoken = checked_language(language) if language else None
        return cls(language=spoken, otlp=otlp, cluster=opened, shard=Shard.read(shard))

    def staying(self) -> contextlib.AbstractContextManager[None]:
        """Inside, the workers of the cluster, if there is one, go from one job to the next."""
        return contextlib.nullcontext() if self.cluster is None else self.cluster.staying()

    def part(self) -> str:
        """The note on a shard of the cases; "" if all are asked."""
        if self.shard is None:
            return ""
        texts = messages(__name__, self.language or preferred_language())
        return texts["part"].format(number=self.shard.number, parts=self.shard.parts)

    def path(self, run: str | Path | None, default: Callable[[], Path]) -> Path:
        """The run file: the one that was named, else the default, which says of which shard it is."""
        if run is not None:
            return Path(run)
        return default() if self.shard is None else self.shard.path(default())


@dataclass(frozen=True)
class RunOptions:
    """How a plan is run. `run`: the file, by default named after the settings. `model_options`: by default with the
    cache of replies. `concurrency`: cases at once. `price`, `judge_price`: "IN/OUT[/CACHED]" per million tokens, of the
    judge where it has none of its own. `gates`: thresholds by metric, which the run file keeps."""

    run: str | Path | None = None
    model_options: ModelOptions | None = None
    concurrency: int | None = None
    price: str = ""
    judge_price: str = ""
    gates: Mapping[str, float] | None = None
    shell: Shell = field(default_factory=Shell)

    def path(self, default: Callable[[], Path]) -> Path:
        """The run file, which says of which shard it is where nobody named it."""
        return self.shell.path(self.run, default)

    def at_once(self, models: Sequence[object], most: int = _CONCURRENCY) -> int:
        """How many cases run concurrently; fewer of models of this machine."""
        return self.concurrency or concurrency_of(models, most)

    def calling(self, in_flight: int | None = None) -> ModelOptions:
        """How models are called; `in_flight` where nobody said it."""
        options = self.model_options
        if options is None:
            options = ModelOptions(cache=cache_folder())
            options = options if in_flight is None else replace(options, in_flight=in_flight)
        return options if self.shell.cluster is None else replace(options, spread=self.shell.cluster)


DEFAULTS = RunOptions()


@dataclass(frozen=True)
class Job:
    """What to run: a benchmark on these systems, scored by its own metrics and by those that `metrics` names.

    `question` and `info` are stored in the run file with the benchmark's own. `replaces`, `rows`: see
    `RunFile.create_or_open`. `sources`: how the workers of a cluster open the systems, where those are open objects.
    `retry_failed`: ask again what failed before."""

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
    sources: Sequence[Any] = ()
    retry_failed: bool = True
    rows: Iterable[tuple[int, str, str]] = ()


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
    if shell.cluster is not None and job.model_options.batch is not None:
        raise UsageError("--batch and --cluster exclude each other: the provider computes a batch. Leave one out.")
    async with contextlib.AsyncExitStack() as stack:
        if shell.otlp:
            progress = export = await stack.enter_async_context(exporting(shell.otlp, progress))
        workload = _workload(job)
        if shell.cluster is not None:
            await stack.enter_async_context(shell.cluster.serving(_sent(workload, job)))
        here = await stack.enter_async_context(workload.open())
        resources = Resources(cache=str(cache_folder().parent))
        cached = job.model_options.cache is not None
        data_hash = await _until_stopped(benchmark.prepare(resources), shell.stop, cached=cached)
        info = _info(job, here.metrics, shell) | {"data_hash": data_hash}
        specs = {system.id: dict(system.spec) for system in here.systems}
        question = _question(job, here.opened)

        async def run(retry_failed: bool) -> Outcome:
            with RunFile.create_or_open(
                job.run,
                question=question,
                info=info,
                systems=specs,
                growing=GROWING,
                replaces=job.replaces,
                rows=job.rows,
            ) as file:
                async with _pool(shell, job, workload, file) as pool:
                    return await run_cases(
                        file,
                        benchmark.cases if shell.shard is None else shell.shard.of(benchmark.cases),
                        systems=here.systems,
                        metrics=here.metrics,
                        concurrency=job.concurrency,
                        axes=benchmark.axes,
                        progress=progress,
                        stop=shell.stop,
                        retry_failed=retry_failed and job.retry_failed,
                        pool=pool,
                    )

        outcome = await in_rounds(job.model_options, run, shell.stop)
    note = export.note(shell.otlp) if export is not None else ""
    return Executed(outcome, here.metrics, tuple(specs), tuple(filter(None, (note, shell.part()))))


def default_name(name: str, question: object) -> Path:
    """The default run file of a question."""
    return Path(f"{name}-{hashlib.sha256(to_json(question).encode()).hexdigest()[:8]}.run")


def concurrency_of(models: Sequence[object], most: int) -> int:
    """How many cases run concurrently."""
    return LOCAL_CONCURRENCY if all_local(models) else most


@contextlib.asynccontextmanager
async def _pool(shell: Shell, job: Job, workload: Workload, file: RunFile) -> AsyncIterator[Pool | None]:
    """The workers of the cluster, if there is one. They open the systems anew, with what the benchmark prepared."""
    if shell.cluster is None:
        yield None
        return
    async with shell.cluster.pool(_sent(workload, job), file, job.concurrency) as pool:
        yield pool


def _sent(workload: Workload, job: Job) -> Workload:
    """What the workers of a cluster are sent."""
    return replace(workload, systems=job.sources or job.systems, expand=job.benchmark.expand)


def _workload(job: Job) -> Workload:
    benchmark = job.benchmark
    return Workload(
        benchmark.name, job.systems, benchmark.metrics, job.metrics, job.judging, job.model_options, benchmark.template,
        job.sampling, benchmark.plan, benchmark.expand, benchmark.gives_passages,
    )  # fmt: skip


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


async def in_rounds(
    options: ModelOptions, run: Callable[[bool], Awaitable[Outcome]], stop: asyncio.Event | None
) -> Outcome:
    """The outcome of `run`, which is called again after every wait for batches until no request is left. Its argument:
    whether to retry what failed before, which the first round does. Without `--batch` there is one round.

    Raises `Unfinished` if batches remain, and what submitting them raises."""
    batches = options.batch
    if not isinstance(batches, Batches):
        return await run(True)
    with batches.rounds():
        outcome = await run(True)
        while not (outcome.interrupted or outcome.refused) and await batches.work(stop):
            batches.begin_round()
            outcome = _joined(outcome, await run(False))
        if batches.spent is not None and outcome.remaining:
            outcome = replace(outcome, refused=(*outcome.refused, batches.spent))
    return outcome


def _joined(before: Outcome, after: Outcome) -> Outcome:
    """The outcome of two rounds of one command."""
    return replace(
        after, asked=before.asked + after.asked, already=before.already, usage=before.usage + after.usage,
        permanent=before.permanent + after.permanent, recorded=before.recorded + after.recorded,
    )  # fmt: skip
