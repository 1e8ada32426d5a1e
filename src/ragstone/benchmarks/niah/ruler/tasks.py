"""The tasks of RULER: what is hidden, where, and what is asked.

The numbers of keys, values, queries, hops and words are those of RULER's `synthetic.yaml`; the prompts are its
templates (`prompts.toml`).
"""

import random
import tomllib
from functools import cache, partial
from importlib.resources import files

import msgspec

from ragstone.benchmarks.niah.kinds import Kind, Suite
from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.benchmarks.niah.templates import NeedleTemplate
from ragstone.structs import Frozen

__all__ = ["RULER"]

_FRAME = "{before}\n{context}\n{question}"
_TEMPLATE = NeedleTemplate("ruler", {"en": _FRAME, "zh": _FRAME})


class _Niah(Frozen, frozen=True):
    """The texts of the tasks with needles in one language. `one`, `several`: what stands before the context, the
    question, and the beginning of the reply."""

    nouns: dict[str, tuple[str, str]]
    needle: str
    one: tuple[str, str, str]
    several: tuple[str, str, str]
    key: str
    conjunctions: tuple[str, str]


class _Prompts(Frozen, frozen=True):
    niah: dict[str, _Niah]


@cache
def _prompts() -> _Prompts:
    text = (files("ragstone.benchmarks.niah.ruler") / "prompts.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Prompts)


@cache
def _words(language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Adjectives and nouns, none of which is part of another."""
    text = (files("ragstone.benchmarks.niah.ruler") / f"words_{language}.txt").read_text(encoding="utf-8")
    adjectives, nouns = text.splitlines()
    return tuple(adjectives.split()), tuple(nouns.split())


def _keys(language: str, rng: random.Random, count: int) -> list[str]:
    """Distinct keys of an adjective and a noun, no two of which share a word."""
    adjectives, nouns = _words(language)
    pairs = zip(rng.sample(adjectives, count), rng.sample(nouns, count), strict=True)
    return [_prompts().niah[language].key.format(adjective=adjective, noun=noun) for adjective, noun in pairs]


def _needles(
    language: str, rng: random.Random, excluded: frozenset[str], *, keys: int = 1, values: int = 1, queries: int = 1
) -> NeedleQuestion:
    """`keys` keys with `values` values each; the question asks for `queries` of the keys."""
    texts = _prompts().niah[language]
    singular, plural = texts.nouns["number"]
    names = _keys(language, rng, max(keys, queries))
    while not excluded.isdisjoint(numbers := _numbers(rng, len(names) * values)):
        pass
    placed = [(name, numbers[at * values + which]) for at, name in enumerate(names) for which in range(values)]
    asked = placed[: queries * values]
    one = len(asked) == 1
    joined = texts.conjunctions[0].join(names[: queries - 1])
    joined += (texts.conjunctions[1] if joined else "") + names[queries - 1]
    frame = texts.one if one else texts.several
    before, question, reply = (text.format(what=singular if one else plural, keys=joined) for text in frame)
    sentences = [texts.needle.format(plural=plural, key=key, value=value) for key, value in placed]
    hidden = sentences[: len(asked)]
    rng.shuffle(hidden)
    return NeedleQuestion(
        question, tuple(hidden), tuple((value,) for _, value in asked), tuple(sentences[len(asked) :]),
        keys=tuple(key for key, _ in asked) if len(names) > 1 else (),
        others=tuple((value, key) for key, value in placed[len(asked) :]),
        before=before, reply=reply,
    )  # fmt: skip


def _numbers(rng: random.Random, count: int) -> list[str]:
    return [str(number) for number in rng.sample(range(1_000_000, 10_000_000), count)]


def _niah(name: str, *, placed: bool = True, keys: int = 1, values: int = 1, queries: int = 1) -> Kind:
    maker = partial(_needles, keys=keys, values=values, queries=queries)
    return Kind(name, maker, fresh=True, placed=placed, controls=False, template=_TEMPLATE, suite="ruler")


RULER = Suite(
    "ruler",
    (
        _niah("niah_single_2"),
        _niah("niah_multikey_1", keys=4),
        _niah("niah_multivalue", values=4, placed=False),
        _niah("niah_multiquery", queries=4, placed=False),
    ),
    "Hsieh et al. 2024: RULER, arXiv:2404.06654",
)
