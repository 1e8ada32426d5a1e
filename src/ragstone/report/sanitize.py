"""Make untrusted text safe to show in a browser, a terminal, a spreadsheet or an XML parser.

Questions, passages, answers, ids, errors and model names are data. Whatever they contain, they stay readable as text,
are never executed, and never affect the text around them. Jinja2's autoescape does the escaping for HTML.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ragstone.display import Span
from ragstone.structs import plain_data

# Control characters except tab and newline; characters that reorder, hide or break the surrounding text; tag
# characters (invisible instructions); noncharacters; and lone surrogates, which UTF-8 cannot encode.
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
    """The text with each unsafe character replaced by a symbol or its code point.

    Tabs and newlines stay. The result can be encoded as UTF-8 and has no character that XML 1.0 forbids.
    """
    return _UNSAFE.sub(_picture, text)


def pieces(text: str) -> Iterator[tuple[str, int]]:
    """The readable text in pieces, each with the number of characters of `text` that it stands for: 0 where the piece
    is as it was, so that a place in the readable text can be traced back."""
    end = 0
    for match in _UNSAFE.finditer(text):
        if match.start() > end:
            yield text[end : match.start()], 0
        yield _picture(match), len(match[0])
        end = match.end()
    if end < len(text):
        yield text[end:], 0


def printable_json(document: Any, *, indent: int | None = None) -> str:
    """The document as JSON, its text as it is but for unsafe characters, which are escaped (`\\u200b`)."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent, default=plain_data)
    return _UNSAFE.sub(lambda match: json.dumps(match[0])[1:-1], text)


def one_line(text: str, limit: int = 0) -> str:
    """Readable text on one line, with single spaces, cut to `limit` characters unless `limit` is 0."""
    if limit:
        text = text[: 20 * limit + 1000]  # do not process megabytes to show a line
    line = " ".join(readable(text).split())
    return line if not limit or len(line) <= limit else line[: limit - 1].rstrip() + "…"


def cut(text: str, limit: int) -> tuple[str, int]:
    """The first `limit` characters, and the number of characters left out."""
    return text[:limit], max(0, len(text) - limit)


@dataclass(frozen=True)
class Fragment:
    """A part of a text as shown: `kind` names its highlight ("" for none); a fragment that stands for omitted text has
    `left_out`, the number of characters, and no `text`."""

    text: str = ""
    kind: str = ""
    left_out: int = 0


_STRONGEST = ("wrong", "refusal", "match", "only")
_AROUND = 140  # characters of context on each side of a highlight
_MOST_SPANS = 200  # in texts that repeat themselves, only the first matches are highlighted


def fragments(text: str, spans: Sequence[Span], *, limit: int) -> list[Fragment]:
    """Split a text into highlighted and plain fragments of about `limit` characters in total.

    Of a longer text, the beginning and the context of its highlights are kept, and the omitted characters counted.
    Spans are clipped to the text; where they overlap, the most severe kind wins: wrong, then refusal, match and only.
    """
    marks = sorted(
        (max(0, span.start), min(len(text), span.end), span.kind)
        for span in spans
        if span.start < min(span.end, len(text))
    )
    marks = [mark for mark in marks if mark[0] < mark[1]][:_MOST_SPANS]
    shown: list[Fragment] = []
    position = 0
    for start, end in _windows(len(text), marks, limit):
        if start > position:
            shown.append(Fragment(left_out=start - position))
        shown.extend(_marked(text, start, end, marks))
        position = end
    if position < len(text):
        shown.append(Fragment(left_out=len(text) - position))
    return shown


def _windows(length: int, marks: Sequence[tuple[int, int, str]], limit: int) -> list[tuple[int, int]]:
    """The ranges to show, in order and without overlap."""
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


def _marked(text: str, start: int, end: int, marks: Sequence[tuple[int, int, str]]) -> list[Fragment]:
    """One range, split wherever a highlight begins or ends."""
    inside = [(max(low, start), min(high, end), kind) for low, high, kind in marks if low < end and high > start]
    edges = sorted({start, end, *(edge for low, high, _ in inside for edge in (low, high))})
    result: list[Fragment] = []
    for low, high in pairwise(edges):
        kinds = {kind for from_, to, kind in inside if from_ <= low and to >= high}
        kind = next((name for name in _STRONGEST if name in kinds), "")
        if result and result[-1].kind == kind:
            result[-1] = Fragment(result[-1].text + text[low:high], kind)
        else:
            result.append(Fragment(text[low:high], kind))
    return result
