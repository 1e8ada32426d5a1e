"""Evidence: the sentences, table rows and list items of a gold passage that state the answer, and where a text states
them again, however it was cut, flattened or wrapped.

A statement is found by its words in their place, never by similarity and never by an id: a passage with another number
in the same sentence, or with the same number in another sentence, does not state it.
"""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from ragstone.metrics.reference_core import readings
from ragstone.retrieval.markdown import headings_of, tables_of
from ragstone.structs import Frozen
from ragstone.text import find_answer, sentences, words
from ragstone.text.characters import HAN, is_han
from ragstone.text.content_words import content_words, words_in
from ragstone.text.folding import fold_characters
from ragstone.text.quotes import find_quote

Part: TypeAlias = Literal["whole", "value", "rest", ""]
"""How much of a statement a text has: all that the answer needs; the value, but not what it is the value of; some of
the rest without the value; nothing."""

_MOST = 3  # places of a passage that may state the same part of the answer
_NEARLY = 0.75  # of the best place's weight: as good a place
_ALIKE = 0.85  # of the letters around a value that a flattened row, or a sentence set in another way, keeps
_OVERLAP = 8  # letters of a sentence at the border of a text that are a part of it and no accident
_LINE = 40  # characters from which a line that ends without a mark goes on in the next one
_ENDS, _BEGINS = tuple(".!?。！？；:：|#"), tuple("#|*•>-–—0123456789")
_HYPHENATED = re.compile(r"(?<=[^\W\d_])-\n\s*(?=[a-z])")
_SECTION, _MARKS = re.compile(r"\n(?=#)"), re.compile(r"[.!?。!?;；]\s|[。！？；\n]")
_WORD, _HAN_RUN = re.compile(rf"[^\W_{HAN}]+(?:[.,]\d+)*"), re.compile(rf"[{HAN}]+")
_FIGURE, _CELLS = re.compile(r"\d+(?:[.,]\d+)*"), re.compile(r"\|")
_COMMON = 1000  # sentences with a word from which on it tells nothing about one of them
_HAN_BORDER = re.compile(rf"(?<=[{HAN}，、]) (?=[{HAN}])")


UNKNOWN_SLOT = -1
"""The slot of a statement of which nobody knows which part of the answer it states."""


class Statement(Frozen, frozen=True):
    """A place of a gold passage that states the part `slot` of the answer. `text`: the sentence, row or item; `value`:
    the answer as it stands there, "" where the text words it in another way than the reference, so that nobody knows
    its place; `needed`: the words of the question in it; `about`: the words of the question that tell what it is about
    and stand elsewhere (a heading, the title, the sentence before), and the unit that stands in the header of its
    column; `context`: the text to give with it, so that it can be understood alone."""

    slot: int
    text: str
    value: str
    needed: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    context: str = ""

    @property
    def alone(self) -> str:
        """What has to be given to state it: what it is about, and the sentence."""
        return f"{self.context}\n{self.text}" if self.context else self.text

    def lacking(self, passages: Iterable[tuple[str, str]]) -> list[str]:
        """The words of its subject and of its table's header that the passages (text, title) with its value lack."""
        wanted = content_words(f"{' '.join(self.about)}\n{self.context if '|' in self.context else ''}", "")
        near = [f"{title}\n{text}" for text, title in passages if stated(self, text, title) in ("whole", "value")]
        return sorted(wanted.difference(*(words_in(text, wanted, "") for text in near))) if near and wanted else []


Subject: TypeAlias = Callable[[Collection[str], Collection[str]], tuple[str, ...]]
"""Of the words of a question that stand in a sentence, and of those that stand elsewhere in its document: the latter
that are needed to tell what the sentence is about."""


def no_subject(here: Collection[str], elsewhere: Collection[str]) -> tuple[str, ...]:
    """Where nothing tells which words are rare: a sentence with none of the question's words needs all of them."""
    return () if here else tuple(elsewhere)


class Rarity:
    """How rare the words of the questions are in the documents: which of them tell what a sentence is about.

    A sentence needs no more words if no other one has the same words of the question. Otherwise it needs those of its
    document that stand in fewer sections than any word it has: the name of a product in the heading above "It weighs
    317 kg", and not the frequent words around it. One pass over the documents; memory grows with the questions."""

    def __init__(self, texts: Iterable[str], questions: Iterable[str]) -> None:
        vocabulary = {word for question in questions for word in content_words(question, "")}
        self._sections: Counter[str] = Counter()
        self._sentences: dict[str, array[int]] = {}
        number = 0
        for text in texts:
            for section in _SECTION.split(fold_characters(text).text):
                known: set[str] = set()
                for sentence in _MARKS.split(section):
                    number += 1
                    found = vocabulary & _rough_words(sentence)
                    known |= found
                    for word in found:
                        places = self._sentences.setdefault(word, array("I"))
                        if len(places) <= _COMMON:
                            places.append(number)
                self._sections.update(known)

    def __call__(self, here: Collection[str], elsewhere: Collection[str]) -> tuple[str, ...]:
        if self._is_alone(here):
            return ()
        most = min((self._sections[word] for word in here), default=None)
        rarer = {word: max(1, self._sections[word]) for word in elsewhere}
        rarer = {word: count for word, count in rarer.items() if most is None or count < most}
        return tuple(word for word, count in rarer.items() if count <= 2 * min(rarer.values()))

    def _is_alone(self, here: Collection[str]) -> bool:
        """Whether at most one sentence has all of these words."""
        rare = [self._sentences.get(word, array("I")) for word in here]
        rare = sorted((places for places in rare if len(places) <= _COMMON), key=len)
        return bool(rare) and len(set(rare[0]).intersection(*rare[1:])) <= 1


def _rough_words(text: str) -> set[str]:
    """Words between blanks and pairs of Chinese characters, in a folded text."""
    pairs = {text[at : at + 2] for run in _HAN_RUN.finditer(text) for at in range(run.start(), run.end() - 1)}
    return pairs.union(_WORD.findall(text))


def statements_of(
    text: str, title: str, question: str, slots: Sequence[Sequence[str]], subject: Subject = no_subject
) -> tuple[Statement, ...]:
    """The places of a text that state the parts of an answer, for each part those with most of the question's rarer
    words. () where the text words the answer in another way."""
    parts, sought = _parts(text), content_words(question, "")
    asked = [sought & part.words for part in parts]
    frequency = Counter(word for found in asked for word in found)
    weights = [sum(1 / frequency[word] for word in found) for found in asked]
    found: list[Statement] = []
    for slot, aliases in _stated_slots(slots, parts, question):
        stating = [(n, *found_at) for n, part in enumerate(parts) if (found_at := _value(part, aliases))[0]]
        best = max((weights[n] for n, *_ in stating), default=0.0)
        places = sorted((-weights[n], n, value, unit) for n, value, unit in stating if weights[n] >= _NEARLY * best)
        for _, n, value, unit in places[:_MOST]:
            about = (*subject(asked[n], sorted(_elsewhere(parts, n, title) & sought - asked[n])), *unit)
            context = _context(parts, n, title, about)
            found.append(Statement(slot, parts[n].text, value, tuple(sorted(asked[n])), about, context))
    return tuple(found)


def _stated_slots(
    slots: Sequence[Sequence[str]], places: Sequence["_Place"], question: str
) -> Iterator[tuple[int, Sequence[str]]]:
    """The parts of the answer with the wordings that stand in these places. One that is stated as several items is as
    many parts, each with a number of its own; another passage may state the others."""
    for slot, aliases in enumerate(slots):
        found = dict[int, Sequence[str]]()
        for items in readings(aliases, question):
            found = {n: item for n, item in enumerate(items) if any(_value(place, item)[0] for place in places)}
            if len(found) == len(items):
                break
        several = len(items) > 1
        yield from ((slot + (n + 1) * len(slots) * several, item) for n, item in found.items())


class _Place(Frozen, frozen=True):
    """A sentence, row or item of a text, with the headings above it and the header of its table."""

    text: str
    words: frozenset[str]
    headings: tuple[str, ...] = ()
    header: str = ""


@lru_cache(maxsize=256)
def _parts(text: str) -> tuple[_Place, ...]:
    """The sentences, rows and items of a text in order, each with what stands above it."""
    plain = _unwrapped(text)
    headings = list(headings_of(plain))
    tables = tables_of(plain)
    places, at = [], 0
    for sentence in sentences(plain):
        start, at = at, at + len(sentence)
        line = sentence.strip()
        header = next((plain[one.start : one.header] for one in tables if one.header <= start < one.end), "")
        in_header = any(one.start <= start < one.header for one in tables)
        if line and not in_header and any(map(str.isalnum, line)):
            places.append(_Place(line, content_words(line, ""), _above(headings, start), header))
    return tuple(places)


def _unwrapped(text: str) -> str:
    """The text with the lines of a paragraph, and words that are cut at their ends, joined."""
    lines = [""]
    for line in _HYPHENATED.sub("", text).split("\n"):
        last, begin = lines[-1].rstrip(), line.lstrip()
        if len(last) >= _LINE and begin and not last.endswith(_ENDS) and not begin.startswith(_BEGINS):
            lines[-1] = f"{last} {begin}"
        else:
            lines.append(line)
    return _HAN_BORDER.sub("", "\n".join(lines[1:]))


def _above(headings: Iterable[tuple[int, int, str]], at: int) -> tuple[str, ...]:
    """The headings above a position, the highest first."""
    found: dict[int, str] = {}
    for start, level, heading in headings:
        if start > at:
            break
        found = {known: text for known, text in found.items() if known < level} | {level: heading}
    return tuple(found.values())


def _value(place: _Place, aliases: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """The first answer that a place states, as it stands there ("" if none), and the words of its unit that stand in
    the header of its column."""
    for alias in filter(str.strip, aliases):
        if spans := find_answer(alias, place.text):
            start, end = spans[0]
            return place.text[start:end], ()
        if place.header and (found := _below_unit(place, alias))[0]:
            return found
    return "", ()


def _below_unit(place: _Place, alias: str) -> tuple[str, tuple[str, ...]]:
    """The number of an answer ("25 days") in a cell of a row whose column says the rest ("Leave (days)"), and these
    words."""
    figures = _FIGURE.findall(alias)
    unit = letters(_FIGURE.sub("", alias))
    if len(figures) != 1 or not unit:
        return "", ()
    headers, cells = (
        _CELLS.split(line.strip().strip("|")) for line in (place.header.strip().splitlines()[0], place.text)
    )
    for header, cell in zip(headers, cells, strict=False):
        spans = find_answer(figures[0], cell) if unit in letters(header) else ()
        if spans and letters(cell[slice(*spans[0])]) == letters(cell):
            return cell.strip(), tuple(sorted(content_words(_FIGURE.sub("", alias), "")))
    return "", ()


def _elsewhere(parts: Sequence[_Place], n: int, title: str) -> set[str]:
    """The words of the document of a place."""
    around = {word for part in parts for word in part.words}
    return around.union(*(content_words(text, "") for text in (title, parts[n].header, *parts[n].headings)))


def _context(parts: Sequence[_Place], n: int, title: str, about: Sequence[str]) -> str:
    """What has to stand before a place to understand it: the header of its table, the headings, and the title or the
    nearest sentence before it that have the rest of what it is about."""
    place, lacking = parts[n], set(about)
    lines = [place.header] if place.header else []
    lacking -= content_words(place.header, "")
    for text in (*reversed(place.headings), *(part.text for part in reversed(parts[:n])), title):
        if lacking & (known := content_words(text, "")):
            lines.insert(0, text)
            lacking -= known
    return "\n".join(lines)


def stated(statement: Statement, text: str, title: str = "") -> Part:
    """How much of a statement a text has."""
    kept = _kept(statement, text)
    if not kept:
        return ""
    about = frozenset(statement.about)
    lacking = about - words_in(f"{title}\n{text}", about, "") if about else about
    if kept == "whole" and not lacking:
        return "whole"
    if kept in ("whole", "value"):
        return "value"
    return "rest"


@lru_cache(maxsize=1024)
def _kept(statement: Statement, text: str) -> Part:
    """How much of the sentence itself a text has."""
    sentence, whole = letters(statement.text), letters(text)
    if not statement.value:
        return _shared(sentence, whole)
    if sentence in whole and (len(sentence) >= _LINE or find_quote(statement.text, text) is not None):
        return "whole"
    start, end = _cut(sentence, whole)
    if cut := sentence[start:end]:
        value = letters(statement.value)
        if value in cut:
            return "whole" if all(letters(word) in cut for word in statement.needed) else "value"
        return "rest" if any(letters(word) in cut for word in statement.needed) else ""
    return "whole" if _spread(statement, text) else ""


def is_another_version(statement: Statement, text: str) -> bool:
    """Whether a text has the words around the value of a statement, and not the value."""
    before, _, after = letters(statement.text).partition(letters(statement.value))
    rest = max(before, after, key=len)
    return len(rest) >= _OVERLAP and rest in letters(text) and not _kept(statement, text)


def has_another_value(statement: Statement, text: str) -> bool:
    """Whether a text has both sides of a statement around something else of about the size of its value. The sides
    together have to be long enough to be no accident: few Chinese characters say much."""
    if not (value := letters(statement.value)) or _kept(statement, text):
        return False
    before, _, after = letters(statement.text).partition(value)
    if _width(before + after) < _OVERLAP:
        return False
    whole, size = letters(text), 2 * len(value) + _OVERLAP
    at = whole.find(before)
    while at >= 0:
        start = at + len(before)
        end = whole.find(after, start + 1) if after else min(start + 1, len(whole))
        if start < end <= start + size:
            return True
        at = whole.find(before, at + 1) if before else -1
    return False


def _width(text: str) -> int:
    """How much letters say, in Latin ones."""
    return len(text) + sum(map(is_han, text))


def _shared(label: str, text: str) -> Part:
    """How much a text has of a label that words the answer in another way: a part of a long label is a chunk of it."""
    short, long = sorted((label, text), key=len)
    if short and short in long and len(short) >= min(_LINE, len(label)):
        return "whole"
    start, end = _cut(label, text)
    return "whole" if end - start >= _ALIKE * len(label) else "rest" if end > start else ""


def complete_each_other(statement: Statement, texts: Iterable[str]) -> bool:
    """Whether the sentence stands in these texts together, cut by their borders."""
    sentence, done = letters(statement.text), 0
    for start, end in sorted(_cut(sentence, letters(text)) for text in texts):
        done = max(done, end) if start <= done else done
    return done == len(sentence)


def is_cut(statement: Statement, text: str) -> bool:
    """Whether a border of this text cuts the statement: its last or first words are a part of it."""
    start, end = _cut(letters(statement.text), letters(text))
    return _width(letters(statement.text)[start:end]) >= _OVERLAP


def _cut(sentence: str, text: str) -> tuple[int, int]:
    """Which letters of this sentence a text has whose border cuts it: the first ones at the end of the text, or the
    last ones at its beginning. (0, 0) if none."""
    if text and (at := sentence.find(text)) >= 0:
        return at, at + len(text)
    tail, head = _at_end(sentence, text), _at_end(sentence[::-1], text[::-1])
    return (0, tail) if tail >= head else (len(sentence) - head, len(sentence))


def letters_begun(sentence: str, text: str) -> int:
    """How many letters of a sentence a text ends with; 0 for fewer than `_OVERLAP`."""
    return _at_end(sentence, letters(text))


def _at_end(sentence: str, text: str) -> int:
    """How many letters at the end of a text are the beginning of a sentence; 0 for fewer than `_OVERLAP`."""
    at = text.find(sentence[:_OVERLAP], max(0, len(text) - len(sentence)))
    while at >= 0 and len(sentence) >= _OVERLAP:
        if sentence.startswith(text[at:]):
            return len(text) - at
        at = text.find(sentence[:_OVERLAP], at + 1)
    return 0


def _spread(statement: Statement, text: str) -> bool:
    """Whether the words of a statement stand around its value, with others between them: a row whose cells got their
    headers, or were torn apart."""
    around = [word for word in _words(statement.text) if word not in _words(statement.value)]
    size = sum(map(len, around))
    if not size or letters(statement.value) not in letters(text):
        return False
    reach = 2 * len(statement.text) + len(statement.context) + 2 * _LINE
    needed = [letters(word) for word in statement.needed] or around
    for start, end in find_answer(statement.value, text):
        window = letters(text[max(0, start - reach) : end + reach])
        kept = sum(len(word) for word in around if word in window)
        if kept >= _ALIKE * size and all(word in window for word in needed):
            return True
    return False


@lru_cache(maxsize=1024)
def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(letters, words(text)))))


@lru_cache(maxsize=1024)
def letters(text: str) -> str:
    """The letters and digits of a text in one spelling: without punctuation, blanks, case and width."""
    return "".join(filter(str.isalnum, fold_characters(text).text))
