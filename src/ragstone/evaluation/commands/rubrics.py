"""`ragstone rubrics`."""

import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ragstone.commands.options import FOLDER, PATH, json_option, language_option
from ragstone.commands.output import say, say_json, say_text
from ragstone.error_text import told
from ragstone.messages import messages, preferred_language

if TYPE_CHECKING:
    from ragstone.metrics.rubric import Rubric


@click.group()
def command() -> None:
    """List, show, copy and check rubrics, to be used with `eval --rubric NAME|FILE|DIR`."""


@command.command(name="list")
@language_option
@json_option
def list_(language: str | None, as_json: bool) -> None:
    """List the built-in rubrics: what each asks, what it needs, which direction is better."""
    from ragstone.evaluation.rubrics import list_rubrics  # noqa: PLC0415

    rubrics = list_rubrics()
    if as_json:
        say_json([_document(rubric) for rubric in rubrics])
        return
    language = language or preferred_language()
    texts = messages(__name__, language)
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    for rubric in rubrics:
        say(f"{rubric.name:<30}{rubric.title.to(language)}{texts['outline'].format(outline=_outline(rubric, texts))}")
        say_text(textwrap.fill(rubric.question.to(language), width, initial_indent="    ", subsequent_indent="    "))


@command.command()
@click.argument("name", metavar="NAME|FILE")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show a rubric: a built-in one by name, or your own by path."""
    from ragstone.evaluation.rubrics import show_rubric  # noqa: PLC0415

    rubric, text = show_rubric(name)
    if as_json:
        say_json(_document(rubric))
    else:
        say_text(text)


@command.command()
@click.argument("name")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def copy(name: str, folder: Path, force: bool) -> None:
    """Copy the built-in rubric NAME to DIR for editing; use it with `eval --rubric DIR`."""
    from ragstone.evaluation.rubrics import copy_rubric  # noqa: PLC0415

    path = copy_rubric(name, folder, force=force)
    say(path)
    say(f"After editing: ragstone rubrics check {path}", err=True)


@command.command()
@click.argument("path", metavar="FILE|DIR", type=PATH)
@json_option
def check(path: Path, as_json: bool) -> int:
    """Check the rubric in FILE, or all rubrics in DIR; one line per error."""
    from ragstone.evaluation.rubrics import check_rubrics  # noqa: PLC0415

    files, texts = check_rubrics(path), messages(__name__, preferred_language())
    if as_json:
        listed = [
            {
                "path": file.path,
                "rubric": None if file.rubric is None else _document(file.rubric),
                "mistakes": file.mistakes,
            }
            for file in files
        ]
        say_json(listed)
    for file in () if as_json else files:
        for mistake in file.mistakes:
            say(told(f"{file.path}: {mistake}", preferred_language()))
        if file.rubric is not None:
            rubric = file.rubric
            say(f"{file.path}: rubric.{rubric.name}  {rubric.hash[:12]}  {_outline(rubric, texts)}")
    wrong = sum(bool(file.mistakes) for file in files)
    say(texts["file" if len(files) == 1 else "files"].format(n=len(files), wrong=wrong), err=True)
    return 2 if wrong else 0


def _document(rubric: "Rubric") -> dict[str, Any]:
    written: dict[str, Any] = msgspec.to_builtins(rubric)
    return {**written, "hash": rubric.hash, "languages": list(rubric.languages)}


def _outline(rubric: "Rubric", texts: Mapping[str, str]) -> str:
    """Its structure in a few words."""
    known = sum(element.if_known for element in rubric.elements)
    parts = [
        texts["known" if known else "elements"].format(n=len(rubric.elements), known=known) if rubric.elements else "",
        texts["ordered"] if rubric.order else "",
        "" if rubric.scale is None else texts["scale"].format(low=rubric.scale.low, high=rubric.scale.high),
        texts["needs"].format(needs=texts["and"].join(rubric.needs)) if rubric.needs else "",
        texts[rubric.better] if rubric.better != "higher" else "",
        "/".join(rubric.languages),
    ]
    return texts["apart"].join(filter(None, parts))
