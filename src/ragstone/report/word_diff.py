"""The words that two texts do not share, as highlights for a page.

Words are compared in order, as written, without the space around them; a Chinese character is a word of its own. The
work is bounded: once it is spent, or beyond the first `_LONGEST` characters, what is left counts as different, which is
true of most of it in texts that differ so much.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise
from typing import Any

from ragstone.display import Span
from ragstone.text.characters import HAN

_TOKEN = re.compile(rf"[{HAN}]|\d+(?:[.,:]\d+)*%?|[^\W\d_{HAN}]+(?:['’][^\W\d_{HAN}]+)*|[^\s\w]|_")
_LONGEST = 30_000  # characters of a text that are compared
_WORK = 1_000_000  # pairs of equal words that are looked at: about a quarter of a second
_RUN = 4  # words whose run is an anchor where it stands once in both texts
_SHORT = 3  # characters: shorter shared words between longer differences are chance

Block = tuple[int, int, int, int]  # from and to in the first text, from and to in the second


def word_diff(a: str, b: str) -> tuple[list[Span], list[Span]]:
    """Highlights (kind "only") of the words of `a` that `b` lacks at their place, and of those of `b` that `a` lacks.
    Two equal texts have none."""
    if a == b:
        return [], []
    places = [[match.span() for match in _TOKEN.finditer(text, 0, _LONGEST)] for text in (a, b)]
    words = [[text[start:end] for start, end in spans] for text, spans in zip((a, b), places, strict=True)]
    blocks = _merged(_changes(words[0], words[1]), words[0])
    sides = [
        [(places[side][block[2 * side]][0], places[side][block[2 * side + 1] - 1][1])
         for block in blocks if block[2 * side] < block[2 * side + 1]]
        for side in (0, 1)
    ]  # fmt: skip
    if a[_LONGEST:] != b[_LONGEST:]:
        for side, text in enumerate((a, b)):
            sides[side] += [(_LONGEST, len(text))] if len(text) > _LONGEST else []
    first, second = ([Span("", start, end, "only") for start, end in side] for side in sides)
    return first, second


def _changes(a: Sequence[str], b: Sequence[str]) -> list[Block]:
    """The ranges of words that differ, in order."""
    start, ends = 0, (len(a), len(b))
    while start < min(ends) and a[start] == b[start]:
        start += 1
    while min(ends) > start and a[ends[0] - 1] == b[ends[1] - 1]:
        ends = ends[0] - 1, ends[1] - 1
    a, b = a[start : ends[0]], b[start : ends[1]]
    blocks, before = list[Block](), (0, 0)
    for at, at_b, size in [*_matches(a, b), (len(a), len(b), 0)]:
        if (at, at_b) != before:
            blocks.append((before[0] + start, at + start, before[1] + start, at_b + start))
        before = at + size, at_b + size
    return blocks


def _matches(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int, int]]:
    """The ranges of equal words as (place in `a`, place in `b`, length): between the anchors, the longest first."""
    matcher, counts = SequenceMatcher(None, a, b, autojunk=False), Counter(b)
    pairs = [0, *accumulate(counts[word] for word in a)]
    matched = [(at, at_b, 1) for at, at_b in _anchors(a, b)]
    ranges = [
        (low + 1, high, low_b + 1, high_b)
        for (low, low_b, _), (high, high_b, _) in pairwise([(-1, -1, 0), *matched, (len(a), len(b), 0)])
    ]
    left = _WORK
    while ranges:
        low, high, low_b, high_b = ranges.pop()
        cost = pairs[high] - pairs[low] + high - low
        if low == high or low_b == high_b or cost > left:
            continue
        left -= cost
        at, at_b, size = matcher.find_longest_match(low, high, low_b, high_b)
        if size:
            matched.append((at, at_b, size))
            ranges += [(at + size, high, at_b + size, high_b), (low, at, low_b, at_b)]
    return sorted(matched)


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Places of the same word in both texts whose surroundings stand only once in each: the longest chain in order
    (patience sorting), so that a long text falls into short ranges."""
    first, second = _unique(a), _unique(b)
    chain: list[tuple[int, int, Any]] = []  # the last link of the best chain of each length, with the link before it
    lasts: list[int] = []
    for words, at in first.items():
        if (at_b := second.get(words)) is not None:
            length = bisect_left(lasts, at_b)
            link = (at, at_b, chain[length - 1] if length else None)
            chain[length : length + 1] = [link]
            lasts[length : length + 1] = [at_b]
    found, last = list[tuple[int, int]](), chain[-1] if chain else None
    while last is not None:
        found.append(last[:2])
        last = last[2]
    return found[::-1]


def _unique(words: Sequence[str]) -> dict[tuple[str, ...], int]:
    """The runs of `_RUN` words that occur once, with their places, in order."""
    runs = [tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)]
    counts = Counter(runs)
    return {run: at for at, run in enumerate(runs) if counts[run] == 1}


def _merged(blocks: Sequence[Block], words: Sequence[str]) -> list[Block]:
    """The blocks, joined where a few shared characters between two longer differences are there by chance."""
    joined: list[Block] = []
    for block in blocks:
        if joined:
            last = joined[-1]
            shared = sum(map(len, words[last[1] : block[0]]))
            if shared <= _SHORT and shared <= min(_size(last, words), _size(block, words)):
                joined[-1] = (last[0], block[1], last[2], block[3])
                continue
        joined.append(block)
    return joined


def _size(block: Block, words: Sequence[str]) -> int:
    """How long a difference is: in characters of the first text, at least in words of the second."""
    return max(sum(map(len, words[block[0] : block[1]])), block[3] - block[2])
