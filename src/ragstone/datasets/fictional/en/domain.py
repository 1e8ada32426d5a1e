"""What a domain of invented news is: a series of events with editions, what can be asked of one, and its aliases."""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal, TypeVar, cast

from ragstone.datasets.fictional.en.grammar import Day, Person
from ragstone.datasets.fictional.en.names import day, money
from ragstone.datasets.fictional.en.setting import Values

__all__ = ["Domain", "Kind", "Series", "aliases", "apart", "near_aliases", "other_date", "other_money"]

T = TypeVar("T")
Kind = Literal["person", "name", "thing", "money", "price", "number", "date", "percent"]


@dataclass
class Series:
    """Something that has editions: a cup, a prize, a company and its years. `values` are the same for all of them."""

    values: Values
    memory: dict[str, object] = field(default_factory=dict)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What was made for this key the first time: last year's winner is the same in every edition that names it."""
        if key not in self.memory:
            self.memory[key] = make()
        return cast("T", self.memory[key])


@dataclass(frozen=True)
class Domain:
    """`asked` names the values that questions ask for, with their kind; `pairs` those asked for together; `serial`
    those asked of two editions, or of two categories. `edition` makes the world of a year; `sibling` another category.
    `years` is when the editions that are asked about take place, `steps` how far from them the misleading ones lie."""

    name: str
    asked: Mapping[str, Kind]
    pairs: tuple[tuple[str, str], ...]
    serial: tuple[str, ...]
    series: Callable[[Random], Series]
    edition: Callable[[Random, Series, int], Values]
    sibling: Callable[[Random, Series], Series]
    years: tuple[int, int] = (1990, 2020)
    steps: tuple[int, ...] = (-4, -3, -2, -1, 1, 2, 3, 4)


def aliases(kind: Kind, value: "str | Person | Day") -> tuple[str, ...]:
    """All spellings that count as the answer, the fullest first."""
    if isinstance(value, Person):
        return (value.name, value.s)
    if isinstance(value, Day):
        short = value.month[:3]
        number = value.dm.split()[0]
        return (value.mdy, value.dmy, f"{short} {number}, {value.y}", f"{number} {short} {value.y}")
    if kind == "money":
        amount, unit = value.lstrip("$").split()
        return (value, f"{amount} {unit}", f"{amount}{'bn' if unit == 'billion' else 'm'}")
    if kind == "percent":
        share = value.removesuffix("%").split()[0]
        return (f"{share} per cent", f"{share} percent", f"{share}%")
    if kind == "price":
        return (value, f"{value[1:]} dollars")
    if kind == "number":
        return (value, value.replace(",", ""))
    if kind == "thing":
        return (value.split(" ", 1)[1],)
    return (value,)


def near_aliases(kind: Kind, value: "str | Person | Day") -> tuple[str, ...]:
    """What a negative must not hold either, lower case: parts that would give the answer away."""
    if isinstance(value, Day):
        return (value.dm.lower(), value.md.lower())
    if kind in {"money", "percent"} and isinstance(value, str):
        return (value.removesuffix("%").split()[0],)
    return ()


def apart(rng: Random, value: float) -> float:
    """An amount that is clearly another, by an eighth to two fifths: a guess from before the event."""
    return value * (0.6 + 0.27 * rng.random() if rng.random() < 0.5 else 1.13 + 0.27 * rng.random())


def other_money(rng: Random, millions: float) -> str:
    """A guess at so many millions."""
    return money(apart(rng, millions))


def other_date(rng: Random, date: dt.date) -> Day:
    """A day some weeks before or after, as an announced or rumoured date."""
    return day(date + dt.timedelta(days=(11 + int(rng.random() * 60)) * (1 if rng.random() < 0.5 else -1)))
