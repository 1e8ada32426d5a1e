"""What every `ragstone bench NAME` shares: its common options, the run, its summary, and `--dry-run`."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ragstone.commands.options import (
    POSITIVE,
    PRICE,
    Address,
    Number,
    batch_option,
    both,
    cache_option,
    check_report,
    cluster_options,
    dry_run_option,
    json_option,
    judge_options,
    judging_of,
    language_option,
    limit_options,
    metrics_option,
    model_options_of,
    otlp_option,
    quiet_option,
    rate_options,
    report_option,
    run_option,
    shard_of,
    shard_option,
)  # fmt: skip
from ragstone.commands.output import say, say_json
from ragstone.commands.shell import opened_shell
from ragstone.commands.show import exit_code, failures_of, say_run, say_unfinished
from ragstone.errors import UsageError
from ragstone.evaluation.commands.systems import bench_systems, http_options
from ragstone.messages import messages, preferred_language

if TYPE_CHECKING:
    from ragstone.engine.judge_tools import Judging
    from ragstone.evaluation.bench import BenchPlan, BenchResult
    from ragstone.prices import Price

_NO_REQUESTS = ("local/extractive", "local/retrieval")
_ANSWER_TOKENS = 60  # of a typical answer, for --dry-run
_VERDICT_TOKENS = 40  # of a judge's reply
_SAMPLING = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_tokens", "seed": "sampling_seed"}

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
        "--deadline", "--timeout", "deadline", type=POSITIVE, default=120.0, show_default=True,
        help="Time limit of an answer, including its retries, in seconds.",
    ),
    cache_option,
    batch_option,
    limit_options,
)  # fmt: skip

run_options = both(
    run_option,
    metrics_option("Additional metrics (repeatable); `ragstone metrics` lists them."),
    dry_run_option("cases, requests and tokens"),
    click.option(
        "--price",
        type=PRICE,
        help="Price per million tokens: prompts, answers, cached prompts.",
    ),
    click.option("--judge-price", type=PRICE, help="The judge's price, likewise.  [default: --price]"),
    report_option,
    language_option,
    quiet_option,
    otlp_option,
    json_option,
)


class Prices(NamedTuple):
    """What tokens cost in a dry run, with the discount of batches: the systems', and the judge's if it has a price of
    its own. `share`: what batches cost of the usual price."""

    own: "Price | None"
    own_text: str
    judge: "Price | None"
    judge_text: str
    share: float

    @classmethod
    def of(cls, values: Mapping[str, Any], models: Sequence[Any], judging: "Judging") -> "Prices":
        from ragstone.engine.batches import price_in_batches  # noqa: PLC0415
        from ragstone.prices import read_price, share_of  # noqa: PLC0415

        usual, judge_usual = values["price"] or "", values["judge_price"] or values["price"] or ""
        batch = bool(values["batch"])
        own = price_in_batches(usual, models, batch=batch)
        judges = price_in_batches(judge_usual, judging.judges, batch=batch)
        share = min(share_of(own, usual), share_of(judges, judge_usual))
        return cls(read_price(own), own, read_price(judges), judges if values["judge_price"] else "", share)


def run_named(name: str, options: dict[str, Any], values: dict[str, Any]) -> int:
    """Runs a benchmark with its own options and the shared ones, or with --dry-run prints what it would take. Returns
    the exit code."""
    from ragstone.commands.progress import log_retrieval  # noqa: PLC0415
    from ragstone.evaluation.bench import plan_bench  # noqa: PLC0415
    from ragstone.prices import read_price  # noqa: PLC0415

    models, judging = (*values["models"], *bench_systems(values)), judging_of(values)
    price = read_price(values["price"])
    if values["judge_price"] and (judging.model is None or not price):
        raise UsageError("--judge-price belongs to --price and --judge: give both, or leave it out.")
    check_report(values)
    shard_of(values)
    planning = plan_bench(
        name, options, models=models, judging=replace(judging, price=read_price(values["judge_price"])),
        metrics=values["metrics"],
        sampling={key: values[option] for key, option in _SAMPLING.items()},
        model_options=replace(model_options_of(values), base_url=values["base_url"]), asks=not values["dry_run"],
        run=values["run_file"], direct=not values["cluster"],
    )  # fmt: skip
    plan = asyncio.run(planning)
    prices = Prices.of(values, models, judging)
    if values["dry_run"]:
        return _dry_run(plan, values, prices)
    if plan.benchmark.prepares and not values["quiet"]:
        log_retrieval(values["language"])
        if not values["as_json"]:
            _say_expected(_expected(plan, values, prices), values["language"] or preferred_language())
    return asyncio.run(_bench(plan, values))


async def _bench(plan: "BenchPlan", values: Mapping[str, Any]) -> int:
    from ragstone.engine.execute import RunOptions  # noqa: PLC0415
    from ragstone.evaluation.bench import run_bench  # noqa: PLC0415

    async with opened_shell(values) as shell:
        how = RunOptions(
            values["run_file"], concurrency=values["concurrency"], price=values["price"] or "",
            judge_price=values["judge_price"] or "", shell=shell,
        )  # fmt: skip
        result = await run_bench(plan, how)
    return _say_result(result, values)


def _say_result(result: "BenchResult", values: Mapping[str, Any]) -> int:
    from ragstone.report.unfinished import unfinished_systems  # noqa: PLC0415

    outcome = result.outcome
    with result.open() as run:
        language = run.language
        report = run.write_report(values["report_file"], language=language) if values["report_file"] else None
        failures = failures_of(run, language)
        counts = {name: {"answered": count.answered, "failed": count.failed}
                  for name, count in run.run.counts().items()}  # fmt: skip
        if values["as_json"]:
            document = {
                "run": str(result.run), "report": None if report is None else str(report), "complete": outcome.complete,
                "asked": outcome.asked, "done": outcome.done, "failed": outcome.failed, "remaining": outcome.remaining,
                "unfinished": unfinished_systems(run.run), "systems": counts, "warnings": list(result.warnings),
                "tables": run.tables(language=language),
            }  # fmt: skip
            say_json(document)
        else:
            say_run(run, language=language, report=report, notes=result.warnings)
        code = exit_code(outcome, run)
    if not outcome.complete:
        say_unfinished(outcome, failures, language)
    return code


def _dry_run(plan: "BenchPlan", values: Mapping[str, Any], prices: Prices) -> int:
    """Prints what the run would take."""
    document = _expected(plan, values, prices)
    if values["as_json"]:
        say_json(document)
    else:
        _say_dry_run(document, values, prices)
    return 0


def _answer_tokens(values: Mapping[str, Any]) -> int:
    return min(_ANSWER_TOKENS, values["max_tokens"] or _ANSWER_TOKENS)


def _expected(plan: "BenchPlan", values: Mapping[str, Any], prices: Prices) -> dict[str, Any]:
    """What a run takes, counting every prompt. Answers are assumed to have 60 tokens, or --max-tokens if fewer."""
    from ragstone.evaluation.bench import stored_of  # noqa: PLC0415
    from ragstone.models import keeps_within_turns  # noqa: PLC0415

    benchmark, answer, judged_by = plan.benchmark, _answer_tokens(values), frozenset(plan.plugin.judged)
    stored, models = stored_of(plan, values["run_file"]), [str(getattr(model, "id", model)) for model in plan.models]
    done = requests = prompt = cached = judged = judge_prompt = cases = 0
    for case in benchmark.planned():
        cases += len(models)
        missing = [model for model in models if not stored.has(model, case.id)]
        done += len(models) - len(missing)
        asking = [model for model in missing if model not in _NO_REQUESTS]
        if sent := len(asking):
            requests += sent
            prompt += benchmark.prompt_tokens(case) * sent
            cached += benchmark.cached_tokens(case) * len([*filter(keeps_within_turns, asking)])
        unjudged = [model for model in models if plan.judging.model and not stored.has(model, case.id, judged_by)]
        if unjudged and (more := benchmark.judge_tokens(case)):
            judged += len(unjudged) * len(plan.judging.judges)
            judge_prompt += more * len(unjudged) * len(plan.judging.judges)
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
    if prices.own:
        written = _VERDICT_TOKENS * judged
        judge_cost = (prices.judge or prices.own).of_tokens(max(0, judge_prompt - written), written)
        document["judge_cost"] = round(judge_cost, 6)
        document["cost"] = round(prices.own.of_tokens(prompt, answer * requests, cached) + judge_cost, 6)
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


def _say_dry_run(expected: Mapping[str, Any], values: Mapping[str, Any], prices: Prices) -> None:
    language = values["language"] or preferred_language()
    texts = messages(__name__, language)
    done = texts["done"].format(**expected) if expected["done"] else ""
    say(texts["cases"].format(**{**expected, "done": done}))
    say(texts["tokens"].format(**expected, answer=_answer_tokens(values)))
    for line in retriever_lines(expected, language):
        say(texts["not_in_cost"].format(line=line))
    if expected["judge_requests"]:
        known = expected["cost"] is not None
        cost = texts["judge_cost"].format(cost=money(expected["judge_cost"])) if known else ""
        say(texts["judge"].format(**expected) + cost)
    judge = texts["judge_price"].format(price=prices.judge_text) if prices.judge_text else ""
    say_cost(
        expected["cost"], prices.own_text, language, judge=judge, cached=expected["cached_tokens"],
        share=prices.share,
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
