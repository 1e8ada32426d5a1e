"""The samples of `bench/judge.py`: made from word lists, the same in every process. Runs in every environment.

Each has a question, five contexts of about 120 words, an answer of four sentences and a reference of four. Two contexts
state what the answer says. No two samples share a sentence, so that nothing can be answered from another's cache.
"""

import random
from dataclasses import dataclass

__all__ = ["Row", "rows", "split"]

_WHO = ["The council", "A survey team", "The harbour office", "The museum", "An engineer", "The library", "A baker",
        "The railway", "The botanist", "The orchestra", "A glassmaker", "The observatory"]  # fmt: skip
_DID = ["repaired", "measured", "opened", "described", "painted", "moved", "catalogued", "tested", "closed", "rebuilt",
        "photographed", "insured"]  # fmt: skip
_WHAT = ["the northern bridge", "three wooden towers", "a collection of maps", "the old reservoir", "the winter garden",
         "two steam engines", "the market clock", "a row of cottages", "the tide gauge", "the city archive",
         "a set of bells", "the eastern lighthouse"]  # fmt: skip
_WHEN = ["in the spring of", "late in", "early in", "during the summer of", "before the end of", "around"]
_WHY = ["after a long debate", "with the help of volunteers", "at a cost that surprised everyone",
        "because of heavy rain", "on the advice of a neighbour", "without any public notice",
        "to the delight of the schools", "as the charter had asked"]  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One sample, in the words of ragas."""

    number: int
    user_input: str
    retrieved_contexts: tuple[str, ...]
    response: str
    reference: str


def _sentence(rng: random.Random, town: str) -> str:
    who, did, what = rng.choice(_WHO), rng.choice(_DID), rng.choice(_WHAT)
    return f"{who} of {town} {did} {what} {rng.choice(_WHEN)} {rng.randint(1700, 1999)} {rng.choice(_WHY)}."


def _town(rng: random.Random, number: int) -> str:
    """A name that no other sample has."""
    parts = ["mar", "len", "oak", "tor", "vel", "sun", "ald", "bri", "cor", "dun"]
    return "".join(rng.sample(parts, 2)).capitalize() + "".join(parts[int(digit)] for digit in f"{number:03d}")


def rows(count: int) -> list[Row]:
    """The first `count` samples."""
    made = []
    for number in range(count):
        rng = random.Random(number)
        town = _town(rng, number)
        facts = [_sentence(rng, town) for _ in range(6)]
        contexts = []
        for place in range(5):
            sentences = facts[place * 3 : place * 3 + 3] if place < 2 else []
            while sum(len(sentence.split()) for sentence in sentences) < 112:
                sentences.append(_sentence(rng, town))
            rng.shuffle(sentences)
            contexts.append(" ".join(sentences))
        answer = [*facts[:3], _sentence(rng, town)]
        question = (
            f"What is known about the works of {town}, and who did what to the buildings there? (case {number:04d})"
        )
        made.append(Row(number, question, tuple(contexts), " ".join(answer), " ".join(facts[1:5])))
    return made


def split(text: str) -> list[str]:
    """The sentences of such a text."""
    return [part if part.endswith(".") else f"{part}." for part in text.strip().split(". ") if part]
