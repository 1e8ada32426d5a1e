"""The prompts and words of RULER's tasks."""

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from random import Random

import msgspec

from ragstone.benchmarks.niah.templates import NeedleTemplate
from ragstone.datasets.fictional.parts import pick, sample, shuffled
from ragstone.structs import Frozen


class Framed(Frozen, frozen=True):
    """The texts of a task in one language: the user's turn, what stands before the context, the question, and how the
    reply begins."""

    frame: str
    reply: str
    before: str = ""
    question: str = ""
    noise: str = ""


class Niah(Frozen, frozen=True):
    """The texts of the tasks with needles; of two, the first is for one value and the second for several."""

    frame: str
    nouns: dict[str, tuple[str, str]]
    needle: str
    before: tuple[str, str]
    question: tuple[str, str]
    reply: tuple[str, str]
    key: str
    conjunctions: tuple[str, str]


class Tracking(Framed, frozen=True):
    """The texts of variable tracking: the first assignment of a chain and the others."""

    assigned: str = ""
    copied: str = ""


class Qa(Framed, frozen=True):
    """The texts of the questions on documents."""

    document: str = ""


class Prompts(Frozen, frozen=True):
    """The texts of each task by language."""

    niah: dict[str, Niah]
    vt: dict[str, Tracking]
    cwe: dict[str, Framed]
    fwe: dict[str, Framed]
    qa: dict[str, Qa]


@cache
def prompts() -> Prompts:
    """The prompts of the tasks."""
    text = (files("ragstone.benchmarks.niah.ruler") / "prompts.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Prompts)


def template(task: str) -> NeedleTemplate:
    """The template of a task, named `ruler-TASK`."""
    texts = getattr(prompts(), task)
    return NeedleTemplate(f"ruler-{task}", {language: text.frame for language, text in texts.items()})


def example(texts: Framed, context: str, answer: str, **fields: object) -> str:
    """A whole prompt with its answer, to stand before another."""
    question = texts.question.format(**fields)
    prompt = texts.frame.format(before=texts.before, context=context, question=question)
    return f"{prompt} {texts.reply.format(**fields).strip()} {answer}"


@cache
def words(language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Adjectives and nouns, none of which is part of another."""
    text = (files("ragstone.benchmarks.niah.ruler") / f"words_{language}.txt").read_text(encoding="utf-8")
    adjectives, nouns = text.splitlines()
    return tuple(adjectives.split()), tuple(nouns.split())


def keys(language: str, rng: Random, count: int) -> list[str]:
    """Distinct keys of an adjective and a noun, such as `other_keys` never makes."""
    adjectives, nouns = words(language)
    chosen = []
    for at in sample(rng, range(len(adjectives)), count):
        noun = pick(rng, nouns[at % 2 :: 2])
        chosen.append(prompts().niah[language].key.format(adjective=adjectives[at], noun=noun))
    return chosen


def other_keys(language: str, rng: Random) -> Iterator[str]:
    """All keys that `keys` never makes, in random order."""
    adjectives, nouns = words(language)
    places = [(at, noun) for at in range(len(adjectives)) for noun in range(1 - at % 2, len(nouns), 2)]
    for at, noun in shuffled(rng, places):
        yield prompts().niah[language].key.format(adjective=adjectives[at], noun=nouns[noun])
