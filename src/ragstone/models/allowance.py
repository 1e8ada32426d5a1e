"""The user's limits on all requests of a command together: their number, and what their tokens cost."""

from dataclasses import dataclass, field, replace
from typing import Protocol

from ragstone.errors import AllowanceSpent, UsageError
from ragstone.prices import Price
from ragstone.types import Completion, Model, Request, Usage


@dataclass
class _Spent:
    requests: int = 0
    cost: float = 0.0


class Budget(Protocol):
    """What several processes may spend together."""

    async def acquire(self) -> None:
        """One more request is about to be sent. Raises `AllowanceSpent`."""

    def pay(self, cost: float, /) -> None:
        """A reply came that cost this."""


@dataclass(frozen=True)
class Allowance:
    """At most `requests` requests, retries included, and `cost` at `price`; None: no limit. `at` gives the same
    allowance at the price of another model.

    `budget`: counts in place of `spent` where several processes share the allowance.

    Requests in flight when the cost is reached are finished, so that it may be exceeded by theirs."""

    requests: int | None = None
    cost: float | None = None
    price: Price = field(default_factory=Price)
    spent: _Spent = field(default_factory=_Spent)
    budget: "Budget | None" = None

    @classmethod
    def of(cls, requests: int | None, cost: float | None, price: Price | None) -> "Allowance | None":
        """The allowance of a command; None where nothing is limited. UsageError for a cost without a price."""
        if requests is None and cost is None:
            return None
        if cost is not None and price is None:
            raise UsageError("--max-cost needs the price of a million tokens: add --price IN/OUT, such as 0.15/0.60.")
        return cls(requests, cost, price or Price())

    def at(self, price: Price | None) -> "Allowance":
        """The same allowance, for a model with another price."""
        return self if price is None else replace(self, price=price)

    async def acquire(self) -> None:
        """Like `admit`, of the shared `budget` if there is one."""
        if self.budget is None:
            self.admit()
        else:
            await self.budget.acquire()

    def admit(self, expected: float = 0.0) -> None:
        """One more request is about to be sent, while others are expected to cost so much. Raises `AllowanceSpent`."""
        if self.requests is not None and self.spent.requests >= self.requests:
            raise AllowanceSpent(f"of {self.requests:,} requests (--max-requests)")
        if self.cost is not None and self.spent.cost + expected >= self.cost:
            raise AllowanceSpent(f"of {self.cost:g} for the cost (--max-cost)")
        self.spent.requests += 1

    def pay(self, usage: Usage, share: float = 1.0) -> None:
        """A reply came that took these tokens, at this share of the price."""
        cost = share * self.price.cost(usage)
        if self.budget is not None:
            self.budget.pay(cost)
        else:
            self.spent.cost += cost


class _Counted:
    """A model whose requests count against an allowance."""

    def __init__(self, model: Model, allowance: Allowance) -> None:
        self.id = model.id
        self._model, self._allowance = model, allowance

    async def generate(self, request: Request, /) -> Completion:
        await self._allowance.acquire()
        reply = await self._model.generate(request)
        self._allowance.pay(reply.usage)
        return reply


def counted(model: Model, allowance: Allowance | None) -> Model:
    """The model with its requests counted, if there is an allowance. For models that are not endpoints; those count for
    themselves, with their retries."""
    return model if allowance is None else _Counted(model, allowance)
