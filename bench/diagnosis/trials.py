"""One trial: a world, a system with planted faults, and the truth about each question."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bench.diagnosis.faults import Fault
from bench.diagnosis.pipeline import Pipeline
from bench.diagnosis.readers import Reader
from bench.diagnosis.worlds import World, WorldQuestion

from ragstone.retrieval.corpus import Corpus
from ragstone.types import Passage, Query, Response

__all__ = ["Case", "Trial"]

_NEAR = 10  # passages of a ranking that are given to a diagnosis as documents


@dataclass(frozen=True)
class Case:
    """A question with the answer of the faulty system (None: it raised an error). `right` with all planted faults,
    `lifted` without any; `alone` by fault, where it is the only one."""

    question: WorldQuestion
    response: Response | None
    right: bool
    lifted: bool
    alone: Mapping[str, bool]

    @property
    def made_by(self) -> tuple[str, ...]:
        """The faults that made the answer fail: it is right without any fault, and wrong with this one."""
        return tuple(name for name, right in self.alone.items() if self.lifted and not self.right and not right)


@dataclass(frozen=True)
class Trial:
    """`faults`: none for a clean system. `paraphrased`: references and evidence share no value with the documents, so
    the judge decides. `refuses`: the reader declines if a value is missing."""

    world: World
    faults: tuple[Fault, ...] = ()
    paraphrased: bool = False
    refuses: bool = True
    misreads: float = 0.05
    seed: int = 0

    @property
    def name(self) -> str:
        return " + ".join(fault.name for fault in self.faults) or "none"

    def system(self, *planted: Fault) -> Pipeline:
        """The system with only these faults."""
        reader = Reader(self.world, self.seed, refuses=self.refuses, misreads=self.misreads)
        pipeline = self.clean(reader)
        for fault in self.faults:
            pipeline = fault.without(pipeline)
        for fault in planted:
            pipeline = fault.faulty(pipeline)
        return pipeline

    def clean(self, reader: Reader) -> Pipeline:
        """The system before any fault."""
        return Pipeline(self.world, reader, self.seed)

    @cached_property
    def faulty(self) -> Pipeline:
        """The system under diagnosis."""
        return self.system(*self.faults)

    @cached_property
    def cases(self) -> list[Case]:
        """Each question asked of the faulty system, of the system without faults, and with one fault at a time."""
        responses, lifted = self._answers(self.faulty), self._answers(self.system())
        alone = {fault.name: self._answers(self.system(fault)) for fault in self.faults}
        return [
            Case(
                question, responses[place], self._right(question, responses[place]),
                self._right(question, lifted[place]),
                {name: self._right(question, answers[place]) for name, answers in alone.items()},
            )
            for place, question in enumerate(self.world.questions)
        ]  # fmt: skip

    def _answers(self, system: Pipeline) -> list[Response | None]:
        return asyncio.run(_asked(system, self.world.questions))

    def _right(self, question: WorldQuestion, response: Response | None) -> bool:
        return response is not None and self.world.right(question, response.answer)

    @property
    def gain(self) -> float:
        """What lifting all faults adds to the share of right answers."""
        return sum(case.lifted - case.right for case in self.cases) / len(self.cases)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The questions as `diagnose` gets them."""
        documents = self.world.documents
        return [question.row(documents, paraphrased=self.paraphrased) for question in self.world.questions]

    @cached_property
    def corpus(self) -> Corpus:
        """The documents of the faulty system's index, as far as these questions are about them: their gold, and what
        the search ranks highest for them."""
        index = self.faulty.documents
        return _corpus(self.world.name, [index[name] for name in self._names if name in index])

    @cached_property
    def truth(self) -> Corpus:
        """The same documents as they should be in the index."""
        return _corpus(self.world.name, [self.world.documents[name] for name in self._names])

    @cached_property
    def _names(self) -> list[str]:
        names: dict[str, None] = {}
        for question in self.world.questions:
            ranked = asyncio.run(self.world.search.ranking(question.text))
            names |= dict.fromkeys((*sorted(question.gold), *ranked[:_NEAR]))
        return list(names)


def _corpus(name: str, passages: Sequence[Passage]) -> Corpus:
    digest = hashlib.sha256("\0".join(f"{one.id}\0{one.text}" for one in passages).encode())
    return Corpus(name, tuple(passages), digest.hexdigest())


async def _asked(system: Pipeline, questions: tuple[WorldQuestion, ...]) -> list[Response | None]:
    responses: list[Response | None] = []
    for question in questions:
        try:
            responses.append(await system.answer(Query(question.text, language=question.language)))
        except RuntimeError:
            responses.append(None)
    return responses
