"""Several endpoints of one model: each request goes to the least busy one, and a sick one is left out for a while.

An endpoint is sick after a refused connection, a 5xx or a timeout, until it answers again. It is left out for a pause
that doubles with each failure, and then tried with one request. The request that found it sick is sent again by the
retries of the call (`retry.py`), to another. Where all are sick, the one whose pause ends first is asked, so that the
call ends with the usual error.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from ragstone.errors import RateLimited, ServerFault, TimedOut, Unreachable
from ragstone.models.client import Client
from ragstone.models.options import ModelOptions
from ragstone.types import Completion, Request

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds
_HUNG = 0.9  # of the time of an attempt: what is cancelled after it did not answer


@dataclass
class _Replica:
    client: Client
    busy: int = 0
    asked: int = 0
    failures: int = 0  # in a row
    until: float = 0.0  # when a sick one may be tried


class Replicas:
    """The clients of one model at several endpoints, used as one `Client`. `id`, `base_url` and what else makes a model
    the one it is are those of the first, whichever answers."""

    def __init__(
        self, clients: Sequence[Client], options: ModelOptions, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._replicas = [_Replica(client) for client in clients]
        self._hung = _HUNG * min(options.timeout, options.deadline)
        self._clock = clock
        self.first = first = clients[0]
        self.id, self.provider, self.wire_name, self.base_url = (
            first.id, first.provider, first.wire_name, first.base_url
        )  # fmt: skip
        self._opened = contextlib.AsyncExitStack()

    async def __aenter__(self) -> "Replicas":
        for replica in self._replicas:
            await self._opened.enter_async_context(replica.client)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    async def generate(self, request: Request, /) -> Completion:
        """Makes one attempt at one endpoint. Raises as `Client.generate`."""
        return await self._ask(lambda client: client.generate(request))

    async def vectors(self, texts: Sequence[str], /) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
        """One embedding request at one endpoint, as `Client.vectors`."""
        return await self._ask(lambda client: client.vectors(texts))

    async def _ask(self, call: Callable[[Client], Awaitable[T]]) -> T:
        replica, started = self._choose(), self._clock()
        replica.busy += 1
        replica.asked += 1
        try:
            value = await call(replica.client)
        except (Unreachable, ServerFault, TimedOut, RateLimited) as error:
            if not isinstance(error, RateLimited):
                self._leave_out(replica)
            if isinstance(error, RateLimited | ServerFault) and any(map(self._is_well, self._others(replica))):
                error.retry_after = None  # another need not wait for this one
            raise
        except asyncio.CancelledError:
            if self._clock() - started >= self._hung:
                self._leave_out(replica)
            raise
        finally:
            replica.busy -= 1
        replica.failures = 0
        return value

    def _choose(self) -> _Replica:
        ready = [replica for replica in self._replicas if self._is_well(replica)]
        if not ready:
            return min(self._replicas, key=lambda replica: (replica.busy, replica.until))
        return min(ready, key=lambda replica: (replica.busy, replica.asked))

    def _others(self, replica: _Replica) -> list[_Replica]:
        return [other for other in self._replicas if other is not replica]

    def _is_well(self, replica: _Replica) -> bool:
        """Whether it answers as far as is known; one that is to be tried again gets one request at a time."""
        return not replica.failures or (replica.until <= self._clock() and not replica.busy)

    def _leave_out(self, replica: _Replica) -> None:
        if replica.failures and replica.until > self._clock():
            return  # requests that were under way together fail together: that is one failure
        replica.failures += 1
        replica.until = self._clock() + min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(replica.failures - 1, 30))
