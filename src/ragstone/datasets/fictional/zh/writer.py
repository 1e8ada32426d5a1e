"""How a Chinese news passage is put together: pools that do not repeat themselves, and styles."""

import random
import re

from ragstone.datasets.fictional.parts import Document, Drawn, Stuck, chance, pick, weighted
from ragstone.datasets.fictional.texts import read_toml
from ragstone.datasets.fictional.zh.domains import ChineseDomain, QuestionType
from ragstone.datasets.fictional.zh.forms import FORMS, Role, write_form
from ragstone.datasets.fictional.zh.patterns import Pattern, PatternPool, World

FRAMES = read_toml("zh", "frames")
DATELINES, EARLY_DATELINES, TAILS = (PatternPool(*FRAMES[name]) for name in ("datelines", "early_datelines", "tails"))
NEWS_DATELINES, NEWS_EARLY_DATELINES = (
    PatternPool(*FRAMES[name]) for name in ("news_datelines", "news_early_datelines")
)
MOST_USES = 3  # of a sentence that a passage can do without, in one row whose sentences are to vary
PARAGRAPH = "　　"
AMOUNT = re.compile("[0-9一二三四五六七八九十]|百分之")
SHARE_OF_FORMS = {"answer": 0.6, "guess": 0.45, "around": 0.45}  # that are no reports, of varied parts of pages
UNUSUAL = re.compile(r"^0\.|[百千](?!分)|\d{7}")  # an amount that no paper spells like this
MOST_SHARED = 0.28  # of the shorter of two passages, in sentences of the same pattern; names come on top
Menu = tuple[tuple[float, PatternPool], ...]


class PassageWriter:
    """Writes the passages of one item, using each pattern once before using any again. All chance comes from `rng`.
    `characters`: minimum and maximum length of passages, instead of the usual one of their kind; brief ones stay
    brief. `respell`: each passage has the amounts in one of their spellings, and sentences seldom recur."""

    def __init__(
        self, rng: random.Random, domain: ChineseDomain, characters: tuple[int, int] | None = None, *,
        respell: bool = False,
    ) -> None:  # fmt: skip
        self.rng, self.domain, self.characters, self.respell = rng, domain, characters, respell
        self.random = rng.random
        self.remaining: dict[PatternPool, list[Pattern]] = {}
        self.world: World = {}
        self.free = (domain.detail, domain.quote, domain.color, domain.close, domain.wait, domain.common)
        self.uses: dict[Pattern, int] = {}
        self.used: list[Pattern] = []  # the patterns of the present passage
        self.written: list[tuple[int, dict[Pattern, int]]] = []  # its length and its sentences', for each kept

    # Drawing and filling

    def draw(self, pool: PatternPool, blocked: frozenset[str]) -> Pattern | None:
        """A pattern not yet used in this item (any, when all were), never one used in this passage before, that has
        none of the blocked fields; None if there is none."""
        for refill in (False, True):
            remaining = self.remaining.get(pool)
            if remaining is None or refill:
                remaining = self.remaining[pool] = pool.patterns.copy()
            start = int(self.random() * len(remaining)) if remaining else 0
            for i in range(start, start + len(remaining)):
                at = i - len(remaining) if i >= len(remaining) else i
                pattern = remaining[at]
                if (
                    pattern.fields.isdisjoint(blocked)
                    and pattern not in self.used
                    and self.uses.get(pattern, 0) < MOST_USES
                ):
                    if self.respell and pool in self.free and not pattern.draws:
                        self.uses[pattern] = self.uses.get(pattern, 0) + 1
                    remaining[at] = remaining[-1]
                    remaining.pop()
                    self.used.append(pattern)
                    return pattern
        return None

    def fill(self, pattern: Pattern, part: int = 0) -> str:
        """One spelling of a part of a pattern, in the present world."""
        if part == 0 and "甲" in pattern.fields:
            self.world["甲"] = self.stranger()  # every man in the street is another one
        spellings = pattern.parts[part]
        return spellings[int(self.random() * len(spellings))].format_map(self.world)

    def sentence(self, pool: PatternPool, blocked: frozenset[str]) -> str:
        """A sentence of the pool, "" if none may be used."""
        pattern = self.draw(pool, blocked)
        return self.fill(pattern) if pattern else ""

    def begin(self, world: World, secret: frozenset[str]) -> None:
        """Start a passage about this world, by a new paper with new people; the paper's name reveals no secret."""
        rng, names = self.rng, self.domain.names
        self.used = []
        local = "外" not in world and "地" not in secret and self.random() < 0.5
        home = world["地"].removesuffix("市") if local else names.place(rng)
        around = {
            "报": names.newspaper(rng, home),
            "记者": names.person(rng),
            "乙": names.person(rng),
            "日": world["月日"],
            "驻": home,
        }
        self.world = Drawn({**world, **around}, rng, names.draws, str)
        if self.respell:
            self.world.update({key: self.respelt(world, key) for key in world if key + "#" in world})
        self.world["甲"] = self.stranger()

    def respelt(self, world: World, key: str) -> str:
        """An amount in one of its spellings that papers use and that end in the same unit; anything else as it is."""
        value = world[key]
        others = [
            other
            for other in world[key + "#"].split("|")
            if AMOUNT.match(other) and other[-1:] == value[-1:] and not UNUSUAL.search(other)
        ]
        return pick(self.rng, [value, *others]) if AMOUNT.match(value) else value

    def target(self, least: int, span: int) -> float:
        """The target length of a passage that usually has `least` to `least` + `span` characters."""
        if self.characters:
            least, span = self.characters[0], self.characters[1] - self.characters[0]
        return least + self.random() * span

    def stranger(self) -> str:
        """A name of the country where the event takes place."""
        names = self.domain.names
        return names.foreigner(self.rng)[0] if "外" in self.world else names.person(self.rng)

    # Pieces of passages

    def opening(self, blocked: frozenset[str], *, early: bool = False) -> str:
        """Where and when a report was written, or nothing."""
        if self.respell:
            datelines = NEWS_EARLY_DATELINES if early else NEWS_DATELINES
        else:
            datelines = EARLY_DATELINES if early else DATELINES
        return self.sentence(datelines, blocked) if self.random() < 0.5 else ""

    def sentences(self, blocked: frozenset[str], target: float, length: float, menu: Menu) -> list[str]:
        """Sentences drawn from the menu's pools until the target length is reached, in an order that reads well: what
        happened as it happened, speech after some of them, background in a block of its own, the outlook last."""
        domain = self.domain
        drawn: list[tuple[PatternPool, Pattern, str]] = []
        for _ in range(24 if self.characters else 12):
            if length >= target:
                break
            pool = weighted(self.rng, menu)
            if pool in (domain.quote, domain.close) and any(pool is other for other, *_ in drawn):
                continue
            pattern = self.draw(pool, blocked)
            if pattern:
                text = self.fill(pattern)
                drawn.append((pool, pattern, text))
                length += len(text)
        details = [text for _, _, text in sorted((x for x in drawn if x[0] is domain.detail), key=lambda x: x[1].order)]
        speech = [text for pool, _, text in drawn if pool is domain.quote]
        around = [text for pool, _, text in drawn if pool not in (domain.detail, domain.quote, domain.close)]
        outlook = [text for pool, _, text in drawn if pool is domain.close]
        style = self.random()
        if style < 0.5:
            return [*details, *speech, *around, *outlook]
        if style < 0.7:
            return [*around, *details, *speech, *outlook]
        half = len(details) // 2 + 1
        return [*details[:half], *around, *details[half:], *speech, *outlook]

    def join(self, blocks: list[str]) -> str:
        """The blocks as one text; in a third of the passages a paragraph is marked, as in text taken from a page."""
        blocks = [block for block in blocks if block]
        if self.random() < 0.35 and len(blocks) > 2:
            cut = 1 + int(self.random() * (len(blocks) - 1))
            blocks.insert(cut, PARAGRAPH)
        return "".join(blocks).replace(PARAGRAPH * 2, PARAGRAPH).strip("　")

    def tail(self) -> str:
        return "" if self.respell else self.sentence(TAILS, frozenset()) if self.random() < 0.1 else ""

    # Passages that state the answer (of the world's event: negatives, when the world is another year's)

    def brief(self, qtype: QuestionType, avoid: frozenset[str]) -> str:
        """A short item: the answer at once and hardly more."""
        state = self.sentence(qtype.state, avoid)
        head = self.sentence(qtype.head, avoid) if self.random() < 0.4 else ""
        if head:
            text = (f"【{head}】" if self.random() < 0.6 else head + PARAGRAPH) + state
        else:
            flash = pick(self.rng, FRAMES["news_flashes" if self.respell else "flashes"]).format_map(self.world)
            text = flash + state
        domain = self.domain
        menu = ((3.0, domain.detail), (1.0, domain.close))
        return text + "".join(self.sentences(avoid | qtype.blocked, 62 + self.random() * 40, len(text), menu))

    def plain(self, qtype: QuestionType, avoid: frozenset[str]) -> str:
        """A report of middle length: the answer at the start, after the lead, in speech, or after some background."""
        domain, quiet = self.domain, avoid | qtype.blocked
        target = self.target(105, 215)
        menu = (
            (4.0, domain.detail),
            (1.4, domain.color),
            (0.6, domain.common),
            (1.6, domain.quote),
            (0.8, domain.close),
        )
        style = self.random()
        dateline = self.opening(avoid)
        if style < 0.34:  # the answer in the first sentence
            state = self.sentence(qtype.state, avoid)
            title = self.sentence(domain.title, quiet) + PARAGRAPH if self.random() < 0.2 else ""
            blocks = [title + dateline + state]
        elif style < 0.64:  # lead, then the answer
            blocks = [dateline + self.sentence(domain.lead, quiet)]
            if self.random() < 0.5:
                blocks.append(self.sentence(domain.detail, quiet))
            blocks.append(self.sentence(qtype.say, avoid))
        elif style < 0.82:  # background first
            blocks = [self.sentence(domain.color, quiet), self.sentence(qtype.state, avoid)]
        else:
            return self.join([*self.interview(qtype, avoid, target), self.tail()])
        blocks += self.sentences(quiet, target, sum(map(len, blocks)), menu)
        return self.join([*blocks, self.tail()])

    def interview(self, qtype: QuestionType, avoid: frozenset[str], target: float) -> list[str]:
        """Lead, question and reply, further sentences."""
        domain, quiet = self.domain, avoid | qtype.blocked
        pattern = self.draw(qtype.qa, avoid)
        lead = self.sentence(domain.lead, quiet)
        if pattern is None:
            return [lead, self.sentence(qtype.say, avoid)]
        before, between = pick(self.rng, FRAMES["news_questions" if self.respell else "questions"])
        talk = (
            before.format_map(self.world) + self.fill(pattern) + between.format_map(self.world) + self.fill(pattern, 1)
        )
        menu = ((2.0, domain.detail), (0.7, domain.color), (0.3, domain.common))
        rest = self.sentences(quiet, target, len(lead) + len(talk), menu)
        half = len(rest) // 2
        return [lead, *rest[:half], PARAGRAPH + talk + PARAGRAPH, *rest[half:]]

    def far(self, qtype: QuestionType, avoid: frozenset[str]) -> str:
        """What is asked about comes first, the answer much later, linked only by a pronoun or a description."""
        domain, quiet = self.domain, avoid | qtype.blocked
        pattern = self.draw(qtype.far, avoid)
        if pattern is None:
            return self.plain(qtype, avoid)
        opening = self.opening(quiet) + self.fill(pattern)
        target = self.target(170, 190)
        menu = ((3.0, domain.detail), (1.6, domain.color), (0.7, domain.common), (1.5, domain.quote))
        middle = self.sentences(quiet, target, len(opening), menu)
        ending = self.fill(pattern, 1)
        after = self.sentence(domain.close, quiet) if self.random() < 0.4 else ""
        return self.join([opening, *middle, ending, after + self.tail()])

    # Passages that do not

    def rumour(self, qtype: QuestionType, avoid: frozenset[str]) -> str:
        """A report from before the event: guesses that name a candidate."""
        domain, quiet = self.domain, avoid | qtype.blocked
        blocks = [self.opening(quiet | {"电日"}, early=True) + self.sentence(domain.pre, quiet)]
        if self.random() < 0.5:
            blocks.append(self.sentence(domain.wait, quiet))
        blocks.append(self.sentence(qtype.rumour, quiet))
        menu = ((3.0, domain.wait), (1.0, domain.color), (0.5, domain.common))
        blocks += self.sentences(quiet, self.target(90, 160), sum(map(len, blocks)), menu)
        return self.join([*blocks, self.tail()])

    def related(self, avoid: frozenset[str]) -> str:
        """A report on the same event, or on something near it, that does not answer the question."""
        domain = self.domain
        aside = self.random() < 0.45
        lead = self.sentence(domain.aside if aside else domain.lead, avoid)
        blocks = [self.opening(avoid) + lead]
        menu = (
            (1.2 if aside else 3.0, domain.detail),
            (1.8, domain.color),
            (0.7, domain.common),
            (1.5, domain.quote),
            (0.6, domain.close),
        )
        blocks += self.sentences(avoid, self.target(100, 220), len(blocks[0]), menu)
        return self.join([*blocks, self.tail()])

    # Documents

    def is_new(self, text: str) -> bool:
        """Whether the passage just written shares little enough with each that was kept."""
        for length, lengths in self.written:
            shared = sum([lengths[pattern] for pattern in self.used if pattern in lengths])
            if shared > MOST_SHARED * min(len(text), length):
                return False
        return True

    def keep(self, text: str) -> None:
        """Remember the passage just written; later ones are to differ from it."""
        self.written.append((len(text), {pattern: pattern.length for pattern in self.used}))

    def document(self, kind: str, qtype: QuestionType, world: World, avoid: frozenset[str] = frozenset()) -> Document:
        """A passage of this kind about the world's event, without the fields to avoid."""
        self.begin(world, avoid | qtype.blocked)
        if self.respell:
            return Document(self.varied(kind, qtype, avoid), kind)
        return Document(self.report(kind, qtype, avoid), kind)

    def varied(self, kind: str, qtype: QuestionType, avoid: frozenset[str]) -> str:
        """A passage of this kind in one of many forms, paragraphs on lines of their own."""
        role: Role = "guess" if kind == "rumour" else "around" if kind == "related" else "answer"
        if kind not in ("brief", "far") and chance(self.rng, SHARE_OF_FORMS[role]):
            used = self.used.copy()
            try:
                return write_form(self, pick(self.rng, FORMS), role, qtype, avoid)
            except Stuck:
                self.used = used
        return self.report(kind, qtype, avoid).replace(PARAGRAPH, "\n").strip("\n")

    def report(self, kind: str, qtype: QuestionType, avoid: frozenset[str]) -> str:
        """A report of this kind in the present world."""
        if kind == "plain":
            return self.plain(qtype, avoid)
        if kind == "brief":
            return self.brief(qtype, avoid)
        if kind == "far":
            return self.far(qtype, avoid)
        if kind == "rumour":
            return self.rumour(qtype, avoid)
        if kind == "related":
            return self.related(avoid | qtype.blocked)
        # another year or category: written as any answer would be, but for another event
        style = self.random()
        write = self.plain if style < 0.55 else self.brief if style < 0.75 else self.far
        return write(qtype, avoid)
