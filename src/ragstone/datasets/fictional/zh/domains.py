"""The kinds of events of the Chinese news world: their patterns, read from `patterns/`, and their worlds."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragstone.datasets.fictional.texts import read_sections, read_toml
from ragstone.datasets.fictional.worlds import WorldFile
from ragstone.datasets.fictional.zh.lines import EMPTY, Pool, World
from ragstone.datasets.fictional.zh.names import VOCABULARY

__all__ = ["Ask", "Domain", "read_domain"]

POOLS = ("title", "lead", "detail", "quote", "color", "close", "pre", "wait", "aside")
ASK_POOLS = ("query", "head", "state", "say", "far", "qa", "rumour")
# Life in any town, for the background of any report.
COMMON = Pool(*read_sections("zh", "patterns/common")[""])


@dataclass(frozen=True, eq=False)
class Ask:
    """One thing that can be asked about the events of a domain.

    `field` holds the answer in a world, `field + "#"` further spellings separated by "|"; `tells` are the other fields
    that would give it away. `noun` and `wh` make questions: {事}的{noun}是{wh}？ `state` names event and answer,
    `say` only the answer (the event was named before), `far` is "opening without the answer||ending with it", `qa` is
    "question||reply", `rumour` names a candidate, `head` is a headline with the answer."""

    field: str
    noun: str
    wh: str
    query: Pool
    state: Pool
    say: Pool
    far: Pool
    rumour: Pool
    qa: Pool = EMPTY
    head: Pool = EMPTY
    tells: tuple[str, ...] = ()

    @functools.cached_property
    def blocked(self) -> frozenset[str]:
        """The fields that tell the answer."""
        return frozenset((self.field, *self.tells))

    def aliases(self, world: World) -> tuple[str, ...]:
        """The answer in this world, in all the spellings that count."""
        more = world.get(self.field + "#", "")
        return (world[self.field], *(more.split("|") if more else ()))


@dataclass(frozen=True, eq=False)
class Domain:
    """A kind of event. `worlds` draws what stays the same from year to year, and one event of it: `_years` later than
    the one asked about, and in another category where `_other`.

    `lead` names the event without being about one answer, `detail` goes on about it, `quote` lets people speak, `color`
    tells of its surroundings and history and nothing of the event itself, `common` is life in any town, `close` looks
    ahead; `pre` leads a report from before the event, `wait` goes on in it, `aside` leads a report about something near
    it, `title` is a headline."""

    name: str
    worlds: WorldFile
    asks: tuple[Ask, ...]
    lead: Pool
    detail: Pool
    quote: Pool
    color: Pool
    close: Pool
    pre: Pool
    wait: Pool
    aside: Pool
    title: Pool
    common: Pool = COMMON


def read_domain(file: str) -> Domain:
    """The domain of that file in `worlds/` and `patterns/`."""
    worlds = WorldFile(read_toml("zh", f"worlds/{file}"), VOCABULARY)
    return make_domain(worlds, read_sections("zh", f"patterns/{file}"))


def make_domain(worlds: WorldFile, sections: Mapping[str, Sequence[str]]) -> Domain:
    """A domain of its worlds and its patterns: a section is a pool, `abroad` (leaves out the common background of a
    town at home) or a question, `ask field | noun | wh | further fields that tell it`. ValueError: an unknown one."""
    pools = {name: lines for name, lines in sections.items() if not name.startswith("ask ") and name != "abroad"}
    if unknown := [name for name in pools if name not in POOLS]:
        raise ValueError(f"{worlds.header['name']}: no pool {unknown[0]!r}")
    asks = tuple(make_ask(name[4:], lines) for name, lines in sections.items() if name.startswith("ask "))
    filled = {name: Pool(*pools.get(name, ())) for name in POOLS}
    return Domain(worlds.header["name"], worlds, asks, common=EMPTY if "abroad" in sections else COMMON, **filled)


def make_ask(head: str, lines: Sequence[str]) -> Ask:
    """A question: `-- pool` starts one of its pools. KeyError: an unknown one."""
    field, noun, wh, *tells = map(str.strip, head.split("|"))
    pools: dict[str, list[str]] = {pool: [] for pool in ASK_POOLS}
    name = ""
    for line in lines:
        if line.startswith("-- "):
            name = line.removeprefix("-- ")
        else:
            pools[name].append(line)
    filled = {pool: Pool(*patterns) for pool, patterns in pools.items()}
    return Ask(field, noun, wh, tells=tuple(" ".join(tells).split()), **filled)
