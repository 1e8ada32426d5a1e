"""A system beside the retriever that it uses: questions go to the system, searches to the retriever."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragstone.systems.accepted import accepts_of
from ragstone.types import Query, Response, System

__all__ = ["SystemTarget", "WithRetriever"]


@dataclass(frozen=True)
class SystemTarget:
    """A system and its retriever, each named as `open_system` opens it. The retriever is code (`app.py:search`, a
    function of a question and perhaps `k`), an object with `retrieve` or `search`, or an HTTP address whose replies are
    passages."""

    system: Any
    retriever: Any


class WithRetriever:
    """Passes queries that ask for passages alone to `retriever`, and all others to `system`."""

    def __init__(self, system: System, retriever: System) -> None:
        self._system, self._retriever = system, retriever
        self.accepts = accepts_of(system) | {"retrieve"}

    @property
    def id(self) -> str:
        return self._system.id

    @property
    def spec(self) -> Mapping[str, Any]:
        return {**self._system.spec, "retriever": dict(self._retriever.spec)}

    def printed(self) -> str:
        """The last line that the system's code printed; "" if none."""
        return str(getattr(self._system, "printed", str)())

    async def answer(self, query: Query, /) -> Response:
        return await (self._retriever if query.retrieve_only else self._system).answer(query)
