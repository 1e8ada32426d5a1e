"""`ragstone metrics`."""

import shutil
import textwrap
from typing import TYPE_CHECKING, Any

import click

from ragstone.cli.options import json_option
from ragstone.cli.output import say, say_json, say_text

if TYPE_CHECKING:
    from ragstone.metrics.catalogue import Entry

__all__ = ["command"]

_GROUPS = {
    "five": "the five of ragas, from one claim matrix",
    "triad": "the RAG triad",
    "citations": "what the answer cites",
    "ragchecker": "RAGChecker's, by claims",
    "ragas": "ragas-style, step by step, for comparison",
    "nuggets": "TREC RAG's nuggets, by a judge",
    "lexical": "by words, without a judge",
    "rank": "retrieval against labels, without a judge",
    "": "in no group",
}


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

    left = {metric.name: metric for metric in entries}
    for group in groups:
        names = [name for name in GROUPS.get(group, sorted(left)) if name in left]
        if not names:
            continue
        say(f"{group}: {_GROUPS.get(group, '')}" if group else "others")
        for name in names:
            if name not in left:  # shown with its family
                continue
            metric, family = left.pop(name), left.pop(f"{name}@k", None)
            say(f"  {name}, {family.name}" if family else f"  {name}")
            for line in (metric.about, f"{metric.range}. Needs {_needed(metric)}."):
                say_text(textwrap.fill(line, _width(), initial_indent="      ", subsequent_indent="      "))
        say("")
    say("`ragstone metrics NAME` shows the full documentation: formula, edge cases, source.")


def _width() -> int:
    return min(shutil.get_terminal_size((100, 20)).columns, 120)


def _needed(metric: "Entry") -> str:
    words = {"answer": "the answer", "references": "the reference", "passages": "passages", "labels": "labels"}
    tools = {"judge": "a judge", "model": "a judge", "embedder": "an embedder"}
    data = ", ".join(words[need] for need in metric.needs) or "nothing"
    return "; ".join(part for part in (data, ", ".join(dict.fromkeys(tools[use] for use in metric.uses))) if part)
