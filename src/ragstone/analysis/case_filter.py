"""Which cases of a run to show, and in which order: a value that is also the query string of a page's address.

    system=NAME  status=right|wrong|unscored|failed  cause=NAME  group=NAME  language=en  label=NAME=VALUE
    c.NAME=VALUE  m.METRIC=LOW..HIGH  q=TEXT  sort=worst|id|METRIC

A parameter that is repeated matches any of its values; different parameters must all match. "-" before the sort key
reverses it. Other parameters of the address are left to the page.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args
from urllib.parse import quote, unquote, urlencode

from ragstone.errors import UsageError

Status: TypeAlias = Literal["right", "wrong", "unscored", "failed"]
STATUSES: tuple[Status, ...] = get_args(Status)

Range: TypeAlias = tuple[float | None, float | None]
"""The lowest and the highest value, both included; None: no limit."""

Choices: TypeAlias = Mapping[str, tuple[str, ...]]

LONGEST = 1_000  # characters of a value
LONGEST_TEXT = 200  # characters of a text to search for
MOST_VALUES = 200  # of one parameter
_SHOWN = 60  # characters of a value in a message


def printable(text: str) -> str:
    """The text with lone surrogates replaced, which no address can carry."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def terms(text: str) -> tuple[str, ...]:
    """The parts of a text to search for: each must occur, upper and lower case being equal."""
    return tuple(dict.fromkeys(printable(text).casefold().replace("\0", " ").split()))


@dataclass(frozen=True)
class CaseFilter:
    """The cases to show. Empty fields match every case. Values are kept sorted and once, so that equal filters have
    equal addresses.

    `conditions`: fields of the case's condition; `labels`: columns of the user's data and labels of experts; `metrics`:
    a case without this score does not match. `text`: each of its words must occur in the id, the question, the answer
    or the error. `sort`: "worst", "id" or the name of a metric, after "-" in the opposite order."""

    systems: tuple[str, ...] = ()
    status: tuple[Status, ...] = ()
    causes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    conditions: Choices = field(default_factory=dict)
    labels: Choices = field(default_factory=dict)
    metrics: Mapping[str, Range] = field(default_factory=dict)
    text: str = ""
    sort: str = "worst"

    def __post_init__(self) -> None:
        for name in _LISTS.values():
            object.__setattr__(self, name, _unique(getattr(self, name)))
        for name in ("conditions", "labels"):
            choices = {printable(key): _unique(values) for key, values in sorted(getattr(self, name).items())}
            object.__setattr__(self, name, {key: values for key, values in choices.items() if values})
        ranges = {printable(key): pair for key, pair in sorted(self.metrics.items()) if pair != (None, None)}
        object.__setattr__(self, "metrics", ranges)
        object.__setattr__(self, "text", " ".join(printable(self.text).split()))
        object.__setattr__(self, "sort", printable(self.sort).strip() or "worst")

    def __hash__(self) -> int:
        return hash(self.query())

    @classmethod
    def from_query(cls, pairs: Iterable[tuple[str, str]]) -> "CaseFilter":
        """The filter of an address, from its parameters and values, decoded. Unknown parameters and empty values are
        ignored; `UsageError` names a parameter with a value that cannot be understood."""
        lists: dict[str, list[str]] = {}
        choices: dict[str, dict[str, list[str]]] = {"conditions": {}, "labels": {}}
        metrics: dict[str, Range] = {}
        single = {"q": "", "sort": "worst"}
        for name, value in pairs:
            if not value.strip():
                continue
            if len(value) > (limit := LONGEST_TEXT if name == "q" else LONGEST):
                raise UsageError(f"{_shown(name)}: at most {limit:,} characters.")
            if name in _LISTS:
                _add(lists.setdefault(name, []), name, value)
            elif name in single:
                single[name] = value
            elif name == "label":
                key, equals, label = value.partition("=")
                if not key or not equals:
                    raise UsageError(f"label={value[:_SHOWN]!r}: expected NAME=VALUE.")
                _add(choices["labels"].setdefault(unquote(key), []), name, label)
            elif name.startswith("c."):
                _add(choices["conditions"].setdefault(name[2:], []), name, value)
            elif name.startswith("m."):
                metrics[name[2:]] = _range(name, value)
        if unknown := set(lists.get("status", ())) - {*STATUSES}:
            raise UsageError(f"status={min(unknown)[:_SHOWN]!r}: expected {', '.join(STATUSES)}.")
        return cls(
            **{_LISTS[name]: tuple(values) for name, values in lists.items()},  # type: ignore[arg-type]  # checked above
            **{name: {key: tuple(values) for key, values in named.items()} for name, named in choices.items()},  # type: ignore[arg-type]
            metrics=metrics,
            text=single["q"],
            sort=single["sort"],
        )

    def query(self) -> str:
        """The query string of an address, in a fixed order and without empty fields; "" for the filter of all cases."""
        pairs = [(name, value) for name, attribute in _LISTS.items() for value in getattr(self, attribute)]
        pairs += [
            ("label", f"{quote(key, safe=' ')}={value}") for key, values in self.labels.items() for value in values
        ]
        pairs += [(f"c.{key}", value) for key, values in self.conditions.items() for value in values]
        pairs += [(f"m.{key}", f"{_number(low)}..{_number(high)}") for key, (low, high) in self.metrics.items()]
        pairs += [("q", self.text)] if self.text else []
        pairs += [("sort", self.sort)] if self.sort != "worst" else []
        return urlencode(pairs)


_LISTS = {"system": "systems", "status": "status", "cause": "causes", "group": "groups", "language": "languages"}


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({printable(value) for value in values if value.strip()}))


def _shown(name: str) -> str:
    return "".join(char if char.isprintable() else "\ufffd" for char in name[:_SHOWN])


def _add(values: list[str], name: str, value: str) -> None:
    if len(values) >= MOST_VALUES:
        raise UsageError(f"{_shown(name)}: at most {MOST_VALUES} values.")
    values.append(value)


def _range(name: str, value: str) -> Range:
    """LOW..HIGH, either of which may be missing, or one number."""
    low, dots, high = value.partition("..")
    try:
        ends = [float(end) if end.strip() else None for end in ((low, high) if dots else (low, low))]
        if not all(end is None or math.isfinite(end) for end in ends):
            raise ValueError(value)
    except ValueError:
        problem = f"{_shown(name)}={value[:_SHOWN]!r}: expected a range of numbers, such as 0..0.5."
        raise UsageError(problem) from None
    return ends[0], ends[1]


def _number(value: float | None) -> str:
    return "" if value is None else repr(float(value))
