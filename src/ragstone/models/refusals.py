"""An endpoint that refuses whatever it is asked (a wrong key, model or address) is not asked for every case.

`Refusals` stands in front of one endpoint. After `LIMIT` refusals in a row nothing more is sent, and each call ends in
`EndpointRefused`; what is in flight at that moment may still be refused.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from ragstone.errors import ContentBlocked, EndpointRefused, ModelError, Rejected
from ragstone.types import Completion, Model, Request

__all__ = ["LIMIT", "Guarded", "Refusals"]

T = TypeVar("T")

LIMIT: Final = 5


class Refusals:
    """The refusals in a row of one endpoint."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self._last = ""
        self._answered = False

    def check(self) -> None:
        """Raises `EndpointRefused` once the endpoint has refused `LIMIT` requests in a row."""
        if self._in_a_row >= LIMIT:
            raise EndpointRefused(self._last, self._in_a_row, answered=self._answered)

    async def guard(self, call: Callable[[], Awaitable[T]]) -> T:
        """The value of `call`, if the endpoint is still asked."""
        self.check()
        try:
            value = await call()
        except ModelError as error:
            if error.refuses_all:
                error.exit_code = 3 if self._answered else 2  # of a command that it ends
                self._in_a_row, self._last = self._in_a_row + 1, str(error)
                if self._in_a_row >= LIMIT:
                    raise EndpointRefused(self._last, self._in_a_row, answered=self._answered) from error
            elif isinstance(error, Rejected | ContentBlocked):  # about this one request: the key is right
                self._in_a_row = 0
            raise
        self._in_a_row, self._answered = 0, True
        return value


class Guarded:
    """A chat model that is no longer asked once its endpoint refuses whatever it is asked."""

    def __init__(self, model: Model, refusals: Refusals) -> None:
        self._model, self._refusals = model, refusals

    @property
    def id(self) -> str:
        return self._model.id

    async def generate(self, request: Request, /) -> Completion:
        return await self._refusals.guard(lambda: self._model.generate(request))
