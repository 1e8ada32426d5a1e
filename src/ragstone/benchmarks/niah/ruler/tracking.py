"""RULER's variable tracking: a chain of assignments in noise, all of whose variables have one value."""

import string
from itertools import pairwise
from random import Random

from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.benchmarks.niah.ruler.texts import example, prompts
from ragstone.datasets.fictional.parts import between, pick, sample

HOPS = 4
_LETTERS, _EXAMPLE_LETTERS = 5, 3
_EXAMPLE_NOISE = 15  # lines: an example of about 500 tokens


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
