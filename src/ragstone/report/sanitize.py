"""Text that strangers wrote, made fit to be shown: to a browser, a terminal, a spreadsheet, an XML parser.

Questions, passages, answers, ids, errors and the names of models are data. Whatever they hold, they stay readable
as text, never act, and never spoil the text around them. Escaping for HTML is left to Jinja2's autoescape.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragstone.types import Span

__all__ = ["Piece", "cut", "one_line", "pieces", "readable"]

# Control characters but tab and newline; characters that reorder, hide or end lines of other people's text; tag
# characters (invisible instructions); noncharacters; and lone surrogates, which no UTF-8 file can hold.
_UNSAFE = re.compile(
    "\r\n|[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)


def _picture(match: "re.Match[str]") -> str:
    if match[0] == "\r\n":
        return "\n"
    number = ord(match[0])
    if number < 0x20:
        return chr(0x2400 + number)  # the Unicode pictures of the control characters: ␀, ␛…
    return "␡" if number == 0x7F else f"⟨U+{number:04X}⟩"


def readable(text: str) -> str:
    """The text with every character that cannot or should not be shown replaced by a picture or its code point.

    Tabs and newlines stay. The result encodes as UTF-8 and holds no character that XML 1.0 forbids.
    """
    return _UNSAFE.sub(_picture, text)


def one_line(text: str, limit: int = 0) -> str:
    """Readable, with every run of white space one space, and cut to `limit` characters where `limit` is not 0."""
    if limit:
        text = text[: 20 * limit + 1000]  # of a text of megabytes only the start can be seen
    line = " ".join(readable(text).split())
    return line if not limit or len(line) <= limit else line[: limit - 1].rstrip() + "…"


def cut(text: str, limit: int) -> tuple[str, int]:
    """The first `limit` characters, and how many were left out."""
    return text[:limit], max(0, len(text) - limit)


@dataclass(frozen=True)
class Piece:
    """A stretch of a text as it is shown: `kind` names its highlight ("" none); `left_out` counts characters cut
    away just here, in which case there is no text."""

    text: str = ""
    kind: str = ""
    left_out: int = 0


_STRONGEST = ("wrong", "refusal", "match")
_AROUND = 140  # characters kept on each side of a highlight that lies outside of the beginning
_SPANS_SEEN = 200  # an answer that says the same ten thousand times is marked where it does so first


def pieces(text: str, spans: Sequence[Span], *, limit: int) -> list[Piece]:
    """Split a text into highlighted and plain pieces of about `limit` characters in all.

    A text that is longer keeps its beginning and what surrounds its highlights; what is left out is counted. Spans
    outside of the text are clipped; where some overlap, the gravest kind wins: wrong, then refusal, then match.
    """
    marks = sorted(
        (max(0, span.start), min(len(text), span.end), span.kind)
        for span in spans
        if span.start < min(span.end, len(text))
    )
    marks = [mark for mark in marks if mark[0] < mark[1]][:_SPANS_SEEN]
    shown: list[Piece] = []
    position = 0
    for start, end in _windows(len(text), marks, limit):
        if start > position:
            shown.append(Piece(left_out=start - position))
        shown.extend(_marked(text, start, end, marks))
        position = end
    if position < len(text):
        shown.append(Piece(left_out=len(text) - position))
    return shown


def _windows(length: int, marks: Sequence[tuple[int, int, str]], limit: int) -> list[tuple[int, int]]:
    """The stretches to show, in order and apart from each other."""
    if length <= limit:
        return [(0, length)]
    windows = [(0, limit // 2 if marks else limit)]
    budget = limit - windows[0][1]
    for start, end, _ in marks:
        low, high = max(start - _AROUND, 0), min(end + _AROUND, start + limit // 2, length)
        last_low, last_high = windows[-1]
        if high <= last_high:
            continue
        low = max(low, last_high)
        high = min(high, low + budget)
        if high <= start:
            break
        budget -= high - low
        if low == last_high:
            windows[-1] = (last_low, high)
        else:
            windows.append((low, high))
    return windows


def _marked(text: str, start: int, end: int, marks: Sequence[tuple[int, int, str]]) -> list[Piece]:
    """One stretch, split wherever a highlight begins or ends."""
    inside = [(max(low, start), min(high, end), kind) for low, high, kind in marks if low < end and high > start]
    edges = sorted({start, end, *(edge for low, high, _ in inside for edge in (low, high))})
    found: list[Piece] = []
    for low, high in pairwise(edges):
        kinds = {kind for from_, to, kind in inside if from_ <= low and to >= high}
        kind = next((name for name in _STRONGEST if name in kinds), "")
        if found and found[-1].kind == kind:
            found[-1] = Piece(found[-1].text + text[low:high], kind)
        else:
            found.append(Piece(text[low:high], kind))
    return found
