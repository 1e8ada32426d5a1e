"""The passes from documents to facts: duplicates out, then what each chunk states, with its evidence checked."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from ragstone.construction.builders.passes import BasePass, EachPass, LocalPass, Reason
from ragstone.construction.builders.pipeline import Kept, Rejected, Replies, Search, rejected
from ragstone.construction.builders.questions.items import Fact
from ragstone.construction.builders.questions.places import place_of
from ragstone.construction.builders.steps import Step, Task, content_id
from ragstone.text import detect, find_answer
from ragstone.text.characters import HAN
from ragstone.text.quotes import find_quote
from ragstone.types import Passage

_SHORTEST = 40  # letters of a chunk that can state a fact; a Chinese character counts as three
_FACTS = 10  # of a chunk, at most, in an estimate
_HAN = re.compile(f"[{HAN}]")


class _Stated(msgspec.Struct):
    subject: str
    attribute: str
    value: str
    time: str
    evidence: str


class _Facts(msgspec.Struct):
    facts: list[_Stated]


FACTS = Step("facts", _Facts)


class LongEnough(LocalPass, EachPass):
    """Drops chunks that are too short to state anything."""

    name = "length"

    def decide(self, item: Passage, replies: Replies, /) -> Passage | Reason:
        text = item.text.strip()
        return item if len(text) + 2 * len(_HAN.findall(text)) >= _SHORTEST else Reason("too_short")


class WriteFacts(BasePass):
    """Asks for the facts that each chunk states. A fact stays if its evidence stands in the chunk and states its value,
    and if no earlier fact of the document says the same."""

    name = "facts"
    step = FACTS
    role = "writer"

    def tasks(self, items: Sequence[Passage], /) -> Iterator[Task]:
        for chunk in items:
            yield Task(_key(chunk), {"title": chunk.title, "passage": chunk.text}, detect(chunk.text))

    def most(self, entered: int, /) -> int:
        """Ten facts of each chunk."""
        return _FACTS * entered

    async def finish(self, items: Sequence[Passage], replies: Replies, search: Search, /) -> Kept:
        facts: list[Fact] = []
        dropped: list[Rejected] = []
        seen: set[tuple[str, ...]] = set()
        for chunk in items:
            reply = replies[_key(chunk), 0]
            if reply.value is None:
                dropped.append(rejected(chunk, self.name, "no_usable_reply", reply.problem))
                continue
            for stated in reply.value.facts:
                fact, reason = _checked(chunk, stated)
                same = (fact.document, *(part.casefold() for part in (fact.subject, fact.attribute, fact.time)))
                if not reason and same in seen:
                    reason = "same_fact"
                if reason:
                    dropped.append(rejected(fact, self.name, reason))
                else:
                    seen.add(same)
                    facts.append(fact)
        return facts, dropped


def _key(chunk: Passage) -> str:
    """Of the chunk's content: a chunk that did not change is not asked about again."""
    return content_id(chunk.id, chunk.title, chunk.text)


def _checked(chunk: Passage, stated: _Stated) -> tuple[Fact, str]:
    """The fact with its evidence as it stands in the chunk, and the reason to reject it ("" for none)."""
    parts = [part.strip() for part in (stated.subject, stated.attribute, stated.value, stated.time)]
    place = find_quote(stated.evidence, chunk.text) if stated.evidence.strip() else None
    evidence = stated.evidence if place is None else chunk.text[slice(*place)]
    name = content_id(_key(chunk), *parts)
    subject, attribute, value, time = parts
    found = None if place is None else place_of(chunk, *place)
    fact = Fact(name, chunk, subject, attribute, value, evidence, time, detect(chunk.text), found)
    if place is None:
        return fact, "evidence_not_in_text"
    if not (subject and attribute and value):
        return fact, "incomplete_fact"
    return fact, "" if find_answer(value, evidence) else "value_not_in_evidence"
