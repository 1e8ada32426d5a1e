"""What every `ragstone bench …` shares: whom to ask and how, the run itself, what is told at its end, `--dry-run`."""

import asyncio
import math
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ragstone.cli.options import Number, both, json_option
from ragstone.cli.saying import say, say_json
from ragstone.cli.show import say_run
from ragstone.errors import UsageError

if TYPE_CHECKING:
    from ragstone.api.bench import BenchResult
    from ragstone.models import ModelOptions
    from ragstone.types import Case

__all__ = ["Asked", "command_line", "model_options", "read_asked", "read_price", "run_benchmark", "run_options"]

_NO_REQUESTS = ("local/extractive", "local/retrieval")
_ANSWER_TOKENS = 60  # of a typical answer, for --dry-run

model_options = both(
    click.option("--model", "models", multiple=True, metavar="PROVIDER/MODEL", help="Whom to ask; may repeat."),
    click.option("--judge", metavar="PROVIDER/MODEL", help="For the metrics that need one."),
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

run_options = both(
    click.option(
        "--run", "run_file", type=click.Path(path_type=Path), help="The run file.  [default: by the question]"
    ),
    click.option(
        "--metric", "metrics", multiple=True, metavar="NAME", help="Score this too; `ragstone metrics` lists."
    ),
    click.option("--dry-run", is_flag=True, help="Print cases, requests, tokens and cost; ask nothing."),
    click.option("--price", metavar="IN/OUT", help="Price of a million tokens of prompts and answers, for --dry-run."),
    click.option("--report", "report_file", type=click.Path(path_type=Path), help="Write the report here, too."),
    click.option(
        "--tables", "tables_language", type=click.Choice(["en", "zh"]), default="en", help="Words of the tables."
    ),
    click.option("--quiet", is_flag=True, help="No progress."),
    json_option,
)


class Asked(NamedTuple):
    """What `model_options` and `run_options` parsed, checked."""

    models: tuple[str, ...]
    judge: str | None
    judge_base_url: str | None
    sampling: Mapping[str, Any]
    calling: "ModelOptions"
    concurrency: int | None
    run_file: Path | None
    metrics: tuple[str, ...]
    dry_run: bool
    price: tuple[float, float] | None
    price_text: str
    report_file: Path | None
    tables_language: str
    quiet: bool
    as_json: bool


def read_asked(values: dict[str, Any], *, need_model: bool = True) -> Asked:
    """Takes the shared options out of `values` and checks them before anything is spent. Raises UsageError."""
    from ragstone.api.bench import cache_folder, check_extra, check_names  # noqa: PLC0415
    from ragstone.api.reading import check_target  # noqa: PLC0415
    from ragstone.models import ModelOptions  # noqa: PLC0415

    models, judge, metrics = values.pop("models"), values.pop("judge"), values.pop("metrics")
    if not models and need_model:
        raise UsageError("No model. Say whom to ask: --model local/extractive, --model openai/gpt-4o-mini…")
    if models:
        check_names(models, judge)
    check_extra(metrics, judge)
    price_text, dry_run, report_file = values.pop("price"), values.pop("dry_run"), values.pop("report_file")
    price = None if price_text is None else read_price(price_text)
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
        models, judge, values.pop("judge_base_url"), sampling, calling, concurrency, values.pop("run_file"), metrics,
        dry_run, price, price_text or "", report_file, values.pop("tables_language"), values.pop("quiet"),
        values.pop("as_json"),
    )  # fmt: skip


def run_benchmark(made: Any, asked: Asked, *, judge_tokens: "Callable[[Case], int] | None" = None) -> int:
    """Runs a benchmark that is made, or tells what it would take, and returns the exit code.

    `judge_tokens`: the tokens of what the judge is asked about a case, 0 where it is not; for `--dry-run`."""
    if asked.dry_run:
        return _dry_run(made, asked, judge_tokens)
    if hasattr(made, "planned") and not asked.quiet and not asked.as_json:
        _tell_before(_expected(made, asked, judge_tokens))
    return asyncio.run(_bench(made, asked))


async def _bench(made: Any, asked: Asked) -> int:
    from ragstone.api.bench import bench_async  # noqa: PLC0415
    from ragstone.cli.progress import make_progress  # noqa: PLC0415
    from ragstone.runs import finish_on_interrupt  # noqa: PLC0415

    async with finish_on_interrupt(lambda line: say(line, err=True)) as stop:
        result = await bench_async(
            made.name,
            prepared=made,
            model=list(asked.models),
            judge=asked.judge,
            metrics=asked.metrics,
            judge_base_url=asked.judge_base_url,
            run=asked.run_file,
            sampling=asked.sampling,
            model_options=asked.calling,
            concurrency=asked.concurrency,
            progress=make_progress(quiet=asked.quiet),
            stop=stop,
            command=command_line(sys.argv[1:]),
        )
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

    outcome, language = result.outcome, asked.tables_language
    with result.open() as run:
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


def _dry_run(made: Any, asked: Asked, judge_tokens: "Callable[[Case], int] | None") -> int:
    """Tells what the run would take."""
    document = _expected(made, asked, judge_tokens)
    if asked.as_json:
        say_json(document)
    else:
        _tell_dry_run(document, _answer_tokens(asked), asked)
    return 0


def _answer_tokens(asked: Asked) -> int:
    return min(_ANSWER_TOKENS, asked.sampling["max_tokens"] or _ANSWER_TOKENS)


def _expected(made: Any, asked: Asked, judge_tokens: "Callable[[Case], int] | None") -> dict[str, Any]:
    """What a run takes, by counting every prompt. Answers are assumed to have 60 tokens, or --max-tokens."""
    from ragstone.text import estimate_tokens  # noqa: PLC0415

    answer = _answer_tokens(asked)
    cases = prompt = judged = judge_prompt = 0
    for case in made.planned() if hasattr(made, "planned") else made.cases():
        cases += 1
        if hasattr(made, "prompt_tokens"):  # where a prompt is made only when it is sent
            prompt += made.prompt_tokens(case)
        else:
            prompt += sum(estimate_tokens(turn.content) for turn in made.template.messages(case.query))
        if asked.judge and judge_tokens and (more := judge_tokens(case)):
            judged += 1
            judge_prompt += more
    models, whom = len(asked.models), len([name for name in asked.models if name not in _NO_REQUESTS])
    document: dict[str, Any] = {
        "cases": cases * models, "requests": cases * whom + judged * models,
        "prompt_tokens": prompt * whom, "completion_tokens": answer * cases * whom,
        "judge_requests": judged * models, "judge_tokens": judge_prompt * models, "cost": None,
    }  # fmt: skip
    if hasattr(made, "foreseen"):
        document["retrievers"] = [
            {"model": one.model, "requests": one.requests, "tokens": one.tokens} for one in made.foreseen()
        ]
    if asked.price:
        cost = document["prompt_tokens"] * asked.price[0] + document["completion_tokens"] * asked.price[1]
        document["cost"] = round(cost / 1e6, 4)
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
    say(f"{document['cases']:,} cases, {document['requests']:,} requests at most (fewer where replies are cached)")
    say(
        f"about {document['prompt_tokens']:,} tokens of prompts and {document['completion_tokens']:,} of answers "
        f"({answer} an answer assumed)"
    )
    for line in _retrieving(document):
        say(f"{line}; not in the cost")
    if document["judge_requests"]:
        say(
            f"the judge: {document['judge_requests']:,} of the requests, about {document['judge_tokens']:,} tokens; "
            "they are not in the cost, which is at the model's price"
        )
    if document["cost"] is None:
        say("cost: unknown; --price IN/OUT (per million tokens) computes it; local models cost nothing")
    else:
        say(f"cost: about {document['cost']:.2f} at {asked.price_text} a million tokens")


def read_price(text: str) -> tuple[float, float]:
    """The price of a million tokens of prompts and of answers, from "0.15/0.60". Raises UsageError."""
    try:
        price_in, price_out = map(float, text.split("/"))
        if not (0 <= price_in < math.inf and 0 <= price_out < math.inf):
            raise ValueError
    except ValueError:
        raise UsageError(f"--price {text}: expected two numbers, such as 0.15/0.60.") from None
    return price_in, price_out
