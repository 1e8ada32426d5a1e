"""The frame of a story: the town where it happens, its paper, its people, and the day of the report."""

import datetime as dt
from random import Random
from typing import TYPE_CHECKING

from ragstone.datasets.fictional.en.names import day, newspaper, number, person, place
from ragstone.datasets.fictional.parts import add_days, between, pick

if TYPE_CHECKING:
    from ragstone.datasets.fictional.en.grammar import Day, Person

__all__ = ["Values", "count", "people", "setting", "town"]

Values = dict[str, "str | Person | Day"]

TRADES = (
    "glass", "salt", "timber", "cotton", "wool", "copper", "brick", "tea", "paper", "cider", "pottery", "silk", "grain",
    "slate", "tobacco", "linen", "herring", "leather", "sugar", "marble", "tin",
)  # fmt: skip
JOBS = (
    "a retired teacher", "a baker", "a bus driver", "a florist", "a nurse", "a locksmith", "a market trader",
    "a postal worker", "a librarian", "a carpenter", "a taxi driver", "a dentist", "a shopkeeper", "a beekeeper",
    "a music teacher", "an electrician", "a student", "an accountant", "a gardener", "a piano tuner", "a barber",
)  # fmt: skip
WEATHER = (
    "cold and bright", "wet and windy", "unusually warm", "grey and still", "clear and frosty", "hot and dusty",
    "misty until noon", "humid", "mild", "blustery",
)  # fmt: skip
AGENCIES = (
    "Meridian Wire", "Continental Press", "Northlight News", "Unity Press Service", "Harbour Wire", "Telex Seven",
    "Crossland News", "Bulletin Service",
)  # fmt: skip
CAFES = (
    "Blue Anchor",
    "Café Minerva",
    "Golden Plough",
    "Lantern",
    "Station Buffet",
    "Three Herons",
    "Old Ferry",
    "Mill Room",
)
RIVERS = (
    "Asker",
    "Tove",
    "Merrin",
    "Vash",
    "Olter",
    "Sarn",
    "Ilva",
    "Dorrow",
    "Keld",
    "Yance",
    "Brisa",
    "Ruen",
    "Temba",
    "Lo",
)
REGIONS = ("valley", "coast", "district", "delta", "plateau", "peninsula", "basin", "province")


def town(rng: Random, city: str = "") -> Values:
    """A town with its surroundings, of this name or an invented one."""
    city = city or place(rng)
    return {
        "city": city,
        "far_city": place(rng),
        "region": f"the {place(rng)} {pick(rng, REGIONS)}",
        "river": pick(rng, RIVERS),
        "trade": pick(rng, TRADES),
        "pop": number(between(rng, 14, 640) * 1000),
        "paper": newspaper(rng, city),
        "cafe": pick(rng, CAFES),
    }


def setting(rng: Random, when: dt.date, home: Values | None = None) -> Values:
    """Values that the common sections speak of, in this town or another. `when` is the day of the event; the report
    follows within days."""
    return {
        **(home or town(rng)),
        "agency": pick(rng, AGENCIES),
        "reporter": person(rng),
        "mayor": person(rng),
        "local": person(rng),
        "local_job": pick(rng, JOBS),
        "weather": pick(rng, WEATHER),
        "date": day(when),
        "year": str(when.year),
        "pub": day(add_days(when, between(rng, 1, 3))),
        "early": day(add_days(when, -between(rng, 4, 40))),
    }


def people(rng: Random, *roles: str) -> Values:
    """A different invented person for each role."""
    return {role: person(rng) for role in roles}


def count(rng: Random, low: int, high: int, step: int = 1) -> str:
    """A whole number as a report writes it, in steps of `step`."""
    return number(between(rng, low // step, high // step) * step)
