"""The planted faults again in systems that cut and name their chunks in other ways: the verdicts should be the same.

    python -m bench.diagnosis.chunkings [--questions 24] [--faults 18] [--json]

Labels are whole documents with the documents' ids. The index has windows of characters with an overlap, sentences in
packs, or whole documents; its ids are `FILE#N` as ragstone's own chunks have them, opaque, or such that `FILE#N` means
a chunk of another file. What an answer depends on is the text alone, so a verdict that differs is an error.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from bench.diagnosis.chance import number_of
from bench.diagnosis.diagnosing import diagnosed
from bench.diagnosis.faults import FAULTS
from bench.diagnosis.measures import Share
from bench.diagnosis.pipeline import Pipeline
from bench.diagnosis.readers import Reader
from bench.diagnosis.trials import Trial
from bench.diagnosis.worlds import Fact, World, fictional, handbook

from ragstone.retrieval.bm25 import Bm25, terms_of
from ragstone.text import sentences
from ragstone.types import Passage

__all__ = ["CHUNKERS", "IDS", "Cell", "cells", "chunked", "same_verdicts"]

GOAL = 0.98
_WINDOW, _OVERLAP, _PACK = 420, 210, 320  # characters
_LEAST_PIECE = 40  # characters of a last window that is no chunk of its own


def _windows(text: str) -> list[str]:
    starts = range(0, max(1, len(text) - _OVERLAP - _LEAST_PIECE), _WINDOW - _OVERLAP)
    return [text[start : start + _WINDOW] for start in starts]


def _packs(text: str) -> list[str]:
    packs = [""]
    for sentence in sentences(text):
        if packs[-1] and len(packs[-1]) + len(sentence) > _PACK:
            packs.append("")
        packs[-1] += sentence
    return packs


CHUNKERS: Mapping[str, Callable[[str], list[str]]] = {
    "windows": _windows, "sentences": _packs, "whole": lambda text: [text],
}  # fmt: skip
IDS = ("ours", "opaque", "colliding")


@dataclass(frozen=True)
class PlacedFact(Fact):
    """A fact that is read wherever its place in the document stands, whatever else the chunk has. `origins`: the
    documents that each chunk is of, since several documents may have the same sentence."""

    origins: dict[str, set[str]] = field(default_factory=dict, compare=False, repr=False)

    def read(self, text: str) -> str | None:
        if self.evidence in text:
            return self.value
        found = self._place.search(text)
        owners = self.origins.get(text)
        return found[1] if found and (owners is None or self.document in owners) else None


@dataclass(frozen=True)
class ChunkedPipeline(Pipeline):
    """The pipeline over chunks of its documents, with ids of its own. `origins`: as in `PlacedFact`."""

    chunker: str = "whole"
    ids: str = "ours"
    origins: dict[str, set[str]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def _chunks(self) -> dict[str, tuple[Passage, str]]:
        """Each chunk with its document, by id."""
        names = sorted(self.documents)
        others = dict(zip(names, [*names[1:], *names[:1]], strict=True))
        found: dict[str, tuple[Passage, str]] = {}
        for name in names:
            document = self.documents[name]
            self.origins.setdefault(document.text, set()).add(name)
            for n, text in enumerate(CHUNKERS[self.chunker](document.text)):
                spelled = {
                    "ours": f"{name}#{n}", "opaque": f"{number_of('chunk', name, n):016x}",
                    "colliding": f"{others[name]}#{n}",
                }[self.ids]  # fmt: skip
                self.origins.setdefault(text, set()).add(name)
                found[spelled] = Passage(spelled, text, document.title), name
        return found

    @cached_property
    def _search(self) -> Bm25:
        return Bm25("bm25", [chunk for chunk, _ in self._chunks.values()], terms_of())

    async def fetched(self, sought: str, k: int) -> tuple[Passage, ...]:
        question = self.world.by_text.get(sought)
        if self.shuffled:
            found = sorted((chunk for chunk, _ in self._chunks.values()), key=lambda one: number_of(sought, one.text))
        else:
            (found,) = await self._search.retrieve([sought], k=200)
        found = [replaced(one) for one in found if self._chunks[one.id][1] not in self._hidden][:k]
        if self.gold_last and question is not None:
            found.sort(key=lambda one: any(fact.read(one.text) is not None for fact in question.facts))
        return tuple(found)


def replaced(passage: Passage) -> Passage:
    """The passage without the score of the search."""
    return Passage(passage.id, passage.text, passage.title)


@dataclass(frozen=True)
class ChunkedTrial(Trial):
    """A trial of a chunked system."""

    chunker: str = "whole"
    ids: str = "ours"
    origins: dict[str, set[str]] = field(default_factory=dict, compare=False, repr=False)

    def clean(self, reader: Reader) -> Pipeline:
        size = {"whole": (10, 5), "sentences": (14, 5), "windows": (14, 5)}[self.chunker]
        return ChunkedPipeline(
            self.world, reader, self.seed, *size, chunker=self.chunker, ids=self.ids, origins=self.origins
        )


@dataclass(frozen=True)
class Cell:
    """The verdicts of one way to cut and to name: question → cause, of those that the fault made fail."""

    world: str
    fault: str
    chunker: str
    ids: str
    causes: Mapping[str, str]
    expected: str


def chunked(world: World) -> tuple[World, dict[str, set[str]]]:
    """The world with facts that can be read in chunks, and where these are from."""
    origins: dict[str, set[str]] = {}
    questions = []
    for question in world.questions:
        facts = tuple(
            PlacedFact(**{name: getattr(fact, name) for name in fact.__dataclass_fields__}, origins=origins)
            for fact in question.facts
        )
        questions.append(replace(question, facts=facts))
    return replace(world, questions=tuple(questions)), origins


def cells(worlds: tuple[World, ...], faults: list[str], folder: Path, *, every: bool = True) -> Iterator[Cell]:
    """A cell for each fault, chunker and scheme of ids; not `every`: for each chunker one of the schemes in turn."""
    for place, name in enumerate(faults):
        world, origins = chunked(worlds[place % len(worlds)])
        for column, chunker in enumerate(CHUNKERS):
            for ids in IDS if every else (IDS[(place + column) % len(IDS)],):
                fault = FAULTS[name]
                trial = ChunkedTrial(world, (fault,), refuses=place % 4 < 2, chunker=chunker, ids=ids, origins=origins)
                causes = {
                    verdict.case.question.id: verdict.cause
                    for verdict in diagnosed(trial, folder).verdicts
                    if fault.name in verdict.case.made_by
                }
                print(f"{world.name}: {name}, {chunker}, {ids}: {Counter(causes.values())}", file=sys.stderr)
                yield Cell(world.name, name, chunker, ids, causes, fault.cause)


def same_verdicts(found: list[Cell]) -> Share:
    """Of the questions that a fault made fail, those whose verdict is the one that most cells give to that fault and
    question."""
    votes: dict[tuple[str, str, str], Counter[str]] = {}
    for cell in found:
        for question, cause in cell.causes.items():
            votes.setdefault((cell.world, cell.fault, question), Counter())[cause] += 1
    return Share(sum(counts.most_common(1)[0][1] for counts in votes.values()), sum(map(Counter.total, votes.values())))


def named(found: list[Cell]) -> Share:
    """Of the same questions, those for which the cause of the planted fault is named."""
    causes = [cause == cell.expected for cell in found for cause in cell.causes.values()]
    return Share(sum(causes), len(causes))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.diagnosis.chunkings", description=__doc__)
    parser.add_argument("--questions", type=int, default=24)
    parser.add_argument("--faults", type=int, default=len(FAULTS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    worlds = (fictional(options.questions), handbook().sample(options.questions))
    with tempfile.TemporaryDirectory() as folder:
        found = list(cells(worlds, list(FAULTS)[: options.faults], Path(folder)))
    print("| chunker | ids | the planted cause is named |\n| --- | --- | --- |")
    for chunker in CHUNKERS:
        for ids in IDS:
            mine = [cell for cell in found if (cell.chunker, cell.ids) == (chunker, ids)]
            print(f"| {chunker} | {ids} | {named(mine)} |")
    same = same_verdicts(found)
    print(f"\nSame verdict in all cells: {same} (goal {GOAL:.0%}); the planted cause: {named(found)}.")
    if options.json:
        print(json.dumps({"same": same.value, "named": named(found).value}))
    return int((same.value or 0.0) < GOAL)


if __name__ == "__main__":
    sys.exit(main())
