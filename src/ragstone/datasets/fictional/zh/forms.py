"""The forms of a part of a page other than a report: interview, table, list, notice, chronology.

A form tells the answer, guesses at it from before the event, or says other things of the event; which of the three does
not show in the form, so that no form is better evidence than another.
"""

import datetime as dt
import random
import re
from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeAlias

from ragstone.datasets.fictional.pages import IN_BLOCK
from ragstone.datasets.fictional.parts import Stuck, between, pick, sample, shuffled
from ragstone.datasets.fictional.texts import read_toml
from ragstone.datasets.fictional.zh.domains import ChineseDomain, QuestionType
from ragstone.datasets.fictional.zh.patterns import Pattern, PatternPool, World

Role: TypeAlias = Literal["answer", "guess", "around"]
Form: TypeAlias = Literal["interview", "table", "list", "notice", "record"]
FRAMES = read_toml("zh", "frames")
DAY = re.compile(r"(?:(\d{4})年)?(\d+)月(\d+)日")
NUMBERS = "一二三四五六"


class Writer(Protocol):
    """What a form needs of a writer of passages: its world, and sentences drawn from pools."""

    rng: random.Random
    domain: ChineseDomain
    world: World

    def draw(self, pool: PatternPool, blocked: frozenset[str]) -> Pattern | None: ...

    def fill(self, pattern: Pattern, part: int = 0) -> str: ...

    def sentence(self, pool: PatternPool, blocked: frozenset[str]) -> str: ...

    def stranger(self) -> str: ...


class Part:
    """One part of a page to be written: in which world, in which role, without which fields."""

    def __init__(self, writer: Writer, role: Role, qtype: QuestionType, avoid: frozenset[str]) -> None:
        self.writer, self.role, self.qtype = writer, role, qtype
        self.rng, self.domain, self.world = writer.rng, writer.domain, writer.world
        self.avoid, self.quiet = avoid, avoid | qtype.blocked
        self.world["名"] = qtype.noun
        if role == "guess":
            self.world["答"] = writer.stranger()  # who is in charge does not guess
        self.world["值"] = self.world.get(qtype.field, "")

    def frame(self, name: str) -> str:
        """One of the wordings of a frame, in the present world."""
        return str(pick(self.rng, FRAMES[name])).format_map(self.world)

    def one(self, pool: PatternPool, blocked: frozenset[str]) -> str:
        """A sentence of the pool. Raises Stuck if there is none."""
        text = self.writer.sentence(pool, blocked)
        if not text:
            raise Stuck
        return text

    def some(self, blocked: frozenset[str], least: int, most: int, *pools: PatternPool) -> list[str]:
        """Sentences of these pools in turn."""
        count = between(self.rng, least, most)
        texts = [self.writer.sentence(pools[at % len(pools)], blocked) for at in range(count)]
        return [text for text in texts if text]

    def placed(self, texts: list[str], text: str) -> list[str]:
        """The texts with another anywhere among them."""
        at = int(self.rng.random() * (len(texts) + 1))
        return [*texts[:at], text, *texts[at:]]


def interview(part: Part) -> str:
    """A lead, and questions with their replies."""
    domain, asked = part.domain, part.qtype
    if part.role == "guess":
        blocks = [_pair(part, part.frame("guess_asked"), part.one(asked.rumour, part.quiet))]
        for question, reply in sample(part.rng, FRAMES["guess_more"], between(part.rng, 1, 2)):
            blocks.append(_pair(part, question, reply.format_map(part.world)))
        return "\n".join([part.frame("guess_leads"), *blocks])
    blocks = [_drawn_pair(part, domain.talk, part.quiet) for _ in range(between(part.rng, 1, 2))]
    if part.role == "answer":
        blocks = part.placed(blocks, _drawn_pair(part, asked.qa, part.avoid))
    else:
        blocks.append(_drawn_pair(part, domain.talk, part.quiet))
    return "\n".join([part.frame("interview_leads"), *blocks])


def _drawn_pair(part: Part, pool: PatternPool, blocked: frozenset[str]) -> str:
    pattern = part.writer.draw(pool, blocked)
    if pattern is None:
        raise Stuck
    return _pair(part, part.writer.fill(pattern), part.writer.fill(pattern, 1))


def _pair(part: Part, question: str, reply: str) -> str:
    return f"《{part.world['报']}》：{question}{IN_BLOCK}{part.world['答']}：{reply}"


def table(part: Part) -> str:
    """A title, and rows of an item and its value, or of who guesses what."""
    if part.role == "guess":
        guess = part.one(part.qtype.guess, frozenset())
        rows = [(part.frame("guess_rows"), value) for value in (guess, guess, pick(part.rng, FRAMES["no_guess"]))]
        rows = shuffled(part.rng, rows)
        return _lines(part, part.frame("guess_tables"), rows)
    patterns = [part.writer.draw(part.domain.table, part.quiet) for _ in range(between(part.rng, 4, 6))]
    found = sorted((pattern for pattern in patterns if pattern), key=lambda pattern: pattern.order)
    rows = [(part.writer.fill(pattern), part.writer.fill(pattern, 1)) for pattern in found]
    if part.role == "answer":
        rows.insert(int(part.rng.random() * (len(rows) + 1)), (part.qtype.noun, part.world["值"]))
    return _lines(part, part.frame("table_titles"), rows)


def _lines(part: Part, title: str, rows: list[tuple[str, str]]) -> str:
    """The rows of a table under its title, two or three items a line."""
    cells = [f"{label}｜{value}" for label, value in rows]
    width = 3 if len(cells) % 2 else 2
    return IN_BLOCK.join([title, *("｜".join(cells[at : at + width]) for at in range(0, len(cells), width))])


def listing(part: Part) -> str:
    """A heading and numbered sentences."""
    domain, qtype = part.domain, part.qtype
    if part.role == "guess":
        title, items = "guess_lists", part.placed(
            part.some(part.quiet, 1, 2, domain.wait, domain.color), part.one(qtype.rumour, part.quiet)
        )  # fmt: skip
    elif part.role == "around":
        title, items = "around_lists", part.some(part.quiet, 3, 3, domain.detail, domain.quote, domain.color)
    else:
        title, items = "list_titles", part.placed(
            part.some(part.quiet, 2, 2, domain.detail, domain.color), part.one(qtype.say, part.avoid)
        )  # fmt: skip
    marks = pick(part.rng, (*(f"{number}、" for number in NUMBERS[:1]), "（一）", "·"))
    return _under(part.frame(title), [_numbered(marks, at) + item for at, item in enumerate(items)])


def _under(title: str, lines: list[str]) -> str:
    """Lines under a title that no cut takes from the first of them."""
    return "\n".join([f"{title}{IN_BLOCK}{lines[0]}", *lines[1:]])


def _numbered(mark: str, at: int) -> str:
    return mark.replace("一", NUMBERS[at])


def notice(part: Part) -> str:
    """What those in charge make known, with their name and a date."""
    domain, world = part.domain, part.world
    if part.role == "guess":
        world["说"] = part.one(part.qtype.rumour, part.quiet)
        if "“" in world["说"]:
            raise Stuck
        blocks = [part.frame("guess_notices"), part.frame("guess_bodies")]
        return IN_BLOCK.join([*blocks, f"{world['主办']}　{world['前日']}"])
    lines = part.some(part.quiet, 1, 2, domain.notice)
    if part.role == "answer":
        blocks = [part.frame("notice_titles"), part.frame("notice_bodies") + "".join(lines)]
    else:
        lines += part.some(part.quiet, 1, 1, domain.notice)
        blocks = [part.frame("around_notices"), "".join(lines)]
    return IN_BLOCK.join([*blocks, f"{world['主办']}　{world['电日']}"])


def record(part: Part) -> str:
    """What happened on which day, the answer when it was known."""
    event, told = _date(part.world, "日"), _date(part.world, "前日")
    lines: list[tuple[dt.date, str]] = []
    for _ in range(between(part.rng, 4, 5)):
        pattern = part.writer.draw(part.domain.record, part.quiet)
        if pattern:
            lines.append((event + dt.timedelta(_days(part, pattern)), part.writer.fill(pattern, 1)))
    if part.role == "guess":
        lines = [(day, text) for day, text in lines if day < told]
        lines.append((told, part.one(part.qtype.rumour, part.quiet)))
    elif part.role == "answer":
        when = part.writer.draw(part.qtype.when, frozenset())
        days = int(part.writer.fill(when)) if when else 0
        lines.append((event + dt.timedelta(days), part.one(part.qtype.say, part.avoid)))
    if len(lines) < 2:
        raise Stuck
    lines.sort(key=lambda line: line[0])
    texts = [f"{_day(day, event)}　{text}" for day, text in lines]
    return _under(part.frame("record_titles"), texts)


def _days(part: Part, pattern: Pattern) -> int:
    """How many days from the event: about as many as the pattern says, and the same whenever it is told of."""
    days = int(part.writer.fill(pattern))
    more = (7 * _date(part.world, "日").timetuple().tm_yday + 13 * pattern.order) % (abs(days) // 6 + 1)
    return days + (more if days > 0 else -more)


def _date(world: World, field: str) -> dt.date:
    found = DAY.fullmatch(world[field])
    assert found is not None
    year, month, day = found.groups()
    date = dt.date(int(year or world.get("报年", world["年"])), int(month), int(day))
    return date if field == "日" or date <= _date(world, "日") else date.replace(year=date.year - 1)


def _day(day: dt.date, event: dt.date) -> str:
    return (f"{day.year}年" if day.year != event.year else "") + f"{day.month}月{day.day}日"


WRITERS: Mapping[Form, Callable[[Part], str]] = {
    "interview": interview, "table": table, "list": listing, "notice": notice, "record": record,
}  # fmt: skip
FORMS: tuple[Form, ...] = tuple(WRITERS)


def write_form(writer: Writer, form: Form, role: Role, qtype: QuestionType, avoid: frozenset[str]) -> str:
    """A part of a page in this form, in the writer's present world. Raises Stuck if there is nothing to say."""
    return WRITERS[form](Part(writer, role, qtype, avoid))
