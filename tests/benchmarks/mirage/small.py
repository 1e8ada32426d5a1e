"""A small pool, and a retriever that finds what it is told to."""

import contextlib
from collections.abc import AsyncIterator, Sequence

from ragstone.datasets.mirage import MirageChunk, MirageQuestion
from ragstone.datasets.pools import Pool, mirage_pool
from ragstone.retrieval import Building, Spec
from ragstone.types import Passage, Retriever

QUESTIONS = (
    MirageQuestion("q1", "What is Ada's occupation?", ("engineer",), "popqa"),
    MirageQuestion("q2", "Who won the cup?", ("Blue", "the Blues"), "drop"),
)
CHUNKS = (
    MirageChunk("q1", "Ada is an engineer. She lives by the sea.", "Ada", 1),
    MirageChunk("q1", "Ada's house is old.", "Ada", 0),
    MirageChunk("q1", "Ada has a boat.", "Ada", 0),
    MirageChunk("q2", "Blue won the cup in May.", "Cup", 1),
    MirageChunk("q2", "The cup is silver.", "Cup", 0),
    MirageChunk("q2", "Blue is a colour. An engineer made the cup.", "Cup", 0),
)
ORACLE = {"q1": CHUNKS[0], "q2": CHUNKS[3]}


def small_pool() -> Pool:
    return mirage_pool("small", QUESTIONS, CHUNKS, ORACLE, sha256={"all": "0" * 64}, language="en")


class Told:
    """Finds the passages of the pool in this order, whatever is asked; counts the questions."""

    facts = {"bytes": 7}  # noqa: RUF012

    def __init__(self, name: str, pool: Sequence[Passage], backwards: bool, asked: list[str]) -> None:
        self.id, self.asked = name, asked
        self.order = list(reversed(pool)) if backwards else list(pool)

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        self.asked += queries
        found = [Passage(p.id, p.text, p.title, None, 1.0 / at, p.meta) for at, p in enumerate(self.order[:k], 1)]
        return [found for _ in queries]


def plugins(asked: list[str]) -> dict[str, object]:
    """The retrievers `first` and `last`."""

    @contextlib.asynccontextmanager
    async def opened(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
        yield Told(spec.function, building.pool, spec.function == "last", asked)

    return {"first": opened, "last": opened}
