"""Needles: the hidden sentence, the question about it, and what the answer must state.

`sandwich` is the original sentence (Kamradt 2023); `number` is the later one: a random number with a random city, new
in each cell (Dhinakaran 2024). Multiple needles follow RULER (Hsieh et al. 2024), needles that share no word with their
question follow NoLiMa (Modarressi et al. 2025); their texts are ragstone's. A cell's needle depends only on the seed
and the cell."""

import json
import random
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.storage import check_regular
from ragstone.structs import Frozen

__all__ = ["KINDS", "NeedleQuestion", "cities", "make_needle", "read_needles"]

KINDS = ("number", "sandwich", "topic", "multi", "distractor", "chain", "paraphrase", "file")


class NeedleQuestion(Frozen, frozen=True):
    """A question with its needles. `answers` has one slot of aliases per requested fact. `distractors` have the form of
    the needles but are about something else."""

    question: str
    needles: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    distractors: tuple[str, ...] = ()

    @property
    def answer_text(self) -> str:
        """The needles that contain an answer, as one text: the judge's reference."""
        aliases = [alias for slot in self.answers for alias in slot]
        return " ".join([text for text in self.needles if any(alias in text for alias in aliases)] or self.needles)

    def places(self, placed: Sequence[str]) -> list[int]:
        """Indexes of the needles in a context (in its order, with distractors) that an answer needs: the requested ones
        of several facts, or every link of a chain."""
        aliases = [alias for slot in self.answers for alias in slot]
        several = len(self.answers) > 1
        needed = {text for text in self.needles if not several or any(alias in text for alias in aliases)}
        return [at for at, text in enumerate(placed) if text in (needed or self.needles)]


class _Texts(Frozen, frozen=True):
    """The texts of needles in one language (`needles.toml`)."""

    number: tuple[str, str]
    multi: str
    conjunction: str
    chain: tuple[str, str, str]
    people: tuple[str, ...]
    paraphrase: tuple[tuple[str, str], ...]
    sandwich: NeedleQuestion
    topic: tuple[NeedleQuestion, ...]


@cache
def _texts(language: str) -> _Texts:
    text = (files("ragstone.benchmarks.niah") / "needles.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text)[language], _Texts)


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
    from_file: tuple[NeedleQuestion, ...] = (),
    excluded: frozenset[str] = frozenset(),
) -> NeedleQuestion:
    """The needle of one cell. For "multi": `keys` cities have `values` numbers each, and the question asks for
    `queries` of the cities. `from_file`: the needles for "file". `excluded`: numbers that occur in the haystack. Raises
    UsageError."""
    texts = _texts(language)
    if kind == "sandwich":
        return texts.sandwich
    if kind == "topic":
        return rng.choice(texts.topic)
    if kind == "file":
        if not from_file:
            raise UsageError("--needle file needs a file: add --needle-file FILE.")
        return rng.choice(from_file)
    if kind == "paraphrase":
        name = rng.choice(texts.people)
        needle, question = rng.choice(texts.paraphrase)
        return NeedleQuestion(question, (needle.format(name=name),), ((name,),))
    if kind not in KINDS:
        raise UnknownName("needle", kind, KINDS)
    if not 1 <= queries <= keys <= len(cities(language)) or not 1 <= values <= 20:
        raise UsageError(
            f"--keys {keys} --values {values} --queries {queries}: at least 1 each, at most {len(cities(language))} "
            "keys and 20 values, and no more queries than keys."
        )
    per_city = values if kind == "multi" else 1
    city_count = {"multi": keys, "distractor": 1 + distractors}.get(kind, 1)
    numbers_of = _numbers_of_cities(language, rng, city_count, per_city, excluded)
    return _of_numbers(kind, texts, rng, numbers_of, queries)


def _numbers_of_cities(
    language: str, rng: random.Random, city_count: int, per_city: int, excluded: frozenset[str]
) -> dict[str, list[str]]:
    """Random cities with `per_city` random numbers each, none of which is excluded."""
    chosen = rng.sample(cities(language), min(city_count, len(cities(language))))
    while True:
        numbers = [str(number) for number in rng.sample(range(1_000_000, 10_000_000), len(chosen) * per_city)]
        if excluded.isdisjoint(numbers):
            return {city: numbers[at * per_city : (at + 1) * per_city] for at, city in enumerate(chosen)}


def _of_numbers(
    kind: str, texts: _Texts, rng: random.Random, numbers_of: Mapping[str, Sequence[str]], queries: int
) -> NeedleQuestion:
    needle, question = texts.number
    (first, *others), first_number = numbers_of, next(iter(numbers_of.values()))[0]
    if kind == "chain":
        name = rng.choice(texts.people)
        *links, chain_question = (text.format(city=first, name=name, number=first_number) for text in texts.chain)
        return NeedleQuestion(chain_question, tuple(links), ((first_number,),))
    texts_of = {
        city: [needle.format(city=city, number=number) for number in numbers] for city, numbers in numbers_of.items()
    }
    if kind == "multi":
        queried = [first, *others][:queries]
        return NeedleQuestion(
            texts.multi.format(cities=texts.conjunction.join(queried)),
            tuple(text for city_texts in texts_of.values() for text in city_texts),
            tuple((number,) for city in queried for number in numbers_of[city]),
        )
    distractor_texts = tuple(text for city in others for text in texts_of[city])
    return NeedleQuestion(question.format(city=first), (texts_of[first][0],), ((first_number,),), distractor_texts)


def read_needles(path: Path) -> tuple[NeedleQuestion, ...]:
    """The user's needles: JSON lines of `{"needle": text or list, "question": …, "answer": text or list of aliases}`.

    Raises DataError with the line."""
    questions = []
    try:
        check_regular(path)
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, f"cannot be read ({error}).") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            needles, aliases = row["needle"], row["answer"]
            needles = (needles,) if isinstance(needles, str) else tuple(needles)
            aliases = (aliases,) if isinstance(aliases, str) else tuple(aliases)
            question = NeedleQuestion(row["question"], needles, (aliases,))
            texts = (question.question, *needles, *aliases)
            if not needles or not aliases or not all(isinstance(text, str) and text.strip() for text in texts):
                raise ValueError("a text is empty or missing")
            "".join(texts).encode()  # a lone surrogate cannot be sent
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise DataError(path, f"expected needle, question and answer ({error}).", line=number) from None
        questions.append(question)
    if not questions:
        raise DataError(path, "contains no needle.")
    return tuple(questions)
