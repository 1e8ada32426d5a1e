"""`ragstone annotate`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import PATH, NameList, Pairs, both, json_option, language_option, map_option, once
from ragstone.commands.output import ask, say, say_json
from ragstone.commands.shell import keeping
from ragstone.errors import UsageError
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
                 help="Read labels: CSV, JSONL, a filled-in form, Label Studio or Argilla JSON."),
    click.option("--format", "kind", type=click.Choice(["csv", "jsonl", "label-studio", "argilla", "form"]),
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
@click.option("--web", is_flag=True, help="Label in a browser instead, several experts at once, until Ctrl-C.")
@server_options
@click.option("--adjudicate", is_flag=True,
              help="Settle items on which experts differ: shows their labels; yours wins.")  # fmt: skip
@click.option("--as", "expert", metavar="NAME", help="Who labels now.  [default: the only expert, else asked]")
@language_option
@json_option
def command(source: Path | None, **values: Any) -> int:
    """Label answers, passages or pairs of answers in the terminal, or review the questions of a test set.

    RUN or DATA is needed once: its items are kept in the file of labels, without judge scores and names of systems.
    Every label is written at once; the same command goes on where it ended. `ragstone agreement experts` measures a
    judge against the labels, `ragstone data review` tells what a review of questions says."""
    from ragstone.experts.label_round import label_round  # noqa: PLC0415

    chosen = values.pop("language")
    language = chosen or preferred_language()
    expert, labels = values.pop("expert"), values.pop("labels")
    adjudicate = values.pop("adjudicate")
    names = ("as_json", "export", "import_", "kind", "rename", "replace", "force")
    files = {name: values.pop(name) for name in names}
    web: bool = values.pop("web")
    server: dict[str, Any] = {name: values.pop(name) for name in _SERVER}
    with label_round(labels, source, **values) as store:
        if files["import_"] is not None or files["export"] is not None:
            return _exchange(store, expert, values["tasks"], language, files)
        if adjudicate:
            with keeping(language):
                return _settle(store, expert, values["tasks"], language, as_json=files["as_json"])
        if files["as_json"]:
            say_json({"labels": str(labels), "progress": store.progress()})
            return 0
        if not web:
            with keeping(language):
                return _label(store, expert, values["experts"], values["tasks"], language)
        server["experts"] = store.experts() if store.get("team") else ()
    serving = messages(__name__, language)["serving"]
    query = {"expert": expert} if expert else {}
    return serve((), labels, language=chosen or "", serving=serving, path="annotate", query=query, **server)


_SERVER = ("port", "host", "allowed_hosts", "token", "open_browser")


def _settle(store: "LabelStore", expert: str | None, tasks: tuple[str, ...], language: str, *, as_json: bool) -> int:
    """Settles disputes in the terminal, or prints the queue as JSON."""
    from ragstone.experts.commands.labelling import Settling  # noqa: PLC0415
    from ragstone.labels.consensus import disputes  # noqa: PLC0415

    if as_json:
        say_json({"disputes": list(disputes(store, tasks))})
        return 0
    expert = expert or ask(messages(__name__, language)["name"])
    if not expert:
        raise UsageError("Nobody to settle disputes: add --as NAME.")
    Settling(store, expert, language, tasks).run()
    return 0


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


def _label(
    store: "LabelStore", expert: str | None, team: tuple[str, ...], tasks: tuple[str, ...], language: str
) -> int:
    """Labels in the terminal, or says who can go on with which command."""
    from ragstone.experts.commands.labelling import Session  # noqa: PLC0415

    texts = messages(__name__, language)
    experts = store.experts()
    if expert is None and len(team) > 1:
        for name in team:
            total = sum(one.total - one.done for one in store.progress() if one.expert == name)
            say(texts["ready"].format(name=name, total=total, path=store.path))
        return 0
    if expert is None:
        expert = experts[0] if len(experts) == 1 else ask(texts["name"])
    if not expert:
        raise UsageError("Nobody to label: add --as NAME.")
    if store.get("team") and expert not in experts:
        raise UsageError(f"{store.path} has no expert {expert!r}; the team is {', '.join(experts)}.")
    Session(store, expert, language, tasks).run()
    return 0
