"""Stops asking an endpoint that refuses every request (because of a wrong key, model or address).

`Refusals` guards one endpoint. After `LIMIT` consecutive refusals nothing more is sent, and each call raises
`EndpointRefused`. Until it has answered, requests go out one at a time: with a wrong key `LIMIT` of them, however many
cases wait (`one_at_a_time`). Later, requests in flight at that moment may still be refused.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, ParamSpec, TypeVar

from ragstone.errors import ContentBlocked, EndpointRefused, ModelError, Rejected
from ragstone.types import Completion, Model, Request

P = ParamSpec("P")
T = TypeVar("T")

LIMIT: Final = 5


class Refusals:
    """The consecutive refusals of one endpoint."""

    def __init__(self, *, one_at_a_time: bool = True) -> None:
        self._in_a_row = 0
        self._last = ""
        self._answered, self._reached = False, not one_at_a_time
        self._turn = asyncio.Lock()

    def check(self) -> None:
        """Raises `EndpointRefused` after `LIMIT` consecutive refusals."""
        if self._in_a_row >= LIMIT:
            raise EndpointRefused(self._last, self._in_a_row, answered=self._answered, sent=False)

    def guard(self, call: Callable[P, Awaitable[T]], *args: P.args, **options: P.kwargs) -> Coroutine[Any, Any, T]:
        """The value of a call with these arguments, unless the endpoint is not asked any more."""
        return self._guard(call, *args, **options) if self._reached else self._first(call, *args, **options)

    async def _first(self, call: Callable[P, Awaitable[T]], *args: P.args, **options: P.kwargs) -> T:
        async with self._turn:
            if not self._reached:
                return await self._guard(call, *args, **options)
        return await self._guard(call, *args, **options)

    async def _guard(self, call: Callable[P, Awaitable[T]], *args: P.args, **options: P.kwargs) -> T:
        self.check()
        try:
            value = await call(*args, **options)
        except ModelError as error:
            if error.refuses_all:
                error.exit_code = 3 if self._answered else 2  # of a command that this error ends
                self._in_a_row, self._last = self._in_a_row + 1, str(error)
                if self._in_a_row >= LIMIT:
                    raise EndpointRefused(self._last, self._in_a_row, answered=self._answered) from error
            else:
                self._reached = True
                if isinstance(error, Rejected | ContentBlocked):  # about this request only: the key is valid
                    self._in_a_row = 0
            raise
        self._in_a_row, self._answered, self._reached = 0, True, True
        return value


class Guarded:
    """A chat model that is not asked any more once its endpoint refuses every request."""

    def __init__(self, model: Model, refusals: Refusals) -> None:
        self._model, self._refusals = model, refusals

    @property
    def id(self) -> str:
        return self._model.id

    def generate(self, request: Request, /) -> Coroutine[Any, Any, Completion]:
        return self._refusals.guard(self._model.generate, request)
