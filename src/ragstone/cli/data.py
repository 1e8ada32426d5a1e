"""`ragstone data`."""

import asyncio
import dataclasses
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import FOLDER, PATH, Number, json_option, language_option, map_option
from ragstone.commands.output import obeys, say, say_json, say_tables
from ragstone.error_text import told
from ragstone.errors import UsageError, check_name
from ragstone.evaluation.commands.evaluate import file_options
from ragstone.messages import messages, preferred_language

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragstone.evaluation.data_check import CheckedAnswers


@click.group()
def command() -> None:
    """List, pull, check, review, edit and export data sets."""


@command.command(name="list")
@json_option
def list_(as_json: bool) -> None:
    """List the data sets that can be pulled and which of their files are here."""
    from ragstone.datasets.pull import data_folder  # noqa: PLC0415
    from ragstone.datasets.sources import list_data  # noqa: PLC0415

    if as_json:
        data_sets = list_data(data_folder("x").parent)
        say_json(data_sets)
        return
    texts = _texts()
    say(f"fictional  {texts['fictional']}")
    for listed in list_data(data_folder("x").parent):
        counts = {"present": len(listed.present), "files": len(listed.files), "folder": listed.folder}
        say(f"{listed.name:<10} " + texts["title"].format(title=listed.title, license=listed.license))
        say(" " * 11 + texts["revision"].format(repository=listed.repository, revision=listed.revision[:12]))
        say(" " * 11 + texts["present"].format(**counts))


@command.command()
@click.argument("name")
@click.option("--to", type=FOLDER, help="Target folder.  [default: ragstone's data folder]")
@click.option("--from", "mirror", metavar="URL|PATH", help="Mirror: a URL, a folder or a zip archive.")
@click.option("--only", multiple=True, metavar="FILE", help="Fetch only this file (repeatable).")
def pull(name: str, to: Path | None, mirror: str | None, only: tuple[str, ...]) -> None:
    """Download the official files of NAME (rgb, mirage) from their publisher, at a pinned revision."""
    from ragstone.datasets.pull import data_folder  # noqa: PLC0415
    from ragstone.datasets.pull import pull as fetch  # noqa: PLC0415
    from ragstone.datasets.sources import SOURCES  # noqa: PLC0415

    check_name("data set", name, SOURCES)
    if mirror is not None and not mirror.strip():
        raise UsageError("--from is empty: pass a URL, a folder or a zip archive, or omit it.")
    source, folder = SOURCES[name], to or data_folder(name)
    say(source.terms, err=True)
    with _Bars() as bars:
        pulled = asyncio.run(fetch(source, folder, mirror=mirror, progress=bars, names=only or None))
    texts = _texts()
    for file in pulled:
        how = texts[f"hash.{file.verified}"] + ("" if file.fetched else texts["kept"])
        say(f"{file.path}  " + texts["pulled"].format(size=file.size, how=how))
    where = "official" if to is None else str(to)
    missing = [file.name for file in source.files if not (folder / file.name).is_file()]
    if missing and source.whole:
        say(texts["missing"].format(names=", ".join(missing)))
        return
    say(texts["use"].format(command=f"ragstone bench {name} --data {where} --model …"))


@command.command()
@click.argument("paths", nargs=-1, required=True, type=PATH)
@file_options
@json_option
def check(paths: tuple[Path, ...], as_json: bool, **values: Any) -> int:
    """Describe what PATHS hold, and report file, line and field of every error.

    For answers to be scored by `ragstone eval`: the layout, the meaning of each column, and the metrics for which rows
    lack data. Files in RGB's format and passage pools in MIRAGE's are checked by their own rules; the labels of a pool
    are compared with the contents of its passages."""
    from ragstone.evaluation.data_check import CheckedAnswers, check_data  # noqa: PLC0415

    checked, problems = check_data(paths, **values)
    errors = sum(problem.severity == "error" for problem in problems)
    if as_json:
        document = {"files": checked, "problems": problems} if checked else problems
        say_json(document)
    else:
        for item in checked:
            for line in _lines_of(item) if isinstance(item, CheckedAnswers) else item.lines:
                say(line)
        for problem in problems:
            say(told(str(problem), preferred_language()))
    warnings = len(problems) - errors + sum(len(item.warnings) for item in checked if isinstance(item, CheckedAnswers))
    say(_texts()["totals"].format(errors=errors, warnings=warnings), err=True)
    return 2 if errors else 0


@command.command()
@click.argument("source", type=PATH, metavar="LABELS|DATA")
@click.option("-o", "--output", type=PATH, required=True, help="The JSONL file to write.")
@click.option("--labels", type=PATH, help="The file of labels with the edits, for a data file.")
@click.option("--relevant", is_flag=True, help="Passages that experts judged relevant become gold passages.")
@map_option("Meaning of a column of the data (repeatable).")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@json_option
def export(source: Path, output: Path, as_json: bool, **values: Any) -> None:
    """Write the questions of LABELS or DATA as a new data set, with all edits of experts.

    LABELS is a file of `ragstone annotate`. The version that is printed is the beginning of the hash that runs of the
    new data set show."""
    from ragstone.experts.gold_export import export_data  # noqa: PLC0415

    done = export_data(source, output, **values)
    if as_json:
        review = None if done.review is None else done.review.as_json()
        say_json({**dataclasses.asdict(done), "review": review, "version": done.version})
        return
    say(_texts()["exported"].format(path=done.path, rows=done.rows, changed=done.changed, version=done.version))
    if done.left_out:
        say(_texts()["left_out"].format(count=done.left_out))
    for line in done.review.lines(preferred_language()) if done.review is not None else ():
        say(line)


@command.command()
@click.argument("source", type=PATH, metavar="LABELS|DATA")
@click.option("--at-most", type=Number(0, 1, min_open=True, max_open=True), metavar="SHARE",
              help="Share of bad questions to exclude, such as 0.05: prints how many to review.")  # fmt: skip
@language_option
@json_option
def review(source: Path, at_most: float | None, language: str | None, as_json: bool) -> None:
    """Print what experts said of the questions of a test set, and how many of all can be bad.

    LABELS is a file of `ragstone annotate TESTSET`. The bound is exact for a set of this size and holds for questions
    that were drawn at random. Bad is what was not accepted as it was built."""
    from ragstone.experts.question_review import review_of  # noqa: PLC0415

    found = review_of(source, wanted=at_most)
    if as_json:
        say_json(found.as_json())
        return
    for line in found.lines(language or preferred_language()):
        say(line)


@command.command()
@click.argument("labels", type=PATH)
@click.argument("question_id", metavar="ID")
@click.option("--by", required=True, metavar="NAME", help="Who edits.")
@click.option("--why", required=True, metavar="TEXT", help="The reason, kept with the edit.")
@click.option("--question", metavar="TEXT", help="The new question.")
@click.option("--reference", "references", multiple=True, metavar="TEXT|ALIAS…",
              help="A part of the new reference, with its aliases after bars (repeatable).")  # fmt: skip
@click.option("--gold", multiple=True, metavar="ID", help="Id of a passage that answers the question (repeatable).")
@click.option("--no-gold", is_flag=True, help="No known passage answers the question.")
@click.option("--answerable/--unanswerable", default=None, help="Whether the data can answer the question.")
@json_option
def edit(labels: Path, question_id: str, as_json: bool, **values: Any) -> None:
    """Edit the gold of the question ID in LABELS: a new version that says who changed what and why."""
    from ragstone.experts.gold_edits import edit_gold  # noqa: PLC0415

    done = edit_gold(labels, question_id, **values)
    if as_json:
        say_json(done)
    else:
        say(_texts()["edited"].format(id=done.sample_id, version=done.version))


@command.command()
@click.argument("labels", type=PATH)
@language_option
@json_option
def edits(labels: Path, language: str | None, as_json: bool) -> None:
    """Print every edit of the gold in LABELS, and the data sets that were written with them."""
    from ragstone.experts.gold_edits import edits_of, edits_table  # noqa: PLC0415

    language = language or preferred_language()
    if as_json:
        say_json(edits_of(labels))
    else:
        say_tables(edits_table(labels, language=language), language=language)


def _texts() -> "Mapping[str, str]":
    return messages(__name__, preferred_language())


def _lines_of(checked: "CheckedAnswers") -> Iterator[str]:
    """The lines that describe a checked file."""
    from rich.cells import set_cell_size  # noqa: PLC0415

    from ragstone.datasets.tabular.problems import places  # noqa: PLC0415

    texts, total = _texts(), checked.rows
    languages = texts["join"].join(f"{count} {language}" for language, count in checked.languages.items())
    yield texts["checked"].format(path=checked.path, schema=checked.schema, rows=total, languages=languages)
    for word, column in checked.mapping.items():
        yield f"  {word:<21}  {column}"
    if checked.columns:
        yield f"  {set_cell_size(texts['groups'], 21)}  {texts['join'].join(checked.columns)}"
    for warning in checked.warnings:
        yield texts["warning"].format(path=checked.path, text=warning)
    yield texts["has"]
    for need in checked.has:
        line = f"  {need.name:<21}  " + texts["share"].format(ready=need.ready, total=total)
        if need.ready and need.ready < total:
            line += texts["lacking"].format(where=places(need.lacking, total - need.ready, preferred_language()))
        yield line
    yield texts["metrics"]
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    for metrics in checked.metrics:
        share = texts["share"].format(ready=metrics.ready, total=total)
        yield "  " + texts["needs"].format(needs=" + ".join(metrics.needs), share=share)
        yield from textwrap.wrap(", ".join(metrics.metrics), width, initial_indent="    ", subsequent_indent="    ")


class _Bars:
    """A progress bar for each file on standard error, if that is a terminal."""

    def __enter__(self) -> "_Bars":
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn  # noqa: PLC0415

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        self._progress = Progress(*columns, console=Console(file=sys.stderr), disable=not obeys(sys.stderr))
        self._progress.start()
        self._tasks: dict[str, Any] = {}
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, name: str, done: int, total: int | None) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total)
        self._progress.update(self._tasks[name], completed=done, total=total)
