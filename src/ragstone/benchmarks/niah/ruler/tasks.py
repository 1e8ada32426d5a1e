"""The thirteen tasks of RULER with the parameters of its `synthetic.yaml`.

Needles are numbers or uuids of words or uuids, in noise, in prose or among needles; a chain of assignments in noise
gives all of its variables one value (variable tracking); common words stand in a numbered list, frequent words in a
code; questions on documents are about invented news, where one document has the answer or two are needed for it.
"""

import math
import string
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice, pairwise
from random import Random
from typing import Literal

from ragstone.benchmarks.niah.contexts import MARK
from ragstone.benchmarks.niah.kinds import Kind, Maker, Source, Suite
from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.benchmarks.niah.ruler.texts import example, keys, other_keys, prompts, template, words
from ragstone.benchmarks.niah.sources import TextSource
from ragstone.benchmarks.niah.templates import NeedleTemplate
from ragstone.benchmarks.niah.word_lists import ListSource
from ragstone.datasets.fictional.parts import between, pick, sample, seeded, shuffled
from ragstone.datasets.fictional.pools import MiragePool, make_pool
from ragstone.datasets.mirage import MirageQuestion
from ragstone.metrics.ruler_match import RulerMatch

Value = Literal["number", "uuid"]
_DIGITS = 7
_COMMON, _FREQUENT = 10, 3  # words that are asked for
_FULL = 4096  # in shorter contexts words occur less often, and the example is shorter, as in RULER
_SINGLE = 8192  # in longer contexts there are not enough words: pairs of words take their place
_MANY = 200_000
_PAIRS, _MANY_PAIRS = 12_000, 60_000
_CODED = 1000
HOPS = 4
_LETTERS, _EXAMPLE_LETTERS = 5, 3
_EXAMPLE_NOISE = 15  # lines: an example of about 500 tokens
_ASKED = 32  # questions to choose from; the documents of all others are to search through
_CHUNKS = 3  # documents of one question
_SHORTEST = {"en": 5, "zh": 3}  # characters of an answer that stands nowhere by chance


@dataclass(frozen=True)
class NeedleTask:
    """Makes the needles of a cell: `keys` keys with `values` values each, and a question that asks for `queries` of the
    keys. `key`, `value`: what they are made of."""

    keys: int = 1
    values: int = 1
    queries: int = 1
    key: Literal["words", "uuid"] = "words"
    value: Value = "number"
    exact: bool = False  # other values of the same form count against an answer

    def __call__(self, language: str, rng: Random, excluded: frozenset[str], length: int) -> NeedleQuestion:
        """The needles of one cell, with no number of `excluded`."""
        del length
        texts = prompts().niah[language]
        singular, plural = texts.nouns[self.value]
        count = max(self.keys, self.queries)
        names = keys(language, rng, count) if self.key == "words" else [_uuid(rng) for _ in range(count)]
        values = _values(self.value, rng, count * self.values, excluded)
        placed = [
            (name, values[at * self.values + which]) for at, name in enumerate(names) for which in range(self.values)
        ]
        asked, others = placed[: self.queries * self.values], placed[self.queries * self.values :]
        several = len(asked) > 1
        fields = {"what": plural if several else singular, "keys": _joined(names[: self.queries], texts.conjunctions)}
        sentence = {pair: texts.needle.format(plural=plural, key=pair[0], value=pair[1]) for pair in placed}
        return NeedleQuestion(
            texts.question[several].format(**fields),
            tuple(shuffled(rng, [sentence[pair] for pair in asked])),
            tuple((value,) for _, value in asked),
            tuple(sentence[pair] for pair in others),
            keys=tuple(key for key, _ in asked) if self.exact else (),
            others=tuple((value, key) for key, value in others),
            before=texts.before[several].format(**fields), reply=texts.reply[several].format(**fields),
            form=self.value if self.exact else "",
        )  # fmt: skip


def _joined(names: list[str], conjunctions: tuple[str, str]) -> str:
    return conjunctions[1].join(filter(None, (conjunctions[0].join(names[:-1]), names[-1])))


def _values(form: Value, rng: Random, count: int, excluded: frozenset[str] = frozenset()) -> list[str]:
    """Distinct values."""
    values: dict[str, None] = {}
    while len(values) < count:
        value = _uuid(rng) if form == "uuid" else str(between(rng, 10 ** (_DIGITS - 1), 10**_DIGITS - 1))
        if value not in excluded:
            values[value] = None
    return list(values)


def _uuid(rng: Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def noise_lines(language: str, rng: Random) -> Iterator[str]:
    """The noise, over and over."""
    del rng
    line = prompts().vt[language].noise + "\n"
    while True:
        yield line


def needle_lines(key: Literal["words", "uuid"], value: Value, language: str, rng: Random) -> Iterator[str]:
    """Needles of other keys than those that are asked for."""
    texts = prompts().niah[language]
    names = other_keys(language, rng) if key == "words" else iter(lambda: _uuid(rng), "")
    for name in names:
        (given,) = _values(value, rng, 1)
        yield texts.needle.format(plural=texts.nouns[value][1], key=name, value=given) + "\n"


@cache
def _single_words(language: str) -> tuple[str, ...]:
    return tuple(word for part in words(language) for word in part)


@cache
def _pairs(count: int, language: str) -> tuple[str, ...]:
    return tuple(islice(other_keys(language, seeded("ragstone", "pairs", language)), count))


@cache
def _coded_words(language: str) -> tuple[str, ...]:
    """Words of six random letters, in Chinese of three characters."""
    rng = seeded("ragstone", "coded", language)
    chinese = language == "zh"
    letters = sorted(set("".join(_single_words(language)))) if chinese else string.ascii_lowercase
    made: dict[str, None] = {}
    while len(made) < _CODED:
        made["".join(pick(rng, letters) for _ in range(3 if chinese else 6))] = None
    return tuple(made)


def _common_counts(often: int, seldom: int, size: int) -> list[int]:
    """How often each of `size` words occurs."""
    return [often] * min(size, _COMMON) + [seldom] * (size - _COMMON)


def _zeta_counts(size: int) -> list[int]:
    """The word of rank k occurs size / (k² ζ(2)) times, rounded down: a zeta distribution with α = 2."""
    counts: list[int] = []
    while count := int(size / ((len(counts) + 1) ** 2 * math.pi**2 / 6)):
        counts.append(count)
    return counts


COMMON_SOURCES = (
    (0, ListSource("common-few", _single_words, partial(_common_counts, 6, 1), {}, numbered=True)),
    (_FULL, ListSource("common", _single_words, partial(_common_counts, 30, 3), {}, numbered=True)),
    (
        _SINGLE + 1,
        ListSource("common-pairs", partial(_pairs, _PAIRS), partial(_common_counts, 30, 3), {}, numbered=True),
    ),
    (_MANY, ListSource("common-many", partial(_pairs, _MANY_PAIRS), partial(_common_counts, 30, 3), {}, numbered=True)),
)
"""(shortest length, lists): what is asked for is said 30 times, everything else 3 times."""

FREQUENT_SOURCE = ListSource(
    "frequent", _coded_words, _zeta_counts, {language: texts.noise for language, texts in prompts().fwe.items()}
)


def common_words(language: str, rng: Random, excluded: frozenset[str], length: int) -> NeedleQuestion:
    """Ten words that occur more often than any other of the list. Before it, an example."""
    del excluded
    texts = prompts().cwe[language]
    pool = _single_words(language) if length <= _SINGLE else _pairs(_PAIRS, language)
    size, often, seldom = (20, 3, 1) if length < _FULL else (40, 10, 3)
    drawn = sample(rng, pool, _COMMON + size)
    asked, shown = drawn[:_COMMON], drawn[_COMMON:]
    counts = _common_counts(often, seldom, size)
    entries = shuffled(rng, [word for word, count in zip(shown, counts, strict=True) for _ in range(count)])
    first = example(texts, _numbered(entries), _numbered(shown[:_COMMON]))
    return NeedleQuestion(
        texts.question, tuple(asked), tuple((word,) for word in asked), before=f"{first}\n{texts.before}",
        reply=texts.reply, form="list",
    )  # fmt: skip


def _numbered(entries: Sequence[str]) -> str:
    return " ".join(f"{number}. {word}" for number, word in enumerate(entries, start=1))


def frequent_words(language: str, rng: Random, excluded: frozenset[str], length: int) -> NeedleQuestion:
    """The three most frequent coded words, most frequent first; only the noise is more frequent."""
    del excluded, length
    texts = prompts().fwe[language]
    asked = tuple(sample(rng, _coded_words(language), _FREQUENT))
    slots = tuple((word,) for word in asked)
    return NeedleQuestion(texts.question, asked, slots, before=texts.before, reply=texts.reply, form="list")


def track_variables(language: str, rng: Random, excluded: frozenset[str], length: int) -> NeedleQuestion:
    """A chain of assignments in their order; every variable of it has the value. Before it, an example."""
    del excluded, length
    texts = prompts().vt[language]
    lines, names, value = _chain(language, rng, _LETTERS)
    shown, shown_names, shown_value = _chain(language, rng, _EXAMPLE_LETTERS)
    context = [texts.noise] * _EXAMPLE_NOISE
    places = sorted(sample(rng, range(_EXAMPLE_NOISE), len(shown)))
    for before, (place, line) in enumerate(zip(places, shown, strict=True)):
        context.insert(place + before, line)
    first = example(texts, "\n".join(context), " ".join(shown_names), value=shown_value, count=len(shown_names))
    fields = {"value": value, "count": len(names)}
    return NeedleQuestion(
        texts.question.format(**fields), tuple(lines), tuple((name,) for name in names),
        before=f"{first}\n\n{texts.before}", reply=texts.reply.format(**fields),
    )  # fmt: skip


def _chain(language: str, rng: Random, letters: int) -> tuple[list[str], list[str], str]:
    """The lines of a chain, its variables and its value."""
    texts = prompts().vt[language]
    names: dict[str, None] = {}
    while len(names) <= HOPS:
        names["".join(pick(rng, string.ascii_uppercase) for _ in range(letters))] = None
    chain, value = list(names), str(between(rng, 10_000, 99_999))
    lines = [texts.assigned.format(name=chain[0], value=value)]
    lines += [texts.copied.format(name=name, value=before) for before, name in pairwise(chain)]
    return lines, chain, value


@cache
def _pool(language: str, hops: int, questions: int) -> MiragePool:
    return make_pool(questions, language=language, chunks_per_query=_CHUNKS, multi_hop=float(hops > 1))


@cache
def _asked(language: str, hops: int) -> tuple[MirageQuestion, ...]:
    questions = _pool(language, hops, _ASKED).questions
    return tuple(question for question in questions if min(map(len, question.answer)) >= _SHORTEST[language])


def question_on_documents(
    hops: int, language: str, rng: Random, excluded: frozenset[str], length: int
) -> NeedleQuestion:
    """A question with the documents that answer it, one for each hop, and those about the same that do not."""
    del excluded, length
    pool, question = _pool(language, hops, _ASKED), pick(rng, _asked(language, hops))
    needed = tuple(_document(chunk.doc_chunk, language) for chunk in pool.oracle[question.query_id])
    related = tuple(
        _document(chunk.doc_chunk, language)
        for chunk in pool.pool
        if chunk.mapped_id == question.query_id and not chunk.support
    )
    return NeedleQuestion(
        question.query, needed, (question.answer,), related, wanted=needed, reply=prompts().qa[language].reply,
        form="short",
    )  # fmt: skip


def document_source(hops: int) -> TextSource:
    """The documents of other questions, none of which states an answer of those that are asked."""
    return TextSource(f"documents-{hops}", partial(_others, hops), joint="\n\n", batch=32)


def _others(hops: int, language: str, rng: Random) -> Iterator[str]:
    del rng
    answers = [alias.lower() for question in _asked(language, hops) for alias in question.answer]
    begun, size = _ASKED, 2 * _ASKED
    while True:
        for chunk in _pool(language, hops, size).pool[begun * _CHUNKS :]:
            if not any(answer in chunk.doc_chunk.lower() for answer in answers):
                yield _document(chunk.doc_chunk, language) + "\n\n"
        begun, size = size, 2 * size


def _document(text: str, language: str) -> str:
    return prompts().qa[language].document.format(number=MARK, text=text)


_STARTS = 8  # different texts of needles, one for each repeat

_NIAH, _VT, _CWE, _FWE, _QA = map(template, ("niah", "vt", "cwe", "fwe", "qa"))

_NOISE = ((0, TextSource("noise", noise_lines)),)

_WORDS = ((0, TextSource("needles", partial(needle_lines, "words", "number"), starts=_STARTS)),)

_UUIDS = ((0, TextSource("uuids", partial(needle_lines, "uuid", "uuid"), starts=_STARTS)),)


def _kind(
    name: str, make: Maker, sources: tuple[tuple[int, Source], ...] = (), template: NeedleTemplate = _NIAH, *,
    placed: bool = False, fresh: bool = True,
) -> Kind:  # fmt: skip
    return Kind(
        name, make, fresh=fresh, placed=placed, controls=False, template=template, sources=sources, suite="ruler"
    )  # fmt: skip


def _qa(name: str, hops: int) -> Kind:
    make = partial(question_on_documents, hops)
    return _kind(name, make, ((0, document_source(hops)),), _QA, placed=hops == 1, fresh=False)


RULER = Suite(
    "ruler",
    (
        _kind("niah_single_1", NeedleTask(), _NOISE, placed=True),
        _kind("niah_single_2", NeedleTask(), placed=True),
        _kind("niah_single_3", NeedleTask(value="uuid"), placed=True),
        _kind("niah_multikey_1", NeedleTask(keys=4, exact=True), placed=True),
        _kind("niah_multikey_2", NeedleTask(exact=True), _WORDS, placed=True),
        _kind("niah_multikey_3", NeedleTask(key="uuid", value="uuid", exact=True), _UUIDS, placed=True),
        _kind("niah_multivalue", NeedleTask(values=4, exact=True)),
        _kind("niah_multiquery", NeedleTask(queries=4, exact=True)),
        _kind("vt", track_variables, _NOISE, _VT),
        _kind("cwe", common_words, COMMON_SOURCES, _CWE),
        _kind("fwe", frequent_words, ((0, FREQUENT_SOURCE),), _FWE),
        _qa("qa_1", 1),
        _qa("qa_2", 2),
    ),
    "Hsieh et al. 2024: RULER, arXiv:2404.06654",
    (RulerMatch(),),
    "4Ki,8Ki,16Ki,32Ki",
)
