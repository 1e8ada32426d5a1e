"""What English worlds are made of: invented people of many cultures, places, companies and titles, dates and amounts.
Surnames and places are put together from morphemes (`names.toml`), so that there are tens of thousands of each and
hardly any is a real one."""

import datetime as dt
import re
from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from ragstone.datasets.fictional.en.story import Day, Person, with_article
from ragstone.datasets.fictional.parts import add_days, between, pick
from ragstone.datasets.fictional.texts import read_toml
from ragstone.datasets.fictional.worlds import Vocabulary

T = TypeVar("T")
_INVENTORY = read_toml("en", "names")
_CULTURES, _REGIONS = (
    [{name: str(words).split() for name, words in group.items()} for group in _INVENTORY.pop(groups)]
    for groups in ("cultures", "regions")
)
_WORDS = {name: str(words).split() for name, words in _INVENTORY.items()}
_COUNTRY_TAILS = (
    ("ovia", "ovian"), ("inia", "inian"), ("aria", "arian"), ("ora", "oran"), ("elia", "elian"), ("onia", "onian"),
)  # fmt: skip


def person(rng: Random, gender: str = "") -> Person:
    """Someone who does not exist. `gender` is "f" or "m"; either, where it is empty."""
    culture = pick(rng, _CULTURES)
    woman = gender == "f" or (not gender and rng.random() < 0.5)
    given = pick(rng, culture["women" if woman else "men"])
    surname = pick(rng, culture["heads"]) + pick(rng, culture["tails"])
    pronouns = ("she", "her", "her") if woman else ("he", "his", "him")
    return Person(f"{given} {surname}", surname, *pronouns)


def people(rng: Random, *roles: str) -> dict[str, Person]:
    """An invented person for each role."""
    return {role: person(rng) for role in roles}


def place(rng: Random) -> str:
    """A town or city; one in six has two words."""
    region = pick(rng, _REGIONS)
    name = pick(rng, region["heads"]) + pick(rng, region["tails"])
    share = rng.random()
    if share < 0.08:
        return f"{pick(rng, ('Port', 'New', 'Upper', 'Great', 'Fort'))} {name}"
    if share < 0.16:
        return f"{name} {pick(rng, ('Bay', 'Falls', 'Heights', 'Springs', 'Sands'))}"
    return name


def country(rng: Random) -> tuple[str, str]:
    """A country and its adjective."""
    head, (noun, adjective) = pick(rng, _WORDS["country_heads"]), pick(rng, _COUNTRY_TAILS)
    return head + noun, head + adjective


def newspaper(rng: Random, town: str) -> str:
    """A paper of this town."""
    return f"{town} {pick(rng, _WORDS['papers'])}"


def coined(rng: Random) -> str:
    """A made-up word, as companies and products bear them."""
    middle = pick(rng, _WORDS["coined_middles"]) if rng.random() < 0.6 else ""
    return pick(rng, _WORDS["coined_heads"]) + middle + pick(rng, _WORDS["coined_tails"])


def title(rng: Random) -> str:
    """The title of a book, film or picture."""
    adjectives = _WORDS["title_adjectives"]
    adjective, noun, where = pick(rng, adjectives), pick(rng, _WORDS["title_nouns"]), pick(rng, _WORDS["title_places"])
    titles = (
        f"The {adjective} {noun}",
        f"The {noun} in the {where}",
        f"{adjective} {noun}, {pick(rng, adjectives)} {where}",
        f"A {noun} for {place(rng)}",
        f"The {noun} of {place(rng)}",
        f"The Last {noun} of {place(rng)}",
        f"{pick(rng, _WORDS['title_numbers'])} Nights at the {adjective} {where}",
        f"What the {adjective} {noun} Kept",
        f"No {noun} in {place(rng)}",
        f"The {where} at {place(rng)}",
    )
    return pick(rng, titles)


def title_noun(text: str) -> str:
    """The noun that a title is made with; another where it has none."""
    return next((word for word in text.replace(",", "").split() if word in _WORDS["title_nouns"]), "Lantern")


def day(date: dt.date) -> Day:
    """The date in all its spellings; not strftime's, which are in the machine's language."""
    month, weekday = _WORDS["months"][date.month - 1], _WORDS["weekdays"][date.weekday()]
    dm, md = f"{date.day} {month}", f"{month} {date.day}"
    return Day(
        dm, md, f"{dm} {date.year}", f"{md}, {date.year}", f"{month} {date.year}", month, weekday, str(date.year)
    )


def random_date(rng: Random, year: int, first: int = 15, last: int = 340) -> dt.date:
    """A day of this year, from its `first` to its `last`."""
    return add_days(dt.date(year, 1, 1), first + int(rng.random() * (last - first)))


def other_date(rng: Random, date: dt.date) -> Day:
    """A day some weeks before or after, as an announced or rumoured date."""
    return day(add_days(date, (11 + int(rng.random() * 60)) * (1 if rng.random() < 0.5 else -1)))


def number(value: int) -> str:
    """12,345"""
    return f"{value:,}"


def count(rng: Random, low: int, high: int, step: int = 1) -> str:
    """A whole number as a report writes it, in steps of `step`."""
    return number(between(rng, low // step, high // step) * step)


def apart(rng: Random, value: float) -> float:
    """An amount that is clearly another, by an eighth to two fifths: a guess from before the event."""
    return value * (0.6 + 0.27 * rng.random() if rng.random() < 0.5 else 1.13 + 0.27 * rng.random())


def money(millions: float) -> str:
    """An amount in dollars as a report gives it: `$8.4 million`, `$840 million`, `$18.7 billion`."""
    if millions >= 1000:
        return f"${millions / 1000:.1f} billion"
    return f"${millions:.0f} million" if millions >= 100 else f"${millions:.1f} million"


def other_money(rng: Random, millions: float) -> str:
    """A guess at so many millions."""
    return money(apart(rng, millions))


def percent(rng: Random, value: float) -> str:
    """A share, with one of the spellings of its unit."""
    return f"{value:.1f}{pick(rng, (' per cent', ' percent', '%'))}"


def score(rng: Random, low: int, high: int) -> str:
    """The score of a game that somebody wins with `low` + 1 to `high`."""
    win = between(rng, low + 1, high)
    return f"{win}-{between(rng, max(0, win - 5, low - 1), win - 1)}"


def ordinal(value: int) -> str:
    """second, third… ninth; 10th and so on."""
    spelled = _WORDS["ordinals"]
    if 1 <= value <= len(spelled):
        return spelled[value - 1]
    return f"{value}{'th' if 10 <= value % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(value % 10, 'th')}"


def firm(rng: Random) -> str:
    """A company of two words."""
    return f"{coined(rng)} {pick(rng, ('Works', 'Brothers', 'Partners', 'Supplies', 'Trading', 'Services'))}"


def street(rng: Random) -> str:
    """A street of any town."""
    return f"{place(rng)} {pick(rng, ('Street', 'Road', 'Lane', 'Square', 'Avenue', 'Row', 'Quay'))}"


def clock(rng: Random) -> str:
    """A time of the day: 7.40 pm."""
    hour = between(rng, 1, 12)
    return f"{hour}.{5 * between(rng, 1, 11):02} {pick(rng, ('am', 'pm'))}"


HARD = re.compile(r"(?!ght)[b-df-hj-np-tv-xz]{4}|(?i:([a-z])\1\1)|ww|\bA [AEIOUÉ]")
"""What no readable name has: four consonants in a row, three equal letters, and in titles the wrong article."""


def readable(draw: Callable[..., T]) -> Callable[..., T]:
    """The draw, until what it gives can be read."""

    def drawn(*arguments: Any) -> T:
        while True:
            value = draw(*arguments)
            if not HARD.search(value.name if isinstance(value, Person) else str(value)):
                return value

    return drawn


def people_of_news(rng: Random, *roles: str) -> dict[str, Person]:
    """An invented person for each role, all with readable names and surnames of their own."""
    made: dict[str, Person] = {}
    draw = readable(person)
    while len(made) < len(roles):
        someone = draw(rng)
        if all(someone.s != other.s for other in made.values()):
            made[roles[len(made)]] = someone
    return made


def amount(millions: float) -> str:
    """An amount in dollars of three digits: `$8.42 million`, `$84.2 million`, `$842 million`, `$8.42 billion`."""
    value, unit = (millions / 1000, "billion") if millions >= 999.5 else (millions, "million")
    return f"${value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f} {unit}"


def hour(rng: Random, first: int, last: int) -> str:
    """A time between two hours of the day: 7.40 pm for 19 to 20."""
    value = between(rng, first, last)
    return f"{(value - 1) % 12 + 1}.{5 * between(rng, 1, 11):02} {'am' if value < 12 else 'pm'}"


# What stands for `~name` in a template.
DRAWS = {
    "person": lambda rng: person(rng).name, "surname": lambda rng: person(rng).s, "town": place, "street": street,
    "firm": firm, "weekday": lambda rng: pick(rng, _WORDS["weekdays"]), "time": clock,
    "month": lambda rng: pick(rng, _WORDS["months"]), "paper": lambda rng: newspaper(rng, place(rng)),
}  # fmt: skip
NEWS_DRAWS = {name: readable(draw) for name, draw in DRAWS.items()} | {
    "year": lambda rng: str(between(rng, 1840, 1899)),
    "time": lambda rng: hour(rng, 7, 21),
    "morning": lambda rng: hour(rng, 7, 10),
    "evening": lambda rng: hour(rng, 17, 21),
}
VOCABULARY = Vocabulary(
    draws={
        function.__name__: function
        for function in (
            apart, coined, count, country, newspaper, other_date, other_money, people, percent, person, place,
            random_date, score, title,
        )
    },
    forms={
        "a": with_article, "add_days": add_days, "cap": lambda text: text[0].upper() + text[1:],
        "capitalised": str.capitalize, "day": day, "min": min, "money": money, "number": number, "ordinal": ordinal,
        "title_noun": title_noun, "titlecased": str.title,
    },
)  # fmt: skip
NEWS_VOCABULARY = Vocabulary(
    draws={
        **VOCABULARY.draws,
        **{draw.__name__: readable(draw) for draw in (coined, country, newspaper, person, place, title)},
        "people": people_of_news,
        "other_money": lambda rng, millions: amount(apart(rng, millions)),
    },
    forms={**VOCABULARY.forms, "max": max, "money": amount},
)
