"""Latent associations: needles that share no content word with their questions, so that only knowledge of the world
leads from one to the other.

After NoLiMa (Modarressi et al. 2025); texts, names and associations are ragstone's. `city`: a landmark and its city;
`country`: a landmark and its country, by way of the city; `trade`: what somebody does and what the trade is called.
`…_inverted`: the needle names the person last. Three other people with other associations stand in the same context, so
that the only person who is named there is no answer yet.
"""

import random
from functools import cache, partial

from ragstone.benchmarks.niah.kinds import Kind, Suite
from ragstone.benchmarks.niah.needles import NeedleQuestion, read_texts
from ragstone.structs import Frozen

_OTHERS = 3
_PLACES = {"city": 1, "country": 2}  # which of a landmark's places the question names


class _Texts(Frozen, frozen=True):
    """The texts of one language (`latent.toml`)."""

    place_question: str
    place_templates: tuple[tuple[str, str], ...]
    landmarks: tuple[tuple[str, str, str], ...]
    trade_question: str
    trade_templates: tuple[str, str]
    trades: tuple[tuple[str, str], ...]
    names: tuple[str, ...]


@cache
def _texts(language: str) -> _Texts:
    return read_texts("latent.toml", language, _Texts)


def _association(language: str, rng: random.Random, *_: object, what: str, inverted: bool) -> NeedleQuestion:
    """Somebody with an association, and three others with different ones. Naming one of these counts against an
    answer."""
    texts = _texts(language)
    names = rng.sample(texts.names, 1 + _OTHERS)
    if what == "trade":
        rows = rng.sample(texts.trades, len(names))
        template = texts.trade_templates[inverted]
        needles = [template.format(name=name, work=row[0]) for name, row in zip(names, rows, strict=True)]
        question, keys = texts.trade_question.format(trade=rows[0][1]), [row[1] for row in rows]
    else:
        places = rng.sample(texts.landmarks, len(names))
        needles = [
            rng.choice(texts.place_templates)[inverted].format(name=name, landmark=row[0])
            for name, row in zip(names, places, strict=True)
        ]
        keys = [row[_PLACES[what]] for row in places]
        question = texts.place_question.format(place=keys[0])
    return NeedleQuestion(
        question, tuple(needles[:1]), ((names[0],),), tuple(needles[1:]),
        keys=tuple(keys[:1]), others=tuple(zip(names[1:], keys[1:], strict=True)),
    )  # fmt: skip


def _kind(what: str, *, inverted: bool) -> Kind:
    make = partial(_association, what=what, inverted=inverted)
    return Kind(f"{what}_inverted" if inverted else what, make, fresh=True, suite="latent")


LATENT = Suite(
    "latent",
    tuple(_kind(what, inverted=inverted) for what in ("city", "country", "trade") for inverted in (False, True)),
    "Modarressi et al. 2025: NoLiMa, arXiv:2502.05167",
)
