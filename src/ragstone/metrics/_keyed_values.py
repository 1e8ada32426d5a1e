"""Which value of an answer stands with which key: "Oslo: 3118205, Rome: 7654321", in sentences, lists and tables.

A clause with one key binds all its values to it. Of a clause with several, keys and values in two rows of equal length
("Oslo and Rome have 3118205 and 7654321") are bound in their order; else its parts between commas are looked at one by
one, and what still has several keys goes by who comes first: after a key its values, or after values their key. A
clause without a key belongs to the last key before it, as below a heading. Values without any key are bound to none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

Span = tuple[int, int]
_CLAUSE = re.compile(r"[\n;。；！？!?]|\.(?=\s|$)")
_PART = re.compile(r"[,，、]|\band\b|\bwhile\b|\bwhereas\b|\bbut\b|和|而|以及", re.IGNORECASE)


class Mention(NamedTuple):
    """Where an answer names a key (`value` "") or states a value."""

    start: int
    end: int
    key: str = ""
    value: str = ""


class Binding(NamedTuple):
    """A mention of a value with the key that it is bound to; "" for none. `carried`: from a clause before its own."""

    mention: Mention
    key: str
    carried: bool = False


def _key_spans(key: str, text: str) -> list[Span]:
    """Where a key stands in a text, in either case; of Latin letters as a whole word."""
    edge = r"\b" if key.isascii() else ""
    return [match.span() for match in re.finditer(f"{edge}{re.escape(key)}{edge}", text, re.IGNORECASE)]


def bindings(text: str, keys: Sequence[str], spans_of: Mapping[str, Sequence[Span]]) -> list[Binding]:
    """The binding of each mention of a value (`spans_of`: value → where it is stated). A key inside a value's span, or
    inside a longer key, is none."""
    values = [Mention(start, end, value=value) for value, spans in spans_of.items() for start, end in spans]
    named = [Mention(*span, key=key) for key in keys for span in _key_spans(key, text)]
    named = [
        mention
        for mention in named
        if not any(_inside(mention, other) for other in values)
        and not any(_inside(mention, other) and len(other.key) > len(mention.key) for other in named)
    ]
    mentions = sorted({*values, *named})
    bound: list[Binding] = []
    last = ""
    for clause in _split(mentions, _CLAUSE, text):
        found, last = _of_clause(clause, last, text)
        bound += found
    return bound


def _inside(inner: Mention, outer: Mention) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _split(mentions: Sequence[Mention], separator: re.Pattern[str], text: str) -> Iterator[list[Mention]]:
    """The mentions between separators that stand in none of them."""
    covered = [(mention.start, mention.end) for mention in mentions]
    cuts = [
        match.start() for match in separator.finditer(text)
        if not any(start <= match.start() < end for start, end in covered)
    ]  # fmt: skip
    for _, group in groupby(mentions, key=lambda mention: sum(cut < mention.start for cut in cuts)):
        yield list(group)


def _of_clause(clause: list[Mention], last: str, text: str) -> tuple[list[Binding], str]:
    """The bindings of a clause, and the key that what follows without one belongs to."""
    keys = list(dict.fromkeys(mention.key for mention in clause if mention.key))
    values = [mention for mention in clause if mention.value]
    if not keys:
        return [Binding(value, last, carried=True) for value in values], last
    if len(keys) == 1:
        return [Binding(value, keys[0]) for value in values], keys[0]
    if rows := _rows(clause):
        return rows, ""
    parts = list(_split(clause, _PART, text))
    if len(parts) == 1:
        return _in_turn(clause), ""
    bound: list[Binding] = []
    for part in parts:
        found, last = _of_clause(part, last, text)
        bound += found
    return bound, last


def _rows(clause: Sequence[Mention]) -> list[Binding]:
    """The bindings of a row of keys beside a row of as many values, or of as many times more; [] for anything else."""
    runs = [list(run) for _, run in groupby(clause, key=lambda mention: bool(mention.key))]
    if len(runs) != 2:
        return []
    named, values = runs if runs[0][0].key else runs[::-1]
    keys = list(dict.fromkeys(mention.key for mention in named))
    each, rest = divmod(len(values), len(keys))
    if rest or not each:
        return []
    return [Binding(value, keys[at // each]) for at, value in enumerate(values)]


def _in_turn(clause: Sequence[Mention]) -> list[Binding]:
    """Values after a key are that key's; where values come first, they are the next key's."""
    ordered = list(clause) if clause[0].key else list(reversed(clause))
    bound: list[Binding] = []
    key = ""
    for mention in ordered:
        key = mention.key or key
        if mention.value:
            bound.append(Binding(mention, key))
    return bound
