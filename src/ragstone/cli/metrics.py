"""`ragstone metrics`."""

import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import json_option
from ragstone.commands.output import say, say_json, say_text
from ragstone.messages import messages, preferred_language, wrapped

if TYPE_CHECKING:
    from ragstone.metrics.catalogue import Entry


@click.command()
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the metrics: what each measures, what it needs, its range. With a NAME: its full documentation.

    Wherever metrics are named, the name of a group stands for all of its metrics.
    """
    from ragstone.metrics import GROUPS  # noqa: PLC0415
    from ragstone.metrics.catalogue import catalogue, entry  # noqa: PLC0415

    if name is None or name in GROUPS:
        entries = [metric for metric in catalogue() if name is None or name in metric.groups]
        if as_json:
            say_json({metric.name: _document(metric) for metric in entries})
            return
        _list(entries, [name] if name else [*GROUPS, ""])
        return
    metric = entry(name)
    if as_json:
        say_json(_document(metric) | {"doc": metric.doc})
    else:
        say_text(metric.doc)


def _document(metric: "Entry") -> dict[str, Any]:
    return {
        "name": metric.name,
        "about": metric.about,
        "groups": metric.groups,
        "needs": metric.needs,
        "judge": "judge" in metric.uses or "model" in metric.uses,
        "embedder": "embedder" in metric.uses,
        "range": metric.range,
        "better": metric.better,
        "version": metric.version,
    }


def _list(entries: "list[Entry]", groups: list[str]) -> None:
    """The metrics of each group in its order, each once: under the first of its groups."""
    from ragstone.metrics import GROUPS  # noqa: PLC0415
    from ragstone.metrics.catalogue import in_language  # noqa: PLC0415

    language = preferred_language()
    texts = messages(__name__, language)
    width = min(shutil.get_terminal_size((100, 20)).columns, 120) - 6
    left = {metric.name: metric for metric in entries}
    for group in groups:
        names = [name for name in GROUPS.get(group, sorted(left)) if name in left]
        if not names:
            continue
        say(texts["group"].format(name=group, title=texts[f"group.{group}"]) if group else texts["others"])
        for name in names:
            if name not in left:  # shown with its family
                continue
            metric, family = left.pop(name), left.pop(f"{name}@k", None)
            say(f"  {name}, {family.name}" if family else f"  {name}")
            about = in_language(name, language)
            scale, needs = in_language(metric.range, language), _needed(metric, texts)
            needed = texts["needs" if needs else "needs_nothing"].format(range=scale, needed=needs)
            for line in (metric.about if about == name else about, needed):
                for part in wrapped(line, width):
                    say(f"      {part}")
        say("")
    say(texts["more"])


def _needed(metric: "Entry", texts: Mapping[str, str]) -> str:
    data = [texts[f"need.{need}"] for need in metric.needs]
    tools = dict.fromkeys(texts[f"tool.{use}"] for use in metric.uses)
    return texts["apart"].join(texts["join"].join(part) for part in (data, tools) if part)
