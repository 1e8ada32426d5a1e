"""What systems around another system share."""

from collections.abc import Mapping
from typing import Any

from ragstone.models.allowance import Allowance
from ragstone.systems.accepted import accepts_of, is_repeatable, printed_by
from ragstone.types import Query, Response, System


class Wrapper:
    """Has the id and the settings of the system that it wraps: answers through it are that system's."""

    inner: System

    @property
    def id(self) -> str:
        return self.inner.id

    @property
    def spec(self) -> Mapping[str, Any]:
        return self.inner.spec


class Counted(Wrapper):
    """Counts every answer as a request, and the usage that it reports as its cost; searches without an answer are free.
    Raises AllowanceSpent where a limit is reached."""

    def __init__(self, inner: System, allowance: Allowance) -> None:
        self.inner, self._allowance = inner, allowance
        self.accepts = accepts_of(inner)

    def printed(self) -> str:
        """The last line that the system's code printed; "" if none."""
        return printed_by(self.inner)

    async def answer(self, query: Query, /) -> Response:
        if query.retrieve_only:
            return await self.inner.answer(query)
        await self._allowance.acquire()
        response = await self.inner.answer(query)
        if response.usage is not None:
            self._allowance.pay(response.usage)
        return response


def counted_system(system: System, allowance: Allowance | None) -> System:
    """The system with its answers counted once, if there is an allowance and asking it costs something."""
    if allowance is None or is_repeatable(system) or _is_counted(system):
        return system
    return Counted(system, allowance)


def _is_counted(system: object) -> bool:
    """Whether answers are counted somewhere inside, where their requests are sent: an open system may be opened again,
    or stand in another."""
    inside = hasattr(system, "inner") and _is_counted(system.inner)
    return isinstance(system, Counted) or getattr(system, "counted", False) is True or inside
