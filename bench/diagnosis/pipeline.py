"""The system under diagnosis: rewriting, BM25, reranking, a cut and a scripted reader, with each stage recorded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from bench.diagnosis.chance import happens, number_of
from bench.diagnosis.readers import Reader
from bench.diagnosis.worlds import World, WorldQuestion

from ragstone.responses.stages import stage_step
from ragstone.types import NO_ANSWER, Passage, Query, Response, Step

__all__ = ["Pipeline"]


@dataclass(frozen=True)
class Pipeline:
    """`depth` passages are fetched, `k` of them reach the prompt.

    Faults: shares of the documents that the retriever never finds (`unreachable`), that are not in the index
    (`missing`), that are there in an old state (`stale`); shares of the questions that are rewritten without their
    subject (`bare`) or raise an error (`crashes`); a random order of all documents (`shuffled`), gold at the end of
    what is fetched (`gold_last`) or behind two others (`gold_third`), copies of
    every other passage (`copies`: of each), a reranker that turns the order around (`reverses`), the best passages in
    the middle of the prompt (`middle_out`), and a prompt that is cut after so many characters (`limit`), where the gold
    may stand at its end (`gold_end`). `turned`: the prompt is in the reverse order."""

    accepts: ClassVar[frozenset[str]] = frozenset({"passages", "language", "k", "retrieve"})

    world: World
    reader: Reader
    seed: int = 0
    depth: int = 10
    k: int = 5
    reranks: bool = False
    unreachable: float = 0.0
    missing: float = 0.0
    stale: float = 0.0
    bare: float = 0.0
    crashes: float = 0.0
    shuffled: bool = False
    gold_last: bool = False
    gold_third: bool = False
    copies: int = 0
    gold_end: bool = False
    limit: int = 0
    reverses: bool = False
    middle_out: bool = False
    turned: bool = False

    @property
    def id(self) -> str:
        return "pipeline"

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "pipeline"}

    @cached_property
    def documents(self) -> Mapping[str, Passage]:
        """What is in the index."""
        gold = {name for question in self.world.questions for name in question.gold}
        index: dict[str, Passage] = {}
        for name, passage in self.world.documents.items():
            if name in gold and happens(self.missing, self.seed, "missing", name):
                continue
            old = name in gold and happens(self.stale, self.seed, "stale", name)
            index[name] = self.world.outdated(name) if old else passage
        return index

    @cached_property
    def _hidden(self) -> frozenset[str]:
        return frozenset(
            name for name in self.world.documents if happens(self.unreachable, self.seed, "unreachable", name)
        )

    async def answer(self, query: Query, /) -> Response:
        """Raises RuntimeError where the fault is a crash."""
        question = self.world.by_text.get(query.question)
        if query.retrieve_only:
            found = await self.fetched(query.question, query.k or self.depth)
            step = stage_step("fetch", found, query=query.question)
            return Response("", found, (step,), finish_reason=NO_ANSWER, empty_retrieval=not found)
        if question is not None and happens(self.crashes, self.seed, "crash", question.id):
            raise RuntimeError("the connection was reset")
        if query.passages is not None:
            return Response(self.reader.reply(query.question, self._cut(query.passages), query.repeat))
        assert question is not None, query.question
        steps: list[Step] = []
        sought = question.text
        if happens(self.bare, self.seed, "bare", question.id):
            sought = self.world.without_entity(question.text)
            steps.append(Step("rewrite", input=question.text, output=[sought]))
        fetched = await self.fetched(sought, max(self.depth, query.k or 0))
        steps.append(stage_step("fetch", fetched, query=sought))
        ranked = fetched[::-1] if self.reverses else fetched
        if self.reranks:
            steps.append(stage_step("rerank", ranked))
        given = self._ordered(ranked[: query.k or self.k], question)
        steps.append(stage_step("prompt", given))
        answer = self.reader.answer(question, self._cut(given), query.repeat)
        return Response(answer, given, tuple(steps), empty_retrieval=not given)

    async def fetched(self, sought: str, k: int) -> tuple[Passage, ...]:
        """What the retriever finds."""
        if self.shuffled:
            names = sorted(self.documents, key=lambda name: number_of(self.seed, sought, name))
        else:
            names = list(await self.world.search.ranking(sought))
        names = [name for name in names if name in self.documents and name not in self._hidden][:k]
        question = self.world.by_text.get(sought)
        if self.gold_last and question is not None:
            names.sort(key=lambda name: name in question.gold)
        if self.gold_third and question is not None:
            others = [name for name in names if name not in question.gold]
            names = [*others[:2], *(name for name in names if name in question.gold), *others[2:]]
        gold = frozenset() if question is None else question.gold
        found = [copy for name in names for copy in self._copied(self.documents[name], gold)]
        return tuple(found[:k])

    def _copied(self, passage: Passage, gold: frozenset[str]) -> list[Passage]:
        """A passage with its copies, which differ in spacing and in a line about where they were taken from."""
        if passage.id in gold:
            return [passage]
        copies = [f"{passage.text.replace(' ', '  ', n + 1)}\n[{n + 1}]" for n in range(self.copies)]
        return [passage, *(Passage(f"{passage.id}~{n}", text, passage.title) for n, text in enumerate(copies))]

    def _cut(self, passages: Iterable[Passage]) -> tuple[Passage, ...]:
        """What of the passages stands within the limit of the prompt."""
        kept: list[Passage] = []
        rest = self.limit
        for passage in passages:
            if self.limit and rest <= 0:
                break
            kept.append(Passage(passage.id, passage.text[:rest], passage.title) if self.limit else passage)
            rest -= len(passage.text)
        return tuple(kept)

    def _ordered(self, passages: tuple[Passage, ...], question: WorldQuestion) -> tuple[Passage, ...]:
        """The passages in their order, with the gold at the end, or with the best in the middle and the others around
        it in turn."""
        if self.gold_end:
            return tuple(sorted(passages, key=lambda passage: passage.id in question.gold))
        if not self.middle_out:
            return passages[::-1] if self.turned else passages
        turned: list[Passage] = []
        for place, passage in enumerate(passages):
            turned.insert(len(turned) if place % 2 else 0, passage)
        return tuple(turned)

    def lifted(self, **changes: Any) -> "Pipeline":
        """The same system with these settings; those of `Reader` reach the reader."""
        own = {name: value for name, value in changes.items() if name in self.__dataclass_fields__}
        others = {name: value for name, value in changes.items() if name not in own}
        return replace(self, reader=replace(self.reader, **others), **own)
