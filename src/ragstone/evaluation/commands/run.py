"""`ragstone run`."""

import asyncio
import sys
from typing import Any

import click

from ragstone.commands.gates import check_gate_options, gate_options, thresholds_of
from ragstone.commands.options import (
    MOST_REPEATS,
    PATH,
    PRICE,
    NameList,
    asking_options,
    both,
    check_embedder_option,
    check_report,
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
    otlp_option,
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
from ragstone.errors import UsageError
from ragstone.evaluation.commands.bench_command import Prices, money, retriever_lines, say_cost
from ragstone.evaluation.commands.defaults import Configured
from ragstone.evaluation.commands.evaluate import print_result
from ragstone.evaluation.commands.systems import system_of, system_options
from ragstone.messages import messages, preferred_language
from ragstone.prices import read_price

question_options = both(columns_option, table_options, references_option, rows_options("questions"))


@click.command(name="run", cls=Configured)
@click.argument("questions", type=PATH, required=False)
@system_options
@question_options
@metrics_option("Metrics and groups to score (repeatable); `ragstone metrics` lists them.")
@judge_options
@judge_protocol_option
@click.option("--repeat", type=click.IntRange(1, MOST_REPEATS), default=1, show_default=True,
              help="How often the system is asked each question.")  # fmt: skip
@click.option("--group-by", type=NameList(), default=(), help="Columns to group the tables by.")
@run_option
@report_option
@dry_run_option("questions, requests and tokens")
@click.option("--price", type=PRICE, default="",
              help="Price of the system's models per million tokens: prompts, answers, cached prompts.")  # fmt: skip
@click.option("--judge-price", type=PRICE, default="", help="The judge's price, likewise.  [default: --price]")
@language_option
@asking_options
@shard_option
@limit_options
@otlp_option
@gate_options
@json_option
def command(**values: Any) -> int:
    """Ask a system the questions in QUESTIONS, and score its answers.

    QUESTIONS is CSV, JSONL, JSON, TSV, XLSX or Parquet with a column `question`; a column `reference` makes answers
    right or wrong. The system is Python code (app.py:ask), an HTTP address, or a model. The table [run] of
    ragstone.toml has defaults of all options; `ragstone init` writes one."""
    from ragstone.evaluation.questions import default_question_run, plan_questions  # noqa: PLC0415

    if values["questions"] is None:
        raise UsageError("Name a file of questions: ragstone run questions.csv. `ragstone init` writes one.")
    shard_of(values)
    judge_price = read_price(values["judge_price"])
    check_report(values)
    language = values["data_language"] or ""
    judging = judging_of(values, protocol=values["judge_protocol"], language=language, price=judge_price)
    judging.check(values["metrics"])
    plan = plan_questions(
        data_of(values["questions"], values), system_of(values), values["metrics"], judging, data_language=language,
        group_by=values["group_by"], repeat=values["repeat"],
    )  # fmt: skip
    check_embedder_option(judging, plan.metrics)
    check_gate_options(values, plan.judging.names(plan.metrics), values["run_file"] or default_question_run(plan))
    if values["dry_run"]:
        return asyncio.run(_dry_run(plan, values))
    arguments = click.get_current_context().obj or sys.argv[1:]  # `ragstone init` calls this command, too
    return asyncio.run(_run(plan, values, arguments))


async def _run(plan: Any, values: dict[str, Any], arguments: list[str]) -> int:
    from ragstone.evaluation.questions import run_questions  # noqa: PLC0415

    async with opened_shell(values, arguments) as shell:
        result = await run_questions(plan, run_options_of(values, shell, gates=thresholds_of(values)))
    return print_result(result, values, reuses=True)


async def _dry_run(plan: Any, values: dict[str, Any]) -> int:
    """Prints what the run would take, before anything is spent."""
    from ragstone.evaluation.estimate import estimate_questions  # noqa: PLC0415
    from ragstone.retrieval.cost_estimate import is_chat_cost  # noqa: PLC0415
    from ragstone.types import Usage  # noqa: PLC0415

    expected = await estimate_questions(plan, values["run_file"])
    usage, judge = expected.usage, expected.judging.usage
    prices = Prices.of(values, [plan.model], plan.judging)
    in_cost = [is_chat_cost(cost) for cost in expected.retrievers]
    searching = Usage(sum(cost.tokens for cost, priced in zip(expected.retrievers, in_cost, strict=True) if priced))
    system = None if usage is None else usage + searching
    costs = [
        None if at is None or spent is None else at.cost(spent)
        for spent, at in ((system, prices.own), (judge, prices.judge))
    ]
    known = [cost for cost in costs if cost is not None]
    document: dict[str, Any] = {
        "questions": len(plan.benchmark.rows), "cases": plan.benchmark.size, "done": expected.done,
        "asked": expected.asked, "model_requests": None if usage is None else usage.requests,
        "prompt_tokens": None if usage is None else usage.prompt_tokens,
        "completion_tokens": None if usage is None else usage.completion_tokens,
        "retrievers": [{"model": cost.model, "requests": cost.requests, "tokens": cost.tokens}
                       for cost in expected.retrievers],
        "judge_requests": judge.requests, "judge_prompt_tokens": judge.prompt_tokens,
        "judge_cached_tokens": judge.cached_tokens,
        "judge_completion_tokens": judge.completion_tokens, "embedder": expected.judging.embedder or None,
        "embedder_tokens": expected.judging.embedded, "system_cost": costs[0], "judge_cost": costs[1],
        "cost": round(sum(known), 6) if known else None, "warnings": list(plan.benchmark.warnings),
    }  # fmt: skip
    if values["as_json"]:
        say_json(document)
        return 0
    _say_dry_run(document, in_cost, values["language"] or preferred_language(), prices)
    return 0


def _say_dry_run(document: dict[str, Any], in_cost: list[bool], language: str, prices: Prices) -> None:
    """The same in words. `in_cost`: which of the retrievers' models the cost includes."""
    from ragstone.evaluation.estimate import ANSWER_TOKENS  # noqa: PLC0415

    texts = messages(__name__, language)
    for warning in document["warnings"]:
        say(texts["note"].format(text=warning), err=True)
    say(texts["cases"].format(**{**document, "done": texts["done"].format(**document) if document["done"] else ""}))
    if document["model_requests"] is None:
        say(texts["unknown"])
    elif document["model_requests"]:
        say(texts["model"].format(**document, answer=ANSWER_TOKENS))
    for line, priced in zip(retriever_lines(document, language), in_cost, strict=True):
        say(line if priced else texts["not_in_cost"].format(line=line))
    if document["judge_requests"]:
        cost = document["judge_cost"]
        part = "" if cost is None else texts["judge_cost"].format(cost=money(cost))
        say(texts["judge"].format(**document, answer=ANSWER_TOKENS) + part)
    if document["embedder_tokens"]:
        say(texts["not_in_cost"].format(line=texts["embedder"].format(**document)))
    apart = prices.own_text and prices.judge_text
    say_cost(
        document["cost"], prices.own_text or prices.judge_text, language,
        judge=texts["judge_price"].format(price=prices.judge_text) if apart else "",
        cached=document["judge_cached_tokens"], share=prices.share,
    )  # fmt: skip
