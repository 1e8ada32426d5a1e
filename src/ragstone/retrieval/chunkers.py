"""Splits documents into chunks with a maximum number of tokens, for English, Chinese and mixed text.

    chunk(text, size=330)                                   # whole sentences, as many as fit
    chunk(text, size=330, overlap=60, method="recursive")   # paragraphs first, then lines, sentences, clauses, words
    chunk(text, size=330, method="token")                   # windows of 330 tokens, cut between any two words

A chunk is always a slice of its document without blanks at its ends; nothing is rewritten. The first two methods keep
together a code block, a table, or a heading and the text after it, if they fit into a chunk; each chunk of a longer
table also gets the table's header (`Chunk.header`).

A length in tokens depends on the tokenizer, so run files name it. The default is an estimate, which
needs no download. MIRAGE's 330 and RGB's 300 tokens were counted with those papers' own tokenizers (MIRAGE's is
BERT-base-uncased), which use more tokens for Chinese and for rare words.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, get_args

import msgspec

from ragstone.errors import UsageError
from ragstone.models.tokenizers import ESTIMATE, count_here
from ragstone.retrieval.markdown import Structure
from ragstone.structs import Frozen
from ragstone.text import estimate_tokens, sentences
from ragstone.text.characters import HAN
from ragstone.types import Passage

Method: TypeAlias = Literal["sentence", "recursive", "token"]
METHODS: tuple[Method, ...] = get_args(Method)
PRESETS = {"mirage": 330, "rgb": 300}
"""Chunk sizes of the papers, in tokens."""

_LARGEST = 1_000_000
_Range: TypeAlias = tuple[int, int]


class Tokenizer(Protocol):
    """Turns text into token ids."""

    @property
    def id(self) -> str: ...
    def encode(self, text: str, /) -> list[int]: ...


class Counts(Protocol):
    """A tokenizer that only counts, as returned by `named_tokenizer`."""

    @property
    def id(self) -> str: ...
    def count(self, text: str, /) -> int: ...


class Chunk(Frozen, frozen=True):
    """A slice of a document: `text == document[start:end]`. `header`: the header of the table in which the chunk
    starts, if it does not include it. `tokens` counts text and header."""

    text: str
    start: int
    end: int
    tokens: int
    header: str = ""


class Chunking(Frozen, frozen=True):
    """Settings of `chunk` other than the size. `tokenizer`: a name for `named_tokenizer`."""

    method: Method = "sentence"
    overlap: int = 0
    tokenizer: str = ESTIMATE

    @property
    def spec(self) -> dict[str, str | int]:
        """The settings as JSON, for run files."""
        return {"method": self.method, "overlap": self.overlap, "tokenizer": self.tokenizer}

    def check(self, sizes: Iterable[int]) -> None:
        """Raises UsageError for a size (0: not cut) that is invalid with these settings, and the errors of
        `named_tokenizer`."""
        cut = [size for size in sizes if size]
        for size in cut:
            _check(size, self.overlap, self.method)
        if cut:
            named_tokenizer(self.tokenizer)
        elif self != Chunking():
            raise UsageError("Options for chunks need a size: add --chunk, for example --chunk 110,330.")

    def cut(self, passages: Iterable[Passage], size: int) -> list[Passage]:
        """The passages in chunks of at most `size` tokens, by `chunk_passages`."""
        tokenizer = None if self.tokenizer == ESTIMATE else named_tokenizer(self.tokenizer)
        return chunk_passages(passages, size=size, overlap=self.overlap, method=self.method, tokenizer=tokenizer)


@dataclass(frozen=True)
class _Counter:
    id: str
    count: Callable[[str], int]


def named_tokenizer(name: str) -> Counts:
    """One of `models.tokenizers.TOKENIZERS`, which count in this process. Raises UnknownName for any other, including a
    chat model's own tokenizer (its server counts one text per request, which is too slow), and MissingExtra."""
    return _Counter(name, count_here(name))


def parse_sizes(given: object) -> tuple[int, ...]:
    """Parses `--chunk`: "110,330,550", "mirage", "0,rgb", or numbers from Python. Keeps the order, drops duplicates; 0
    ("none") leaves the documents uncut. Raises UsageError."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    text = ",".join(map(str, given)) if several else str(given)  # type: ignore[call-overload]
    sizes: list[int] = []
    for part in re.split(r"[,，、]", text):
        word = part.strip().lower()
        known = {"none": 0, **PRESETS}
        if word not in known and not (word.isascii() and word.isdecimal() and int(word) <= _LARGEST):
            raise UsageError(
                f"--chunk {text}: {part.strip() or 'an empty part'!r} is not a size. Write tokens, such as "
                f"110,330,550; or {', '.join(PRESETS)}; or 0 for uncut passages."
            )
        sizes.append(known[word] if word in known else int(word))
    return tuple(dict.fromkeys(sizes))


def chunk(
    text: str,
    *,
    size: int,
    overlap: int = 0,
    method: Method = "sentence",
    tokenizer: Tokenizer | Counts | None = None,
    language: str = "",
) -> list[Chunk]:
    """The chunks of a text, in order, each of at most `size` tokens; together they cover all of it except blanks.

    `sentence` packs whole sentences; a sentence longer than `size` is cut between clauses if possible, else between
    words, else between characters. `recursive` packs whole paragraphs and never mixes parts of different ones: a
    paragraph that is too long is packed by lines, a line by sentences, and so on. `token` fills each chunk and cuts
    between any two words; in Chinese, between any two characters.

    `overlap`: maximum tokens that a chunk repeats from the end of the one before, in the units that the method keeps
    whole (for `recursive` within a paragraph, line…); there is no overlap if the last unit is longer. A chunk exceeds
    `size` only if a single character with its combining marks does. `tokenizer` None: `ragstone.text.estimate_tokens`.
    Raises UsageError for an invalid size, overlap or method.
    """
    _check(size, overlap, method)
    cutter = _Cutter(text, size, overlap, _counting(tokenizer), language)
    if method != "token":
        cutter.keep_together()
    whole = _trimmed(text, 0, len(text))
    if whole is None:
        return []
    if cutter.fits(*whole):
        runs: Iterable[list[_Range]] = [[whole]]
    elif method == "recursive":
        runs = cutter.runs(*whole, 0)
    else:
        runs = [list(cutter.units(*whole, _LEVELS.index(_words if method == "token" else _sentences)))]
    return [piece for run in runs for piece in cutter.pack(run)]


def _check(size: int, overlap: int, method: str) -> None:
    """Raises UsageError for an invalid size, overlap or method."""
    if method not in METHODS:
        raise UsageError(f"There is no chunking method {method!r}. Choose one of: {', '.join(METHODS)}.")
    if not 1 <= size <= _LARGEST:
        raise UsageError(f"A chunk size of {size} tokens is out of range. Give 1 to {_LARGEST:,}.")
    if not 0 <= overlap < size:
        raise UsageError(f"An overlap of {overlap} tokens does not fit chunks of {size}. Give 0 to {size - 1}.")


def chunk_passages(
    passages: Iterable[Passage],
    *,
    size: int,
    overlap: int = 0,
    method: Method = "sentence",
    tokenizer: Tokenizer | Counts | None = None,
    language: str = "",
) -> list[Passage]:
    """The passages cut by `chunk`; `size` 0 leaves them uncut.

    A chunk's id is the document's id, "#" and its number from 1. It has the document's title and its `meta` plus
    `start` and `end` in characters, `tokens`, and `document` (the document's id). It inherits the document's relevance
    if that is certain: not relevant, or a document with a single chunk; else the label is None. A blank document has
    no chunk.
    """
    if size == 0:
        return list(passages)
    chunks: list[Passage] = []
    for passage in passages:
        parts = chunk(passage.text, size=size, overlap=overlap, method=method, tokenizer=tokenizer, language=language)
        sure = passage.relevant is False or len(parts) == 1
        for number, part in enumerate(parts, 1):
            place = {"document": passage.id, "start": part.start, "end": part.end, "tokens": part.tokens}
            chunks.append(
                msgspec.structs.replace(
                    passage,
                    id=f"{passage.id}#{number}",
                    text=f"{part.header}\n{part.text}" if part.header else part.text,
                    relevant=passage.relevant if sure else None,
                    meta={**passage.meta, **place},
                )
            )
    return chunks


def _counting(tokenizer: Tokenizer | Counts | None) -> Callable[[str], int]:
    if tokenizer is None:
        return estimate_tokens
    if (count := getattr(tokenizer, "count", None)) is not None:
        return lambda text: int(count(_sound(text)))
    encode = tokenizer.encode  # type: ignore[union-attr]
    return lambda text: len(encode(_sound(text)))


def _sound(text: str) -> str:
    """Replaces lone surrogates, which tokenizers reject; for counting only."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


# Levels of cutting, coarsest first. Each yields the parts of a range of the text.

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*|[\x0c\u2029]\s*")
_LINE = re.compile(r"[\n\r\x0b\x85\u2028]\s*")
_CLOSING = "，。！？；：、…⋯—,.!?;:%％”’」』》〉】）〕)\\]}\"'"
# After a Chinese comma, colon, semicolon or dash; after the Latin ones only before a blank, so not in 1,000 or 3:0.
_CLAUSE = re.compile(rf"[，、；：][{_CLOSING}]*|[,;:][”’)\]\"']*(?=\s)|(?<=\s)[–—-](?=\s)|——|…+")
# A cluster is a character with its accents, variation selectors and joined characters. A word or Han character includes
# its opening and closing punctuation, so that no chunk starts with a full stop.
_JOINED = (
    "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u093a-\u094d\u0e31-\u0e4e\u20d0-\u20ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff"
)
_CLUSTER = re.compile(rf"\S[{_JOINED}]{{0,16}}(?:\u200d(?:\S[{_JOINED}]{{0,4}})?){{0,8}}")
_OPENING = "“‘「『《〈【（〔"
_WORD = re.compile(rf"(?:[{_OPENING}]*(?:[{HAN}][{_JOINED}]*|[^\s{HAN}{_OPENING}]+)|[{_OPENING}]+)[{_CLOSING}]*")


def _between(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[_Range]:
    """The ranges between the ends of matches."""
    at = start
    for match in pattern.finditer(text, start, end):
        yield at, match.end()
        at = match.end()
    yield at, end


def _paragraphs(text: str, start: int, end: int, _: str) -> Iterator[_Range]:
    return _between(_PARAGRAPH, text, start, end)


def _lines(text: str, start: int, end: int, _: str) -> Iterator[_Range]:
    return _between(_LINE, text, start, end)


def _sentences(text: str, start: int, end: int, language: str) -> Iterator[_Range]:
    for sentence in sentences(text[start:end], language):
        yield start, start + len(sentence)
        start += len(sentence)


def _clauses(text: str, start: int, end: int, _: str) -> Iterator[_Range]:
    return _between(_CLAUSE, text, start, end)


def _words(text: str, start: int, end: int, _: str) -> Iterator[_Range]:
    return (match.span() for match in _WORD.finditer(text, start, end))


def _clusters(text: str, start: int, end: int, _: str) -> Iterator[_Range]:
    return (match.span() for match in _CLUSTER.finditer(text, start, end))


_LEVELS = (_paragraphs, _lines, _sentences, _clauses, _words, _clusters)


def _trimmed(text: str, start: int, end: int) -> _Range | None:
    """The range without blanks at its ends; None if it is blank."""
    piece = text[start:end]
    start, end = start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
    return (start, end) if start < end else None


class _Cutter:
    """Cuts one text. `_rate`, the latest tokens per character, predicts where a chunk ends."""

    def __init__(self, text: str, size: int, overlap: int, count: Callable[[str], int], language: str) -> None:
        self.text, self.size, self.overlap, self._count, self._language = text, size, overlap, count, language
        self._rate = 0.25
        self._structure: Structure | None = None
        # A token has a few hundred characters at most, so a longer text need not be counted.
        self._surely_too_long = 1000 * size

    def keep_together(self) -> None:
        """Finds what should not be split: code blocks and tables that fit, a heading and the text after it."""
        self._structure = Structure(self.text, self.fits, lambda start, end: 2 * self.count(start, end) <= self.size)

    def count(self, start: int, end: int) -> int:
        header = self._header(start)
        return self._count(f"{header}\n{self.text[start:end]}" if header else self.text[start:end])

    def fits(self, start: int, end: int) -> bool:
        return end - start <= self._surely_too_long and self.count(start, end) <= self.size

    def parts(self, start: int, end: int, level: int) -> list[_Range]:
        """The parts of a range at a level, without blanks at their ends; parts that must stay together are rejoined."""
        pieces = (_trimmed(self.text, *part) for part in _LEVELS[level](self.text, start, end, self._language))
        parts: list[_Range] = []
        for part in pieces:
            if part is not None and parts and self._together(parts[-1][1], part[0]):
                parts[-1] = parts[-1][0], part[1]
            elif part is not None:
                parts.append(part)
        return parts

    def _together(self, end: int, start: int) -> bool:
        return self._structure is not None and self._structure.together(end, start)

    def _header(self, start: int) -> str:
        return "" if self._structure is None else self._structure.header(start)

    def units(self, start: int, end: int, level: int) -> Iterator[_Range]:
        """The parts of a range at a level; a part that is too long is replaced by its parts at the next level."""
        for part in self.parts(start, end, level):
            if level == len(_LEVELS) - 1 or self.fits(*part):
                yield part
            else:
                yield from self.units(*part, level + 1)

    def runs(self, start: int, end: int, level: int) -> Iterator[list[_Range]]:
        """Runs of units that may share chunks, for a range that is too long as a whole."""
        run: list[_Range] = []
        for part in self.parts(start, end, level):
            if level == len(_LEVELS) - 1 or self.fits(*part):
                run.append(part)
                continue
            if run:
                yield run
                run = []
            yield from self.runs(*part, level + 1)
        if run:
            yield run

    def pack(self, units: Sequence[_Range]) -> Iterator[Chunk]:
        """Chunks of as many units as fit, in order."""
        ends = [end for _, end in units]
        first = 0
        while first < len(units):
            stop, tokens = self._reach(units, ends, first)
            start, end = units[first][0], units[stop - 1][1]
            yield Chunk(self.text[start:end], start, end, tokens, self._header(start))
            if stop == len(units):
                return
            first = self._next_start(units, first, stop) if self.overlap else stop

    def _reach(self, units: Sequence[_Range], ends: Sequence[int], first: int) -> tuple[int, int]:
        """The end (exclusive) of a chunk that starts at unit `first`, with at least one unit, and its tokens.

        Searches by interpolation, which needs two or three counts for evenly spread tokens, then by bisection."""
        start = units[first][0]
        best, beyond, tokens, steps = first, len(units) + 1, 0, 0
        guess = bisect_right(ends, start + int(self.size / self._rate))
        while best + 1 < beyond:
            guess = min(max(guess, best + 1), beyond - 1)
            counted = self.count(start, ends[guess - 1])
            if counted <= self.size or guess == first + 1:
                best, tokens = guess, counted
            else:
                beyond = guess
            if counted > self.size and guess == first + 1:
                break
            self._rate = max(counted / (ends[guess - 1] - start), 1e-3)
            steps += 1
            if steps < 6:
                guess = bisect_right(ends, ends[guess - 1] + int((self.size - counted) / self._rate))
            else:
                guess = (best + beyond) // 2
        return best, tokens

    def _next_start(self, units: Sequence[_Range], first: int, stop: int) -> int:
        """The first unit of the chunk after units[first:stop]: with overlap, but reaching further than this chunk."""
        last, following = units[stop - 1][1], units[stop][1]
        allowed = range(first + 1, stop)
        fitting = bisect_left(allowed, True, key=lambda unit: self.count(units[unit][0], last) <= self.overlap)
        reaching = bisect_left(allowed, True, key=lambda unit: self.fits(units[unit][0], following))
        return first + 1 + max(fitting, reaching)
