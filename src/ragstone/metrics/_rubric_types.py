"""A user's criterion as data: its texts, scale, elements and their order. `_rubric_file` reads it from a file."""

from hashlib import sha256
from typing import Literal

from ragstone.structs import Frozen, to_json

Better = Literal["higher", "lower", "neither"]
LANGUAGES = ("en", "zh")


class Text(Frozen, frozen=True):
    """A text in English, in Chinese or in both; "" where it is missing."""

    en: str = ""
    zh: str = ""

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(language for language in LANGUAGES if getattr(self, language))

    def to(self, language: str) -> str:
        """The text in this language, in the other where it is only there."""
        return self.zh or self.en if language == "zh" else self.en or self.zh


class Anchor(Frozen, frozen=True):
    """What one step of a scale means."""

    value: int
    text: Text


class Scale(Frozen, frozen=True):
    """Whole numbers from `low` to `high`; `anchors` ascend and describe both ends at least."""

    low: int
    high: int
    anchors: tuple[Anchor, ...]
    weight: float = 1.0

    def share(self, value: int) -> float:
        """The value in [0, 1]."""
        return (value - self.low) / (self.high - self.low)


class Element(Frozen, frozen=True):
    """Something that an answer has to hold. `if_known`: it does not count where nothing shown makes it known.
    `required`: an answer without it gets 0, whatever else it holds."""

    id: str
    text: Text
    weight: float = 1.0
    if_known: bool = False
    required: bool = False


class Rubric(Frozen, frozen=True):
    """A criterion. `order` holds groups of element ids: those of an earlier group come before those of a later one. Of
    each group of `any_of` one element is enough."""

    name: str
    question: Text
    version: int = 1
    title: Text = Text()
    better: Better = "higher"
    needs: tuple[str, ...] = ()
    weight: float = 1.0
    scale: Scale | None = None
    elements: tuple[Element, ...] = ()
    order: tuple[tuple[str, ...], ...] = ()
    order_weight: float = 1.0
    any_of: tuple[tuple[str, ...], ...] = ()

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages it can be asked in, "en" first."""
        return self.question.languages

    @property
    def hash(self) -> str:
        """SHA-256 (hex) of all that a score depends on: not the title, not the weight beside other rubrics, not the
        version, not how the file is written."""
        content: list[object] = [
            self.question,
            self.better,
            self.needs,
            self.scale,
            self.elements,
            self.order,
            self.order_weight,
        ]
        content += [self.any_of] if self.any_of else []
        return sha256(to_json(content).encode()).hexdigest()

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Every two elements of which the first has to come before the second."""
        return tuple(
            (first, second)
            for place, group in enumerate(self.order)
            for first in group
            for later in self.order[place + 1 :]
            for second in later
        )
