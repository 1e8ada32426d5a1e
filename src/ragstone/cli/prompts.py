"""`ragstone prompts`."""

from pathlib import Path

import click
import msgspec

from ragstone.cli.options import json_option
from ragstone.cli.output import say, say_json, say_text
from ragstone.messages import messages, preferred_language

__all__ = ["command"]


@click.group()
def command() -> None:
    """Show, copy and check the judge's prompts."""


@command.command(short_help="Show a prompt, or list all prompts.")
@click.argument("name", required=False)
@click.option("--language", metavar="en|zh", help="Only this language.  [default: both]")
@json_option
def show(name: str | None, language: str | None, as_json: bool) -> None:
    """Show the prompt NAME, or list all prompts: version, hash and approximate tokens per request."""
    from ragstone.api.prompts import prompt_text, show_prompts  # noqa: PLC0415

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
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--name", "names", multiple=True, metavar="NAME", help="Only this prompt (repeatable).")
@click.option("--language", "languages", multiple=True, metavar="en|zh", help="Only this language (repeatable).")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def copy(folder: Path, names: tuple[str, ...], languages: tuple[str, ...], force: bool) -> None:
    """Copy the prompts to DIR for editing. Parts that an edited file leaves out (the instruction, the examples) keep
    their built-in text; use the copies with `--prompts DIR`."""
    from ragstone.api.prompts import copy_prompts  # noqa: PLC0415

    for path in copy_prompts(folder, names=names, languages=languages, force=force):
        say(path)
    say(f"After editing: ragstone prompts check {folder}", err=True)


@command.command(short_help="Check edited prompts: differences and errors.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@json_option
def check(folder: Path, as_json: bool) -> int:
    """Check the prompts in DIR: differences from the built-in ones, token counts and errors."""
    from ragstone.api.prompts import check_prompts  # noqa: PLC0415

    files = check_prompts(folder)
    wrong = [checked for checked in files if checked.problem]
    if as_json:
        say_json(msgspec.to_builtins(files))
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
