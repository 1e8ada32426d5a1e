"""`bench`: run a benchmark on one or more systems, into one run file."""

import asyncio
import contextlib
import hashlib
import importlib.metadata
import inspect
import platform
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import platformdirs

from ragstone.api.blocking import blocking
from ragstone.api.making import make_benchmark
from ragstone.api.reading import OpenRun, read_run
from ragstone.errors import DifferentQuestion, Unfinished, UnknownName, UsageError
from ragstone.metrics import Tools, check_metrics, make_metrics, steps_of
from ragstone.models import PROVIDERS, ModelOptions, open_model
from ragstone.runs import Outcome, Progress, RunFile, open_run, run_cases
from ragstone.systems import open_system
from ragstone.systems.expanding import Expanding
from ragstone.types import Benchmark, Metric, Resources, Sampling, System, Table, Template, to_json

__all__ = [
    "BenchResult", "bench", "bench_async", "cache_folder", "check_extra", "check_names",
    "judges", "sampling_of",
]  # fmt: skip

# Names in these mappings of the question may be added by a later command on the same file.
GROWING = ("data.sha256",)
# `local/…` models share this machine's cores; more at once would only wait.
LOCAL_CONCURRENCY = 4
_LOCAL = ("extractive", "retrieval", "smollm2")


@dataclass(frozen=True)
class BenchResult:
    """How a benchmark ended and where it is kept. `warnings`: what to know about the data, a line each."""

    run: Path
    outcome: Outcome
    warnings: tuple[str, ...] = ()

    def open(self) -> OpenRun:
        """The run, to look at."""
        return read_run(self.run)

    def tables(self, *, language: str = "en") -> list[Table]:
        """The benchmark's tables."""
        with self.open() as run:
            return run.tables(language=language)

    def write_report(self, target: str | Path, *, language: str = "en") -> Path:
        """Write the report, one self-contained HTML file."""
        with self.open() as run:
            return run.write_report(target, language=language)


def cache_folder() -> Path:
    """Where replies of models are kept, unless `--no-cache`."""
    return Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "replies"


def check_names(models: Sequence[str | System], judge: str | None = None) -> None:
    """Raises UsageError where a name cannot be that of a model, or is there twice. Opens nothing and needs no key."""
    ids = [_id_of(model) for model in models]
    if not ids:
        raise UsageError("No model to ask. Name one, for example local/extractive.")
    if twice := [name for name in ids if ids.count(name) > 1]:
        raise UsageError(f"The model {twice[0]} is named twice.")
    registered = {entry.name for entry in importlib.metadata.entry_points(group="ragstone.systems")}
    names = [name for name in models if isinstance(name, str) and name not in registered]
    for name in [*names, *([] if judge is None else [judge])]:
        provider, _, model = name.partition("/")
        if not model:  # `open_model` says the rest of what is wrong with a name
            known = ", ".join(PROVIDERS.names())
            raise UsageError(
                f"{name!r} names no model: write PROVIDER/MODEL, for example local/extractive. Providers: {known}."
            )
        PROVIDERS.get(provider)
        if provider == "local" and not model.endswith(".gguf") and model not in _LOCAL:
            raise UnknownName("local model", model, _LOCAL, hint="Or name a file: local/PATH.gguf.")
    if judge in ("local/extractive", "local/retrieval"):
        raise UsageError(f"{judge} is no chat model and cannot judge. --judge takes a chat model.")


def check_extra(asked: Sequence[str | Metric], judge: str | None) -> None:
    """Raises UsageError where a metric of these cannot be made, with this judge or without one. Opens nothing."""
    check_metrics(asked, () if judge is None else ("judge", "model"))


def _once(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    return tuple({metric.name: metric for metric in metrics}.values())


def sampling_of(template: Template, changes: Mapping[str, Any]) -> Sampling:
    """The template's sampling with what the user asked for instead."""
    return Sampling(
        **{
            name: changes[name] if changes.get(name) is not None else getattr(template.sampling, name)
            for name in Sampling.__struct_fields__
        }
    )


def _judged_metrics(benchmark: str) -> tuple[Any, ...]:
    """The metrics that a judge of this benchmark brings along."""
    if benchmark == "rgb":
        from ragstone.metrics.rgb_judge import RgbErrorJudge, RgbRejectionJudge  # noqa: PLC0415

        return (RgbRejectionJudge, RgbErrorJudge)
    if benchmark == "niah":
        from ragstone.metrics.needle_judge import NeedleJudge  # noqa: PLC0415

        return (NeedleJudge,)
    return ()


@contextlib.asynccontextmanager
async def judges(
    name: str | None, options: ModelOptions, asked: Sequence[str | Metric] = (), *, benchmark: str = "rgb"
) -> AsyncIterator[tuple[tuple[Metric, ...], dict[str, Any]]]:
    """The judged metrics of this benchmark by this judge and the metrics `asked` for, and what the run file should say
    of them."""
    if name is None:
        yield make_metrics(asked, Tools()), {}
        return
    from ragstone.metrics.judge import open_judge  # noqa: PLC0415  (only with a judge)

    async with open_model(name, options) as model:
        matrix = open_judge(model)
        tools = Tools(matrix, model, prompts=matrix.prompts)
        by_judge = tuple(kind.make(tools) for kind in _judged_metrics(benchmark))
        more = make_metrics(asked, tools)
        told: dict[str, Any] = {
            "judge": {"model": name, "prompts": {metric.name: metric.prompt_hash for metric in by_judge}}
        }
        if steps_of(more):
            told["matrix"] = dict(matrix.spec)
        yield (*by_judge, *more), told


async def bench_async(
    benchmark: str = "rgb",
    *,
    model: str | System | Sequence[str | System],
    judge: str | None = None,
    metrics: Sequence[str | Metric] = (),
    judge_base_url: str | None = None,
    run: str | Path | None = None,
    sampling: Mapping[str, Any] | None = None,
    model_options: ModelOptions | None = None,
    concurrency: int | None = None,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    command: str = "",
    prepared: Any = None,
    **options: Any,
) -> BenchResult:
    """Ask a benchmark of one or more systems and keep everything in one run file; what the file has is not asked again.

    `model`: names as on the command line (`openai/gpt-4o-mini`, `local/extractive`…) or your own `System`s. `judge`:
    a model for the judged metrics, at `judge_base_url` where that is not its provider's own. `metrics`: more of them,
    by name or your own, kept with the others. `run`: the file; by default one whose name follows from the question.
    `sampling`: `temperature`, `top_p`, `max_tokens`, `seed` instead of the template's. `options`: those of the
    benchmark (`data`, `languages`, `abilities`, `noise_ratios`, `limit`, `selection`, `scoring`, `template`…);
    `prepared` is a benchmark made already. Raises `RagstoneError`s, one line each.
    """
    names = [model] if isinstance(model, str) or not isinstance(model, Sequence) else list(model)
    check_names(names, judge)
    check_extra(metrics, judge)
    made: Any = prepared
    judging = calling = model_options or ModelOptions(cache=cache_folder())
    if made is None:
        if benchmark == "niah":  # whose lengths are in tokens of the model
            about = {"models": [name for name in names if isinstance(name, str)], "model_options": calling}
            options = about | _room_for_answers(sampling) | options
        if benchmark == "mirage":  # whose retrievers may ask models
            options = {"model_options": calling} | options
        made = make_benchmark(benchmark, **options)
        made = await made if inspect.isawaitable(made) else made
    if hasattr(made, "window"):  # long prompts in an order that shares their beginnings
        lanes = made.lanes if all(isinstance(name, str) and name.startswith("local/") for name in names) else 1
        calling = replace(calling, context=max(calling.context, made.window), slots=lanes, prefix_cache=True)
    chosen = sampling_of(made.template, sampling or {})
    async with contextlib.AsyncExitStack() as stack:
        more, judged = await stack.enter_async_context(
            judges(judge, replace(judging, base_url=judge_base_url), metrics, benchmark=made.name)
        )
        systems = [
            one
            if not isinstance(one, str)
            else await stack.enter_async_context(
                open_system(one, template=made.template, sampling=chosen, options=calling)
            )
            for one in names
        ]
        if hasattr(made, "expand"):  # its cases are recipes, made into texts when they are asked
            systems = [Expanding(system, made.expand) for system in systems]
        preparing = made.prepare(Resources(cache=str(cache_folder().parent)))
        data_hash = await _until_stopped(preparing, stop, kept=calling.cache is not None)
        specs = {system.id: dict(system.spec) for system in systems}
        path = Path(run) if run is not None else Path(f"{made.name}-{_short(made.question)}.run")
        info = _info(path, made, judged, command) | {"data_hash": data_hash} | _prepared(path, made)
        with RunFile.create_or_open(
            path, question=made.question, info=info, systems=specs, growing=GROWING
        ) as run_file:
            outcome = await run_cases(
                run_file,
                made.cases,
                systems=systems,
                metrics=_once((*made.metrics, *more)),
                concurrency=concurrency or _concurrency(names, calling),
                axes=getattr(made, "axes", ()),
                progress=progress,
                stop=stop,
            )
    return BenchResult(path, outcome, tuple(getattr(made, "warnings", ())))


bench: Callable[..., BenchResult] = blocking(bench_async, name="bench")


async def _until_stopped(preparing: Coroutine[Any, Any, str], stop: asyncio.Event | None, *, kept: bool) -> str:
    """What the preparation gives. It may take an hour (a pool that is embedded), so a stop ends it where it is."""
    if stop is None:
        return await preparing
    prepared, stopped = asyncio.ensure_future(preparing), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({prepared, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if prepared.done():
            return prepared.result()
        what = "Vectors and replies are kept: the same command goes on" if kept else "Without a cache nothing is kept"
        raise Unfinished(f"Stopped before anything was asked. {what}.")
    finally:
        for task in (prepared, stopped):
            task.cancel()
        await asyncio.gather(prepared, stopped, return_exceptions=True)


def _room_for_answers(sampling: Mapping[str, Any] | None) -> dict[str, Any]:
    longest = (sampling or {}).get("max_tokens")
    return {} if longest is None else {"answer_tokens": longest}


def _id_of(model: str | System) -> str:
    return model if isinstance(model, str) else model.id


def _short(question: Mapping[str, Any]) -> str:
    fixed = {key: value for key, value in question.items() if key != "data"}
    names = sorted(question.get("data", {}).get("sha256", {}).items())
    return hashlib.sha256(to_json([fixed, names]).encode()).hexdigest()[:8]


def _concurrency(names: Sequence[str | System], calling: ModelOptions) -> int:
    if all(isinstance(name, str) and name.startswith("local/") for name in names):
        return LOCAL_CONCURRENCY
    return min(calling.in_flight, 16)


def _info(path: Path, made: Benchmark, judged: Mapping[str, Any], command: str) -> dict[str, Any]:
    """What a reader of the file should know beside the question: the options of all commands on it together."""
    old: Mapping[str, Any] = {}
    if path.exists() and path.stat().st_size:
        with open_run(path) as run:
            old = dict(run.meta)
    if (before := old.get("judge")) and judged and before != judged["judge"]:
        raise DifferentQuestion(path, {"judge": (before, judged["judge"])})
    commands = [line for line in str(old.get("command", "")).splitlines() if line]
    return {
        "options": _joined(old.get("options", {}), dict(getattr(made, "options", {})), getattr(made, "growing", ())),
        "versions": {"ragstone": importlib.metadata.version("ragstone"), "python": platform.python_version()},
        "license": made.license,
        "citation": made.citation,
        "metrics": {metric.name: metric.version for metric in made.metrics},
        "command": "\n".join(commands if not command or command in commands else [*commands, command]),
        "warnings": list(dict.fromkeys([*old.get("warnings", ()), *getattr(made, "warnings", ())])),
        **({"judge": before} if before else {}),
        **judged,
    }


def _prepared(path: Path, made: Benchmark) -> dict[str, Any]:
    """What a benchmark tells of its preparation (retrievers, index sizes), with that of earlier commands."""
    new: dict[str, Any] = dict(getattr(made, "preparation", {}))
    if not new:
        return {}
    old: Mapping[str, Any] = {}
    if path.exists() and path.stat().st_size:
        with open_run(path) as run:
            old = dict(run.meta).get("preparation", {})
    return {"preparation": {name: _slowest(old.get(name, {}), told) for name, told in new.items()}}


def _slowest(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What two commands tell of the same things, by name: of each, the one that took more `seconds`. The later one
    finds vectors and replies that the earlier one paid for."""

    def seconds(told: Any) -> float:
        return float(told.get("seconds", 0.0)) if isinstance(told, Mapping) else 0.0

    return {**old, **{name: told for name, told in new.items() if seconds(told) >= seconds(old.get(name))}}


def _joined(old: Mapping[str, Any], new: dict[str, Any], growing: Sequence[str]) -> dict[str, Any]:
    """The options of two commands on one file: of those that are `growing` the wider grid or the larger limit, of the
    rest the later choice. None (all of them) is the widest."""
    joined = dict(new)
    if not old:
        return joined
    for key in growing:
        before, now = old.get(key), new.get(key)
        if key not in new:
            continue
        if before is None or now is None:
            joined[key] = None
        else:
            joined[key] = list(dict.fromkeys([*before, *now])) if isinstance(now, list) else max(before, now)
    return joined
