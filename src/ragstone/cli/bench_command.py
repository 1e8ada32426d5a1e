"""What every `ragstone bench …` shares: whom to ask and how, the run itself, what is told at its end, `--dry-run`."""

import asyncio
import math
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ragstone.cli.options import Number, both, json_option, judge_options, judging_of, language_option, metrics_option
from ragstone.cli.output import say, say_json
from ragstone.cli.show import say_run
from ragstone.errors import UsageError

if TYPE_CHECKING:
    from ragstone.api.bench import BenchPlan, BenchResult
    from ragstone.api.judging import Judging
    from ragstone.models import ModelOptions

__all__ = [
    "Asked", "command_line", "cost_of", "model_options", "money", "read_asked", "read_price", "run_named",
    "run_options",
]  # fmt: skip

_NO_REQUESTS = ("local/extractive", "local/retrieval")
_ANSWER_TOKENS = 60  # of a typical answer, for --dry-run
_VERDICT_TOKENS = 40  # of a judge's reply

model_options = both(
    click.option("--model", "models", multiple=True, metavar="PROVIDER/MODEL", help="Model to evaluate (repeatable)."),
    click.option("--base-url", metavar="URL",
                 help="Endpoint of the model, overriding its provider's; compat/… needs it."),
    judge_options,
    click.option("--temperature", type=Number(0), help="Override the template's temperature."),
    click.option("--top-p", type=Number(0, 1), help="Override the template's top-p."),
    click.option("--max-tokens", type=click.IntRange(1), help="Maximum length of an answer, in tokens."),
    click.option("--seed", "sampling_seed", type=int, help="Sampling seed, for models that support one."),
    click.option(
        "--concurrency", type=click.IntRange(1, 4096), help="Cases run concurrently.  [default: 16; 4 if local]"
    ),
    click.option("--rpm", type=Number(0, min_open=True), help="Maximum requests per minute."),
    click.option("--tpm", type=Number(0, min_open=True), help="Maximum tokens per minute."),
    click.option(
        "--deadline", type=Number(0, min_open=True), default=120.0, show_default=True,
        help="Time limit of a call including its retries, in seconds.",
    ),
    click.option("--no-cache", is_flag=True, help="Neither read nor write cached replies."),
)  # fmt: skip

run_options = both(
    click.option(
        "--run", "run_file", type=click.Path(path_type=Path), help="The run file.  [default: named after the settings]"
    ),
    metrics_option("Additional metrics (repeatable); `ragstone metrics` lists them."),
    click.option(
        "--dry-run", is_flag=True, help="Print the number of cases, requests and tokens and the cost, then stop."
    ),
    click.option("--price", metavar="IN/OUT", help="Price per million prompt and answer tokens, for --dry-run."),
    click.option("--judge-price", metavar="IN/OUT", help="The judge's price, likewise.  [default: --price]"),
    click.option(
        "--report", "report_file", type=click.Path(path_type=Path), help="Also write the report to this file."
    ),
    language_option,
    click.option("--quiet", is_flag=True, help="Do not show progress."),
    json_option,
)


class Asked(NamedTuple):
    """What `model_options` and `run_options` parsed, checked."""

    models: tuple[str, ...]
    judging: "Judging"
    sampling: Mapping[str, Any]
    calling: "ModelOptions"
    concurrency: int | None
    run_file: Path | None
    metrics: tuple[str, ...]
    dry_run: bool
    price: tuple[float, float] | None
    price_text: str
    judge_price: tuple[float, float] | None
    judge_price_text: str
    report_file: Path | None
    language: str | None
    quiet: bool
    as_json: bool


def read_asked(values: dict[str, Any]) -> Asked:
    """Takes the shared options out of `values` and checks them before anything is spent. Raises UsageError."""
    from ragstone.api.execute import cache_folder  # noqa: PLC0415
    from ragstone.api.open_run import check_target  # noqa: PLC0415
    from ragstone.models import ModelOptions  # noqa: PLC0415

    models, metrics, judging = values.pop("models"), values.pop("metrics"), judging_of(values)
    price_text, dry_run, report_file = values.pop("price"), values.pop("dry_run"), values.pop("report_file")
    price = None if price_text is None else read_price(price_text)
    judge_text = values.pop("judge_price")
    if judge_text and (judging.model is None or not price):
        raise UsageError("--judge-price belongs to --price and --judge: name both, or leave it out.")
    judge_price = None if judge_text is None else read_price(judge_text, "--judge-price")
    if price and not dry_run:
        raise UsageError("--price belongs to --dry-run: it computes what a run would cost, and limits nothing.")
    if report_file and not dry_run:
        check_target(report_file)
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
    concurrency = values.pop("concurrency")
    if concurrency:
        calling = replace(calling, in_flight=max(concurrency, calling.in_flight))
    return Asked(
        models, judging, sampling, calling, concurrency, values.pop("run_file"), metrics,
        dry_run, price, price_text or "", judge_price, judge_text or "", report_file, values.pop("language"),
        values.pop("quiet"), values.pop("as_json"),
    )  # fmt: skip


def run_named(name: str, options: dict[str, Any], values: dict[str, Any]) -> int:
    """Runs a benchmark with these options of its own and the shared ones, or tells what it would take; returns the exit
    code."""
    from ragstone.api.bench import plan_bench  # noqa: PLC0415
    from ragstone.cli.progress import tell_retrieval  # noqa: PLC0415

    asked = read_asked(values)
    planning = plan_bench(
        name, options, models=asked.models, judging=asked.judging, metrics=asked.metrics, sampling=asked.sampling,
        model_options=asked.calling,
    )  # fmt: skip
    plan = asyncio.run(planning)
    if asked.dry_run:
        return _dry_run(plan, asked)
    if plan.benchmark.prepares and not asked.quiet:
        tell_retrieval()
        if not asked.as_json:
            _tell_before(_expected(plan, asked))
    return asyncio.run(_bench(plan, asked))


async def _bench(plan: "BenchPlan", asked: Asked) -> int:
    from ragstone.api.bench import run_bench  # noqa: PLC0415
    from ragstone.api.execute import Shell  # noqa: PLC0415
    from ragstone.cli.progress import make_progress  # noqa: PLC0415
    from ragstone.runs import finish_on_interrupt  # noqa: PLC0415

    async with finish_on_interrupt(lambda line: say(line, err=True)) as stop:
        shell = Shell(command_line(sys.argv[1:]), make_progress(quiet=asked.quiet), stop, asked.language)
        result = await run_bench(plan, run=asked.run_file, concurrency=asked.concurrency, shell=shell)
    return _tell(result, asked)


def command_line(arguments: list[str]) -> str:
    """The command, to be kept in the run file: without what a URL may hold that nobody else should read."""
    from ragstone.text.redaction import redact, shown_url  # noqa: PLC0415

    kept: list[str] = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if kept and kept[-1].endswith("-url"):
            kept.append(shown_url(argument))
        elif equals and name.endswith("-url"):
            kept.append(f"{name}={shown_url(value)}")
        elif argument != "--debug":
            kept.append(redact(argument))
    return "ragstone " + shlex.join(kept)


def _tell(result: "BenchResult", asked: Asked) -> int:
    from ragstone.report.unfinished import unfinished_systems  # noqa: PLC0415
    from ragstone.types import from_json, to_json  # noqa: PLC0415

    outcome = result.outcome
    with result.open() as run:
        language = run.language
        told = run.write_report(asked.report_file, language=language) if asked.report_file else None
        failures = [str(one.message) for one in run.run.failures()][:3]
        counts = {name: {"answered": one.answered, "failed": one.failed} for name, one in run.run.counts().items()}
        if asked.as_json:
            document = {
                "run": str(result.run), "report": None if told is None else str(told), "complete": outcome.complete,
                "asked": outcome.asked, "done": outcome.done, "failed": outcome.failed, "remaining": outcome.remaining,
                "unfinished": unfinished_systems(run.run), "systems": counts, "warnings": list(result.warnings),
                "tables": run.tables(language=language),
            }  # fmt: skip
            say_json(from_json(to_json(document), dict))
        else:
            say_run(run, language=language, report=told, notes=result.warnings)
    if not outcome.complete:
        say(f"ragstone: {outcome.advice}", err=True)
        for message in failures:
            say(f"failed: {' '.join(message.split())[:300]}", err=True)
        return 2 if outcome.refused and not outcome.done else 3
    return 0


def _dry_run(plan: "BenchPlan", asked: Asked) -> int:
    """Tells what the run would take."""
    document = _expected(plan, asked)
    if asked.as_json:
        say_json(document)
    else:
        _tell_dry_run(document, _answer_tokens(asked), asked)
    return 0


def _answer_tokens(asked: Asked) -> int:
    return min(_ANSWER_TOKENS, asked.sampling["max_tokens"] or _ANSWER_TOKENS)


def _expected(plan: "BenchPlan", asked: Asked) -> dict[str, Any]:
    """What a run takes, by counting every prompt. Answers are assumed to have 60 tokens, or --max-tokens."""
    from ragstone.api.bench import stored_of  # noqa: PLC0415

    made, answer, judged_by = plan.benchmark, _answer_tokens(asked), frozenset(plan.plugin.judged)
    stored, models = stored_of(plan, asked.run_file), [str(getattr(model, "id", model)) for model in plan.models]
    done = requests = prompt = judged = judge_prompt = cases = 0
    for case in made.planned():
        cases += len(models)
        missing = [model for model in models if not stored.has(model, case.id)]
        done += len(models) - len(missing)
        if sent := len([model for model in missing if model not in _NO_REQUESTS]):
            requests += sent
            prompt += made.prompt_tokens(case) * sent
        unjudged = [model for model in models if asked.judging.model and not stored.has(model, case.id, judged_by)]
        if unjudged and (more := made.judge_tokens(case)):
            judged += len(unjudged)
            judge_prompt += more * len(unjudged)
    document: dict[str, Any] = {
        "cases": cases, "done": done, "requests": requests + judged,
        "prompt_tokens": prompt, "completion_tokens": answer * requests,
        "judge_requests": judged, "judge_tokens": judge_prompt, "cost": None, "judge_cost": None,
    }  # fmt: skip
    if made.prepares:
        document["retrievers"] = [
            {"model": cost.model, "requests": cost.requests, "tokens": cost.tokens} for cost in made.retrieval_cost()
        ]
    if asked.price:
        written = _VERDICT_TOKENS * judged
        judge_cost = cost_of(max(0, judge_prompt - written), written, asked.judge_price or asked.price)
        document["judge_cost"] = round(judge_cost, 6)
        document["cost"] = round(cost_of(prompt, answer * requests, asked.price) + judge_cost, 6)
    return document


def _tell_before(expected: Mapping[str, Any]) -> None:
    """One line on what a sweep takes, before anything is spent."""
    if expected["requests"]:
        say(
            f"{expected['cases']:,} cases: {expected['requests']:,} requests at most, about "
            f"{expected['prompt_tokens']:,} tokens of prompts and {expected['completion_tokens']:,} of answers.",
            err=True,
        )
    for line in _retrieving(expected):
        say(line, err=True)


def _retrieving(expected: Mapping[str, Any]) -> list[str]:
    """What the retrievers' models are asked, a line for each."""
    return [
        f"retrievers: {one['requests']:,} requests to {one['model']} at most, about {one['tokens']:,} tokens of prompts"
        if one["requests"]
        else f"retrievers: about {one['tokens']:,} tokens for {one['model']} to embed"
        for one in expected.get("retrievers", ())
    ]


def _tell_dry_run(document: Mapping[str, Any], answer: int, asked: Asked) -> None:
    done = f" ({document['done']:,} answered already)" if document["done"] else ""
    say(
        f"{document['cases']:,} cases{done}, {document['requests']:,} requests at most (fewer where replies are cached)"
    )
    say(
        f"about {document['prompt_tokens']:,} tokens of prompts and {document['completion_tokens']:,} of answers "
        f"({answer} an answer assumed)"
    )
    for line in _retrieving(document):
        say(f"{line}; not in the cost")
    if document["judge_requests"]:
        say(
            f"the judge: {document['judge_requests']:,} of the requests, about {document['judge_tokens']:,} tokens"
            + ("" if document["cost"] is None else f", {money(document['judge_cost'])} of the cost")
        )
    if document["cost"] is None:
        say("cost: unknown; --price IN/OUT (per million tokens) computes it; local models cost nothing")
    else:
        judge = f"; the judge at {asked.judge_price_text}" if asked.judge_price_text else ""
        say(f"cost: about {money(document['cost'])} at {asked.price_text} a million tokens{judge}")


def cost_of(asked: float, written: float, price: tuple[float, float]) -> float:
    """What so many tokens of prompts and of answers cost."""
    return (asked * price[0] + written * price[1]) / 1e6


def money(cost: float) -> str:
    """ "12.34", "0.0042": two digits that matter."""
    return f"{cost:.2f}" if cost >= 1 or not cost else f"{cost:.2g}"


def read_price(text: str, option: str = "--price") -> tuple[float, float]:
    """The price of a million tokens of prompts and of answers, from "0.15/0.60". Raises UsageError."""
    try:
        price_in, price_out = map(float, text.split("/"))
        if not (0 <= price_in < math.inf and 0 <= price_out < math.inf):
            raise ValueError
    except ValueError:
        raise UsageError(f"{option} {text}: expected two numbers, such as 0.15/0.60.") from None
    return price_in, price_out
