"""What tokens cost: the price of a model's input, output, cached input and input that is written to a cache."""

import math
from typing import Any

from ragstone.errors import UsageError
from ragstone.structs import Frozen
from ragstone.types import Usage


class Price(Frozen, frozen=True):
    """What a million tokens of prompts and of answers cost, in the user's currency. `cached`: a million prompt tokens
    that the provider read from its prompt cache, `written`: a million that it wrote to it; None: as much as others."""

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None
    written: float | None = None

    def cost(self, usage: Usage) -> float:
        """The cost of these tokens."""
        return self.of_tokens(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.written_tokens)

    def of_tokens(self, prompt: float, answer: float, cached: float = 0.0, written: float = 0.0) -> float:
        """The cost of so many tokens of prompts, `cached` of them from the provider's cache and `written` to it, and of
        answers. They may be shares or differences."""
        from_cache = min(cached, prompt) if prompt >= 0 else cached
        saved = 0.0 if self.cached is None else from_cache * (self.input - self.cached)
        added = 0.0 if self.written is None else written * (self.written - self.input)
        return (prompt * self.input + answer * self.output - saved + added) / 1e6


def price_of(text: Any) -> Price | None:
    """The price that a text such as "0.15/0.60", "0.15/0.60/0.075" or "4/20/0.2/5" names; None for anything else."""
    try:
        numbers = [float(part) for part in text.split("/")]
    except (AttributeError, ValueError):
        return None
    if len(numbers) not in (2, 3, 4) or not all(0 <= number < math.inf for number in numbers):
        return None
    return Price(*numbers)


def share_of(price: str, usual: str) -> float:
    """What share of the usual price ("0.15/0.60") a price is; 1 where either is none."""
    reduced, whole = price_of(price), price_of(usual)
    if reduced is None or whole is None or not (total := whole.input + whole.output):
        return 1.0
    return (reduced.input + reduced.output) / total


def read_price(text: str | None, option: str = "--price") -> Price | None:
    """The price that the user gave; None without one. UsageError for anything but a price, and for cached tokens that
    cost more than others: then the numbers are in another order."""
    if not text:
        return None
    price = price_of(text)
    if price is None:
        raise UsageError(
            f"{option} {text}: expected the price of a million tokens, IN/OUT[/CACHED[/WRITTEN]], such as 0.15/0.60 or "
            "0.15/0.60/0.075."
        )
    if price.cached is not None and price.cached > price.input:
        raise UsageError(
            f"{option} {text}: cached input costs more than input. The order is IN/OUT/CACHED, such as 0.15/0.60/0.075."
        )
    return price
