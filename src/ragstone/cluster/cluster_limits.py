"""The limits of a command that hold for all workers of a cluster together: one keeper, whom each worker asks before a
request. That costs about a millisecond a request, and only where there is a limit."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from ragstone.errors import AllowanceSpent
from ragstone.models import ModelOptions
from ragstone.models.allowance import Allowance
from ragstone.models.rate_limit import Limiter, Spent

_END_SECONDS = 5.0


class LimitKeeper:
    """Counts for all workers: an actor of its own. An account is the how-manieth endpoint of a worker; all workers open
    the same ones in the same order."""

    def __init__(self, requests_per_minute: float | None, tokens_per_minute: float | None, allowance: Any) -> None:
        self._rates = requests_per_minute, tokens_per_minute
        self._allowance: Allowance = allowance or Allowance()
        self._accounts: dict[int, Limiter] = {}
        self._spent: dict[int, Spent] = {}
        self._tickets = 0

    async def admit(self, account: int, tokens: float) -> int:
        """Waits until an attempt of so many tokens is within the limits; the number is for `correct`."""
        if (limiter := self._accounts.get(account)) is None:
            requests, token_rate = self._rates
            limiter = Limiter(requests_per_minute=requests, tokens_per_minute=token_rate)
            self._accounts[account] = limiter
        spent = await limiter.admit(lambda: tokens)
        self._tickets += 1
        if spent is not None:
            self._spent[self._tickets] = spent
        return self._tickets

    def correct(self, account: int, ticket: int, tokens: float | None) -> None:
        """The attempt took so many tokens; None: as many as were assumed."""
        spent = self._spent.pop(ticket, None)
        if tokens is not None:
            self._accounts[account].correct(spent, tokens)

    def spend(self) -> AllowanceSpent | None:
        """One more request is about to be sent; the error if it may not."""
        try:
            self._allowance.admit()
        except AllowanceSpent as error:
            return error
        return None

    def pay(self, cost: float) -> None:
        """A reply came that cost this."""
        self._allowance.spent.cost += cost

    def spent(self) -> tuple[int, float]:
        """The requests so far and their cost, those of earlier commands with this allowance included."""
        return self._allowance.spent.requests, self._allowance.spent.cost


class _SharedLimiter(Limiter):
    """A limiter whose minutes the keeper counts; the places of calls in flight are this process's."""

    def __init__(self, keeper: Any, account: int, in_flight: int, check: Callable[[], None]) -> None:
        super().__init__(in_flight=in_flight, check=check)
        self._keeper, self._account = keeper, account

    async def admit(self, tokens: Callable[[], float]) -> Spent | None:
        self._check()
        ticket = await value_of(self._keeper.admit.remote(self._account, tokens()))
        self._check()
        return Spent(float(ticket), 0.0)

    def correct(self, spent: Spent | None, tokens: float) -> None:
        if spent is not None:
            self._keeper.correct.remote(self._account, int(spent.at), tokens)


class _SharedBudget:
    """The `Budget` that the keeper counts."""

    def __init__(self, keeper: Any) -> None:
        self._keeper = keeper

    async def acquire(self) -> None:
        if (error := await value_of(self._keeper.spend.remote())) is not None:
            raise error

    def pay(self, cost: float, /) -> None:
        self._keeper.pay.remote(cost)


@contextlib.asynccontextmanager
async def keeping(ray: Any, options: ModelOptions) -> AsyncIterator[Any]:
    """The keeper of the limits of these options, on this node: it lives as long as the command can. None where there
    are none. In the end, what the workers spent is counted in the allowance of this command, which may go on."""
    if not (options.allowance or options.requests_per_minute or options.tokens_per_minute):
        yield None
        return
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=True
    )
    actor = ray.remote(num_cpus=0, max_concurrency=1000, scheduling_strategy=here)(LimitKeeper)
    keeper = actor.remote(options.requests_per_minute, options.tokens_per_minute, options.allowance)
    try:
        yield keeper
    finally:
        if (allowance := options.allowance) is not None:
            # Where the cluster is gone, the limit of what follows begins anew.
            with contextlib.suppress(Exception):
                async with asyncio.timeout(_END_SECONDS):
                    allowance.spent.requests, allowance.spent.cost = await value_of(keeper.spent.remote())


async def value_of(reference: Any) -> Any:
    """What a call of an actor returns, without a blocked event loop. Raises what the call raised."""
    future = asyncio.wrap_future(reference.future())
    future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # also where nobody waits any more
    return await asyncio.shield(future)  # Ray's client fails over a cancelled one


def limited_by(keeper: Any, options: ModelOptions) -> ModelOptions:
    """The options of a worker whose limits the keeper (None: there are none) counts."""
    if keeper is None:
        return options
    accounts = iter(range(1_000_000))
    allowance = options.allowance and replace(options.allowance, budget=_SharedBudget(keeper))
    rated = options.requests_per_minute is not None or options.tokens_per_minute is not None

    def limiter(in_flight: int, check: Callable[[], None]) -> Limiter:
        return _SharedLimiter(keeper, next(accounts), in_flight, check)

    return replace(options, allowance=allowance, limiter=limiter if rated else None)
