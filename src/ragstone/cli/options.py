"""Options that several commands share."""

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from ragstone.errors import UsageError

__all__ = [
    "MOST_PASSAGES",
    "MOST_QUESTIONS",
    "MOST_REPEATS",
    "Names",
    "Number",
    "Pairs",
    "Ratios",
    "both",
    "json_option",
    "language_option",
    "once",
]

F = TypeVar("F", bound=Callable[..., Any])
V = TypeVar("V")

# Beyond these a typing error is likelier than a wish, and memory would be the first to tell.
MOST_PASSAGES = 10_000
MOST_QUESTIONS = 1_000_000
MOST_REPEATS = 1_000


class Names(click.ParamType[tuple[str, ...]]):
    """Names separated by commas."""

    name = "NAME,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if not isinstance(value, str):
            return tuple(value)
        names = tuple(part.strip() for part in value.split(",") if part.strip())
        if not names:
            self.fail("expected one name or more, separated by commas.", param, ctx)
        return names


class Pairs(click.ParamType[tuple[str, str]]):
    """NAME=VALUE."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if not isinstance(value, str):
            return (value[0], value[1])
        name, equals, told = value.partition("=")
        if not (equals and name.strip() and told.strip()):
            self.fail(f"{value!r}: expected {self.name}.", param, ctx)
        return name.strip(), told.strip()


class Ratios(click.ParamType[tuple[float, ...]]):
    """Numbers from 0 to 1, separated by commas."""

    name = "RATIO,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if not isinstance(value, str):
            return tuple(value)
        try:
            ratios = tuple(float(part) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r}: expected numbers from 0 to 1, such as 0,0.4.", param, ctx)
        if not all(0 <= ratio <= 1 for ratio in ratios):
            self.fail(f"{value!r}: a ratio is from 0 to 1.", param, ctx)
        return ratios


class Number(click.FloatRange):
    """A finite number in a range: `nan` and `inf`, which compare oddly and are no JSON, are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


def both(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several decorators as one, the first outermost."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def once(pairs: Iterable[tuple[str, V]], option: str) -> dict[str, V]:
    """Pairs that an option was given, by their names. UsageError where two of one name differ: one would be lost."""
    held: dict[str, V] = {}
    for name, value in pairs:
        if held.setdefault(name, value) != value:
            raise UsageError(f"{option} names {name} twice: {held[name]} and {value}. Keep one of them.")
    return held


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
language_option = click.option(
    "--language", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="Language of the words."
)
