"""The description of each metric, read from its class and docstring, for `ragstone metrics` and the docs."""

import inspect
import re
from dataclasses import dataclass
from typing import Any

from ragstone.error_text import failure_in
from ragstone.messages import help_texts
from ragstone.metrics import GROUPS, METRICS, Family, better, find_metric, installed_metric
from ragstone.metrics.traits import traits_of
from ragstone.types import Need

_HEADING = re.compile(r"^([A-Z][a-z]+): ")


@dataclass(frozen=True)
class Entry:
    """A metric as a user meets it. `name` is as registered ("ndcg@k" for every k); `about` is one sentence; `needs` and
    `uses` ("judge", "model", "embedder") are the data and tools that it requires; `doc` is its docstring."""

    name: str
    about: str
    groups: tuple[str, ...]
    needs: tuple[str, ...]
    uses: tuple[str, ...]
    range: str
    better: str
    version: int
    doc: str


def catalogue() -> list[Entry]:
    """Every metric, in the order of their names."""
    return [_entry(name, plugin) for name, plugin in METRICS]


def entry(name: str) -> Entry:
    """The metric of this name: one of a family (`ndcg@10`) and the family itself (`ndcg@k`) too. Raises UnknownName."""
    return _entry(name, METRICS.get(name) if name in METRICS else find_metric(name))


def installed_entry(name: str) -> Entry:
    """The same for a name that the user did not write in this command. Raises UnknownName for a location."""
    return _entry(name, installed_metric(name))


def in_language(text: str, language: str) -> str:
    """A name of a metric as what it measures, a range, or a reason for a score, in a language other than English; the
    text itself if there is no translation."""
    return help_texts(__name__, language).get(text) or failure_in(text, language)


def _entry(name: str, plugin: Any) -> Entry:
    # Any member of a family describes it.
    metric = plugin.at(1) if isinstance(plugin, Family) else plugin
    doc = inspect.getdoc(metric if isinstance(metric, type) else type(metric)) or ""
    needs, version = getattr(metric, "needs", ()), getattr(metric, "version", 1)
    return Entry(
        name,
        _about(doc),
        tuple(group for group, names in GROUPS.items() if name.partition("@")[0] in names),
        tuple(need.value for need in Need if isinstance(needs, frozenset) and need in needs),
        traits_of(metric).uses,
        _section(doc, "Range").rstrip("."),
        better(name),
        version if isinstance(version, int) else 1,
        doc,
    )


def _about(doc: str) -> str:
    """The first paragraph without the name that it begins with."""
    first = " ".join(doc.partition("\n\n")[0].split())
    return re.sub(r"^`[^`]+`(?: and `[^`]+`)?(?:, [^:]{1,20})?: ", "", first).rstrip(".")


def _section(doc: str, heading: str) -> str:
    """The first sentence under a heading of a docstring."""
    lines: list[str] = []
    for line in doc.splitlines():
        heading_match = _HEADING.match(line)
        if heading_match and lines:
            break
        if lines or (heading_match and heading_match[1] == heading):
            lines.append(line.removeprefix(f"{heading}: "))
    return re.split(r"(?<=\.) (?=[A-Z])", " ".join(" ".join(lines).split()))[0]
