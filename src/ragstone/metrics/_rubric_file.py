"""A user's criterion as a TOML file: its words, and every mistake in it, a line each.

    name = "delayed_order"
    version = 1                             # scores of another version stand apart
    title.en = "A delayed order"            # optional: for people; the judge never sees it
    question.en = "Does the answer …?"      # what the judge is asked
    question.zh = "答案是否……？"
    better = "higher"                       # or "lower" (a flaw is measured), or "neither"
    needs = ["contexts", "reference"]       # what a sample must have; left out: nothing but the answer
    weight = 1                              # beside other rubrics, in rubric:overall
    order = ["soothe", ["status", "date"]]  # what comes before what; those of an inner list in any order
    order_weight = 1
    any_of = [["phone", "mail"]]            # of each inner list one is enough; the others then do not count

    [scale]                                 # optional where there are elements
    min = 1
    max = 5
    weight = 1
    [scale.anchors]                         # a text for both ends at least
    1.en = "…"
    1.zh = "……"

    [[elements]]                            # optional where there is a scale
    id = "status"
    weight = 1
    if_known = false                        # true: counts only where the question or the material make it known
    required = false                        # true: an answer without it gets 0
    text.en = "…"
    text.zh = "……"

Every text is in English, in Chinese or in both, all alike. A plain text (`question = "…"`) is in the file's `language`,
which is that of the question where it is not given.
"""

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ragstone.errors import DataError
from ragstone.metrics._rubric_types import LANGUAGES, Anchor, Better, Element, Rubric, Scale, Text
from ragstone.storage import FormatError, check_regular, parse_toml
from ragstone.text import detect

NEEDS = ("contexts", "reference")
_KEYS = (
    "name", "version", "title", "question", "language", "better", "needs", "weight", "order", "order_weight", "any_of",
    "scale", "elements",
)  # fmt: skip
_SCALE_KEYS = ("min", "max", "weight", "anchors")
_ELEMENT_KEYS = ("id", "text", "weight", "if_known", "required")
_NAME = re.compile(r"[^\W\d_][\w-]{0,59}")
_RESERVED = ("overall",)
_WIDEST = 100  # steps of a scale: no judge tells more apart
_MOST = 40  # elements of one criterion: more belong into criteria of their own


def read_rubric(path: Path) -> Rubric:
    """The rubric in a file. Raises DataError with the first of its mistakes, and says how many more there are."""
    rubric, mistakes = mistakes_in(path)
    if rubric is None:
        more = f"{len(mistakes) - 1} more: " if len(mistakes) > 1 else ""
        raise DataError(path, mistakes[0], advice=f"({more}`ragstone rubrics check {path}`)")
    return rubric


def mistakes_in(path: Path) -> tuple[Rubric | None, list[str]]:
    """(the rubric, []) of a file that can be used, else (None, its mistakes, a line each)."""
    try:
        check_regular(path)
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        return None, [f"is not UTF-8 (byte {error.start}). Save it as UTF-8."]
    except OSError as error:
        return None, [f"cannot be read ({error.strerror or error})."]
    return parse_rubric(text)


def parse_rubric(text: str) -> tuple[Rubric | None, list[str]]:
    """(the rubric, []) of a text that can be used, else (None, its mistakes, a line each)."""
    try:
        document = parse_toml(text)
    except FormatError as error:
        return None, [f"{error}."]
    reader = _Reader(document)
    rubric = reader.rubric()
    return (None, reader.mistakes) if reader.mistakes else (rubric, [])


class _Reader:
    """Reads what a file holds and notes every mistake; what is wrong is replaced by something harmless."""

    def __init__(self, held: Mapping[str, Any]) -> None:
        self.held = held
        self.mistakes: list[str] = []
        self.language = ""  # of plain texts
        self.spoken: tuple[str, ...] = ()  # the languages of the question, which all texts are in

    def rubric(self) -> Rubric:
        document = self.held
        self._known(document, _KEYS, "")
        name = self._name(document.get("name"), "name")
        if name in _RESERVED:
            self._wrong("name", f"{name!r} stands for all rubrics together. Choose another.")
        self.language = self._language(document.get("language"))
        question = self._text(document, "question", "")
        self.spoken = question.languages
        if self.language and self.spoken and self.language not in self.spoken:
            self._wrong("language", f"is {self.language}, but the question is not in it.")
        elements = self._elements(document.get("elements", []))
        scale = self._scale(document["scale"]) if "scale" in document else None
        if not elements and scale is None and not self.mistakes:
            self.mistakes.append("there is neither a [scale] nor [[elements]]; the judge has nothing to say.")
        parsed = Rubric(
            name=name,
            question=question,
            version=self._whole(document.get("version", 1), "version", 1, 999),
            title=self._text(document, "title", "") if "title" in document else Text(),
            better=cast(
                Better, self._one_of(document.get("better", "higher"), "better", ("higher", "lower", "neither"))
            ),
            needs=self._needs(document.get("needs", [])),
            weight=self._weight(document, ""),
            scale=scale,
            elements=elements,
            order=self._order(document.get("order", []), elements),
            order_weight=self._weight(document, "", "order_weight"),
            any_of=self._groups(document.get("any_of", []), elements, "any_of"),
        )
        if parsed.better != "higher" and any(element.required for element in elements):
            self._wrong("elements", "are required only where better is 'higher', because an answer without one gets 0.")
        if not all(len(group) > 1 for group in parsed.any_of):
            self._wrong("any_of", "is a list of lists, each with two element ids at least.")
        if not self.mistakes and not any([scale and scale.weight, *(element.weight for element in elements)]):
            self.mistakes.append("every weight is 0; at least one element or the scale has to count.")
        return parsed

    # --- parts ---------------------------------------------------------------------------------------------------

    def _elements(self, value: object) -> tuple[Element, ...]:
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self._wrong("elements", "are written as [[elements]], each with an id and a text.")
            return ()
        if len(value) > _MOST:
            self._wrong("elements", f"are {len(value)}; one criterion has at most {_MOST}. Make several rubrics.")
        elements: list[Element] = []
        for number, item in enumerate(value, start=1):
            at = f"elements[{number}]"
            self._known(item, _ELEMENT_KEYS, at)
            name = self._name(item.get("id"), f"{at}.id")
            if name and name in (element.id for element in elements):
                first = next(place for place, element in enumerate(elements, start=1) if element.id == name)
                self._wrong(f"{at}.id", f"{name!r} is the id of elements[{first}] already.")
            flags = [self._flag(item, key, at) for key in ("if_known", "required")]
            elements.append(Element(name, self._text(item, "text", at), self._weight(item, at), *flags))
        return tuple(elements)

    def _scale(self, value: object) -> Scale | None:
        if not isinstance(value, dict):
            self._wrong("scale", "is a table: [scale] with min, max and [scale.anchors].")
            return None
        self._known(value, _SCALE_KEYS, "scale")
        before = len(self.mistakes)
        low = self._whole(value.get("min"), "scale.min", -1_000, 1_000)
        high = self._whole(value.get("max"), "scale.max", -1_000, 1_000)
        if len(self.mistakes) == before and not 1 <= high - low <= _WIDEST:
            wide = "must be larger than min" if high <= low else f"is more than {_WIDEST} steps above min"
            self._wrong("scale.max", f"{wide} (min {low}, max {high}).")
        sound = len(self.mistakes) == before
        return Scale(low, high, self._anchors(value.get("anchors"), low, high, sound), self._weight(value, "scale"))

    def _anchors(self, value: object, low: int, high: int, sound: bool) -> tuple[Anchor, ...]:
        if not isinstance(value, dict) or not value:
            self._wrong("scale.anchors", "says what the numbers mean: [scale.anchors] with a text for both ends.")
            return ()
        anchors = []
        for key in value:
            if not re.fullmatch(r"-?\d{1,4}", key):
                self._wrong(f"scale.anchors.{key}", "is no whole number.")
            elif sound and not low <= int(key) <= high:
                self._wrong(f"scale.anchors.{key}", f"is outside of the scale, which goes from {low} to {high}.")
            else:
                anchors.append(Anchor(int(key), self._text(value, key, "scale.anchors")))
        missing = [str(end) for end in (low, high) if end not in {anchor.value for anchor in anchors}]
        if sound and missing:
            self._wrong("scale.anchors", f"do not cover the scale: {' and '.join(missing)} has no text.")
        return tuple(sorted(anchors, key=lambda anchor: anchor.value))

    def _order(self, value: object, elements: Sequence[Element]) -> tuple[tuple[str, ...], ...]:
        groups = self._groups(value, elements, "order")
        if value and isinstance(value, list) and (len(groups) < 2 or not all(groups)):
            self._wrong("order", "needs two places at least, none of them empty.")
        return groups

    def _groups(self, value: object, elements: Sequence[Element], field: str) -> tuple[tuple[str, ...], ...]:
        """Ids of elements, in groups, each once. An id alone is a group of one."""
        if not isinstance(value, list):
            wanted = ", of which those in an inner list may stand in any order" * (field == "order")
            self._wrong(field, f"is a list of {'' if wanted else 'lists of '}element ids{wanted}.")
            return ()
        groups = [tuple(part) if isinstance(part, list) else (part,) for part in value]
        known, named = {element.id for element in elements}, set()
        for name in (element_id for group in groups for element_id in group):
            if not isinstance(name, str):
                self._wrong(field, f"holds {_shown(name)}, which is no element id.")
            elif name not in known:
                self._wrong(field, f"names {name!r}, but no element has this id.{_near(name, known)}")
            elif name in named:
                self._wrong(field, f"names {name!r} twice.")
            else:
                named.add(name)
        return tuple(groups)

    def _needs(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            self._wrong("needs", f"is a list of {' and '.join(NEEDS)}.")
            return ()
        for item in value:
            if item not in NEEDS:
                self._wrong("needs", f"holds {_shown(item)}; there are {' and '.join(NEEDS)}.")
        return tuple(need for need in NEEDS if need in value)

    # --- values --------------------------------------------------------------------------------------------------

    def _text(self, table: Mapping[str, Any], key: str, at: str) -> Text:
        field = f"{at}.{key}" if at else key
        value = table.get(key)
        if value is None:
            self._wrong(field, "is missing.")
            return Text()
        if isinstance(value, str):
            return self._plain(value, key, field)
        if not isinstance(value, dict):
            self._wrong(field, f"is a text, or {key}.en and {key}.zh; not {_shown(value)}.")
            return Text()
        self._known(value, LANGUAGES, field)
        texts = {}
        for language in LANGUAGES:
            if language not in value:
                continue
            if isinstance(value[language], str) and value[language].strip():
                texts[language] = value[language].strip()
            else:
                self._wrong(f"{field}.{language}", "is a text with something in it.")
        self._alike(value, field)
        return Text(**texts)

    def _plain(self, value: str, key: str, field: str) -> Text:
        if not value.strip():
            self._wrong(field, "is empty.")
            return Text()
        if len(self.spoken) > 1:
            self._wrong(field, f"is one text, but the question is in en and zh. Write {key}.en and {key}.zh.")
        spoken = self.language or (self.spoken[0] if len(self.spoken) == 1 else detect(value))
        return Text(**{spoken: value.strip()})

    def _alike(self, value: Mapping[str, Any], field: str) -> None:
        """Every text is in the languages of the question."""
        if not value:
            self._wrong(field, "is missing.")
        for language in self.spoken:
            if value and language not in value:
                self._wrong(f"{field}.{language}", f"is missing; the question is in {' and '.join(self.spoken)}.")
        for language in LANGUAGES:
            if self.spoken and language in value and language not in self.spoken:
                self._wrong(f"{field}.{language}", "is more than the question has; give the question in it, too.")

    def _name(self, value: object, field: str) -> str:
        if value is None:
            self._wrong(field, "is missing.")
        elif not isinstance(value, str) or not _NAME.fullmatch(value):
            self._wrong(field, f"{_shown(value)} is no name: a letter, then letters, digits, _ and - (60 at most).")
        else:
            return value
        return ""

    def _language(self, value: object) -> str:
        return "" if value is None else self._one_of(value, "language", LANGUAGES)

    def _one_of(self, value: object, field: str, choices: Sequence[str]) -> str:
        if value in choices:
            return str(value)
        self._wrong(field, f"is {' or '.join(choices)}, not {_shown(value)}.")
        return choices[0]

    def _whole(self, value: object, field: str, least: int, most: int) -> int:
        if value is None:
            self._wrong(field, "is missing.")
        elif not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self._wrong(field, f"is a whole number from {least} to {most}, not {_shown(value)}.")
        else:
            return value
        return least

    def _weight(self, table: Mapping[str, Any], at: str, key: str = "weight") -> float:
        value = table.get(key, 1)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and math.isfinite(value) and 0 <= value <= 1_000:
            return float(value)
        self._wrong(f"{at}.{key}" if at else key, f"is a number from 0 to 1000, not {_shown(value)}.")
        return 1.0

    def _flag(self, table: Mapping[str, Any], key: str, at: str) -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            self._wrong(f"{at}.{key}", f"is true or false, not {_shown(value)}.")
        return value is True

    def _known(self, table: Mapping[str, Any], keys: Sequence[str], at: str) -> None:
        for key in table:
            if key not in keys:
                hint = _near(key, keys) or f" There are {', '.join(keys)}."
                self._wrong(f"{at}.{key}" if at else key, f"there is no such key.{hint}")

    def _wrong(self, field: str, problem: str) -> None:
        self.mistakes.append(f"{' '.join(field.split())[:80]}: {problem}")


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
