"""Passages as retrieval cuts them from pages: beside the report that a passage was chosen for stand others.

Every passage holds a report of some edition, a preview of some edition and a text around one, in any order and cut at
its ends. What the passage is good for depends on which of them is of the event that was asked about, so it cannot be
told from the words alone, from where they stand, or from whether the event is named.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from random import Random
from typing import Literal, TypeAlias

from msgspec.structs import replace

from ragstone.datasets.fictional.parts import Document, GeneratedItem, Stuck, chance, pick, shuffled
from ragstone.text import sentences

Difficulty: TypeAlias = Literal["easy", "news", "adversarial"]
DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "news", "adversarial")
"""`easy`: a passage is one report, and no passage without the answer both names the asked event and its edition's
result. `news`: passages are cut from pages (see above). `adversarial`: nearly every page also repeats the same guess
and the same earlier result."""
VERSIONS: Mapping[str, int] = {"easy": 2, "news": 2, "adversarial": 2}
"""Counted up where the rows of a difficulty change: figures of other rows do not compare."""
DECOYS = {"news": 0.4, "adversarial": 0.9}

Item: TypeAlias = Literal["report", "preview", "around"]
ITEMS: tuple[Item, ...] = ("report", "preview", "around")
About: TypeAlias = Literal["event", "rival", "other"]
Beside: TypeAlias = Callable[[Item, About], str]
IN_BLOCK = "\v"
"""The line break within a table or a list, which no cut goes through."""
TABLE_LOST = 0.06  # what a page without one of its tables may gain in nearness to its depth, at least
_OWN: dict[str, Item] = {"rumour": "preview", "related": "around"}  # of every other kind: a report


def with_pages(rng: Random, documents: Sequence[Document], beside: Beside, decoys: float) -> list[Document]:
    """The documents, each with the two other parts of its page. `beside` writes one: of the event asked about, of its
    rival (one other edition, the same for all), or of another edition or category. A share of `decoys` of the pages
    has the preview of the event, as many the report of the rival."""
    parts: dict[int, tuple[str, ...]] = {}
    for at in shuffled(rng, range(len(documents))):  # who writes last has the fewest sentences left
        parts[at] = tuple(beside(part, about) for part, about in _parts(rng, documents[at].kind, decoys))
    return [replace(document, beside=parts[at]) for at, document in enumerate(documents)]


def _parts(rng: Random, kind: str, decoys: float) -> list[tuple[Item, About]]:
    own = _OWN.get(kind, "report")
    about: dict[Item, About] = {
        "report": "rival" if chance(rng, decoys) else "other",
        "preview": "event" if chance(rng, decoys) else "other",
        "around": "event" if chance(rng, 0.5) else "other",
    }
    missing = [part for part in ITEMS if part != own]
    if own == "report" and kind.startswith("other") and all(about[part] == "other" for part in missing):
        about[pick(rng, missing)] = "event"  # the event asked about is named on every page
    return [(part, about[part]) for part in missing]


def cut_pages(rng: Random, item: GeneratedItem, code: str) -> GeneratedItem:
    """The item with each document in one text with what stands beside it. Within each group of positives the answers
    stand at all depths alike. Raises Stuck where a document has nothing beside it."""
    groups, shares = [], []
    for number, group in enumerate(item.positive):
        slots = item.slots if len(item.positive) == 1 else (item.slots[number],)
        names = [alias for slot in slots for alias in slot]
        found = [_first(document.text, names) / len(document.text) for document in group]
        groups.append(tuple(_at_all_depths(rng, group, found, code)))
        shares += found
    drawn = [pick(rng, shares) for _ in item.negative]  # as if they answered
    negative = tuple(_at_all_depths(rng, item.negative, drawn, code))
    return replace(item, positive=tuple(groups), negative=negative)


def _at_all_depths(rng: Random, group: Sequence[Document], shares: Sequence[float], code: str) -> Iterator[Document]:
    """Deals the depths out evenly: an answer that stands late in its own report gets a greater one. `shares`: where it
    stands there (0 to 1)."""
    late = sorted(range(len(group)), key=lambda at: shares[at])
    depths = {at: (rank + rng.random()) / len(group) for rank, at in enumerate(late)}
    for at, document in enumerate(group):
        yield _cut(rng, document, shares[at], depths[at], code)


def _first(text: str, aliases: Sequence[str]) -> int:
    lower = text.lower()
    places = [place for place in (lower.find(alias.lower()) for alias in aliases) if place >= 0]
    return min(places, default=0)


def _cut(rng: Random, document: Document, share: float, depth: float, code: str) -> Document:
    """The page around a document, in the order and cut at those ends for which the place at `share` (0 to 1) of its
    report comes nearest to `depth` (0 to 1) of the text. The report is never cut, whatever the document is good for."""
    if not document.beside:
        raise Stuck
    report, *others = [document.text, *document.beside]
    if document.kind in _OWN:
        report, others = others[0], [report, *others[1:]]
    own = [report]
    at = share * len(report)
    texts = [own, *map(_units, others)]
    joint, best, least = "\n\n", "", 2.0
    space = "" if code == "zh" else " "
    for order in shuffled(rng, permutations(texts)):
        for first, lost in _without(order[0], own, head=True):
            for last, also_lost in _without(order[-1], own, head=False):
                parts = [
                    space.join(part).replace(f"{space}\n", "\n").strip("\n") for part in (first, *order[1:-1], last)
                ]
                place = [first, *order[1:-1], last].index(own)
                before = sum(len(part) + len(joint) for part in parts[:place])
                text_length = sum(map(len, parts)) + len(joint) * (len(parts) - 1)
                off = abs((before + at) / text_length - depth) + TABLE_LOST * (lost + also_lost)
                if off < least:
                    best, least = joint.join(parts), off
    return Document(best.replace(IN_BLOCK, "\n"), document.kind)


def _units(text: str) -> list[str]:
    """What a text can be cut between: its sentences, and each table or list as a whole. A line break belongs to what
    follows it."""
    units: list[str] = []
    for line in text.split("\n"):
        parts = [line] if IN_BLOCK in line else [sentence.strip() for sentence in sentences(line)]
        units += [f"\n{part}" if units and not at else part for at, part in enumerate(parts)]
    return units


def _without(part: list[str], own: list[str], *, head: bool) -> Iterator[tuple[list[str], int]]:
    """The part whole, and without units at its head or its end as long as one is left, each with the number of tables
    and lists that are lost; the own one always whole."""
    yield part, 0
    if part is not own:
        lost = 0
        for count in range(1, len(part)):
            lost += IN_BLOCK in part[count - 1 if head else -count]
            yield part[count:] if head else part[:-count], lost
