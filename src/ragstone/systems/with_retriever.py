"""A system beside the retriever that it uses: questions go to the system, searches to the retriever."""

import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragstone.errors import UsageError
from ragstone.models import ModelOptions
from ragstone.responses.stages import search_response
from ragstone.retrieval import brings_documents, check_retriever, code_of, open_retriever, retriever_name
from ragstone.systems.accepted import USUAL_K, accepts_of, printed_by
from ragstone.types import Query, Response, Retriever, System


@dataclass(frozen=True)
class SystemTarget:
    """A system, as `open_system` opens it, and its retriever: an object, or the name of code or of an address
    (`retrieval/own.py`)."""

    system: Any
    retriever: Any


class WithRetriever:
    """Passes queries that ask for passages alone to the retriever of `target`, and all others to `system`."""

    def __init__(self, target: SystemTarget, system: System, retriever: Retriever) -> None:
        self._target, self._system, self._retriever = target, system, retriever
        self.accepts = accepts_of(system) | {"retrieve"}

    @property
    def id(self) -> str:
        return self._system.id

    @property
    def spec(self) -> Mapping[str, Any]:
        retriever = self._target.retriever
        return {**self._system.spec, "retriever": retriever_name(retriever), "retriever_code": code_of(retriever)}

    def printed(self) -> str:
        """The last line that the system's code printed; "" if none."""
        return printed_by(self._system)

    async def answer(self, query: Query, /) -> Response:
        if not query.retrieve_only:
            return await self._system.answer(query)
        started = time.perf_counter()
        (found,) = await self._retriever.retrieve([query.question], k=query.k or USUAL_K)
        return search_response(query, found, seconds=time.perf_counter() - started)


@contextlib.asynccontextmanager
async def open_own_retriever(retriever: Any, options: ModelOptions) -> AsyncIterator[Retriever]:
    """The retriever of a system, which has its own documents. Raises UsageError for one of ours, which needs some."""
    if not brings_documents(retriever):
        raise UsageError(
            f"{retriever} is no retriever of your own: name code (app.py:search), an HTTP address, or an engine with "
            f"collection=NAME."
        )
    check_retriever(retriever, options)
    async with open_retriever(retriever, (), options=options) as opened:
        yield opened
