"""Contents of a file of labels: items, labels, edits."""

import hashlib
import math
import re
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from ragstone.errors import UsageError
from ragstone.structs import Frozen, to_json
from ragstone.types import Passage, Sample, Turn

CANNOT_TELL = "cannot_tell"
"""The value of a label by which an expert says that the item cannot be judged."""

Kind: TypeAlias = Literal["answer", "passage", "pair", "question"]
_LONGEST_NAME = 80
_LONGEST_COMMENT = 20_000
_MOST_SPANS = 200
_LARGEST_SECONDS = 1e9
# What nobody types, and no file of text can hold: control characters but tab and newline, and lone surrogates.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class LabelItem(Frozen, frozen=True):
    """An item as an expert sees it: a question with an answer ("answer"), with two ("pair"), with one passage
    ("passage"), or with the passages that its reference is from ("question").

    It says nothing of who answered, under which condition, or how it was scored: `id` is a hash. `sample_id` is the
    user's id of the question. `answers` has no, one or two texts. `answerable` False: the data say that there is no
    answer."""

    id: str
    kind: Kind
    sample_id: str
    question: str
    answers: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    references: tuple[tuple[str, ...], ...] = ()
    history: tuple[Turn, ...] = ()
    language: str = ""
    answerable: bool | None = None


class Origin(Frozen, frozen=True):
    """The origin of an item; experts never see it. `source`: the run's file id, or the hash of the data. `systems`: of
    the answers, in their order. `passage`: the id of the passage. `drawn`: how the item was chosen ("random",
    "stratified", "uncertainty", "" for all), `stratum` the part of the data that it is from."""

    source: str
    sample_id: str
    case_id: str = ""
    systems: tuple[str, ...] = ()
    passage: str = ""
    drawn: str = ""
    stratum: str = ""


class Marked(Frozen, frozen=True):
    """A part of an answer that an expert marked: characters `start` to `end` (code points, `end` not included) of the
    answer in this place, and their `text`."""

    start: int
    end: int
    text: str = ""
    answer: int = 0


class Label(Frozen, frozen=True):
    """One version of what an expert says of an item. `value` is that of a choice of the task, or `CANNOT_TELL`.

    `seconds`: time spent on it. `when`: seconds since 1970; 0 if it is not known. `adjudicated`: it settles a dispute.
    `source`: "web", or the file it was imported from. `version` is given by the store."""

    item: str
    task: str
    expert: str
    value: str
    spans: tuple[Marked, ...] = ()
    comment: str = ""
    seconds: float | None = None
    when: float = 0.0
    adjudicated: bool = False
    source: str = ""
    version: int = 0

    @property
    def uid(self) -> str:
        """The hash of what was said, by whom and when: the same label read from two files is known again."""
        content = [self.item, self.task, self.expert, self.value, self.spans, self.comment, self.when, self.adjudicated]
        return hashlib.sha256(to_json(content).encode()).hexdigest()[:32]

    def same_as(self, other: "Label") -> bool:
        """True for labels with the same content, whenever they were given."""
        return (self.value, self.spans, self.comment) == (other.value, other.spans, other.comment)

    def checked(self, item: LabelItem) -> "Label":
        """The label with the texts of its marked parts, and a comment of plain text. Raises UsageError for a
        part outside of the answer, a comment that is too long, or a time that is none."""
        checked_name(self.expert)
        if len(self.comment) > _LONGEST_COMMENT:
            raise UsageError(
                f"The comment has {len(self.comment):,} characters; at most {_LONGEST_COMMENT:,} are kept."
            )
        for name, number in (("seconds", self.seconds or 0.0), ("when", self.when)):
            if not (math.isfinite(number) and 0 <= number <= _LARGEST_SECONDS * (10 if name == "when" else 1)):
                raise UsageError(f"{name}={number:g} is not a time in seconds.")
        if len(self.spans) > _MOST_SPANS:
            raise UsageError(f"{len(self.spans)} marked parts; at most {_MOST_SPANS} are kept.")
        spans = []
        for span in self.spans:
            answer = item.answers[span.answer] if 0 <= span.answer < len(item.answers) else ""
            if not 0 <= span.start < span.end <= len(answer):
                raise UsageError(f"The marked part {span.start}..{span.end} is outside of the answer.")
            spans.append(replace(span, text=answer[span.start : span.end]))
        comment = _CONTROLS.sub("\ufffd", self.comment.replace("\r\n", "\n")).strip()
        return replace(
            self, comment=comment, spans=tuple(sorted(spans, key=lambda span: (span.answer, span.start, span.end)))
        )


class Assigned(Frozen, frozen=True):
    """The next piece of work of an expert: the item and the name of the task."""

    item: LabelItem
    task: str


class Progress(Frozen, frozen=True):
    """Progress of an expert in a task: `done` of `total`, in `seconds` as far as they are known."""

    task: str
    expert: str
    done: int
    total: int
    seconds: float = 0.0


class Edit(Frozen, frozen=True):
    """One version of the gold of a question. None leaves a field as it is. `gold`: the passages that answer the
    question. `answerable`: whether the data can answer it. `by` and `why` say who changed it and for what reason."""

    sample_id: str
    by: str
    why: str = ""
    question: str | None = None
    references: tuple[tuple[str, ...], ...] | None = None
    gold: tuple[Passage, ...] | None = None
    answerable: bool | None = None
    when: float = 0.0
    version: int = 0

    @property
    def texts(self) -> dict[str, Any]:
        """The question and the references, as far as they change."""
        return {name: value for name in ("question", "references") if (value := getattr(self, name)) is not None}


def edited(sample: Sample, edit: Edit) -> Sample:
    """The question with this edit. A passage that is gold no longer stays, as one that is not relevant."""
    sample = replace(sample, **edit.texts)
    if edit.gold is not None:
        known = {passage.id for passage in edit.gold}
        gold = tuple(replace(passage, relevant=True) for passage in edit.gold)
        others = (replace(passage, relevant=False) if passage.relevant else passage for passage in sample.passages)
        sample = replace(sample, passages=(*gold, *(passage for passage in others if passage.id not in known)))
    if edit.answerable is not None:
        sample = replace(sample, meta={**sample.meta, "answerable": edit.answerable})
    return sample


def checked_name(name: str) -> str:
    """The name of an expert. Raises UsageError for one that is empty, too long or not printable."""
    if not name.strip() or name != name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise UsageError(
            f"{name[:40]!r} cannot be the name of an expert: use 1 to {_LONGEST_NAME} printable characters."
        )
    return name
