"""The kinds of events of the Chinese news world: their patterns, read from `patterns/`, and their worlds."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragstone.datasets.fictional.texts import read_sections, read_toml
from ragstone.datasets.fictional.worlds import WorldFile
from ragstone.datasets.fictional.zh.names import EASY, NEWS, Names
from ragstone.datasets.fictional.zh.patterns import EMPTY, PatternPool, World

POOLS = ("title", "lead", "detail", "quote", "color", "close", "pre", "wait", "aside")
# Of news alone: rows of tables, lines of chronologies, of notices, questions with replies.
FORM_POOLS = ("table", "record", "notice", "talk")
ASK_POOLS = ("query", "head", "state", "say", "far", "qa", "rumour", "guess", "when")
# Life in any town, for the background of any report.
COMMON = PatternPool(*read_sections("zh", "patterns/common")[""])


@dataclass(frozen=True, eq=False)
class QuestionType:
    """One thing that can be asked about the events of a domain.

    `field` holds the answer in a world, `field + "#"` further spellings separated by "|"; `revealing` are the other
    fields that would give it away. `noun` and `wh` make questions: {事}的{noun}是{wh}？ `state` names event and answer,
    `say` only the answer (the event was named before), `far` is "opening without the answer||ending with it", `qa` is
    "question||reply", `rumour` names a candidate, `head` is a headline with the answer. In news, `guess` is a candidate
    without a sentence and `when` says when the answer was known: a date, or days from that of the event."""

    field: str
    noun: str
    wh: str
    query: PatternPool
    state: PatternPool
    say: PatternPool
    far: PatternPool
    rumour: PatternPool
    qa: PatternPool = EMPTY
    head: PatternPool = EMPTY
    guess: PatternPool = EMPTY
    when: PatternPool = EMPTY
    revealing: tuple[str, ...] = ()

    @functools.cached_property
    def blocked(self) -> frozenset[str]:
        """The fields that give the answer away."""
        return frozenset((self.field, *self.revealing))

    def aliases(self, world: World) -> tuple[str, ...]:
        """The answer in this world, in all the spellings that count."""
        spellings = world.get(self.field + "#", "")
        return (world[self.field], *(spellings.split("|") if spellings else ()))


@dataclass(frozen=True, eq=False)
class ChineseDomain:
    """A kind of event. `worlds` draws what stays the same from year to year, and one event of it: `_years` later than
    the one asked about, and in another category where `_other`.

    `lead` names the event without being about one answer, `detail` goes on about it, `quote` lets people speak, `color`
    tells of its surroundings and history and nothing of the event itself, `common` is life in any town, `close` looks
    ahead; `pre` leads a report from before the event, `wait` goes on in it, `aside` leads a report about something near
    it, `title` is a headline."""

    name: str
    worlds: WorldFile
    question_types: tuple[QuestionType, ...]
    lead: PatternPool
    detail: PatternPool
    quote: PatternPool
    color: PatternPool
    close: PatternPool
    pre: PatternPool
    wait: PatternPool
    aside: PatternPool
    title: PatternPool
    common: PatternPool = COMMON
    table: PatternPool = EMPTY
    record: PatternPool = EMPTY
    notice: PatternPool = EMPTY
    talk: PatternPool = EMPTY
    names: Names = EASY
    file: str = ""


def read_domain(file: str) -> ChineseDomain:
    """The domain of that file in `worlds/` and `patterns/`."""
    worlds = WorldFile(read_toml("zh", f"worlds/{file}"), EASY.vocabulary)
    return dataclasses.replace(make_domain(worlds, read_sections("zh", f"patterns/{file}")), file=file)


@functools.cache
def read_news(domain: ChineseDomain) -> ChineseDomain:
    """The same domain as papers would tell of it: with the sentences of `patterns/news`, the names of common characters
    and the tables of `worlds/news`, which take the place of those in `worlds/` (constants are added to them)."""
    tables = read_toml("zh", f"worlds/{domain.file}")
    for name, changed in read_toml("zh", f"worlds/news/{domain.file}").items():
        tables[name] = tables["constants"] | changed if name == "constants" else changed
    sections = read_sections("zh", f"patterns/news/{domain.file}")
    common = {name: lines for name, lines in read_sections("zh", "patterns/news/common").items() if name}
    for name in POOLS:
        sections[name] = [*sections.get(name, ()), *common.get(name, ())]
    news = make_domain(WorldFile(tables, NEWS.vocabulary), sections)
    asked = {question_type.field: question_type for question_type in domain.question_types}
    types = tuple(_completed(question_type, asked[question_type.field]) for question_type in news.question_types)
    return dataclasses.replace(news, question_types=types, names=NEWS, common=EMPTY, file=domain.file)


def _completed(news: QuestionType, easy: QuestionType) -> QuestionType:
    """A question type of news with the wordings of the easy one where it has none, and what it need not say."""
    return dataclasses.replace(
        news,
        query=news.query if news.query.sources else easy.query,
        guess=news.guess if news.guess.sources else PatternPool(f"{{{news.field}传}}"),
        when=news.when if news.when.sources else PatternPool("0"),
    )


def make_domain(worlds: WorldFile, sections: Mapping[str, Sequence[str]]) -> ChineseDomain:
    """A domain of its worlds and its patterns: a section is a pool, `abroad` (leaves out the common background of a
    town at home) or a question, `ask field | noun | wh | further fields that give it away`. ValueError for others."""
    pools = {name: lines for name, lines in sections.items() if not name.startswith("ask ") and name != "abroad"}
    if unknown := [name for name in pools if name not in (*POOLS, *FORM_POOLS)]:
        raise ValueError(f"{worlds.header['name']}: no pool {unknown[0]!r}")
    question_types = tuple(
        make_question_type(name[4:], lines) for name, lines in sections.items() if name.startswith("ask ")
    )
    filled: dict[str, Any] = {name: PatternPool(*pools.get(name, ())) for name in (*POOLS, *FORM_POOLS)}
    return ChineseDomain(
        worlds.header["name"], worlds, question_types, common=EMPTY if "abroad" in sections else COMMON, **filled
    )


def make_question_type(head: str, lines: Sequence[str]) -> QuestionType:
    """A question type; `-- pool` starts one of its pools. Raises KeyError for an unknown one."""
    field, noun, wh, *revealing = map(str.strip, head.split("|"))
    pools: dict[str, list[str]] = {pool: [] for pool in ASK_POOLS}
    name = ""
    for line in lines:
        if line.startswith("-- "):
            name = line.removeprefix("-- ")
        else:
            pools[name].append(line)
    filled = {pool: PatternPool(*patterns) for pool, patterns in pools.items()}
    return QuestionType(field, noun, wh, revealing=tuple(" ".join(revealing).split()), **filled)
