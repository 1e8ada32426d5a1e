"""Questions with their passages: which event, which answer, which kinds of documents."""

import random
from collections.abc import Sequence

from ragstone.datasets.fictional.pages import DECOYS, About, Beside, Difficulty, Item, with_pages
from ragstone.datasets.fictional.parts import Document, GeneratedItem, Stuck, between, chance, pick, shuffled
from ragstone.datasets.fictional.worlds import EventSeries
from ragstone.datasets.fictional.zh.domains import ChineseDomain, QuestionType
from ragstone.datasets.fictional.zh.patterns import World
from ragstone.datasets.fictional.zh.writer import PassageWriter

Aliases = tuple[str, ...]
# The parts of a page are shorter than passages of one report.
ON_PAGES = (60, 150)
TRIES = 12  # rewrites of one passage before the whole question is drawn anew
MIN_PART = 40
MIN_CHARACTERS, MAX_CHARACTERS = 60, 450


def hidden(aliases: Sequence[str], world: World, but: frozenset[str]) -> bool:
    """Whether no field of the world, other than `but`, contains any of the aliases."""
    return not any(
        alias in text for key, text in world.items() if key not in but and key[-1] != "#" for alias in aliases
    )


def event(
    rng: random.Random, domain: ChineseDomain, series: EventSeries, years: int, other_category: bool, *secret: Aliases
) -> World:
    """An event of the series in which none of the secret answers of another event occurs."""
    for _ in range(40):
        world = domain.worlds.edition(rng, series, _years=years, _other=other_category)
        if all(hidden(aliases, world, frozenset()) for aliases in secret):
            return world
    raise Stuck


def subject(
    rng: random.Random, domain: ChineseDomain, series: EventSeries, question_types: Sequence[QuestionType]
) -> World:
    """The event asked about: each answer occurs in its own fields only."""
    for _ in range(40):
        world = domain.worlds.edition(rng, series, _years=0, _other=False)
        if all(hidden(qtype.aliases(world), world, qtype.blocked) for qtype in question_types):
            return world
    raise Stuck


def write(
    writer: PassageWriter,
    kind: str,
    qtype: QuestionType,
    world: World,
    never: Sequence[str],
    *,
    must: Aliases = (),
    avoid: frozenset[str] = frozenset(),
    most: int = MAX_CHARACTERS,
) -> Document:
    """A document of the right length that contains one of `must` (if given) and none of `never`. Raises Stuck."""
    for _ in range(TRIES):
        document = writer.document(kind, qtype, world, avoid)
        text = document.text
        if not MIN_CHARACTERS <= len(text) <= most or any(alias in text for alias in never):
            continue
        if must and not any(alias in text for alias in must):
            continue
        if writer.is_new(text):
            writer.keep(text)
            return document
    raise Stuck


def topic(world: World) -> str:
    """What a question calls the event."""
    return world.get("题", world["事"])


def question(rng: random.Random, qtype: QuestionType, world: World) -> str:
    """One of the wordings of a question with one answer."""
    if chance(rng, 0.75):
        return pick(rng, pick(rng, qtype.query.patterns).parts[0]).format_map(world)
    ending = pick(rng, ("？", "？", ""))
    return f"{topic(world)}的{qtype.noun}是{qtype.wh}{ending}"


def kinds_of_positives(rng: random.Random, count: int) -> list[str]:
    """At least one of each kind, about half plain."""
    kinds = ["plain", "far", "brief"]
    while len(kinds) < count:
        draw = rng.random()
        kinds.append("plain" if draw < 0.55 else "far" if draw < 0.83 else "brief")
    return kinds


def kinds_of_negatives(rng: random.Random, count: int) -> list[str]:
    """Two of each kind, the rest by chance."""
    kinds = ["rumour", "other_year", "other_category", "related"] * 2
    while len(kinds) < count:
        kinds.append(pick(rng, ("rumour", "other_year", "other_category", "related", "related")))
    return kinds


def years_apart(rng: random.Random) -> tuple[int, int]:
    """Two editions near the one asked about."""
    first = pick(rng, (-1, -1, 1, -2))
    return first, pick(rng, tuple(n for n in (-3, -2, -1, 1, 2) if n != first))


def statement(rng: random.Random) -> str:
    """How a report of a page states what is asked."""
    return pick(rng, ("plain", "plain", "plain", "far", "brief"))


def around(
    writer: PassageWriter, qtype: QuestionType, world: World, never: Sequence[str], must_not: frozenset[str]
) -> Document:
    """A text about an event that does not state what is asked: in half of the cases it states something else."""
    types = [other for other in writer.domain.question_types if other.blocked.isdisjoint(qtype.blocked)]
    blocked = must_not | qtype.blocked
    for _ in range(TRIES):
        if types and chance(writer.rng, 0.5):
            told = writer.document("plain", pick(writer.rng, types), world, blocked)
        else:
            told = writer.document("related", qtype, world, blocked)
        if len(told.text) >= MIN_PART and not any(alias in told.text for alias in never):
            return Document(told.text, "related")
    raise Stuck


def part_of_page(
    writer: PassageWriter, kind: str, qtype: QuestionType, world: World, never: Sequence[str], must: Aliases = (),
    avoid: frozenset[str] = frozenset(),
) -> Document:  # fmt: skip
    """As `write`, for a part of a page: shorter, and like other parts of the question it may use their sentences."""
    for _ in range(TRIES):
        document = writer.document(kind, qtype, world, avoid)
        text = document.text
        if len(text) < MIN_PART or any(alias in text for alias in never):
            continue
        if not must or any(alias in text for alias in must):
            return document
    raise Stuck


def beside(
    writer: PassageWriter, events: Sequence[tuple[World, QuestionType]], others: Sequence[World],
    never: Sequence[str], avoid: frozenset[str] = frozenset(),
) -> Beside:  # fmt: skip
    """Writes what stands on the pages of one question: of the events asked about, each with what is asked, of the first
    of the others, or of any of them. `avoid`: fields that may not be told of the events."""

    def write_item(item: Item, about: About) -> str:
        rng = writer.rng
        event_world, qtype = pick(rng, events)
        world = event_world if about == "event" else others[0] if about == "rival" else pick(rng, others)
        silent = avoid if about == "event" else frozenset[str]()
        if item == "preview":
            return part_of_page(writer, "rumour", qtype, world, never, avoid=silent).text
        if item == "around":
            return around(writer, qtype, world, never, silent).text
        return part_of_page(writer, statement(rng), qtype, world, never).text

    return write_item


def one_on_pages(rng: random.Random, domain: ChineseDomain, difficulty: Difficulty) -> GeneratedItem:
    """A question with one answer, as `one_answer`, with passages of pages."""
    series = domain.worlds.series(rng)
    qtype = pick(rng, domain.question_types)
    world = subject(rng, domain, series, (qtype,))
    answer = qtype.aliases(world)
    years = [event(rng, domain, series, n, False, answer) for n in years_apart(rng)]
    other_events = [event(rng, domain, series, n, True, answer) for n in (0, pick(rng, (0, -1)))]
    writer = PassageWriter(rng, domain, ON_PAGES, respell=True)
    count = between(rng, 5, 7)
    positive = [part_of_page(writer, statement(rng), qtype, world, (), answer) for _ in range(count)]
    negative = []
    for kind in shuffled(rng, kinds_of_negatives(rng, between(rng, 8, 11))):
        about = pick(rng, {"other_year": years, "other_category": other_events}.get(kind, [world]))
        if kind == "related":
            negative.append(around(writer, qtype, about, answer, frozenset()))
        else:
            how = kind if kind == "rumour" else statement(rng)
            negative.append(Document(part_of_page(writer, how, qtype, about, answer).text, kind))
    others = [*years, *other_events]
    both = with_pages(rng, [*positive, *negative], beside(writer, [(world, qtype)], others, answer), DECOYS[difficulty])
    query = question(rng, qtype, world)
    return GeneratedItem(query, (answer,), (tuple(both[:count]),), tuple(both[count:]), domain.name)


def one_answer(rng: random.Random, domain: ChineseDomain, difficulty: Difficulty) -> GeneratedItem:
    """A question with one answer: five to eight positives in one group, nine to thirteen negatives."""
    if difficulty != "easy":
        return one_on_pages(rng, domain, difficulty)
    series = domain.worlds.series(rng)
    qtype = pick(rng, domain.question_types)
    world = subject(rng, domain, series, (qtype,))
    answer = qtype.aliases(world)
    years = [event(rng, domain, series, n, False, answer) for n in years_apart(rng)]
    other_events = [event(rng, domain, series, n, True, answer) for n in (0, pick(rng, (0, -1)))]
    writer = PassageWriter(rng, domain)
    kinds = kinds_of_positives(rng, between(rng, 5, 7))
    positive = [write(writer, kind, qtype, world, (), must=answer) for kind in kinds]
    negative = []
    for kind in kinds_of_negatives(rng, between(rng, 8, 11)):
        about = pick(rng, {"other_year": years, "other_category": other_events}.get(kind, [world]))
        negative.append(write(writer, kind, qtype, about, answer))
    query = question(rng, qtype, world)
    return GeneratedItem(
        query, (answer,), (tuple(shuffled(rng, positive)),), tuple(shuffled(rng, negative)), domain.name
    )


def two_answers(rng: random.Random, domain: ChineseDomain, difficulty: Difficulty) -> GeneratedItem:
    """A question that needs two facts: of one event, or the same of two events. Three or more documents a slot."""
    series = domain.worlds.series(rng)
    if chance(rng, 0.6):
        question_types, worlds, query = two_facts_of_one_event(rng, domain, series)
        nearby, silent = series, question_types[0].blocked | question_types[1].blocked
    else:
        question_types, worlds, query = one_fact_of_two_events(rng, domain, series)
        nearby, silent = domain.worlds.series(rng), question_types[0].blocked
    answers = (question_types[0].aliases(worlds[0]), question_types[1].aliases(worlds[1]))
    if any(a in b or b in a for a in answers[0] for b in answers[1]):
        raise Stuck
    on_pages = difficulty != "easy"
    writer = PassageWriter(rng, domain, ON_PAGES if on_pages else None, respell=on_pages)
    groups = []
    for i in (0, 1):
        avoid = question_types[1 - i].blocked if question_types[0] is not question_types[1] else frozenset[str]()
        never, must = answers[1 - i], answers[i]
        kinds = kinds_of_positives(rng, between(rng, 3, 4))
        group = [write(writer, kind, question_types[i], worlds[i], never, must=must, avoid=avoid) for kind in kinds]
        groups.append(tuple(shuffled(rng, group)))
    years = [event(rng, domain, series, n, False, *answers) for n in (-4, 3)]
    other_events = [event(rng, domain, nearby, n, True, *answers) for n in (0, -3)]
    negative = []
    for kind in kinds_of_negatives(rng, between(rng, 8, 11)):
        side = between(rng, 0, 1)
        about = pick(rng, {"other_year": years, "other_category": other_events}.get(kind, [worlds[side]]))
        avoid = frozenset[str]() if kind.startswith("other") else silent
        negative.append(write(writer, kind, question_types[side], about, (*answers[0], *answers[1]), avoid=avoid))
    if on_pages:
        others, never = [*years, *other_events], (*answers[0], *answers[1])
        page = beside(writer, list(zip(worlds, question_types, strict=True)), others, never, silent)
        groups = [tuple(with_pages(rng, group, page, DECOYS[difficulty])) for group in groups]
        negative = with_pages(rng, negative, page, DECOYS[difficulty])
    return GeneratedItem(query, answers, tuple(groups), tuple(shuffled(rng, negative)), domain.name)


Two = tuple[tuple[QuestionType, QuestionType], tuple[World, World], str]


def two_facts_of_one_event(rng: random.Random, domain: ChineseDomain, series: EventSeries) -> Two:
    """Two different question types for one world, and the question for both."""
    first, second = shuffled(rng, domain.question_types)[:2]
    world = subject(rng, domain, series, (first, second))
    return (first, second), (world, world), question_of_two_facts(rng, first, second, world)


def one_fact_of_two_events(rng: random.Random, domain: ChineseDomain, series: EventSeries) -> Two:
    """The same question type for two worlds (two editions or two categories), neither of which contains the other's
    answer."""
    qtype = pick(rng, domain.question_types)
    world = subject(rng, domain, series, (qtype,))
    years, category = pick(rng, ((-1, False), (-2, False), (1, False), (0, True)))
    other_category = event(rng, domain, series, years, category, qtype.aliases(world))
    answer = qtype.aliases(other_category)
    if not hidden(answer, world, frozenset()) or not hidden(answer, other_category, qtype.blocked):
        raise Stuck
    query = pick(
        rng,
        (
            f"{topic(world)}和{topic(other_category)}的{qtype.noun}分别是{qtype.wh}？",
            f"{topic(world)}的{qtype.noun}是{qtype.wh}，{topic(other_category)}的呢？",
            f"{topic(world)}与{topic(other_category)}，两者的{qtype.noun}各是{qtype.wh}",
        ),
    )
    return (qtype, qtype), (world, other_category), query


def question_of_two_facts(rng: random.Random, first: QuestionType, second: QuestionType, world: World) -> str:
    """A question for two facts of one event."""
    if first.wh == second.wh:
        return f"{topic(world)}的{first.noun}和{second.noun}{pick(rng, ('分别是', '各是'))}{first.wh}？"
    return pick(
        rng,
        (
            f"{topic(world)}的{first.noun}是{first.wh}，{second.noun}是{second.wh}？",
            f"{topic(world)}的{first.noun}和{second.noun}分别是什么？",
            f"请问{topic(world)}的{first.noun}是{first.wh}？{second.noun}又是{second.wh}？",
        ),
    )
