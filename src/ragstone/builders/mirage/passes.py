"""The passes from mapped questions to MIRAGE's labels: chunks, support, inference, title."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from ragstone.builders.mirage.items import MappedQuestion, rejected
from ragstone.builders.pipeline import Rejected, Replies, Search
from ragstone.builders.questions.gates import ANSWERING, READ
from ragstone.builders.rgb.base import is_right
from ragstone.builders.steps import Role, Step, Task
from ragstone.text import find_answer
from ragstone.types import Passage

__all__ = ["CHUNK", "CHUNKS", "FindChunks", "LabelSupport", "TakeQuestions", "ValidateByInference"]

CHUNK, CHUNKS = 330, 5
"""Tokens of a chunk and chunks of a question, as in the paper."""
_LANGUAGE = "en"
_NEAR_MISSES = 4
_SEARCHED = 50


@dataclass(frozen=True)
class FindChunks:
    """The chunks nearest to title and question, at least one of them from the question's article."""

    chunks: Mapping[str, Sequence[Passage]]
    name: str = "search"
    step: Step | None = None
    role: Role = "checker"

    def tasks(self, items: Sequence[MappedQuestion], /) -> Iterator[Task]:
        return iter(())

    async def finish(
        self, items: Sequence[MappedQuestion], replies: Replies, search: Search, /
    ) -> tuple[Sequence[MappedQuestion], Sequence[Rejected]]:
        found = await search([f"{item.article.title} {item.question.question}" for item in items], k=_SEARCHED)
        kept = []
        for item, ranked in zip(items, found, strict=True):
            own = [chunk for chunk in ranked if chunk.meta.get("document") == item.article.id]
            own = own or list(self.chunks.get(item.article.id, ()))[:1]
            stating = [chunk for chunk in own if _states(item, chunk)][:1] or own[:1]
            rest = [chunk for chunk in ranked if chunk.id not in {one.id for one in stating}]
            kept.append(replace(item, chunks=tuple([*stating, *rest][:CHUNKS])))
        return kept, []


def _states(item: MappedQuestion, chunk: Passage) -> bool:
    return any(find_answer(answer, chunk.text) for answer in item.question.answers)


@dataclass(frozen=True)
class LabelSupport:
    """Asks which chunks answer the question. A label needs the answer in the chunk, too; a question needs a supporting
    chunk, one of them of its article (the title check), and four that do not support it."""

    name: str = "support"
    step: Step | None = ANSWERING
    role: Role = "checker"

    def tasks(self, items: Sequence[MappedQuestion], /) -> Iterator[Task]:
        for item in items:
            passages = {str(number): _text(chunk) for number, chunk in enumerate(item.chunks, 1)}
            shown = {"question": item.question.question, "passages": passages, "answer": [item.question.answers[0]]}
            yield Task(item.id, shown, _LANGUAGE)

    async def finish(
        self, items: Sequence[MappedQuestion], replies: Replies, search: Search, /
    ) -> tuple[Sequence[MappedQuestion], Sequence[Rejected]]:
        kept: list[MappedQuestion] = []
        dropped: list[Rejected] = []
        for item in items:
            reply = replies[item.id, 0]
            if reply.value is None:
                dropped.append(rejected(item, self.name, "no_usable_reply", reply.problem))
                continue
            support = tuple(
                number in reply.value.passages and _states(item, chunk) for number, chunk in enumerate(item.chunks, 1)
            )
            labelled = replace(item, support=support)
            reason = _problem(labelled)
            if reason:
                dropped.append(rejected(labelled, self.name, reason))
            else:
                kept.append(labelled)
        return kept, dropped


def _problem(item: MappedQuestion) -> str:
    if not item.supporting:
        return "too_few_positive"
    if not any(chunk.meta.get("document") == item.article.id for chunk in item.supporting):
        return "support_of_another_article"
    return "" if len(item.near_misses) >= _NEAR_MISSES else "too_few_near_misses"


def _text(chunk: Passage) -> str:
    return f"{chunk.title}\n{chunk.text}" if chunk.title else chunk.text


@dataclass(frozen=True)
class ValidateByInference:
    """A reader must be right with the oracle chunk, right with it among four near misses, and wrong without any."""

    name: str = "inference"
    step: Step | None = READ
    role: Role = "checker"

    def tasks(self, items: Sequence[MappedQuestion], /) -> Iterator[Task]:
        for item in items:
            oracle = _text(item.supporting[0])
            near = [_text(chunk) for chunk in item.near_misses[:_NEAR_MISSES]]
            for kind, texts in (("oracle", [oracle]), ("base", []), ("mixed", [*near[:2], oracle, *near[2:]])):
                passages = {str(number): text for number, text in enumerate(texts, 1)}
                yield Task(f"{item.id}.{kind}", {"question": item.question.question, "passages": passages}, _LANGUAGE)

    async def finish(
        self, items: Sequence[MappedQuestion], replies: Replies, search: Search, /
    ) -> tuple[Sequence[MappedQuestion], Sequence[Rejected]]:
        kept: list[MappedQuestion] = []
        dropped: list[Rejected] = []
        for item in items:
            right = {
                kind: is_right(replies.get((f"{item.id}.{kind}", 0)), item.question.answers)
                for kind in ("oracle", "base", "mixed")
            }
            if not right["oracle"]:
                dropped.append(rejected(item, self.name, "not_answerable_from_gold"))
            elif right["base"]:
                dropped.append(rejected(item, self.name, "known_without_documents"))
            elif not right["mixed"]:
                dropped.append(rejected(item, self.name, "wrong_among_near_misses"))
            else:
                kept.append(item)
        return kept, dropped


@dataclass(frozen=True)
class TakeQuestions:
    """The first `size` questions; the others are surplus."""

    size: int
    name: str = "accept"
    step: Step | None = None
    role: Role = "checker"

    def tasks(self, items: Sequence[MappedQuestion], /) -> Iterator[Task]:
        return iter(())

    async def finish(
        self, items: Sequence[MappedQuestion], replies: Replies, search: Search, /
    ) -> tuple[Sequence[MappedQuestion], Sequence[Rejected]]:
        return items[: self.size], [rejected(item, self.name, "surplus") for item in items[self.size :]]
