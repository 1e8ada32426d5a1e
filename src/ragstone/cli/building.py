"""What the commands of `ragstone build` that ask models share: options, the dry run, and the result."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.cli.evaluate import model_options_of
from ragstone.cli.options import (
    Number,
    PriceText,
    both,
    cache_option,
    json_option,
    language_option,
    max_requests_option,
    quiet_option,
    rate_options,
)  # fmt: skip
from ragstone.cli.output import say, say_json
from ragstone.cli.shell import opened_shell
from ragstone.cli.show import failures_of, say_failures, say_run
from ragstone.messages import messages, preferred_language
from ragstone.prices import read_price

if TYPE_CHECKING:
    from ragstone.api.execute import Shell
    from ragstone.api.run_result import RunResult
    from ragstone.builders.pipeline import Pipeline
    from ragstone.builders.steps import Role
    from ragstone.models import ModelOptions

__all__ = ["building_options", "dry_run", "models_of", "run_build"]

building_options = both(
    click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="DIR",
                 help="Output folder."),
    click.option("--model", required=True, help="Model that writes; local/template works by rules."),
    click.option("--checker", help="Model that reads and judges what was written.  [default: --model]"),
    click.option("--run", "run_file", type=click.Path(path_type=Path), help="The run file.  [default: DIR/build.run]"),
    click.option("--base-url", metavar="URL", help="Address of the endpoint of both models."),
    click.option("--dry-run", is_flag=True, help="Print the number of requests and tokens and the cost, then stop."),
    click.option("--price", type=PriceText(), default="",
                 help="Price per million tokens: prompts, answers, cached prompts."),
    click.option("--max-cost", type=Number(0, min_open=True),
                 help="Stop when --price times the tokens reaches this; a larger limit resumes."),
    max_requests_option,
    click.option("--timeout", "deadline", type=Number(0, min_open=True), default=120.0, show_default=True,
                 help="Time limit of a request, in seconds."),
    click.option("--concurrency", type=click.IntRange(1, 4096),
                 help="Concurrent requests.  [default: 64; 4 if local]"),
    rate_options,
    cache_option,
    language_option,
    quiet_option,
    json_option,
)  # fmt: skip
"""The options of every construction."""


def models_of(values: Mapping[str, Any]) -> "dict[Role, Any]":
    """The models by role."""
    return {"writer": values["model"], "checker": values["checker"] or values["model"]}


async def dry_run(pipeline: "Pipeline", models: "Mapping[Role, Any]", values: Mapping[str, Any]) -> int:
    """Prints what each pass would ask, with the yields of `local/template` in place of those that nobody knows."""
    from ragstone.api.construction import expected  # noqa: PLC0415

    found = await expected(pipeline, models, values["run_file"] or values["output"] / "build.run")
    requests, tokens = sum(found.requests.values()), sum(found.prompt_tokens.values())
    price = read_price(values["price"])
    if values["as_json"]:
        say_json({"requests": dict(found.requests), "prompt_tokens": dict(found.prompt_tokens)})
        return 0
    texts = messages(__name__, values["language"] or preferred_language())
    for name, count in found.requests.items():
        say(texts["pass"].format(name=name, requests=f"{count:,}", tokens=f"{found.prompt_tokens[name]:,}"))
    cost = "" if price is None else texts["cost"].format(cost=f"{price.of_tokens(tokens, 0):.2f}")
    say(texts["total"].format(requests=f"{requests:,}", tokens=f"{tokens:,}", cost=cost))
    return 0


async def run_build(
    values: Mapping[str, Any],
    build: "Callable[[ModelOptions, Shell], Awaitable[RunResult]]",
    document: "Callable[[Any], dict[str, Any]]",
    complete: "Callable[[Any], bool]",
) -> int:
    """Runs a construction and prints its tables, or what `document` makes of its result."""
    options = replace(model_options_of(dict(values)), base_url=values["base_url"] or "")
    async with opened_shell(quiet=values["quiet"], language=values["language"]) as shell:
        result = await build(options, shell)
    with result.open() as run:
        language, failures = run.language, failures_of(run)
        if values["as_json"]:
            say_json({"run": str(result.run), "complete": complete(result), **document(result)})
        else:
            say_run(run, language=language, notes=result.warnings)
    if complete(result):
        return 0
    say(f"ragstone: {result.outcome.advice_in(language)}", err=True)
    say_failures(failures, language)
    return 3
