"""What a domain of invented news is: a series of events with editions, what can be asked of one, and its aliases."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ragstone.datasets.fictional.en.names import NEWS_VOCABULARY, VOCABULARY
from ragstone.datasets.fictional.en.story import Day, Person
from ragstone.datasets.fictional.texts import read_toml
from ragstone.datasets.fictional.worlds import WorldFile

World: TypeAlias = dict[str, "str | Person | Day"]
Kind = Literal["person", "name", "title", "thing", "money", "price", "number", "date", "percent"]


@dataclass(frozen=True)
class EnglishDomain:
    """A kind of event. `answers`: the fields that questions ask for, with their kinds; `pairs`: fields asked for
    together; `serial`: fields asked for in two editions or two categories. `worlds` draws series, siblings (another
    category) and editions. `years`: the range of years of the editions asked about; `steps`: how many years misleading
    editions are away; `labels`: what tables call the fields and the editions ("key"), and how a sentence names an
    edition ("at") and an event ("named");
    `strong`: values with which a sentence seldom recurs, where others are to be left out (see `grammar.load`)."""

    name: str
    worlds: WorldFile
    answers: Mapping[str, Kind]
    pairs: tuple[tuple[str, str], ...]
    serial: tuple[str, ...]
    labels: Mapping[str, str]
    years: tuple[int, int] = (1990, 2020)
    steps: tuple[int, ...] = (-4, -3, -2, -1, 1, 2, 3, 4)
    strong: frozenset[str] = frozenset()


def read_domain(name: str, *, news: bool = False) -> EnglishDomain:
    """The domain of a file in `worlds/`, with what all domains share. With `news`, in the worlds of difficult data,
    whose editions go together: lines of `[news.TABLE]` stand in the place of those that TABLE has under the same name
    (an empty one: none), and the others before them."""
    common, own = read_toml("en", "worlds/common"), read_toml("en", f"worlds/{name}")
    constants = common["constants"] | own.pop("constants", {})
    labels = {"key": "Year", "at": "in ", "named": "{}", **own.pop("labels")}
    for table, lines in own.pop("news", {}).items():
        if news and isinstance(lines, dict):
            if table == "constants":
                constants |= lines
            else:
                first = {key: line for key, line in lines.items() if key not in own[table]}
                own[table] = {key: line for key, line in (first | own[table] | lines).items() if line != ""}
        elif news:
            own[table] = lines
    answers, pairs = own.pop("answers"), tuple((first, second) for first, second in own.pop("pairs"))
    worlds = WorldFile({**common, **own, "constants": constants}, NEWS_VOCABULARY if news else VOCABULARY)
    header: dict[str, Any] = {key: tuple(value) for key, value in worlds.header.items()}
    return EnglishDomain(name, worlds, answers, pairs, labels=labels, **header)


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
    """Parts of the answer, in lower case, that a negative must not contain either."""
    if isinstance(value, Day):
        return (value.dm.lower(), value.md.lower())
    if kind in {"money", "percent"} and isinstance(value, str):
        return (value.removesuffix("%").split()[0],)
    return ()
