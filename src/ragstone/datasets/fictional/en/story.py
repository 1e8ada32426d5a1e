"""The storyteller: writes news about a world by a grammar, without repeating itself."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from random import Random
from typing import NamedTuple, TypeAlias

from ragstone.datasets.fictional.en.grammar import Choice, Grammar, Part, Var
from ragstone.datasets.fictional.pages import IN_BLOCK
from ragstone.datasets.fictional.parts import Deck, Unmet, shuffled


class Person(NamedTuple):
    """An invented person: full name, surname and pronouns."""

    name: str
    s: str
    he: str
    his: str
    him: str


class Day(NamedTuple):
    """A date as news writes it. `day` and `long` follow the passage's style, British or American."""

    dm: str
    md: str
    dmy: str
    mdy: str
    my: str
    month: str
    weekday: str
    y: str


# Sections that lead away from the subject: a few sentences of them will do.
ASIDES = ("bg", "react")
# An apposition right after a name: who was introduced in this passage is not introduced again.
# A person in an unfinished passage: full name, surname, a mark that tells whether an introduction may be left out,
# and that introduction, an apposition right after the name.
MENTION = re.compile("\x02([^\x03]*)\x03([^\x04\x05]*)([\x04\x05])(, (?:an?|the) [a-z' -]+(?:,(?= )|(?=\\.)))?")
# Sections whose sentences tell of one edition only: those of other years have others.
PARTED = ("detail", "scene", "quote")
MAIN_SHARE = 0.55
# Sections that a passage can do without; how often a sentence of them may be written in one row.
FREE = ("detail", "scene", "quote", "bg", "react", "pre", "prequote", "source")
MOST_USES = 3

World: TypeAlias = Mapping[str, "str | Person | Day"]
# Words written with a vowel and spoken without one, and the other way round.
CONSONANT_SOUND = re.compile(r"(?i)(?:uni(?!n|m)|us[aeiu]|eu|one\b|once\b|u\b)")
VOWEL_SOUND = re.compile(r"[AEIOUaeiou]|[Hh](?:our|eir|onest|onou?r)|8|1[18](?![0-9])|[FHLMNRSX](?=[A-Z])")


def _draws(parts: tuple[Part, ...]) -> bool:
    """Whether a template has a value that is drawn anew wherever it stands."""
    return any(isinstance(part, Var) and part.key[0] == "~" for part in parts)


def with_article(text: str) -> str:
    """The text with its indefinite article."""
    vowel = VOWEL_SOUND.match(text) and not CONSONANT_SOUND.match(text)
    return f"{'an' if vowel else 'a'} {text}"


def amount(text: str, style: int) -> str:
    """An amount or a share in another style of newspapers: `$8.4m` (1) or `8.4 million dollars` (2), `51.2%` (1) or
    `51.2 percent` (2). Any other text as it is."""
    if match := MONEY.fullmatch(text):
        figure, unit = match.groups()
        return f"${figure}{'bn' if unit == 'billion' else 'm'}" if style == 1 else f"{figure} {unit} dollars"
    if match := SHARE.fullmatch(text):
        return match.group(1) + ("%" if style == 1 else " percent")
    return text


def _possessive(text: str) -> str:
    return text + ("'" if text.rstrip("\x04\x05").endswith("s") else "'s")


def _capital(text: str) -> str:
    start = 1 if text[:1] in "\"'(" else 0
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]


BLOCK_ENDS = re.compile(" *¶¶(?: *¶¶)* *")
# Amounts that newspapers write in different ways begin like this.
AMOUNT = frozenset("$0123456789")
MONEY = re.compile(r"\$([\d.]+) (million|billion)")
SHARE = re.compile(r"([\d.]+)(?: per cent| percent|%)")
# What may need a capital: a small letter, or a mark before one.
CAPITALISED = frozenset("abcdefghijklmnopqrstuvwxyz\"'(")
FORMS = {"a": with_article, "s": _possessive, "cap": _capital, "up": str.upper}


@cache
def _symbols(form: str) -> tuple[tuple[str, bool, bool], ...]:
    """The sections of a form: name, whether it repeats, and whether it is optional."""
    return tuple((symbol.rstrip("?*"), symbol.endswith("*"), symbol.endswith("?")) for symbol in form.split())


def spelt(text: str) -> str:
    """The text with mentions of persons as in news: in full the first time, then by the surname and without the
    introduction, except for the person asked about, whose introduction may be the answer."""
    introduced: dict[str, None] = {}

    def spell(match: re.Match[str]) -> str:
        name, surname, mark, introduction = match.groups(default="")
        if name not in introduced:
            introduced[name] = None
            return name + introduction
        return surname + (introduction if mark == "\x05" else "")

    return MENTION.sub(spell, text)


def laid_out(text: str) -> str:
    """The text with its marks as line breaks: `¶¶` around a block, `¶` within one, where a page is not cut."""
    return BLOCK_ENDS.sub("\n", text).strip("\n").replace("¶", IN_BLOCK).replace("¦", "|")


class Story:
    """Writes passages about one world. `decks` is shared by all stories of a row, so that a sentence is used again only
    when all its alternatives are; no sentence that holds one of `avoid` (lower case) is ever written. In a passage a
    person is named in full once, and by the surname after that. With `varied`, amounts are written in the style of the
    passage, as dates always are, and a sentence of no drawn value is written at most three times in all that share
    `uses`."""

    def __init__(
        self,
        grammar: Grammar,
        world: World,
        rng: Random,
        decks: dict[str, Deck[tuple[Part, ...]]],
        *,
        field: str = "",
        side: str = "main",
        avoid: Iterable[str] = (),
        varied: bool = False,
        uses: dict[int, int] | None = None,
    ) -> None:
        self.grammar, self.world, self.rng, self.decks = grammar, world, rng, decks
        self.field, self.avoid = field, tuple(avoid)
        self.keys = {section: f"{section} {side}" for section in PARTED}
        self.random = rng.random
        self.american = rng.random() < 0.5
        self.varied, self.style = varied, 0
        self.uses: dict[int, int] = {} if uses is None else uses
        # What the last passage was made of: template to characters.
        self.lengths: dict[int, int] = {}

    def draw(self, section: str, lengths: dict[int, int] | None = None) -> str:
        """A sentence of the section. `lengths` is filled with the templates that this passage has used, and how many
        characters each has given; none is used twice."""
        deck = self.decks.get(self.keys.get(section, section)) or self._deck(section)
        draw, used_lengths, avoid = deck.draw, {} if lengths is None else lengths, self.avoid
        for _ in range(3 * len(deck.items)):
            template = draw()
            if id(template) in used_lengths or self.uses.get(id(template), 0) >= MOST_USES:
                continue
            pieces: list[str] = []
            try:
                self._expand(template, pieces)
            except KeyError:
                continue
            text = "".join(pieces)
            if text[0] in CAPITALISED:
                text = _capital(text)
            if avoid:
                lower = text.lower()
                for part in avoid:
                    if part in lower:
                        break
                else:
                    return self._used(template, text, section, used_lengths)
                continue
            return self._used(template, text, section, used_lengths)
        raise Unmet(section)

    def _used(self, template: tuple[Part, ...], text: str, section: str, lengths: dict[int, int]) -> str:
        """The text, with its template counted."""
        lengths[id(template)] = len(text)
        if self.varied and section in FREE and not _draws(template):
            self.uses[id(template)] = self.uses.get(id(template), 0) + 1
        return text

    def _deck(self, section: str) -> Deck[tuple[Part, ...]]:
        lines = self.grammar.get(section, ())
        if section not in PARTED:
            self.decks[section] = Deck(self.rng, lines)
            return self.decks[section]
        mixed = shuffled(self.rng, lines)
        cut = round(MAIN_SHARE * len(mixed))
        self.decks[f"{section} main"] = Deck(self.rng, mixed[:cut])
        self.decks[f"{section} other"] = Deck(self.rng, mixed[cut:])
        return self.decks[self.keys[section]]

    def _size(self, section: str) -> int:
        deck = self.decks.get(self.keys.get(section, section))
        return len(deck.items) if deck else len(self.grammar[section])

    def _expand(self, parts: tuple[Part, ...], pieces: list[str]) -> None:
        for part in parts:
            if isinstance(part, str):
                pieces.append(part)
            elif isinstance(part, Var):
                key, attr, form = part
                value = self.world[key]
                if not isinstance(value, str):
                    value = self._spelt(value, attr, "\x05" if key == self.field else "\x04")
                elif self.style and value[0] in AMOUNT:
                    value = amount(value, self.style)
                pieces.append(FORMS[form](value) if form else value)
            elif isinstance(part, Choice):
                options = part[0]
                self._expand(options[int(self.random() * len(options))], pieces)
            else:
                options = self.grammar[part[0]]
                self._expand(options[int(self.random() * len(options))], pieces)

    def _spelt(self, value: "Person | Day", attr: str, mark: str) -> str:
        """A date in the passage's style; a person as a mention, to be spelt out when the passage stands."""
        if isinstance(value, Day):
            if not attr or attr == "long":
                return value.mdy if self.american else value.dmy
            if attr == "day":
                return value.md if self.american else value.dm
            return str(getattr(value, attr))
        if attr and attr != "s":
            return str(getattr(value, attr))
        return f"\x02{value.name}\x03{value.s}{mark}"

    def passage(self, form: str, target: int) -> str:
        """A passage of this form: sections in order; `?` after one means half of the time, `*` as often as it takes to
        reach `target` characters. A headline ends in a stop or a dash."""
        self.american = self.random() < 0.5
        self.style = int(3 * self.random()) if self.varied else 0
        lengths: dict[int, int] = {}
        self.lengths = lengths
        pieces: list[list[str]] = []
        stars: list[tuple[list[str], str]] = []
        length = 0
        for name, often, maybe in _symbols(form):
            piece: list[str] = []
            pieces.append(piece)
            if often:
                stars += [(piece, name)] * (1 if name in ASIDES else 3)
                continue
            if maybe and self.random() < 0.5:
                continue
            text = self.draw(name, lengths)
            if name.startswith(("head", "prehead")) and not (self.varied and text[-1] in "?!"):
                text += "." if self.random() < 0.7 else " –"
            piece.append(text)
            length += len(text)
        while length < target and stars:
            piece, name = stars[int(self.random() * len(stars))]
            # Enough asides, or all of the section was used but for what must be avoided here.
            full = len(piece) + 2 > (4 if name in ASIDES else self._size(name))
            try:
                text = "" if full else self.draw(name, lengths)
            except Unmet:
                text = ""
            if text:
                piece.append(text)
                length += len(text) + 1
            else:
                stars = [other for other in stars if other[0] is not piece]
        text = spelt(" ".join(text for piece in pieces for text in piece))
        return laid_out(text) if "¶" in text else text
