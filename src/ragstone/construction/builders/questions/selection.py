"""Which facts questions are asked of: for each type as many groups of facts as its share, drawn by the seed.

The draw is an order of all candidates that does not depend on how many are wanted, so a larger set begins with the
smaller one, and a changed document changes only the drafts with its facts."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise

from ragstone.construction.builders.passes import LocalPass
from ragstone.construction.builders.pipeline import Kept, Replies, Search
from ragstone.construction.builders.questions.items import Draft, Fact, QuestionType, question_types, same_answer
from ragstone.construction.builders.steps import content_id

STYLES = ("plain", "search", "long", "typos")
"""How a question is phrased: as a sentence, as words for a search box, long-winded, or with typing errors."""

_MOST_PAIRS = 50  # of one key, such as an attribute that every document has


@dataclass(frozen=True)
class SelectFacts(LocalPass):
    """Makes the drafts: `count` of them over all types, before any is rejected."""

    count: int
    shares: Mapping[str, float]
    styles: Sequence[str] = ("plain",)
    personas: Sequence[str] = ("",)
    seed: int = 0
    name: str = "select"

    def most(self, entered: int, /) -> int:
        """The drafts that are wanted: a few facts make many groups."""
        return sum(math.ceil(self.count * share) for share in self.shares.values())

    async def finish(self, items: Sequence[Fact], replies: Replies, search: Search, /) -> Kept:
        drafts: list[Draft] = []
        for name, share in self.shares.items():
            groups = {tuple(fact.id for fact in group): group for group in _groups(items, question_types()[name])}
            order = sorted(groups, key=lambda ids: content_id(str(self.seed), name, *ids))
            drafts += (self._draft(name, groups[ids]) for ids in order[: math.ceil(self.count * share)])
        return drafts, []

    def _draft(self, name: str, group: tuple[Fact, ...]) -> Draft:
        draft_id = content_id(str(self.seed), name, *(fact.id for fact in group))
        number = int(draft_id, 16)
        style, persona = self.styles[number % len(self.styles)], self.personas[number // 7 % len(self.personas)]
        gold = tuple({fact.chunk.id: fact.chunk for fact in group}.values())
        return Draft(f"q-{draft_id}", name, group[0].language, group, style, persona, gold=gold)


def _groups(facts: Sequence[Fact], kind: QuestionType) -> Iterator[tuple[Fact, ...]]:
    """The groups of facts that a question of this type can be asked of."""
    if kind.pairs == "one":
        yield from ((fact,) for fact in facts if not kind.table or "|" in fact.evidence)
        return
    finders = {
        "same_document": _same_document, "same_subject": _same_subject, "bridge": _bridges,
        "same_attribute": _same_attribute, "versions": _versions, "conflict": _conflicts, "any": _neighbours,
    }  # fmt: skip
    yield from finders[kind.pairs](facts)


def _same_document(facts: Sequence[Fact]) -> Iterator[tuple[Fact, ...]]:
    for group in _by(facts, lambda fact: (fact.document,)).values():
        yield from _pairs(group)


def _same_subject(facts: Sequence[Fact]) -> Iterator[tuple[Fact, ...]]:
    """Pairs of one document about one thing, which the second question can call "it"."""
    for group in _by(facts, lambda fact: (fact.document, fact.subject.casefold())).values():
        yield from _pairs(group)


def _bridges(facts: Sequence[Fact]) -> Iterator[tuple[Fact, ...]]:
    """Pairs over two documents in which the value of the first fact is the subject of the second."""
    by_subject = _by(facts, lambda fact: (fact.subject.casefold(),))
    for fact in facts:
        for other in by_subject.get((fact.value.casefold(),), ())[:_MOST_PAIRS]:
            if other.document != fact.document:
                yield fact, other


def _same_attribute(facts: Sequence[Fact]) -> Iterator[tuple[Fact, ...]]:
    """Pairs of different subjects with the same attribute, one of which has another value."""
    for group in _by(facts, lambda fact: (fact.attribute.casefold(), fact.time.casefold())).values():
        yield from (pair for pair in _pairs(group) if pair[0].subject != pair[1].subject and _differ(pair))


def _versions(facts: Sequence[Fact]) -> Iterator[tuple[Fact, ...]]:
    """Pairs of the same property at two times, with two values."""
    for group in _by(facts, _property).values():
        yield from (pair for pair in _pairs(group) if pair[1].time and pair[0].time != pair[1].time and _differ(pair))


def _conflicts(facts: Sequence[Fact]) -> Iterator[tuple[Fact, ...]]:
    """Pairs of the same property at the same time, to which two documents give two values."""
    for group in _by(facts, lambda fact: (*_property(fact), fact.time.casefold())).values():
        yield from (pair for pair in _pairs(group) if pair[0].document != pair[1].document and _differ(pair))


def _neighbours(facts: Sequence[Fact]) -> Iterator[tuple[Fact, ...]]:
    """Each fact with the next one of its language, unless one names what the other asks for."""
    for group in _by(facts, lambda fact: (fact.language,)).values():
        for fact, other in pairwise(group):
            apart = not same_answer(fact.value, other.subject) and not same_answer(other.value, fact.subject)
            if fact.document != other.document and apart:
                yield fact, other


def _property(fact: Fact) -> tuple[str, ...]:
    return fact.subject.casefold(), fact.attribute.casefold()


def _by(facts: Iterable[Fact], key: Callable[[Fact], tuple[str, ...]]) -> dict[tuple[str, ...], list[Fact]]:
    """The facts of one language by key: a question has one language."""
    groups: dict[tuple[str, ...], list[Fact]] = defaultdict(list)
    for fact in facts:
        groups[key(fact)].append(fact)
    return groups


def _pairs(group: Sequence[Fact]) -> Iterator[tuple[Fact, ...]]:
    pairs = (pair for pair in combinations(group, 2) if pair[0].language == pair[1].language)
    return islice(pairs, _MOST_PAIRS)


def _differ(pair: Sequence[Fact]) -> bool:
    """Whether the values differ, however they are written: 310 m is 310 metres."""
    return not same_answer(pair[0].value, pair[1].value)
