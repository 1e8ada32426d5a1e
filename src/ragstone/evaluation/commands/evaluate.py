"""`ragstone eval`."""

import asyncio
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.gates import check_gate_options, gate_options, report_gates, thresholds_of
from ragstone.commands.options import (
    MOST_REPEATS,
    PATH,
    POSITIVE,
    PRICE,
    NameList,
    batch_option,
    both,
    cache_option,
    check_embedder_option,
    check_report,
    cluster_options,
    columns_option,
    data_of,
    dry_run_option,
    json_option,
    judge_options,
    judge_protocol_option,
    judging_of,
    language_option,
    limit_options,
    metrics_option,
    no_judge,
    otlp_option,
    quiet_option,
    rate_options,
    references_option,
    report_option,
    rows_options,
    run_option,
    run_options_of,
    shard_of,
    shard_option,
    table_options,
)  # fmt: skip
from ragstone.commands.output import say, say_json
from ragstone.commands.shell import opened_shell
from ragstone.commands.show import exit_code, failures_of, say_reused, say_run, say_unfinished
from ragstone.evaluation.commands.bench_command import say_cost
from ragstone.messages import messages, preferred_language
from ragstone.prices import read_price, share_of

if TYPE_CHECKING:
    from ragstone.engine.open_run import OpenRun
    from ragstone.evaluation.evaluate import EvalPlan, EvalResult

file_options = both(
    columns_option,
    click.option("--sep", metavar="TEXT", help="Separator of several contexts in one cell."),
    table_options,
    click.option("--qrels", type=PATH, help="Relevance labels of a TREC or BEIR run file."),
    click.option("--corpus", type=PATH, help="Documents of a TREC or BEIR run file."),
    references_option,
)  # fmt: skip

metric_options = both(
    metrics_option("Metrics and groups to score (repeatable); `ragstone metrics` lists them."),
    judge_options,
    judge_protocol_option,
    click.option("--repeat", type=click.IntRange(1, MOST_REPEATS), default=1, show_default=True,
                 help="How often the judge scores each sample, to measure its variance."),
    click.option("--system-model", default="", metavar="NAME", help="The model that answered, if the data do not say."),
)  # fmt: skip

call_options = both(
    click.option("--concurrency", type=click.IntRange(1, 4096),
                 help="Samples scored concurrently.  [default: 64; 4 if local]"),
    click.option("--deadline", type=POSITIVE, default=120.0, show_default=True,
                 help="Time limit of a call including its retries, in seconds."),
    rate_options,
    cluster_options,
    shard_option,
    cache_option,
    batch_option,
    limit_options,
)  # fmt: skip


@click.command(name="eval")
@click.argument("data", type=PATH)
@file_options
@rows_options("rows")
@metric_options
@click.option("--group-by", type=NameList(), default=(), help="Columns to group the tables by.")
@click.option("--name", default="", help="Name of the system.  [default: the file's name]")
@run_option
@report_option
@dry_run_option("samples, requests and tokens")
@click.option(
    "--price",
    "--judge-price",
    "price",
    type=PRICE,
    default="",
    help="The judge's price per million tokens: prompts, answers, cached prompts.",
)
@language_option
@quiet_option
@call_options
@otlp_option
@gate_options
@json_option
def command(**values: Any) -> int:
    """Score existing answers: DATA is JSONL, JSON, CSV, TSV, XLSX, Parquet, a data set's folder, or traces.

    The columns of ragas, deepeval, RAGChecker, BEIR and TREC are known, and traces of OpenTelemetry (OpenInference and
    the GenAI conventions), LangSmith and Langfuse; `ragstone data check` tells what is seen. Without --judge only what
    needs none is scored."""
    from ragstone.evaluation.evaluate import default_run, plan_evaluation  # noqa: PLC0415

    check_report(values)
    shard_of(values)
    language = values["data_language"] or ""
    judging = judging_of(values, protocol=values["judge_protocol"], language=language)
    if judging.model is None and values["repeat"] > 1:
        raise no_judge(["--repeat"])
    judging.check(values["metrics"])
    plan = plan_evaluation(
        data_of(values["data"], values, "sep", "qrels", "corpus"), values["metrics"], judging, name=values["name"],
        data_language=language, group_by=values["group_by"], repeat=values["repeat"],
        system_model=values["system_model"],
    )  # fmt: skip
    check_embedder_option(judging, plan.metrics)
    check_gate_options(values, plan.judging.names(plan.metrics), values["run_file"] or default_run(plan))
    if values["dry_run"]:
        return asyncio.run(_dry_run(plan, values))
    return asyncio.run(_evaluate(plan, values))


async def _evaluate(plan: "EvalPlan", values: dict[str, Any]) -> int:
    from ragstone.evaluation.evaluate import run_evaluation  # noqa: PLC0415

    async with opened_shell(values) as shell:
        result = await run_evaluation(plan, run_options_of(values, shell, gates=thresholds_of(values)))
    return print_result(result, values)


def print_result(result: "EvalResult", values: dict[str, Any], *, reuses: bool = False) -> int:
    """Prints a finished run; returns the exit code. `reuses`: say so if every answer was there already."""
    from ragstone.report.unfinished import unfinished_systems  # noqa: PLC0415

    outcome = result.outcome
    with result.open() as run:
        language = run.language
        report = run.write_report(values["report_file"], language=language) if values["report_file"] else None
        failures = failures_of(run, language)
        if values["as_json"]:
            gated, gates = _gated(result, run, values)
            document = {
                "run": str(result.run), "report": None if report is None else str(report), "complete": outcome.complete,
                "asked": outcome.asked, "done": outcome.done, "failed": outcome.failed, "unscored": outcome.unscored,
                "remaining": outcome.remaining, "unfinished": unfinished_systems(run.run),
                "scores": result.summary_of(run.run),
                "warnings": list(result.warnings), "gates": gates, "tables": run.tables(language=language),
            }  # fmt: skip
            say_json(document)
        else:
            say_run(run, language=language, report=report, notes=result.warnings)
            gated, _ = _gated(result, run, values)
        code = exit_code(outcome, run, gated)
    if reuses:
        say_reused(outcome, result.run, language)
    if not outcome.complete:
        say_unfinished(outcome, failures, language)
    return code


def _gated(result: "EvalResult", run: "OpenRun", values: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    return report_gates(
        run.run, values, scored=result.summary_of(run.run), system=result.system, language=run.language,
        run_file=result.run,
    )  # fmt: skip


async def _dry_run(plan: "EvalPlan", values: dict[str, Any]) -> int:
    """Prints what the evaluation would take, counting every first request as it would be sent."""
    from ragstone.engine.batches import price_in_batches  # noqa: PLC0415
    from ragstone.evaluation.estimate import estimate_evaluation  # noqa: PLC0415

    expected = await estimate_evaluation(plan, values["run_file"])
    usage = expected.usage
    shown = price_in_batches(values["price"], plan.judging.judges, batch=bool(values["batch"]))
    price = read_price(shown)
    cost = None if price is None else round(price.cost(usage), 6)
    document: dict[str, Any] = {
        "samples": len(plan.benchmark.rows), "cases": plan.benchmark.size, "done": expected.done,
        "requests": usage.requests, "prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
        "reasons_tokens": expected.reasons,
        "embedder": expected.embedder or None, "embedder_tokens": expected.embedded, "cost": cost, "judge_cost": cost,
        "warnings": list(plan.warnings),
    }  # fmt: skip
    if values["as_json"]:
        say_json(document)
        return 0
    language = values["language"] or preferred_language()
    texts = messages(__name__, language)
    for warning in plan.warnings:
        say(texts["note"].format(text=warning), err=True)
    done = texts["done"].format(**document) if expected.done else ""
    say(texts["samples"].format(**{**document, "done": done}))
    say(texts["tokens"].format(**document))
    if expected.reasons:
        say(texts["reasons"].format(**document))
    if expected.embedded:
        say(texts["not_in_cost"].format(line=texts["embedder"].format(**document)))
    say_cost(cost, shown, language, cached=usage.cached_tokens, share=share_of(shown, values["price"]))
    return 0
