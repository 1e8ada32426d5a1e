"""`bench`: run a benchmark on one or more systems, into one run file."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ragstone.benchmarks import BENCHMARKS
from ragstone.benchmarks.options import fields_of, options_from
from ragstone.benchmarks.plugin import Context, Plugin
from ragstone.engine.batches import price_in_batches
from ragstone.engine.execute import DEFAULTS, Job, RunOptions, Shell, cache_folder, default_name, execute, limited
from ragstone.engine.judge_tools import Judging
from ragstone.engine.project_config import configured_reader
from ragstone.engine.public_functions import blocking, keywords_in_errors
from ragstone.engine.run_info import GROWING, prices_and_gates
from ragstone.engine.run_result import RunResult
from ragstone.engine.systems_and_metrics import check_addressed
from ragstone.errors import UnknownName, UsageError
from ragstone.evaluation.reachable import check_reachable
from ragstone.metrics.judge.panel import Combine
from ragstone.models import PROVIDERS, ModelOptions, check_key
from ragstone.prices import read_price
from ragstone.registry import is_place
from ragstone.runs import Stored
from ragstone.systems import is_registered, system_name, texts_of
from ragstone.types import Benchmark, Embedder, Metric, Model, System

_LOCAL = ("extractive", "retrieval", "smollm2")
_ALONE = "local/retrieval"
_NO_JUDGE = Judging()
_MOST = 16  # cases at once, unless more requests may be in flight


class BenchResult(RunResult):
    """The result of a benchmark."""


@dataclass(frozen=True)
class BenchPlan:
    """A benchmark ready to run, with its models and settings. `place`: where its plugin was found, if not by
    its name."""

    plugin: Plugin
    benchmark: Benchmark
    models: tuple[str | System, ...]
    metrics: tuple[str | Metric, ...]
    judging: Judging
    sampling: Mapping[str, Any]
    model_options: ModelOptions
    place: str = ""


def check_names(models: Sequence[str | System], judge: str | Model | None = None) -> None:
    """Raises UsageError if a name cannot be a model's or occurs twice. Opens nothing and needs no key."""
    ids = [system_name(model) for model in models]
    if not ids:
        raise UsageError("No model to evaluate. Add --model local/extractive, --model openai/gpt-4o-mini…")
    if twice := [name for name in ids if ids.count(name) > 1]:
        raise UsageError(f"The model {twice[0]} is named twice.")
    names = [name for name in models if isinstance(name, str) and not is_registered(name)]
    for name in [*names, *([judge] if isinstance(judge, str) else [])]:
        provider, _, model = name.partition("/")
        if not model:  # `open_model` reports other errors
            known = ", ".join(PROVIDERS.names())
            raise UsageError(
                f"{name!r} has no provider: write PROVIDER/MODEL, for example local/extractive. Providers: {known}."
            )
        PROVIDERS.get(provider)
        if provider == "local" and not model.endswith(".gguf") and model not in _LOCAL:
            raise UnknownName("local model", model, _LOCAL, hint="Or name a file: local/PATH.gguf.")


def _context(
    models: Sequence[str | System], model_options: ModelOptions, sampling: Mapping[str, Any] | None = None,
    metrics: Sequence[str | Metric] = (), *, asks: bool = False,
) -> Context:  # fmt: skip
    """What a benchmark may use while it is created."""
    names = tuple(name for name in models if isinstance(name, str))
    return Context(model_options, cache_folder().parent, names, tuple(metrics), sampling or {}, asks)


async def make_benchmark(benchmark: str | Plugin, options: Mapping[str, Any]) -> Benchmark:
    """A benchmark without models, to look at its cases. Raises UsageError."""
    plugin = BENCHMARKS.get(benchmark)
    context = _context((), ModelOptions(cache=cache_folder()))
    return await plugin.make(options_from(_options_of(plugin), options, of=plugin.name), context)


def _options_of(plugin: Plugin) -> type[Any]:
    if plugin.Options is None:
        raise UsageError(f"{plugin.name} is not run by `bench`; `ragstone {plugin.name}` makes its runs.")
    return plugin.Options


async def plan_bench(
    benchmark: str | Plugin,
    options: Mapping[str, Any],
    *,
    models: Sequence[str | System],
    judging: Judging = _NO_JUDGE,
    metrics: Sequence[str | Metric] = (),
    sampling: Mapping[str, Any] | None = None,
    model_options: ModelOptions | None = None,
    asks: bool = True,
    run: str | Path | None = None,
    direct: bool = True,
) -> BenchPlan:
    """Checks everything that can be checked before the first request, and makes the benchmark. Raises UsageError, and
    Unreachable for an address where nobody listens. `asks` False: nothing will be asked, so no key is needed. `run`:
    the run file, if it is named. `direct` False: the workers of a cluster ask, from other machines."""
    plugin = BENCHMARKS.get(benchmark)
    chosen = options_from(_options_of(plugin), options, of=plugin.name, also=_SHARED)
    if not models and plugin.without_model(chosen):
        models = [_ALONE]
    for judge in judging.judges or (None,):
        check_names(models, judge)
    scored = (*(plugin.judged if judging.model is not None else ()), *metrics)
    judging.check(scored)
    judging.check_embedder(scored)
    calling = model_options or ModelOptions(cache=cache_folder())
    check_addressed(models, calling)
    if asks:
        _check_keys(models, judging, calling)
        if direct:
            await check_reachable(models, judging, calling, run=run, name=plugin.name)
    instance = await plugin.make(chosen, _context(models, calling, sampling, scored, asks=asks))
    place = benchmark if isinstance(benchmark, str) and is_place(benchmark) else ""
    return BenchPlan(plugin, instance, tuple(models), scored, judging, sampling or {}, calling, place)


def _check_keys(models: Sequence[str | System], judging: Judging, calling: ModelOptions) -> None:
    """Raises MissingKey now rather than when the data are made, which takes a while."""
    for name in (text for model in models for text in texts_of(model)):
        check_key(name, calling.base_urls)
    for judge, url in zip(judging.judges, judging.base_urls, strict=False):
        check_key(judge, url)
    check_key(judging.embedder, judging.embedder_base_url)


def default_run(plan: BenchPlan) -> Path:
    """The default run file, named after the settings."""
    return default_name(plan.benchmark.name, _short(plan.benchmark.question))


def stored_of(plan: BenchPlan, run: Path | None) -> Stored:
    """What the run file already has of this plan. Raises `RunMismatch` if it was made with different settings."""
    judge = {"model": plan.judging.model} if isinstance(plan.judging.model, str) else {}
    return Stored(run or default_run(plan), {**plan.benchmark.question, "judge": judge}, GROWING, {})


async def run_bench(plan: BenchPlan, how: RunOptions = DEFAULTS) -> BenchResult:
    """Runs the plan; by default the name of the run file is derived from the settings. Models are called as planned."""
    benchmark, calling = plan.benchmark, plan.model_options
    path = how.path(lambda: default_run(plan))
    at_once = how.at_once(plan.models, min(calling.in_flight, _MOST))
    batch = calling.batch is not None
    judge_price = price_in_batches(how.judge_price or how.price, plan.judging.judges, batch=batch)
    system_price = price_in_batches(how.price, plan.models, batch=batch)
    info = prices_and_gates(judge_price, how.gates, system_price=system_price)
    info |= {"benchmark_at": plan.place} if plan.place else {}
    job = Job(benchmark, plan.models, path, at_once, plan.metrics, plan.judging, calling, plan.sampling, info=info)
    done = await execute(job, how.shell)
    return BenchResult(path, done.outcome, (*benchmark.warnings, *done.notes), plan.plugin)


async def bench_async(
    benchmark: str | Plugin,
    *,
    model: str | System | Sequence[str | System] = (),
    system: Any = (),
    judge: str | Model | Sequence[str | Model] | None = None,
    combine: Combine = "mean",
    metrics: str | Sequence[str | Metric] = (),
    embedder: str | Embedder | None = None,
    verify: Literal["joint", "separate"] = "joint",
    prompts: str | Path | None = None,
    rubrics: str | Path | Sequence[str | Path] = (),
    reasons: bool = False,
    strict_quotes: bool = False,
    max_requests: int | None = None,
    max_cost: float | None = None,
    price: str = "",
    judge_price: str = "",
    judge_base_url: str | Sequence[str] | None = None,
    embedder_base_url: str | Sequence[str] | None = None,
    run: str | Path | None = None,
    sampling: Mapping[str, Any] | None = None,
    model_options: ModelOptions | None = None,
    timeout: float | None = None,
    concurrency: int | None = None,
    language: str | None = None,
    otlp: str = "",
    cluster: str = "",
    workers: int | None = None,
    shard: str = "",
    **options: Any,
) -> BenchResult:
    """Run a benchmark on one or more systems and keep everything in one run file; results already in the file are not
    computed again.

    `benchmark`: a name listed by `ragstone bench --help`, or your own plugin. `model`: names as on the command line
    (`openai/gpt-4o-mini`, `local/extractive`…) or your own `System`s. `system`: your own system, or a list of them,
    that answers from the passages that it is given: a function with a parameter `passages`, an object of a framework,
    `HttpTarget`, `app.py:ask`, or a table of ragstone.toml; `timeout`: seconds for one answer (120). `judge`: a model
    for the judged metrics, by name or your own; `judge_base_url` overrides its provider's endpoint. `metrics`:
    additional metrics, by name or your own. `embedder`, `verify`, `prompts`, `rubrics`, `reasons`, `strict_quotes`:
    see `Judging`. `run`: the run file; by default its name is derived from the settings. `sampling`: `temperature`,
    `top_p`, `max_tokens`, `seed`, overriding the template's. `language`: language of tables and reports, "en" or "zh".
    `max_requests`, `max_cost` (at `price`, `judge_price`: "IN/OUT[/CACHED]" per million tokens): the run stops there.
    `otlp`: an endpoint that spans of the answers with their scores are sent to. `cluster`, `workers`, `shard`: as in
    `evaluate`, for the cases. `options`: the benchmark's own, listed by `ragstone bench NAME --help`. Raises
    `RagstoneError`s, one line each.
    """
    plugin = BENCHMARKS.get(benchmark)
    with keywords_in_errors(_keywords(plugin)):
        judging = Judging.of(
            judge, embedder=embedder, verify=verify, prompts=prompts, rubrics=rubrics, base_url=judge_base_url,
            embedder_base_url=embedder_base_url, reasons=reasons, strict_quotes=strict_quotes,
            price=read_price(judge_price, "judge_price"), combine=combine,
        )  # fmt: skip
        shell = Shell.of(language=language, otlp=otlp, cluster=cluster, workers=workers, shard=shard)
        calling = replace(model_options or ModelOptions(cache=cache_folder()), spread=shell.cluster)
        if timeout is not None:
            calling = replace(calling, deadline=timeout, timeout=min(timeout, calling.timeout))
        plan = await plan_bench(
            benchmark,
            options,
            models=[*_listed(model), *map(configured_reader, _listed(system))],
            judging=judging,
            metrics=[metrics] if isinstance(metrics, str) else metrics,
            sampling=sampling,
            model_options=limited(calling, max_requests, max_cost, read_price(price, "price")),
            run=run,
            direct=shell.cluster is None,
        )
        how = RunOptions(run, concurrency=concurrency, price=price, judge_price=judge_price, shell=shell)
        return await run_bench(plan, how)


bench = blocking(bench_async, name="bench")
# Keywords of every benchmark, for suggestions.
_SHARED = [name for name in inspect.signature(bench_async).parameters if name not in ("benchmark", "options")]


def _keywords(plugin: Plugin) -> dict[str, str]:
    """The keyword of each flag."""
    fields = fields_of(plugin.Options).values() if plugin.Options is not None else ()
    return {f"--{name.replace('_', '-')}": name for name in _SHARED} | {field.flag: field.name for field in fields}


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _short(question: Mapping[str, Any]) -> list[object]:
    """The question without data hashes, for the name of a file that other languages may extend."""
    fixed = {key: value for key, value in question.items() if key != "data"}
    return [fixed, sorted(question.get("data", {}).get("sha256", {}).items())]
