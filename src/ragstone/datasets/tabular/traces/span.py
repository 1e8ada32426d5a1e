"""A span of a trace, the same for every format that traces are exported in."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec.structs import replace

from ragstone.datasets.tabular import fields
from ragstone.datasets.tabular.cells import is_missing, plain, scalar
from ragstone.datasets.tabular.problems import CellError
from ragstone.types import Passage, Usage

_REPR = re.compile(r"<\w+\(.*\)>", re.DOTALL)  # of an object without a text: LlamaIndex logs its nodes so
_SOURCES = ("source", "url", "path", "file_name")

Kind = Literal["", "retriever", "reranker", "llm", "tool"]
"""What a span does for an answer; "" for chains, agents and everything else."""


@dataclass(slots=True)
class TraceSpan:
    """`input` and `output` are as logged: text, messages, or JSON. `start` and `end` are seconds since 1970.

    `passages`: what a retriever or reranker returned, or None if nothing was recorded; `candidates`: what a reranker
    was given. `prompt`: the text that a model was given. `first_token`: seconds from `start`. `columns`: further
    attributes, to group by."""

    where: str
    trace: str
    id: str
    parent: str
    name: str = ""
    kind: Kind = ""
    start: float | None = None
    end: float | None = None
    input: Any = None
    output: Any = None
    query: str = ""
    passages: list[Passage] | None = None
    candidates: list[Passage] | None = None
    prompt: str = ""
    usage: Usage | None = None
    model: str = ""
    session: str = ""
    error: str = ""
    first_token: float | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    children: list["TraceSpan"] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        """How long it took."""
        return None if self.start is None or self.end is None else round(max(0.0, self.end - self.start), 6)

    def below(self) -> Iterator["TraceSpan"]:
        """The span and its descendants: parents before children, siblings by start time."""
        waiting = [self]
        while waiting:
            span = waiting.pop()
            yield span
            waiting.extend(sorted(span.children, key=lambda child: child.start or 0.0, reverse=True))


def first_of(cells: Mapping[str, Any], *names: str) -> Any:
    """The first value that is not missing under these names; None if there is none."""
    return next((plain(cells[name]) for name in names if name in cells and not is_missing(cells[name])), None)


def json_value(value: Any) -> Any:
    """The list or object that a text encodes as JSON; otherwise the value itself."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, dict | list) else value


def seconds_of(value: Any) -> float | None:
    """A time in seconds since 1970: an ISO text, or a number of seconds, milliseconds, microseconds or nanoseconds."""
    value = scalar(value)
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str) and not value.lstrip("-").replace(".", "", 1).isdigit():
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    try:
        number = float(value)
    except OverflowError:
        return None
    for limit, unit in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)):
        if number >= limit:
            return number / unit
    return number


def tokens(prompt: Any, completion: Any, cached: Any = None) -> Usage | None:
    """The tokens of one call of a model; None if none were counted."""
    counts = [_count(value) for value in (prompt, completion, cached)]
    if counts[0] is None and counts[1] is None:
        return None
    return Usage(
        prompt_tokens=counts[0] or 0, completion_tokens=counts[1] or 0, cached_tokens=counts[2] or 0, requests=1
    )


def whole(text: str) -> int | None:
    """The integer that a text is; None if it is none, or has more digits than Python reads."""
    try:
        return int(text)
    except ValueError:
        return None


def _count(value: Any) -> int | None:
    number = scalar(value)
    if isinstance(number, str):
        number = whole(number)
    return int(number) if number is not None and number >= 0 else None


def passages_in(value: Any, keys: Sequence[str] = ("documents", "nodes", "results", "chunks")) -> list[Passage] | None:
    """The passages in what a retriever logged: a list of documents, or an object that has one under one of `keys`.
    None if there is no such list. A passage without an id gets one from its text."""
    value = json_value(plain(value))
    if isinstance(value, dict) and (name := next((key for key in keys if key in value), None)):
        value = json_value(value[name])
    if not isinstance(value, list):
        return None
    found: list[Passage] = []
    for element in value:
        if isinstance(element, str) and _REPR.fullmatch(element.strip()):
            return None
        try:
            listed, _ = fields.passages([json_value(element) if isinstance(element, str) else element])
        except CellError:
            continue
        found += [_named(passage) for passage in listed if passage is not None and (passage.text or passage.id)]
    return found if found or not value else None


def _named(passage: Passage) -> Passage:
    """The passage with an id from its metadata if it has none: LangChain's documents say there where they are from."""
    source = "" if passage.id else str(first_of(passage.meta, *_SOURCES) or "")
    return replace(passage, id=source) if source else passage
