"""What a page or a terminal shows of a run, as data: tables, charts, the summary that a reader sees first, and why an
answer is right or wrong."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from ragstone.structs import Frozen


class Cell(Frozen, frozen=True):
    """One field of a table: a text, or a value with its interval and `scored` of `total`. `unit` "%" means that
    `value`, `low` and `high` are shares, printed as percentages."""

    text: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    scored: int | None = None
    total: int | None = None
    unit: Literal["", "%"] = ""
    note: str = ""


class Row(Frozen, frozen=True):
    """A row; `published` marks figures printed in a paper, not measured here."""

    cells: tuple[Cell, ...]
    published: bool = False


class Table(Frozen, frozen=True):
    """A table of a report. The first `keys` columns identify a row."""

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    keys: int = 1


class Point(Frozen, frozen=True):
    """A point of a curve, with its interval if there is one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Series(Frozen, frozen=True):
    """A named curve; `published` ones are drawn thin."""

    name: str
    points: tuple[Point, ...]
    published: bool = False


class ChartMark(Frozen, frozen=True):
    """A vertical line of a chart at `x` with a label: where a value changed for the worse or the better, or where
    something `other` than the value changed."""

    x: float
    label: str
    kind: Literal["regression", "improvement", "change", "other"] = "other"


class Tick(Frozen, frozen=True):
    """A label beside an axis of a heat map, `at` a place in cells: 0.5 is the middle of the first one."""

    at: float
    label: str


class Chart(Frozen, frozen=True):
    """A chart as data. kind "lines": x is a number, or an index into `categories` if there are any; "bars": x is an
    index into `categories`. "heatmap": a series is a row (the first on top), x an index into `categories`; `numbers`
    shows the values in the cells from the start, `ticks_x` and `ticks_y` replace the names of columns and rows, and
    `signed` values are differences in [-1, 1]. Consecutive maps of one `figure` (its title) are one: those of a
    `step` stand side by side, each under its `panel`, and the reader moves from step to step. "grid": the same with
    few cells, each with its figure, the best outlined, or the `lowest` of each row. y is a share in [0, 1] where
    `percent`. `stacked` bars of a category stand end to end. `alt` is the text alternative: what a reader who cannot
    see the picture should know. `marks` of lines; `zoom`: the axis of lines spans their values only. `leading`: shown
    beside the verdict."""

    id: str
    title: str
    kind: Literal["lines", "bars", "heatmap", "grid"]
    series: tuple[Series, ...]
    x_label: str = ""
    y_label: str = ""
    categories: tuple[str, ...] = ()
    percent: bool = True
    alt: str = ""
    numbers: bool = False
    stacked: bool = False
    marks: tuple[ChartMark, ...] = ()
    zoom: bool = False
    leading: bool = False
    lowest: bool = False
    ticks_x: tuple[Tick, ...] = ()
    ticks_y: tuple[Tick, ...] = ()
    signed: bool = False
    figure: str = ""
    step: str = ""
    panel: str = ""

    def outlined(self) -> list[float | None]:
        """The value that is outlined in each row of a grid."""
        rows = [{point.y for point in series.points} for series in self.series]
        if self.lowest:
            return [min(values) if len(values) > 1 else None for values in rows]  # nothing where all are equal
        return [max(set().union(*rows), default=None)] * len(rows)


BarKind: TypeAlias = Literal["level", "gain", "loss", "rest", "unmeasured"]


class Bar(Frozen, frozen=True):
    """A bar of a waterfall, from `start` to `end` in shares of the whole. kind "level" is where it begins, "gain" and
    "loss" are steps, "rest" is what remains, "unmeasured" what may be gained and nobody measured. `text`: its figure.
    `group`: the name of the cases behind it."""

    label: str
    start: float
    end: float
    kind: BarKind
    text: str
    group: str = ""


class Dot(Frozen, frozen=True):
    """A metric of a system as a dot in [0, 1] with its interval. `text`: its figure; `gate`: its threshold; `bins`: the
    number of scores in each tenth from 0 to 1; `lower`: lower is better; `samples`: the ids of the worst. `signed`: a
    difference in [-1, 1], of which `tone` says whether it is seen to be good or bad. `about`: what is measured."""

    label: str
    value: float
    low: float | None
    high: float | None
    text: str
    gate: float | None = None
    bins: tuple[int, ...] = ()
    lower: bool = False
    samples: tuple[str, ...] = ()
    signed: bool = False
    tone: Literal["", "good", "missed"] = ""
    about: str = ""


class Action(Frozen, frozen=True):
    """What to do: a sentence with its gain and price. The cases behind it: the name of their group, or the ids of
    their samples, the worst first, or the system and the causes that they have. `examples`: some of them in a line
    each, for a terminal, which has no links."""

    text: str
    group: str = ""
    samples: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    cause: tuple[str, ...] | None = None


class Figure(Frozen, frozen=True):
    """A figure that stands for a system in a list of runs. `label` names the cells that it is of, so that two figures
    of one label compare; `value` is in [0, 1], `text` has its interval, `n` is the number of answers, `planned` of how
    many that are asked for."""

    label: str
    text: str
    value: float | None
    n: int
    planned: int


class Summary(Frozen, frozen=True):
    """What a reader of a run sees first, of one system: the verdict, the waterfall or the metrics as dots, and what to
    do. `title`: of the page, by default the benchmark's name; `notes`: what limits the verdict; `alarms`: what in the
    run contradicts itself, with what to do about it, before any advice; `figures`: what a list of runs shows, by
    default the dots."""

    title: str
    verdict: str
    bars: tuple[Bar, ...] = ()
    actions: tuple[Action, ...] = ()
    notes: tuple[str, ...] = ()
    dots: tuple[Dot, ...] = ()
    alarms: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()


class Span(Frozen, frozen=True):
    """A stretch of text to highlight. `field` is "answer" or a passage's id; `start` and `end` count characters. kind
    "only": the text beside it lacks these words."""

    field: str
    start: int
    end: int
    kind: Literal["match", "wrong", "refusal", "only"] = "match"


class Diagnosis(Frozen, frozen=True):
    """Why a record got its scores. `right` is None if nothing could be scored; `cause` is a short, stable name of a
    cause of failure ("" where right), `label` the same for a reader, `reason` a sentence; higher `weight` is worse."""

    right: bool | None
    group: str
    cause: str = ""
    label: str = ""
    reason: str = ""
    weight: float = 0.0
    spans: tuple[Span, ...] = ()


_MADE = "q-"


def question_id(question: str) -> str:
    """The id for a sample without one: a hash of its question."""
    return _MADE + hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def may_be_made(sample_id: str) -> bool:
    """Whether an id may be one of `question_id`: what only the question can tell."""
    return sample_id.startswith(_MADE)


_NAME = 40  # characters of a question that stands for an id


def own_name(sample_id: str, question: str) -> str:
    """What people know a sample by: the id that they gave it, or the beginning of its question."""
    if not may_be_made(sample_id) or not sample_id.startswith(question_id(question)):
        return sample_id
    line = " ".join(question[: 20 * _NAME].split())
    return line if len(line) <= _NAME else line[: _NAME - 1].rstrip() + "…"


_ROW = re.compile(r"[a-z]?\d{4,}")  # a part of a case's id that is the number of a row


def shown_id(case_id: str, sample_id: str) -> str:
    """The id of a case for people: their own id of the sample in place of the number of its row, then what else tells
    the cases of a sample apart: "000007/r1" of the sample "hr-7" is "hr-7/r1". An id that begins with theirs stays."""
    if case_id.startswith(sample_id):
        return case_id
    return "/".join([sample_id, *(part for part in case_id.split("/") if not _ROW.fullmatch(part))])


_HASH = re.compile(r"c-[0-9a-f]{10}|text-[0-9a-f]{12}")  # ids of passages that came without one
_LONGEST = 300  # characters of an id that a benchmark makes
_PASSAGE = re.compile(
    r"(?:(?P<key>.+)#)?(?P<kind>[a-z]{0,20})[:-]?(?P<first>\d{0,9})(?::(?P<second>\d{1,9}))?", re.DOTALL
)


def shown_passage(passage_id: str, words: Mapping[str, str]) -> str:
    """The id of a passage for people. `words`: of its benchmark, whose own ids have a text `passage_KIND`: {n} of
    "KIND:3" is 4, of "KIND:1:3" (`passage_KIND_part`) {part} is 2, and {key} is what stands before a "#". A hash of the
    text is left out; the user's ids stay."""
    if _HASH.fullmatch(passage_id):
        return ""
    if len(passage_id) > _LONGEST or (match := _PASSAGE.fullmatch(passage_id)) is None:
        return passage_id
    kind, first, second = match["kind"] or ("mapped" if match["key"] else ""), match["first"], match["second"]
    text = words.get(f"passage_{kind}_part" if second else f"passage_{kind}")
    if text is None:
        return passage_id
    part, number = (first, second) if second else ("0", first)
    return text.format(n=int(number or 0) + 1, part=int(part or 0) + 1, key=match["key"] or "")


_WORD = re.compile(r"[^\s(),=;]+")
_MARKUP = re.compile(r"[<>\"'&]")
_SUFFIX = re.compile(r"(?<=[^/\\])\.(?:py|jsonl?|csv|tsv|xlsx|parquet|run)(?=:|$)")
_FOLDERS = 3  # tried before the whole id
_SHORTEST = 3  # characters beside the only slash of a path or PROVIDER/MODEL, unlike that of "w/o" and "50/50"


def short_names(ids: Iterable[str]) -> dict[str, str]:
    """A label for each id of a system, a model or a run: without folders, provider and suffix. Of ids that would have
    the same label, as many folders are kept as tell them apart, or the whole ids."""
    kept = dict.fromkeys(ids, 0)
    while True:
        labels = {name: _short(name, folders) for name, folders in kept.items()}
        found = Counter(labels.values())
        alike = [name for name, label in labels.items() if label != name and found[label] > 1]
        if not alike:
            return labels
        kept |= {name: kept[name] + 1 for name in alike}


def _short(name: str, folders: int) -> str:
    """The id with so many folders in each of its paths; an address keeps its path, and markup stays whole."""
    if folders > _FOLDERS or _MARKUP.search(name):
        return name

    def shorten(match: re.Match[str]) -> str:
        word = match[0]
        parts = [part for part in re.split(r"[/\\\\]", word) if part]
        if "://" in word:
            return word.removeprefix("http://").removeprefix("https://")
        if len(parts) == 2 and min(map(len, parts)) < _SHORTEST and not _SUFFIX.search(word):
            return word
        return _SUFFIX.sub("", "/".join(parts[-folders - 1 :])) if parts and word[-1] not in "/\\" else word

    return _WORD.sub(shorten, name)


def signed(amount: float, decimals: int = 0, *, plus: bool = False) -> str:
    """A number with a typographic minus, or with a plus if wanted; what rounds to 0 is never below it."""
    return format(amount, f"{'+' * plus}z,.{decimals}f").replace("-", "−")
