"""Ancestral traces: facts about families, in any order, and questions that need all of one family's.

After the Ancestral Trace Challenge of NeedleBench (Li et al. 2024); texts and names are ragstone's. `eldest_K`: K facts
lead from somebody to the earliest ancestor. `generations_K`: of two people of a family with K facts, how many
generations one is above the other. Three other families, told in the same way, stand in the same context, and the facts
stand at random depths in no order, so neither their form nor their place tells which belong together.
"""

import random
from functools import cache, partial
from itertools import pairwise
from typing import NamedTuple

from ragstone.benchmarks.niah.kinds import Kind, Suite
from ragstone.benchmarks.niah.needles import NeedleQuestion, read_texts
from ragstone.structs import Frozen

_OTHER_FAMILIES = 3
_NUMBERS = {"en": ("one", "two", "three", "four", "five", "six", "seven", "eight"), "zh": tuple("一二三四五六七八")}


class _Texts(Frozen, frozen=True):
    """The texts of one language (`ancestral.toml`)."""

    facts: tuple[str, ...]
    parents: tuple[str, str]
    children: tuple[str, str]
    eldest: str
    generations: str
    women: tuple[str, ...]
    men: tuple[str, ...]


class _Person(NamedTuple):
    name: str
    is_man: bool


@cache
def _texts(language: str) -> _Texts:
    return read_texts("ancestral.toml", language, _Texts)


def _families(texts: _Texts, rng: random.Random, facts: int) -> list[list[_Person]]:
    """Lines of descent of `facts` + 1 people, the youngest first; nobody is in two of them."""
    people = [_Person(name, is_man) for is_man, names in ((False, texts.women), (True, texts.men)) for name in names]
    size = facts + 1
    chosen = rng.sample(people, size * (1 + _OTHER_FAMILIES))
    return [chosen[at : at + size] for at in range(0, len(chosen), size)]


def _facts(texts: _Texts, rng: random.Random, family: list[_Person]) -> list[str]:
    """A sentence for each child and parent."""
    return [
        rng.choice(texts.facts).format(
            parent=parent.name, parent_word=texts.parents[parent.is_man],
            child=child.name, child_word=texts.children[child.is_man],
        )
        for child, parent in pairwise(family)
    ]  # fmt: skip


def _eldest(language: str, rng: random.Random, *_: object, facts: int) -> NeedleQuestion:
    """Who is the earliest ancestor of the youngest? Naming anybody else counts against an answer."""
    texts = _texts(language)
    family, *others = _families(texts, rng, facts)
    needles = _facts(texts, rng, family)
    rng.shuffle(needles)
    younger, eldest = family[0].name, family[-1].name
    named = [person.name for line in (family[1:-1], *others) for person in line]
    return NeedleQuestion(
        texts.eldest.format(younger=younger), tuple(needles), ((eldest,),),
        tuple(fact for line in others for fact in _facts(texts, rng, line)),
        keys=(younger,), others=tuple((name, "") for name in named), wanted=tuple(needles),
    )  # fmt: skip


def _generations(language: str, rng: random.Random, *_: object, facts: int) -> NeedleQuestion:
    """How many generations is somebody above another of the same family? Any other number counts against an answer, but
    for one, which is no answer and a part of many words."""
    texts, numbers = _texts(language), _NUMBERS[language]
    family, *others = _families(texts, rng, facts)
    distance = rng.randint(2, facts)
    start = rng.randint(0, facts - distance)
    needles = _facts(texts, rng, family)
    between = tuple(needles[start : start + distance])
    rng.shuffle(needles)
    younger, elder = family[start].name, family[start + distance].name
    return NeedleQuestion(
        texts.generations.format(younger=younger, elder=elder), tuple(needles),
        ((str(distance), numbers[distance - 1]),),
        tuple(fact for line in others for fact in _facts(texts, rng, line)),
        keys=(younger,), others=tuple((str(at), "") for at in range(2, len(numbers) + 1) if at != distance),
        wanted=between,
    )  # fmt: skip


def _kind(name: str, facts: int) -> Kind:
    make = partial(_eldest if name == "eldest" else _generations, facts=facts)
    return Kind(f"{name}_{facts}", make, fresh=True, placed=False, suite="ancestral")


ANCESTRAL = Suite(
    "ancestral",
    (*(_kind("eldest", facts) for facts in (2, 3, 5, 8)), *(_kind("generations", facts) for facts in (5, 8))),
    "Li et al. 2024: NeedleBench, arXiv:2407.11963",
)
