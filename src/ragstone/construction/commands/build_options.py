"""What the commands of `ragstone build` that ask models share: options, the dry run, and the result."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import (
    PATH,
    POSITIVE,
    PRICE,
    Address,
    batch_option,
    both,
    cache_option,
    cluster_options,
    dry_run_option,
    json_option,
    language_option,
    max_requests_option,
    quiet_option,
    rate_options,
    run_options_of,
)  # fmt: skip
from ragstone.commands.output import say, say_json
from ragstone.commands.shell import opened_shell
from ragstone.commands.show import failures_of, say_run, say_unfinished
from ragstone.errors import UsageError
from ragstone.evaluation.commands.bench_command import retriever_lines
from ragstone.messages import messages, preferred_language
from ragstone.prices import read_price, share_of

if TYPE_CHECKING:
    from pathlib import Path

    from ragstone.construction.builders.steps import Role
    from ragstone.construction.construction_estimate import Amounts, Expected
    from ragstone.engine.execute import RunOptions
    from ragstone.engine.run_result import RunResult

_BOUNDS = ("least", "likely", "most")
_COLUMNS = {"requests": "requests", "prompt_tokens": "prompt_tokens", "reply_tokens": "completion_tokens"}


def _refuse_shard(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise UsageError(
            "--shard has no meaning for build: each pass needs the replies of the whole one before it. Use --cluster, "
            "whose workers share every pass."
        )


building_options = both(
    click.option("-o", "--output", required=True, type=PATH, metavar="DIR", help="Output folder."),
    click.option("--model", required=True, help="Model that writes; local/template works by rules."),
    click.option("--checker", help="Model that reads and judges what was written.  [default: --model]"),
    click.option("--run", "run_file", type=PATH, help="The run file.  [default: DIR/build.run]"),
    click.option("--base-url", type=Address(), multiple=True,
                 help="Address of the endpoint of both models; several share their requests."),
    dry_run_option("requests and tokens"),
    click.option("--price", type=PRICE, default="", help="Price per million tokens: prompts, answers, cached prompts."),
    click.option("--max-cost", type=POSITIVE,
                 help="Stop when --price times the tokens reaches this; a larger limit resumes."),
    max_requests_option,
    click.option("--timeout", "deadline", type=POSITIVE, default=120.0, show_default=True,
                 help="Time limit of a request, in seconds."),
    click.option("--concurrency", type=click.IntRange(1, 4096), help="Concurrent requests.  [default: 64; 4 if local]"),
    rate_options,
    cluster_options,
    click.option("--shard", hidden=True, callback=_refuse_shard, expose_value=False),
    cache_option,
    batch_option,
    language_option,
    quiet_option,
    json_option,
)  # fmt: skip
"""The options of every construction."""


def models_of(values: Mapping[str, Any]) -> "dict[Role, Any]":
    """The models by role."""
    return {"writer": values["model"], "checker": values["checker"] or values["model"]}


async def dry_run(estimate: "Callable[[Path], Awaitable[Expected]]", values: Mapping[str, Any]) -> int:
    """Prints what each pass would ask, and what nobody knows before as a range."""
    from ragstone.construction.builders.template_model import TEMPLATE_MODEL  # noqa: PLC0415
    from ragstone.engine.batches import price_in_batches  # noqa: PLC0415
    from ragstone.retrieval.cost_estimate import TextCount, estimate_cost  # noqa: PLC0415

    found = await estimate(values["run_file"] or values["output"] / "build.run")
    searched = estimate_cost(values["retriever"], found.corpus, TextCount(0, 0)) if found.corpus.number else []
    retrievers = [{"model": cost.model, "requests": cost.requests, "tokens": cost.tokens} for cost in searched]
    least, likely, most = (found.total(bound) for bound in _BOUNDS)
    if values["as_json"]:
        by_rules = [role for role, model in models_of(values).items() if model == TEMPLATE_MODEL]
        passes = {name: _document(one) | {"by_rules": one.role in by_rules} for name, one in found.passes.items()}
        say_json(passes | ({"retrievers": retrievers} if retrievers else {}))
        return 0
    language = values["language"] or preferred_language()
    texts = messages(__name__, language)

    def between(numbers: Sequence[float], form: str = ",") -> str:
        first, middle, last = (format(number, form) for number in numbers)
        return middle if first == last else texts["range"].format(likely=middle, least=first, most=last)

    if set(models_of(values).values()) == {TEMPLATE_MODEL}:
        say(texts["by_rules"].format(model=TEMPLATE_MODEL))
    for name, one in found.passes.items():
        amounts = (one.least, one.likely, one.most)
        columns = {key: between([getattr(usage, field) for usage in amounts]) for key, field in _COLUMNS.items()}
        say(texts["search" if one.role == "searcher" else "pass"].format(name=name, **columns))
    columns = {key: between([getattr(one, field) for one in (least, likely, most)]) for key, field in _COLUMNS.items()}
    cost = ""
    models = list(models_of(values).values())
    shown = price_in_batches(values["price"], models, batch=bool(values["batch"]))
    if (price := read_price(shown)) is not None:
        costs = [price.of_tokens(one.prompt_tokens, one.completion_tokens) for one in (least, likely, most)]
        cost = texts["cost"].format(cost=between(costs, ",.2f"))
    say(texts["total"].format(cost=cost, **columns))
    for line in retriever_lines({"retrievers": retrievers}, language):
        say(texts["not_in_cost"].format(line=line))
    if (share := share_of(shown, values["price"])) < 1:
        say(texts["cost.batch"].format(share=share))
    if least != most:
        say(texts["ranges"])
    return 0


def _document(one: "Amounts") -> dict[str, Any]:
    amounts = {bound: getattr(one, bound) for bound in _BOUNDS}
    return {"role": one.role} | {
        bound: {key: getattr(usage, field) for key, field in _COLUMNS.items()} for bound, usage in amounts.items()
    }


async def run_build(
    values: Mapping[str, Any],
    build: "Callable[[RunOptions], Awaitable[RunResult]]",
    document: "Callable[[Any], dict[str, Any]]",
    complete: "Callable[[Any], bool]",
) -> int:
    """Runs a construction and prints its tables, or what `document` makes of its result."""
    async with opened_shell(values) as shell:
        how = run_options_of(values, shell)
        assert how.model_options is not None
        options = replace(how.model_options, base_url=values["base_url"])
        result = await build(replace(how, model_options=options))
    with result.open() as run:
        language, failures = run.language, failures_of(run, run.language)
        if values["as_json"]:
            say_json({"run": str(result.run), "complete": complete(result), **document(result)})
        else:
            say_run(run, language=language, notes=result.warnings)
    if complete(result):
        return 0
    say_unfinished(result.outcome, failures, language)
    return 3
