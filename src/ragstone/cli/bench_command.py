"""What every `ragstone bench NAME` shares: its common options, the run, its summary, and `--dry-run`."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ragstone.cli.batches import batches_of
from ragstone.cli.options import (
    CLUSTER_VALUES,
    Address,
    Number,
    PriceText,
    batch_option,
    both,
    cache_option,
    cluster_of,
    cluster_options,
    json_option,
    judge_options,
    judging_of,
    language_option,
    limit_options,
    metrics_option,
    otlp_option,
    portion_of,
    quiet_option,
    rate_options,
    report_option,
    run_option,
    shard_option,
)  # fmt: skip
from ragstone.cli.output import say, say_json
from ragstone.cli.shell import opened_shell
from ragstone.cli.show import say_failures, say_run
from ragstone.cli.systems import bench_systems, http_options
from ragstone.errors import UsageError
from ragstone.messages import messages, preferred_language

if TYPE_CHECKING:
    from ragstone.api.bench import BenchPlan, BenchResult
    from ragstone.api.cluster import Cluster
    from ragstone.api.judging import Judging
    from ragstone.api.portion import Portion
    from ragstone.models import ModelOptions
    from ragstone.prices import Price

_NO_REQUESTS = ("local/extractive", "local/retrieval")
_ANSWER_TOKENS = 60  # of a typical answer, for --dry-run
_VERDICT_TOKENS = 40  # of a judge's reply

model_options = both(
    click.option("--model", "models", multiple=True, metavar="PROVIDER/MODEL", help="Model to evaluate (repeatable)."),
    click.option("--system", "systems", multiple=True, metavar="NAME",
                 help="System to evaluate that answers from given passages: file.py:name, package.module:name, an HTTP "
                 "address, or a table [systems.NAME] of ragstone.toml (repeatable)."),
    http_options,
    click.option("--base-url", type=Address(), multiple=True,
                 help="Endpoint of the model, overriding its provider's; compat/… needs it. Several share its "
                 "requests."),
    judge_options,
    click.option("--temperature", type=Number(0), help="Override the template's temperature."),
    click.option("--top-p", type=Number(0, 1), help="Override the template's top-p."),
    click.option("--max-tokens", type=click.IntRange(1), help="Maximum length of an answer, in tokens."),
    click.option("--seed", "sampling_seed", type=int, help="Sampling seed, for models that support one."),
    click.option(
        "--concurrency", type=click.IntRange(1, 4096), help="Cases run concurrently.  [default: 16; 4 if local]"
    ),
    rate_options,
    cluster_options,
    shard_option,
    click.option(
        "--deadline", "--timeout", "deadline", type=Number(0, min_open=True), default=120.0, show_default=True,
        help="Time limit of an answer, including its retries, in seconds.",
    ),
    cache_option,
    batch_option,
    limit_options,
)  # fmt: skip

run_options = both(
    run_option,
    metrics_option("Additional metrics (repeatable); `ragstone metrics` lists them."),
    click.option(
        "--dry-run", is_flag=True, help="Print the number of cases, requests and tokens and the cost, then stop."
    ),
    click.option(
        "--price",
        type=PriceText(),
        help="Price per million tokens: prompts, answers, cached prompts; for --dry-run and --max-cost.",
    ),
    click.option("--judge-price", type=PriceText(), help="The judge's price, likewise.  [default: --price]"),
    report_option,
    language_option,
    quiet_option,
    otlp_option,
    json_option,
)


class SharedOptions(NamedTuple):
    """What `model_options` and `run_options` parsed, checked."""

    models: tuple[Any, ...]
    judging: "Judging"
    sampling: Mapping[str, Any]
    calling: "ModelOptions"
    concurrency: int | None
    run_file: Path | None
    metrics: tuple[str, ...]
    dry_run: bool
    price: "Price | None"
    price_text: str
    judge_price: "Price | None"
    judge_price_text: str
    batch_share: float
    report_file: Path | None
    language: str | None
    quiet: bool
    as_json: bool
    otlp: str
    cluster: "Cluster | None"
    portion: "Portion | None"


def read_shared_options(values: dict[str, Any]) -> SharedOptions:
    """Takes the shared options out of `values` and checks them before anything is spent. Raises UsageError."""
    from ragstone.api.batches import price_in_batches  # noqa: PLC0415
    from ragstone.api.execute import cache_folder, limited  # noqa: PLC0415
    from ragstone.api.open_run import check_target  # noqa: PLC0415
    from ragstone.models import ModelOptions  # noqa: PLC0415
    from ragstone.prices import read_price, share_of  # noqa: PLC0415

    models = (*values.pop("models"), *bench_systems(values))
    metrics, judging = values.pop("metrics"), judging_of(values)
    price_text, dry_run, report_file = values.pop("price"), values.pop("dry_run"), values.pop("report_file")
    price = read_price(price_text)
    judge_text = values.pop("judge_price")
    if judge_text and (judging.model is None or not price):
        raise UsageError("--judge-price belongs to --price and --judge: give both, or leave it out.")
    judge_price = read_price(judge_text)
    max_requests, max_cost = values.pop("max_requests"), values.pop("max_cost")
    if price and not dry_run and max_cost is None:
        raise UsageError("--price belongs to --dry-run or --max-cost: by itself it limits nothing.")
    if report_file and not dry_run:
        check_target(report_file, values["run_file"])
    sampling = {
        "temperature": values.pop("temperature"), "top_p": values.pop("top_p"),
        "max_tokens": values.pop("max_tokens"), "seed": values.pop("sampling_seed"),
    }  # fmt: skip
    cluster, portion = cluster_of(values), portion_of({**values, "dry_run": dry_run})
    del values["shard"]
    for name in CLUSTER_VALUES:
        del values[name]
    calling = ModelOptions(
        base_url=values.pop("base_url"),
        cache=None if values.pop("no_cache") else cache_folder(),
        deadline=values.pop("deadline"),
        requests_per_minute=values.pop("rpm"),
        tokens_per_minute=values.pop("tpm"),
        batch=batches_of(values),
        spread=cluster,
    )
    del values["batch"]
    calling, judging = limited(calling, max_requests, max_cost, price), replace(judging, price=judge_price)
    own, judges = (
        price_in_batches(text or "", names, batch=calling.batch is not None)
        for text, names in ((price_text, models), (judge_text or price_text, judging.judges))
    )
    share = min(share_of(own, price_text or ""), share_of(judges, judge_text or price_text or ""))
    concurrency = values.pop("concurrency")
    if concurrency:
        calling = replace(calling, in_flight=max(concurrency, calling.in_flight))
    return SharedOptions(
        models, judging, sampling, calling, concurrency, values.pop("run_file"), metrics,
        dry_run, read_price(own), own, read_price(judges), judges if judge_text else "", share, report_file,
        values.pop("language"), values.pop("quiet"), values.pop("as_json"), values.pop("otlp"), cluster, portion,
    )  # fmt: skip


def run_named(name: str, options: dict[str, Any], values: dict[str, Any]) -> int:
    """Runs a benchmark with its own options and the shared ones, or with --dry-run prints what it would take. Returns
    the exit code."""
    from ragstone.api.bench import plan_bench  # noqa: PLC0415
    from ragstone.cli.progress import log_retrieval  # noqa: PLC0415

    shared = read_shared_options(values)
    planning = plan_bench(
        name, options, models=shared.models, judging=shared.judging, metrics=shared.metrics, sampling=shared.sampling,
        model_options=shared.calling,
    )  # fmt: skip
    plan = asyncio.run(planning)
    if shared.dry_run:
        return _dry_run(plan, shared)
    if plan.benchmark.prepares and not shared.quiet:
        log_retrieval(shared.language)
        if not shared.as_json:
            _say_expected(_expected(plan, shared), shared.language or preferred_language())
    return asyncio.run(_bench(plan, shared))


async def _bench(plan: "BenchPlan", shared: SharedOptions) -> int:
    from ragstone.api.bench import run_bench  # noqa: PLC0415

    async with opened_shell(
        quiet=shared.quiet,
        language=shared.language,
        otlp=shared.otlp,
        cluster=shared.cluster,
        portion=shared.portion,
    ) as shell:
        result = await run_bench(plan, run=shared.run_file, concurrency=shared.concurrency, shell=shell)
    return _say_result(result, shared)


def _say_result(result: "BenchResult", shared: SharedOptions) -> int:
    from ragstone.report.unfinished import unfinished_systems  # noqa: PLC0415
    from ragstone.structs import from_json, to_json  # noqa: PLC0415

    outcome = result.outcome
    with result.open() as run:
        language = run.language
        report = run.write_report(shared.report_file, language=language) if shared.report_file else None
        failures = [str(failure.message) for failure in run.run.failures()][:3]
        counts = {name: {"answered": count.answered, "failed": count.failed}
                  for name, count in run.run.counts().items()}  # fmt: skip
        if shared.as_json:
            document = {
                "run": str(result.run), "report": None if report is None else str(report), "complete": outcome.complete,
                "asked": outcome.asked, "done": outcome.done, "failed": outcome.failed, "remaining": outcome.remaining,
                "unfinished": unfinished_systems(run.run), "systems": counts, "warnings": list(result.warnings),
                "tables": run.tables(language=language),
            }  # fmt: skip
            say_json(from_json(to_json(document), dict))
        else:
            say_run(run, language=language, report=report, notes=result.warnings)
    if not outcome.complete:
        say(f"ragstone: {outcome.advice_in(language)}", err=True)
        say_failures(failures, language)
        unanswered = outcome.refused and not any(error.answered for error in outcome.refused)
        return 2 if unanswered and not outcome.done else 3
    return 0


def _dry_run(plan: "BenchPlan", shared: SharedOptions) -> int:
    """Prints what the run would take."""
    document = _expected(plan, shared)
    if shared.as_json:
        say_json(document)
    else:
        _say_dry_run(document, shared, shared.language or preferred_language())
    return 0


def _answer_tokens(shared: SharedOptions) -> int:
    return min(_ANSWER_TOKENS, shared.sampling["max_tokens"] or _ANSWER_TOKENS)


def _expected(plan: "BenchPlan", shared: SharedOptions) -> dict[str, Any]:
    """What a run takes, counting every prompt. Answers are assumed to have 60 tokens, or --max-tokens if fewer."""
    from ragstone.api.bench import stored_of  # noqa: PLC0415

    benchmark, answer, judged_by = plan.benchmark, _answer_tokens(shared), frozenset(plan.plugin.judged)
    stored, models = stored_of(plan, shared.run_file), [str(getattr(model, "id", model)) for model in plan.models]
    done = requests = prompt = cached = judged = judge_prompt = cases = 0
    for case in benchmark.planned():
        cases += len(models)
        missing = [model for model in models if not stored.has(model, case.id)]
        done += len(models) - len(missing)
        if sent := len([model for model in missing if model not in _NO_REQUESTS]):
            requests += sent
            prompt += benchmark.prompt_tokens(case) * sent
            cached += benchmark.cached_tokens(case) * sent
        unjudged = [model for model in models if shared.judging.model and not stored.has(model, case.id, judged_by)]
        if unjudged and (more := benchmark.judge_tokens(case)):
            judged += len(unjudged) * len(shared.judging.judges)
            judge_prompt += more * len(unjudged) * len(shared.judging.judges)
    document: dict[str, Any] = {
        "cases": cases, "done": done, "requests": requests + judged,
        "prompt_tokens": prompt, "cached_tokens": cached, "completion_tokens": answer * requests,
        "judge_requests": judged, "judge_tokens": judge_prompt, "cost": None, "judge_cost": None,
        "warnings": list(benchmark.warnings),
    }  # fmt: skip
    if benchmark.prepares:
        document["retrievers"] = [
            {"model": cost.model, "requests": cost.requests, "tokens": cost.tokens}
            for cost in benchmark.retrieval_cost()
        ]
    if shared.price:
        written = _VERDICT_TOKENS * judged
        judge_cost = (shared.judge_price or shared.price).of_tokens(max(0, judge_prompt - written), written)
        document["judge_cost"] = round(judge_cost, 6)
        document["cost"] = round(shared.price.of_tokens(prompt, answer * requests, cached) + judge_cost, 6)
    return document


def _say_expected(expected: Mapping[str, Any], language: str) -> None:
    """Says what a sweep takes before anything is spent."""
    if expected["requests"]:
        say(messages(__name__, language)["expected"].format(**expected), err=True)
    for line in retriever_lines(expected, language):
        say(line, err=True)


def retriever_lines(expected: Mapping[str, Any], language: str) -> list[str]:
    """What is sent to the retrievers' models, one line for each."""
    texts = messages(__name__, language)
    return [
        texts["retriever_requests" if cost["requests"] else "retriever_tokens"].format(**cost)
        for cost in expected.get("retrievers", ())
    ]


def _say_dry_run(expected: Mapping[str, Any], shared: SharedOptions, language: str) -> None:
    texts = messages(__name__, language)
    done = texts["done"].format(**expected) if expected["done"] else ""
    say(texts["cases"].format(**{**expected, "done": done}))
    say(texts["tokens"].format(**expected, answer=_answer_tokens(shared)))
    for line in retriever_lines(expected, language):
        say(texts["not_in_cost"].format(line=line))
    if expected["judge_requests"]:
        known = expected["cost"] is not None
        cost = texts["judge_cost"].format(cost=money(expected["judge_cost"])) if known else ""
        say(texts["judge"].format(**expected) + cost)
    judge = texts["judge_price"].format(price=shared.judge_price_text) if shared.judge_price_text else ""
    say_cost(
        expected["cost"], shared.price_text, language, judge=judge, cached=expected["cached_tokens"],
        share=shared.batch_share,
    )  # fmt: skip
    for warning in expected["warnings"]:
        say(warning, err=True)


def say_cost(
    cost: float | None, price: str, language: str, *, judge: str = "", cached: int = 0, share: float = 1.0
) -> None:  # fmt: skip
    """Print the cost of a dry run; None where no price was given. `cached`: the prompt tokens that are assumed to come
    from the provider's cache, where they have a price of their own. `share`: what batches cost
    of the usual price."""
    from ragstone.prices import price_of  # noqa: PLC0415

    texts = messages(__name__, language)
    if cost is None:
        say(texts["cost.unknown"])
        return
    say(texts["cost.known"].format(cost=money(cost), price=price, judge=judge))
    known = price_of(price)
    if known is not None and known.cached is not None:
        say(texts["cost.cached" if cached else "cost.uncached"].format(cached=cached))
    if share < 1:
        say(texts["cost.batch"].format(share=share))


def money(cost: float) -> str:
    """ "12.34", "0.0042": two digits that matter."""
    return f"{cost:.2f}" if cost >= 1 or not cost else f"{cost:.2g}"
