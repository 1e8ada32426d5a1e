"""`ragstone prompts`."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ragstone.commands.options import (
    FOLDER,
    PATH,
    PRICE,
    Scale,
    json_option,
    judge_options,
    judging_of,
    language_option,
)
from ragstone.commands.output import say, say_json, say_text
from ragstone.commands.shell import keeping
from ragstone.messages import messages, preferred_language

if TYPE_CHECKING:
    from ragstone.experts.prompt_tuning import Tuning, TuningPlan


@click.group()
def command() -> None:
    """Show, copy, check and tune the judge's prompts."""


@command.command(short_help="Show a prompt, or list all prompts.")
@click.argument("name", required=False)
@click.option("--language", metavar="en|zh", help="Only this language.  [default: both]")
@json_option
def show(name: str | None, language: str | None, as_json: bool) -> None:
    """Show the prompt NAME, or list all prompts: version, hash and approximate tokens per request."""
    from ragstone.evaluation.prompts import prompt_text, show_prompts  # noqa: PLC0415

    prompts = show_prompts(name, language)
    if as_json:
        listed = [{**msgspec.to_builtins(prompt), "hash": prompt.hash, "tokens": prompt.tokens} for prompt in prompts]
        say_json(listed)
    elif name is None:
        for prompt in prompts:
            line = messages(__name__, preferred_language())["listed"]
            name = f"{prompt.name}/{prompt.language}"
            say(line.format(name=name, version=prompt.version, hash=prompt.hash[:12], tokens=prompt.tokens))
    else:
        say_text("\n".join(prompt_text(prompt.name, prompt.language) for prompt in prompts))


@command.command()
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--name", "names", multiple=True, metavar="NAME", help="Only this prompt (repeatable).")
@click.option("--language", "languages", multiple=True, metavar="en|zh", help="Only this language (repeatable).")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def copy(folder: Path, names: tuple[str, ...], languages: tuple[str, ...], force: bool) -> None:
    """Copy the prompts to DIR for editing. Parts that an edited file leaves out (the instruction, the examples) keep
    their built-in text; use the copies with `--prompts DIR`."""
    from ragstone.evaluation.prompts import copy_prompts  # noqa: PLC0415

    for path in copy_prompts(folder, names=names, languages=languages, force=force):
        say(path)
    say(f"After editing: ragstone prompts check {folder}", err=True)


@command.command(short_help="Check edited prompts: differences and errors.")
@click.argument("folder", metavar="DIR", type=FOLDER)
@json_option
def check(folder: Path, as_json: bool) -> int:
    """Check the prompts in DIR: differences from the built-in ones, token counts and errors."""
    from ragstone.evaluation.prompts import check_prompts  # noqa: PLC0415

    files = check_prompts(folder)
    wrong = [checked for checked in files if checked.problem]
    if as_json:
        say_json(files)
    for checked in () if as_json else files:
        called = f"{checked.name}/{checked.language}"
        if checked.problem:
            say(checked.problem)
        elif checked.changed:
            costs = f"{checked.tokens_of_ours:,} -> {checked.tokens:,} tokens"
            say(f"{called:<27} {checked.hash[:12]}  {costs}  changed: {', '.join(checked.changed)}")
        else:
            say(f"{called:<27} {checked.hash[:12]}  {checked.tokens:,} tokens  as in ragstone")
    changed = sum(bool(checked.changed) for checked in files)
    say(f"{len(files)} files: {changed} changed, {len(wrong)} wrong.", err=True)
    return 2 if wrong else 0


@command.command(short_help="Tune the prompts by labels of experts.")
@click.argument("labels", type=PATH)
@click.option("--run", "run_file", required=True, type=PATH, help="Run whose answers the labels are about.")
@click.option("--task", default="", metavar="NAME", help="Task of the labels.  [default: the first one]")
@click.option("--system", metavar="NAME", help="System of the run, if it has several.")
@click.option("--scale", type=Scale(), default="0..1", show_default=True, help="Lowest and highest label.")
@click.option("--examples", type=click.IntRange(1, 20), default=2, show_default=True,
              help="Demonstrations that each language may get.")  # fmt: skip
@judge_options
@click.option("-o", "--output", "folder", default="prompts", show_default=True, type=PATH,
              help="Folder for the tuned prompts.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print the requests and tokens, and stop.")
@click.option(
    "--price",
    default="",
    type=PRICE,
    help="The judge's price per million tokens: prompts, answers, cached prompts.",
)
@language_option
@json_option
def tune(labels: Path, **values: Any) -> int:
    """Add demonstrations to the judge's prompts, out of its disagreements with experts.

    They are chosen on one half of the labelled questions and measured on the other. They are written only where the
    judge is then closer to the experts, at 95% by a paired test; otherwise nothing changes. Use them with `--prompts`.
    """
    from ragstone.experts.prompt_tuning import estimate_tuning, plan_tuning, tune_prompts_async  # noqa: PLC0415

    plan = plan_tuning(
        labels, values["run_file"], judging_of(values), task=values["task"], system=values["system"],
        scale=values["scale"], examples=values["examples"],
    )  # fmt: skip
    language = values["language"] or preferred_language()
    if values["dry_run"]:
        _say_estimate(plan, asyncio.run(estimate_tuning(plan)), values, language)
        return 0
    with keeping(language):  # the judge's replies are cached
        tuning = asyncio.run(tune_prompts_async(plan, values["folder"]))
    if values["as_json"]:
        say_json(msgspec.to_builtins(tuning, enc_hook=str))
        return 0
    for line in _tuned_lines(tuning, values["folder"], language):
        say(line)
    return 0


def _say_estimate(plan: "TuningPlan", usage: Any, values: dict[str, Any], language: str) -> None:
    from ragstone.evaluation.commands.bench_command import say_cost  # noqa: PLC0415
    from ragstone.prices import read_price  # noqa: PLC0415

    price = read_price(values["price"])
    cost = None if price is None else round(price.cost(usage), 6)
    document = {
        "metric": plan.metric, "first": len(plan.first), "second": len(plan.second), "requests": usage.requests,
        "prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens, "cost": cost,
    }  # fmt: skip
    if values["as_json"]:
        say_json(document)
        return
    say(messages(__name__, language)["tuning_cost"].format(**document))
    say_cost(cost, values["price"], language, cached=usage.cached_tokens)


def _tuned_lines(tuning: "Tuning", folder: Path, language: str) -> list[str]:
    """The results, a line for each language, and the folder of the prompts."""
    texts = messages(__name__, language)
    lines = []
    for trial in tuning.trials:
        kind = "kept" if trial.kept else "not_better" if trial.n else "untested" if trial.examples else "no_example"
        lines.append(texts[f"tuned_{kind}"].format(
            metric=tuning.metric, spoken=texts[f"spoken_{trial.language}"], n=trial.n, before=f"{trial.before:.3f}",
            after=f"{trial.after:.3f}", p=f"{trial.p:.2g}", ids=", ".join(trial.ids), tried=trial.tried,
        ))  # fmt: skip
    written = texts["tuned_written"].format(folder=folder, files=", ".join(map(str, tuning.files)))
    return [*lines, written if tuning.files else texts["tuned_nothing"]]
