"""`ragstone bench rgb`."""

import asyncio
import json
import math
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ragstone.cli.options import Number, both, json_option, rgb_arguments, rgb_options
from ragstone.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ragstone.api.bench import BenchResult
    from ragstone.benchmarks.rgb import RGB
    from ragstone.models import ModelOptions
    from ragstone.types import Table, Turn

__all__ = ["command"]

_SHOWN = ("rgb-summary", "rgb-table1", "rgb-table3", "rgb-table5", "rgb-table7")

_URLS = ("--base-url", "--judge-base-url")

model_options = both(
    click.option("--model", "models", multiple=True, metavar="PROVIDER/MODEL", help="Whom to ask; may repeat."),
    click.option("--judge", metavar="PROVIDER/MODEL", help="For the judged metrics (Rej*, ED*)."),
    click.option("--base-url", metavar="URL", help="Another endpoint than the provider's own; compat/… needs it."),
    click.option("--judge-base-url", metavar="URL", help="The same for the judge."),
    click.option("--temperature", type=Number(0), help="Instead of the template's."),
    click.option("--top-p", type=Number(0, 1)),
    click.option("--max-tokens", type=click.IntRange(1), help="Longest answer."),
    click.option("--seed", "sampling_seed", type=int, help="Seed of the model's sampling, where it takes one."),
    click.option(
        "--concurrency", type=click.IntRange(1, 4096), help="Cases under way at once.  [default: 16; 4 if local]"
    ),
    click.option("--rpm", type=Number(0, min_open=True), help="Requests a minute."),
    click.option("--tpm", type=Number(0, min_open=True), help="Tokens a minute."),
    click.option(
        "--deadline", type=Number(0, min_open=True), default=120.0, show_default=True,
        help="Seconds for one call with all its retries.",
    ),
    click.option("--no-cache", is_flag=True, help="Do not use replies of earlier runs, nor keep any."),
)  # fmt: skip


@click.group()
def command() -> None:
    """Run a benchmark. The run file keeps everything; the same command goes on where it stopped."""


@command.command(name="rgb")
@model_options
@rgb_options
@click.option("--run", "run_file", type=click.Path(path_type=Path), help="The run file.  [default: by the question]")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Score this too; `ragstone metrics` lists.")
@click.option("--dry-run", is_flag=True, help="Print cases, requests, tokens and cost; ask nothing.")
@click.option("--price", metavar="IN/OUT", help="Price of a million tokens of prompts and answers, for --dry-run.")
@click.option("--report", "report_file", type=click.Path(path_type=Path), help="Write the report here, too.")
@click.option("--tables", "tables_language", type=click.Choice(["en", "zh"]), default="en", help="Words of the tables.")
@click.option("--quiet", is_flag=True, help="No progress.")
@json_option
def rgb(**values: Any) -> int:
    """RGB: noise robustness, negative rejection, information integration, counterfactual robustness.

    Chen et al. 2024, in English and Chinese, on data that no model has seen unless --data says otherwise.
    """
    from ragstone.api.bench import bench_async, cache_folder, check_names, extra_metrics, make_rgb  # noqa: PLC0415
    from ragstone.api.reading import check_target  # noqa: PLC0415
    from ragstone.models import ModelOptions  # noqa: PLC0415

    models = values.pop("models")
    if not models:
        raise UsageError("No model. Say whom to ask: --model local/extractive, --model openai/gpt-4o-mini…")
    check_names(models, values["judge"])
    extra_metrics(values["metrics"])
    price = None if values["price"] is None else _price(values["price"])
    if price and not values["dry_run"]:
        raise UsageError("--price belongs to --dry-run: it computes what a run would cost, and limits nothing.")
    if values["report_file"] and not values["dry_run"]:
        check_target(values["report_file"])  # before anything is spent
    sampling = {
        "temperature": values.pop("temperature"), "top_p": values.pop("top_p"),
        "max_tokens": values.pop("max_tokens"), "seed": values.pop("sampling_seed"),
    }  # fmt: skip
    calling = ModelOptions(
        base_url=values.pop("base_url"),
        cache=None if values.pop("no_cache") else cache_folder(),
        deadline=values.pop("deadline"),
        requests_per_minute=values.pop("rpm"),
        tokens_per_minute=values.pop("tpm"),
    )
    if values["concurrency"]:
        calling = replace(calling, in_flight=max(values["concurrency"], calling.in_flight))
    made = make_rgb(**rgb_arguments(values))
    if values["dry_run"]:
        return _dry_run(made, models, sampling, values, price)
    return asyncio.run(_bench(bench_async, made, models, sampling, calling, values))


async def _bench(
    bench_async: Any, made: "RGB", models: tuple[str, ...], sampling: dict[str, Any], calling: "ModelOptions",
    values: dict[str, Any],
) -> int:  # fmt: skip
    from ragstone.cli.progress import make_progress  # noqa: PLC0415
    from ragstone.runs import finish_on_interrupt  # noqa: PLC0415

    quiet = values["quiet"]
    async with finish_on_interrupt(lambda line: click.echo(line, err=True)) as stop:
        result: BenchResult = await bench_async(
            "rgb",
            prepared=made,
            model=list(models),
            judge=values["judge"],
            metrics=values["metrics"],
            judge_base_url=values["judge_base_url"],
            run=values["run_file"],
            sampling=sampling,
            model_options=calling,
            concurrency=values["concurrency"],
            progress=make_progress(quiet=quiet),
            stop=stop,
            command=_command(sys.argv[1:]),
        )
    return _tell(result, values)


def _command(arguments: list[str]) -> str:
    """The command, to be kept in the run file: without what a URL may hold that nobody else should read."""
    from ragstone.models.network import shown_url  # noqa: PLC0415

    kept: list[str] = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if kept and kept[-1] in _URLS:
            kept.append(shown_url(argument))
        elif equals and name in _URLS:
            kept.append(f"{name}={shown_url(value)}")
        elif argument != "--debug":
            kept.append(argument)
    return "ragstone " + shlex.join(kept)


def _tell(result: "BenchResult", values: dict[str, Any]) -> int:
    from ragstone.report.text import table_text  # noqa: PLC0415
    from ragstone.types import from_json, to_json  # noqa: PLC0415

    outcome, language = result.outcome, values["tables_language"]
    with result.open() as run:
        tables = run.tables(language=language)
        told = run.write_report(values["report_file"], language=language) if values["report_file"] else None
        failures = [str(one.message) for one in run.run.failures()][:3]
        counts = {name: {"answered": one.answered, "failed": one.failed} for name, one in run.run.counts().items()}
    if values["as_json"]:
        document = {
            "run": str(result.run), "report": None if told is None else str(told), "complete": outcome.complete,
            "asked": outcome.asked, "done": outcome.done, "failed": outcome.failed, "remaining": outcome.remaining,
            "systems": counts, "warnings": list(result.warnings), "tables": tables,
        }  # fmt: skip
        click.echo(json.dumps(from_json(to_json(document), dict), ensure_ascii=True, indent=2))
    else:
        width = min(shutil.get_terminal_size((100, 24)).columns, 120)
        for table in _short(tables) if any(one["answered"] for one in counts.values()) else ():
            click.echo(table_text(table, width=width, color=sys.stdout.isatty(), language=language))
        for warning in result.warnings:
            click.echo(f"note: {warning}", err=True)
        click.echo(f"Run file: {result.run}")
        more = len(tables) - len(_short(tables))
        if told:
            click.echo(f"Report:   {told} ({more} more tables, charts, answers)")
        else:
            write = shlex.join(["ragstone", "report", str(result.run), "-o", "report.html"])
            click.echo(f"Report:   {write}   ({more} more tables, charts, answers)")
    if not outcome.complete:
        click.echo(f"ragstone: {outcome.advice}", err=True)
        for message in failures:
            click.echo(f"failed: {' '.join(message.split())[:300]}", err=True)
        return 3
    return 0


def _short(tables: "list[Table]") -> "list[Table]":
    """What a person wants to see at once: the summary and the paper's tables as far as something was measured. A note
    that several tables have is printed under the first."""
    shown, told = [], set[str]()
    for table in tables:
        if table.id not in _SHOWN or all(row.published for row in table.rows):
            continue
        notes = tuple(note for note in table.notes if note not in told)
        told.update(notes)
        shown.append(msgspec.structs.replace(table, notes=notes))
    return shown


_VERDICT_TOKENS = 10  # {"verdict": "…"}


def _dry_run(
    made: "RGB", models: tuple[str, ...], sampling: dict[str, Any], values: dict[str, Any],
    price: tuple[float, float] | None,
) -> int:  # fmt: skip
    """What the run would take, by counting every prompt. Answers are assumed to have 60 tokens, or --max-tokens."""
    from ragstone.metrics.rgb_judge import RgbErrorJudge, RgbRejectionJudge, judge_turns  # noqa: PLC0415
    from ragstone.text import estimate_tokens  # noqa: PLC0415

    def tokens(turns: "Iterable[Turn]") -> int:
        return sum(estimate_tokens(turn.content) for turn in turns)

    answer = min(60, sampling["max_tokens"] or 60)
    overhead = {
        "rejection": tokens(judge_turns(RgbRejectionJudge, "", "")) + answer,
        "counterfactual": tokens(judge_turns(RgbErrorJudge, "", "")) + answer,
    }
    cases = prompt = judged = judge_prompt = 0
    for case in made.cases():
        cases += 1
        condition = case.condition
        prompt += tokens(made.template.messages(case.query))
        if values["judge"] and condition["ability"] in overhead and not condition["closed_book"]:
            judged += 1
            judge_prompt += overhead[str(condition["ability"])] + estimate_tokens(case.query.question)
    asked = [name for name in models if name != "local/extractive"]
    requests = cases * len(asked) + judged * len(models)
    document: dict[str, Any] = {
        "cases": cases * len(models), "requests": requests, "prompt_tokens": prompt * len(asked),
        "completion_tokens": answer * cases * len(asked),
        "judge_requests": judged * len(models),
        "judge_tokens": (judge_prompt + _VERDICT_TOKENS * judged) * len(models),
        "cost": None,
    }  # fmt: skip
    if price:
        cost = document["prompt_tokens"] * price[0] + document["completion_tokens"] * price[1]
        document["cost"] = round(cost / 1e6, 4)
    if values["as_json"]:
        click.echo(json.dumps(document))
        return 0
    click.echo(f"{document['cases']:,} cases, {requests:,} requests at most (fewer where replies are cached)")
    click.echo(
        f"about {document['prompt_tokens']:,} tokens of prompts and {document['completion_tokens']:,} of answers "
        f"({answer} an answer assumed)"
    )
    if judged:
        click.echo(
            f"the judge: {document['judge_requests']:,} of the requests, about {document['judge_tokens']:,} tokens; "
            "they are not in the cost, which is at the model's price"
        )
    if document["cost"] is None:
        click.echo("cost: unknown; --price IN/OUT (per million tokens) computes it; local models cost nothing")
    else:
        click.echo(f"cost: about {document['cost']:.2f} at {values['price']} a million tokens")
    return 0


def _price(text: str) -> tuple[float, float]:
    try:
        price_in, price_out = map(float, text.split("/"))
        if not (0 <= price_in < math.inf and 0 <= price_out < math.inf):
            raise ValueError
    except ValueError:
        raise UsageError(f"--price {text}: expected two numbers, such as 0.15/0.60.") from None
    return price_in, price_out
