"""`ragstone annotate`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import PATH, NameList, Pairs, both, json_option, language_option, map_option, once
from ragstone.commands.output import say, say_json
from ragstone.errors import DataError, UsageError
from ragstone.messages import messages, preferred_language
from ragstone.web.serving import serve, server_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragstone.labels import LabelStore
    from ragstone.labels.exchange import Imported

_SHOWN = 5  # conflicts and unknown items that are named

file_options = both(
    click.option("--export", type=PATH, metavar="FILE",
                 help="Write items and labels to .csv, .jsonl, .json, or .html (a form to fill in)."),
    click.option("--import", "import_", type=PATH, metavar="FILE",
                 help="Read labels: CSV, JSONL, a filled-in form, or JSON of Label Studio."),
    click.option("--format", "kind", type=click.Choice(["csv", "jsonl", "label-studio", "form"]),
                 help="Format of --export.  [default: that of the ending; .json is label-studio]"),
    click.option("--rename", type=Pairs(), multiple=True, metavar="USER=NAME",
                 help="Name of an expert for a user of another tool, with --import (repeatable)."),
    click.option("--replace", is_flag=True, help="With --import, labels of the file replace those that differ."),
    click.option("--force", is_flag=True, help="With --export, overwrite an existing file."),
)  # fmt: skip

round_options = both(
    click.option("--task", "tasks", type=NameList(), default=(), metavar="NAME,…",
                 help="correct, faithful, relevant, better, question, rubric.NAME.  "
                      "[default: correct; question without answers]"),
    click.option("--rubric", "rubrics", multiple=True, metavar="NAME|FILE|DIR",
                 help="Rubric of a task rubric.NAME (repeatable)."),
    click.option("--experts", type=NameList(), default=(), metavar="NAME,…",
                 help="The team; without one, everybody who labels gets what still lacks labels."),
    click.option("--per-item", type=click.IntRange(1, 20), help="Experts for each item.  [default: 1]"),
    click.option("--sample", type=click.IntRange(1), help="Number of answers, pairs or questions to label."),
    click.option("--by", type=click.Choice(["random", "uncertainty", "stratified", "interval"]), default="random",
                 show_default=True,
                 help="random; uncertainty: scores near the bar, judges that differ; stratified: by --strata; "
                      "interval: what narrows the calibrated mean's interval most."),
    click.option("--strata", default="language", show_default=True, metavar="NAME",
                 help="cause, language, a column of the data or a condition."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample and of the order."),
    click.option("--system", "systems", multiple=True, metavar="NAME", help="Only this system (repeatable)."),
    map_option("Meaning of a column of the data (repeatable)."),
)  # fmt: skip


@click.command()
@click.argument("source", required=False, type=PATH, metavar="[RUN|DATA]")
@click.option("--labels", type=PATH, default=Path("labels.sqlite"), show_default=True,
              help="The file of labels; created if it is not there.")  # fmt: skip
@round_options
@file_options
@server_options
@click.option("--adjudicate", is_flag=True,
              help="Settle items on which experts differ: the page shows their labels; yours wins.")  # fmt: skip
@click.option("--as", "expert", metavar="NAME", help="Who labels now.  [default: the page asks]")
@language_option
@json_option
def command(source: Path | None, **values: Any) -> int:
    """Label answers, passages or pairs of answers in a browser, or review the questions of a test set.

    RUN or DATA is needed once: its items are kept in the file of labels, without judge scores and names of systems.
    Several experts may label at once, until Ctrl-C; every label is kept at once, and the same command goes on where it
    ended. `--json` prints the progress in place of serving. `ragstone agreement experts` measures a judge against the
    labels, `ragstone data review` tells what a review of questions says."""
    from ragstone.experts.label_round import label_round  # noqa: PLC0415

    chosen = values.pop("language")
    language = chosen or preferred_language()
    expert, labels = values.pop("expert"), values.pop("labels")
    adjudicate = values.pop("adjudicate")
    names = ("as_json", "export", "import_", "kind", "rename", "replace", "force")
    files = {name: values.pop(name) for name in names}
    server: dict[str, Any] = {name: values.pop(name) for name in _SERVER}
    with label_round(labels, source, **values) as store:
        if files["import_"] is not None or files["export"] is not None:
            return _exchange(store, expert, values["tasks"], language, files)
        if files["as_json"]:
            say_json(_document(store, values["tasks"], adjudicate=adjudicate))
            return 0
        team = store.experts() if store.get("team") else ()
    if adjudicate and not expert:
        raise UsageError("Nobody to settle disputes: add --as NAME.")
    if expert and team and expert not in team and not adjudicate:
        raise UsageError(f"{labels} has no expert {expert!r}; the team is {', '.join(team)}.")
    return serve(
        (), labels, language=chosen or "", serving=messages(__name__, language)["serving"], experts=team,
        path="disputes" if adjudicate else "annotate", query={"expert": expert} if expert else {}, **server,
    )  # fmt: skip


_SERVER = ("port", "host", "allowed_hosts", "token", "open_browser")


def _document(store: "LabelStore", tasks: tuple[str, ...], *, adjudicate: bool) -> dict[str, Any]:
    """The progress of a round, or its disputes, for `--json`."""
    from ragstone.labels.consensus import disputes  # noqa: PLC0415

    if adjudicate:
        return {"disputes": list(disputes(store, tasks))}
    return {"labels": str(store.path), "progress": store.progress()}


def _exchange(
    store: "LabelStore", expert: str | None, tasks: tuple[str, ...], language: str, files: dict[str, Any]
) -> int:
    """Reads and writes files of labels. Exit 1 if labels of a file contradict those that are there."""
    from ragstone.experts.label_files import export_labels, import_labels_of  # noqa: PLC0415

    texts = messages(__name__, language)
    document: dict[str, Any] = {}
    code = 0
    if files["import_"] is not None:
        names = once(files["rename"], "--rename")
        done = import_labels_of(
            store, files["import_"], expert=expert or "", names=names, replaces=files["replace"]
        )  # fmt: skip
        if not done.labels:
            advice = "Fill in the column `label`, or submit the annotations in Label Studio, then import it again."
            problem = f"no label is filled in ({done.rows} row{'s' * (done.rows != 1)} read)."
            raise DataError(files["import_"], problem, advice=advice)
        document["imported"] = dataclasses.asdict(done)
        code = 1 if done.conflicts else 0
        if not files["as_json"]:
            _say_imported(done, texts)
    if files["export"] is not None:
        paths = export_labels(
            store, files["export"], files["kind"] or "", tasks=tasks, expert=expert, language=language,
            force=files["force"],
        )  # fmt: skip
        document["exported"] = [str(path) for path in paths]
        if not files["as_json"]:
            say(texts["exported"].format(paths=texts["join"].join(map(str, paths))))
    if files["as_json"]:
        say_json(document)
    return code


def _say_imported(done: "Imported", texts: "Mapping[str, str]") -> None:
    counts = {"added": done.added, "changed": done.changed, "unchanged": done.unchanged}
    say(texts["imported"].format(**counts))
    for conflict in done.conflicts[:_SHOWN]:
        say(texts["conflict"].format(**vars(conflict)))
    if done.conflicts:
        say(texts["conflicts"].format(count=len(done.conflicts)))
    if done.unknown:
        say(texts["unknown"].format(count=len(done.unknown), shown=texts["join"].join(done.unknown[:_SHOWN])))
