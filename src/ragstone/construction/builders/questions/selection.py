"""Which facts questions are asked of: turn by turn of the sampled chunks one draft, of the type that lacks most.

The draw goes on where a smaller one ended, so a larger set begins with the smaller one, and a changed document changes
the drafts with its facts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from ragstone.construction.builders.passes import LocalPass
from ragstone.construction.builders.pipeline import Kept, Replies, Search
from ragstone.construction.builders.questions.items import Draft, Fact, QuestionType, question_types, same_answer
from ragstone.construction.builders.questions.sample import TURN
from ragstone.construction.builders.steps import content_id

STYLES = ("plain", "search", "long", "typos")
"""How a question is phrased: as a sentence, as words for a search box, long-winded, or with typing errors."""

_MOST_PAIRS = 10  # of one fact with earlier ones of the same key, such as an attribute that every document has

_Group = tuple[str, tuple[Fact, ...]]  # the id of its draft, and its facts


@dataclass(frozen=True)
class SelectFacts(LocalPass):
    """Makes at most `count` drafts, before any is rejected: one of each turn, and if `again` (all chunks were read),
    more of each. `limit`: of the whole construction."""

    count: int
    limit: int
    shares: Mapping[str, float]
    styles: Sequence[str] = ("plain",)
    personas: Sequence[str] = ("",)
    seed: int = 0
    again: bool = False
    grows: ClassVar[bool] = True
    name: str = "select"

    def most(self, entered: int, /) -> int:
        """All drafts: a few facts make many groups."""
        return self.limit

    async def finish(self, items: Sequence[Fact], replies: Replies, search: Search, /) -> Kept:
        """The drafts in the order of their turns."""
        turns, drafts = self._turns(items), list[Draft]()
        drawn, used = Counter[str](), Counter[str]()
        while len(drafts) < self.count:
            before = len(drafts)
            for groups in turns:
                types = [name for name in self.shares if groups[name]]
                if not types or len(drafts) >= self.count:
                    continue
                name = min(types, key=lambda name: (2 * drawn[name] + 1) / self.shares[name])  # Sainte-Laguë
                chosen = min(groups[name], key=lambda group: (min(used[fact.document] for fact in group[1]), group[0]))
                groups[name].remove(chosen)
                drawn[name] += 1
                used.update({fact.document for fact in chosen[1]})
                drafts.append(self._draft(name, *chosen))
            if len(drafts) == before or not self.again:
                break
        return drafts, []

    def _turns(self, facts: Sequence[Fact]) -> list[dict[str, list[_Group]]]:
        """Of each turn, by type, the groups that its chunks complete."""
        turns: dict[int, dict[str, list[_Group]]] = defaultdict(lambda: defaultdict(list))
        for name in self.shares:
            groups = {tuple(fact.id for fact in group): group for group in _groups(facts, question_types()[name])}
            for ids, group in groups.items():
                turn = max(int(fact.chunk.meta.get(TURN, 0)) for fact in group)
                turns[turn][name].append((content_id(str(self.seed), name, *ids), group))
        return [turns[turn] for turn in sorted(turns)]

    def _draft(self, name: str, draft_id: str, group: tuple[Fact, ...]) -> Draft:
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
    """Pairs of the same property at two times, with two values; the second one says its time."""
    for group in _by(facts, _property).values():
        pairs = (pair if pair[1].time else pair[::-1] for pair in _pairs(group))
        yield from (pair for pair in pairs if pair[0].time != pair[1].time and _differ(pair))


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
    for place, later in enumerate(group):
        earlier = group[max(0, place - _MOST_PAIRS) : place]
        yield from ((fact, later) for fact in earlier if fact.language == later.language)


def _differ(pair: Sequence[Fact]) -> bool:
    """Whether the values differ, however they are written: 310 m is 310 metres."""
    return not same_answer(pair[0].value, pair[1].value)
