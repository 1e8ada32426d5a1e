"""Needles: the hidden sentence, the question about it, and what the answer must state.

`sandwich` is the original sentence (Kamradt 2023); `number` is the later one: a random number with a random city, new
in each cell (Dhinakaran 2024). Multiple needles follow RULER (Hsieh et al. 2024), needles that share no word with their
question follow NoLiMa (Modarressi et al. 2025); their texts are ragstone's. A cell's needle depends only on the seed
and the cell."""

import random
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TypeVar

import msgspec

from ragstone.errors import UsageError, check_name
from ragstone.structs import Frozen

T = TypeVar("T")
KINDS = ("number", "sandwich", "topic", "multi", "distractor", "chain", "paraphrase", "file")
MOST_HOPS = 8
TOPICS = 30
_DRAWN: Mapping[str, Sequence[int]] = {"year": range(1701, 1981), "count": range(211, 988)}  # values of a topic


class NeedleQuestion(Frozen, frozen=True):
    """A question with its needles. `answers` has one slot of aliases per requested fact. `distractors` have the form of
    the needles but are about something else; `decoys` are rows of them that keep their order. `keys`: what the value of
    each slot belongs to; `others`: (value, key) of every other value in the context. `wanted`: the needles that an
    answer needs, where it does not need all of them. `before`, `reply`: what a template of its own puts before the
    context, and how the reply begins. `form`: what counts against an answer: other values of this form ("number",
    "uuid"), more items than are asked for ("list"), or a long answer ("short")."""

    question: str
    needles: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    distractors: tuple[str, ...] = ()
    decoys: tuple[tuple[str, ...], ...] = ()
    keys: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    wanted: tuple[str, ...] = ()
    before: str = ""
    reply: str = ""
    form: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything that is placed in the haystack."""
        return (*self.needles, *self.distractors, *(text for row in self.decoys for text in row))

    @property
    def answer_text(self) -> str:
        """The needles that contain an answer, as one text: the judge's reference."""
        aliases = [alias for slot in self.answers for alias in slot]
        return " ".join([text for text in self.needles if any(alias in text for alias in aliases)] or self.needles)

    @property
    def frame(self) -> dict[str, str]:
        """What its prompt has beside the context and the question."""
        return {name: text for name, text in (("before", self.before), ("reply", self.reply)) if text}

    def places(self, placed: Sequence[str]) -> list[int]:
        """Indexes of the needles in a context (in its order, with distractors) that an answer needs: the requested ones
        of several facts, or every link of a chain."""
        aliases = [alias for slot in self.answers for alias in slot]
        several = len(self.answers) > 1
        needed = set(self.wanted) or {
            text for text in self.needles if not several or any(alias in text for alias in aliases)
        }
        return [at for at, text in enumerate(placed) if text in (needed or self.needles)]


class _Texts(Frozen, frozen=True):
    """The texts of needles in one language (`needles.toml`)."""

    number: tuple[str, str]
    multi: str
    conjunction: str
    chain: tuple[str, str, str]
    passed_on: str
    carriers: tuple[str, ...]
    people: tuple[str, ...]
    paraphrase: tuple[tuple[str, str], ...]
    sandwich: NeedleQuestion


class _Topics(Frozen, frozen=True):
    """The topics of one language (`topics.toml`), by the type of their value: needles with their questions. `values`:
    what can be said, and what an answer has to state of it."""

    topics: dict[str, tuple[tuple[str, str], ...]]
    values: dict[str, tuple[tuple[str, ...], ...]]


def read_texts(file: str, language: str, kind: type[T]) -> T:
    """The texts of a TOML file beside this one, in one language. To be cached by the caller."""
    text = (files("ragstone.benchmarks.niah") / file).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text)[language], kind)


@cache
def _texts(language: str) -> _Texts:
    return read_texts("needles.toml", language, _Texts)


@cache
def _topics(language: str) -> _Topics:
    return read_texts("topics.toml", language, _Topics)


@cache
def cities(language: str) -> tuple[str, ...]:
    """The cities that can have a number."""
    text = (files("ragstone.benchmarks.niah") / f"names_{language}.txt").read_text(encoding="utf-8")
    return tuple(text.split())


def make_needle(
    kind: str,
    language: str,
    rng: random.Random,
    *,
    keys: int = 4,
    values: int = 1,
    queries: int = 2,
    distractors: int = 3,
    hops: int = 2,
    from_file: tuple[NeedleQuestion, ...] = (),
    excluded: frozenset[str] = frozenset(),
) -> NeedleQuestion:
    """The needle of one cell. For "multi": `keys` cities have `values` numbers each, and the question asks for
    `queries` of the cities. For "chain": `hops` sentences lead from the question to the number. `distractors`: other
    cities with their numbers, for "chain" with their chains. `from_file`: the needles for "file". `excluded`: numbers
    that occur in the haystack. Raises UsageError."""
    texts = _texts(language)
    if kind == "sandwich":
        return texts.sandwich
    if kind == "topic":
        return _topic(_topics(language), rng, excluded)
    if kind == "file":
        if not from_file:
            raise UsageError("--needle file needs a file: add --needle-file FILE.")
        return rng.choice(from_file)
    if kind == "paraphrase":
        name = rng.choice(texts.people)
        needle, question = rng.choice(texts.paraphrase)
        return NeedleQuestion(question, (needle.format(name=name),), ((name,),))
    check_name("needle", kind, KINDS)
    _check_counts(kind, texts, len(cities(language)), keys, values, queries, distractors, hops)
    per_city = values if kind == "multi" else 1
    city_count = {"multi": keys, "distractor": 1 + distractors, "chain": 1 + distractors}.get(kind, 1)
    numbers_of = _numbers_of_cities(language, rng, city_count, per_city, excluded)
    if kind == "chain":
        return _chain(texts, rng, numbers_of, hops)
    return _several(texts, rng, numbers_of, queries) if kind == "multi" else _of_numbers(texts, numbers_of)


def _topic(texts: _Topics, rng: random.Random, excluded: frozenset[str]) -> NeedleQuestion:
    """One of the topics with a new value of its type."""
    kind, needle, question = rng.choice([(kind, *pair) for kind, pairs in texts.topics.items() for pair in pairs])
    if kind in _DRAWN:
        (text,) = aliases = (str(rng.choice([number for number in _DRAWN[kind] if str(number) not in excluded])),)
    else:
        text, *stated = rng.choice(texts.values[kind])
        aliases = (stated[0] if stated else text,)
    return NeedleQuestion(question, (needle.format(value=text),), (aliases,))


def _check_counts(
    kind: str, texts: _Texts, most: int, keys: int, values: int, queries: int, distractors: int, hops: int
) -> None:
    """Raises UsageError, with the number that can be placed."""
    if not 1 <= queries <= keys <= most or not 1 <= values <= 20:
        raise UsageError(
            f"--keys {keys} --values {values} --queries {queries}: at least 1 each, at most {most} "
            "keys and 20 values, and no more queries than keys."
        )
    if not 2 <= hops <= MOST_HOPS:
        raise UsageError(f"--hops {hops}: a chain has 2 to {MOST_HOPS} hops.")
    most_chains = min(most, len(texts.carriers) // (hops - 1)) if kind == "chain" else most
    if kind in ("distractor", "chain") and not 0 <= distractors < most_chains:
        why = f"a chain of {hops} hops" if kind == "chain" else "a city of its own"
        raise UsageError(f"--distractors {distractors}: each needs {why}, and there can be at most {most_chains - 1}.")


def _numbers_of_cities(
    language: str, rng: random.Random, city_count: int, per_city: int, excluded: frozenset[str]
) -> dict[str, list[str]]:
    """Random cities with `per_city` random numbers each, none of which is excluded."""
    chosen = rng.sample(cities(language), city_count)
    while True:
        numbers = [str(number) for number in rng.sample(range(1_000_000, 10_000_000), len(chosen) * per_city)]
        if excluded.isdisjoint(numbers):
            return {city: numbers[at * per_city : (at + 1) * per_city] for at, city in enumerate(chosen)}


def _of_numbers(texts: _Texts, numbers_of: Mapping[str, Sequence[str]]) -> NeedleQuestion:
    """The number of the first city; those of the others distract."""
    needle, question = texts.number
    (first, number), *others = ((city, numbers[0]) for city, numbers in numbers_of.items())
    return NeedleQuestion(
        question.format(city=first), (needle.format(city=first, number=number),), ((number,),),
        tuple(needle.format(city=city, number=other) for city, other in others),
        keys=(first,) if others else (), others=tuple((other, city) for city, other in others),
    )  # fmt: skip


def _several(
    texts: _Texts, rng: random.Random, numbers_of: Mapping[str, Sequence[str]], queries: int
) -> NeedleQuestion:
    """The numbers of the first cities. The needles stand in an order that says nothing of the question's."""
    needle, _ = texts.number
    queried = list(numbers_of)[:queries]
    placed = [(city, number) for city, numbers in numbers_of.items() for number in numbers]
    asked = [(city, number) for city, number in placed if city in queried]
    rng.shuffle(placed)
    return NeedleQuestion(
        texts.multi.format(cities=texts.conjunction.join(queried)),
        tuple(needle.format(city=city, number=number) for city, number in placed),
        tuple((number,) for _, number in asked),
        keys=tuple(city for city, _ in asked),
        others=tuple((number, city) for city, number in placed if city not in queried),
        wanted=tuple(needle.format(city=city, number=number) for city, number in asked),
    )


def _chain(texts: _Texts, rng: random.Random, numbers_of: Mapping[str, Sequence[str]], hops: int) -> NeedleQuestion:
    """The chain of the first city, and one of the same form for each of the others."""
    begin, end, question = texts.chain
    names = rng.sample(texts.carriers, len(numbers_of) * (hops - 1))
    rows = []
    for at, (city, (number,)) in enumerate(numbers_of.items()):
        own = names[at * (hops - 1) : (at + 1) * (hops - 1)]
        passed = [texts.passed_on.format(before=before, name=name) for before, name in pairwise(own)]
        rows.append((begin.format(city=city, name=own[0]), *passed, end.format(name=own[-1], number=number)))
    (city, (number,)), *others = numbers_of.items()
    return NeedleQuestion(
        question.format(city=city), rows[0], ((number,),), decoys=tuple(rows[1:]),
        keys=(city,) if others else (), others=tuple((numbers[0], other) for other, numbers in others),
    )  # fmt: skip
