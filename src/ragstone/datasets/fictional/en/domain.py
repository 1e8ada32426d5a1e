"""What a domain of invented news is: a series of events with editions, what can be asked of one, and its aliases."""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal, TypeVar, cast

from ragstone.datasets.fictional.en.grammar import Day, Person
from ragstone.datasets.fictional.en.names import day, money
from ragstone.datasets.fictional.en.setting import Values

__all__ = ["Domain", "Kind", "Series", "aliases", "near_aliases", "other_date", "other_money"]

T = TypeVar("T")
Kind = Literal["person", "name", "money", "date", "percent"]


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
    """`asked` names the values that questions ask for, with their kind; `pairs` those asked for together; `serial` those
    asked of two editions, or of two categories. `edition` makes the world of a year; `sibling` another category."""

    name: str
    asked: Mapping[str, Kind]
    pairs: tuple[tuple[str, str], ...]
    serial: tuple[str, ...]
    series: Callable[[Random], Series]
    edition: Callable[[Random, Series, int], Values]
    sibling: Callable[[Random, Series], Series]


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
        share = value.split()[0]
        return (f"{share} per cent", f"{share} percent", f"{share}%")
    return (value,)


def near_aliases(kind: Kind, value: "str | Person | Day") -> tuple[str, ...]:
    """What a negative must not hold either, lower case: parts that would give the answer away."""
    if isinstance(value, Day):
        return (value.dm.lower(), value.md.lower())
    if kind in {"money", "percent"} and isinstance(value, str):
        return (value.lstrip("$").split()[0],)
    return ()


def other_money(rng: Random, millions: float) -> str:
    """An amount that is clearly another: a guess from before the event."""
    return money(millions * (0.72 + 0.16 * rng.random() if rng.random() < 0.5 else 1.13 + 0.3 * rng.random()))


def other_date(rng: Random, date: dt.date) -> Day:
    """A day some weeks before or after, as an announced or rumoured date."""
    return day(date + dt.timedelta(days=(11 + int(rng.random() * 60)) * (1 if rng.random() < 0.5 else -1)))
