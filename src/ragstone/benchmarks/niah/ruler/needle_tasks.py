"""RULER's tasks with needles: numbers or uuids of words or uuids, in noise, in prose or among needles."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.benchmarks.niah.ruler.texts import keys, other_keys, prompts
from ragstone.datasets.fictional.parts import between, shuffled

Value = Literal["number", "uuid"]
_DIGITS = 7


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
