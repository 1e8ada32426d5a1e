"""Labelling in a terminal: shows one item at a time, reads a key or a line, and writes the label at once."""

import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ragstone.commands.output import ask, say, say_parts
from ragstone.errors import UsageError
from ragstone.labels import Assigned, Choice, Edit, Label, LabelItem, LabelStore, Marked, Task
from ragstone.labels.consensus import Dispute, disputes
from ragstone.messages import messages, wrapped

_WIDEST = 100
_WORDS = {"是": "y", "否": "n", "对": "y", "错": "n", "？": "?", "＝": "=", "yes": "y", "no": "n"}


@dataclass
class Session:
    """A session of one expert, with some tasks or all. `read` returns the next line, or None at the end; `clock`
    counts seconds. `settles`: its labels settle disputes."""

    settles: ClassVar[bool] = False
    store: LabelStore
    expert: str
    language: str
    tasks: Sequence[str] = ()
    read: Callable[[str], str | None] = ask
    clock: Callable[[], float] = time.monotonic
    _skipped: set[tuple[str, str]] = field(default_factory=set)
    _times: list[float] = field(default_factory=list)
    _explained: set[str] = field(default_factory=set)

    def run(self) -> int:
        """Labels until the expert leaves or nothing is left; returns the number of labels."""
        self._texts = messages(__name__, self.language)
        while (assigned := self._next()) is not None:
            if not self._item(assigned):
                break
        self._end()
        return len(self._times)

    def _next(self) -> Assigned | None:
        """What is labelled next; None at the end."""
        return self.store.next_item(self.expert, *self.tasks, skip=self._skipped)

    def _item(self, assigned: Assigned) -> bool:
        """Shows one item and reads keys until it is labelled, skipped or undone; False to leave."""
        task = self.store.task(assigned.task)
        self._head(assigned, task)
        if task.name not in self._explained:
            self._explained.add(task.name)
            self._guideline(task)
        say_item(assigned.item, task, self.language)
        self._said(assigned, task)
        shown, spans, comment = self.clock(), list[Marked](), ""
        self._keys(task)
        while True:
            line = self.read("> ")
            key, rest = _split(line)
            if line is None or key == "q":
                return False
            if key == "g":
                self._guideline(task)
            elif key == "m" and rest:
                spans += self._mark(assigned.item, rest)
            elif key == "c" and rest:
                comment = rest
                say(self._texts["noted"])
            elif key == "s":
                self._skipped.add((assigned.item.id, assigned.task))
                return True
            elif key == "u":
                self._undo()
                return True
            elif (choice := _choice(task, key)) is not None:
                if choice.edits and not self._edit(assigned.item, rest or comment):
                    continue
                value = choice.value
                seconds = round(self.clock() - shown, 1)
                self._put(assigned, value, tuple(spans), rest or comment, seconds)
                return True
            else:
                say(self._texts["unknown"].format(key=(line or "")[:20]))
                self._keys(task)

    def _said(self, assigned: Assigned, task: Task) -> None:
        """What others said of the item: nothing, as experts label on their own."""

    def _put(self, assigned: Assigned, value: str, spans: tuple[Marked, ...], comment: str, seconds: float) -> None:
        label = Label(
            assigned.item.id, assigned.task, self.expert, value, spans, comment, seconds, adjudicated=self.settles,
            source="terminal",
        )  # fmt: skip
        self.store.put(label)
        self._times.append(seconds)
        title = self.store.task(assigned.task).choice(value).title.to(self.language) or value
        say(self._texts["kept"].format(value=title, seconds=seconds))

    def _undo(self) -> None:
        undone = self.store.undo(self.expert)
        if undone is None:
            say(self._texts["nothing_to_undo"])
            return
        self._skipped.discard((undone.item, undone.task))
        self._times[-1:] = []
        value = self.store.task(undone.task).choice(undone.value).title.to(self.language) or undone.value
        say(self._texts["undone"].format(value=value, question=self.store.item(undone.item).question[:60]))

    def _edit(self, item: LabelItem, why: str) -> bool:
        """Asks for the new question and the new reference, and writes them as a version; False if neither is given."""
        question = (self.read(self._texts["new_question"]) or "").strip()
        reference = (self.read(self._texts["new_reference"]) or "").strip()
        slots = [re.split("[|｜]", part) for part in re.split("[;；]", reference) if part.strip()]
        parts = tuple(tuple(alias.strip() for alias in slot if alias.strip()) for slot in slots)
        try:
            self.store.edit(Edit(item.sample_id, self.expert, why, question or None, parts or None))
        except UsageError as error:
            say(str(error))
            return False
        return True

    def _mark(self, item: LabelItem, text: str) -> list[Marked]:
        """The part of an answer that is this text."""
        wanted = text.strip("\"'“”‘’「」")
        for place, answer in enumerate(item.answers):
            if wanted and (start := answer.find(wanted)) >= 0:
                say(self._texts["marked"].format(text=wanted[:60]))
                return [Marked(start, start + len(wanted), wanted, place)]
        say(self._texts["not_found"].format(text=wanted[:60]))
        return []

    def _head(self, assigned: Assigned, task: Task) -> None:
        done, total = self._progress()
        item = assigned.item
        head = self._texts["head"].format(done=done + 1, total=total, task=task.name, id=item.sample_id)
        say_parts([(f"\n{head}\n", True)])

    def _guideline(self, task: Task) -> None:
        lines = wrapped(task.guideline.to(self.language), _width() - 2)
        say_parts([("".join(f"  {line}\n" for line in lines), False)])

    def _keys(self, task: Task) -> None:
        choices = " · ".join(f"{choice.key} {choice.title.to(self.language)}".strip() for choice in task.choices)
        others = " · ".join(f"{key} {self._texts[f'key_{key}']}" for key in "sucmgq")
        say_parts([(task.question.to(self.language) + "\n", True), (f"{_filled(choices)}\n{_filled(others)}\n", False)])

    def _end(self) -> None:
        done, total = self._progress()
        count, seconds = len(self._times), sum(self._times)
        each = seconds / count if count else 0.0
        say(self._texts["end"].format(count=count, seconds=seconds, each=each, left=total - done, path=self.store.path))

    def _progress(self) -> tuple[int, int]:
        """The number of labels of this expert, and of all that the expert should give."""
        mine = [one for one in self.store.progress() if one.expert == self.expert]
        mine = [one for one in mine if not self.tasks or one.task in self.tasks]
        return sum(one.done for one in mine), sum(one.total for one in mine)


class Settling(Session):
    """A session that settles disputes: it shows what the experts said, and its labels win."""

    settles: ClassVar[bool] = True

    def _open(self) -> list[Dispute]:
        return [one for one in disputes(self.store, self.tasks) if one.ruling is None]

    def _next(self) -> Assigned | None:
        for one in self._open():
            if (one.item, one.task) not in self._skipped:
                return Assigned(self.store.item(one.item), one.task)
        return None

    def _said(self, assigned: Assigned, task: Task) -> None:
        dispute = next(one for one in self._open() if (one.item, one.task) == (assigned.item.id, task.name))
        say_parts([(self._texts["said"] + "\n", True)])
        for label in dispute.labels:
            title = task.choice(label.value).title.to(self.language) or label.value
            marks = "".join(self._texts["mark"].format(text=span.text[:60]) for span in label.spans)
            comment = self._texts["comment"].format(text=label.comment) if label.comment else ""
            say(f"  {label.expert}: {title}{comment}{marks}")

    def _progress(self) -> tuple[int, int]:
        found = list(disputes(self.store, self.tasks))
        return sum(one.ruling is not None for one in found), len(found)


def say_item(item: LabelItem, task: Task, language: str) -> None:
    """Prints what an expert needs to see of an item."""
    texts = messages(__name__, language)
    width = _width()
    parts: list[tuple[str, bool]] = []
    for title, text in _fields(item, task, texts):
        parts += [(f"{title}\n", True)]
        for line in text.splitlines() or [""]:
            parts += [(f"  {row}\n", False) for row in wrapped(line, width - 2) or [""]]
    say_parts(parts)


def _fields(item: LabelItem, task: Task, words: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for turn in item.history:
        yield words["earlier"].format(role=turn.role), turn.content
    yield words["question"], item.question
    if "references" in task.shows:
        alternatives = (words["or"].join(slot) for slot in item.references)
        none = words["unanswerable" if item.answerable is False else "none"]
        yield words["references"], words["and"].join(alternatives) or none
    if "answers" in task.shows:
        for place, answer in enumerate(item.answers, 1):
            title = words["answer"] if len(item.answers) == 1 else words["answer_n"].format(n=place)
            yield title, answer or words["empty"]
    if "passages" in task.shows:
        if not item.passages:
            yield words["passages"], words["none"]
        for passage in item.passages:
            title = words["passage"].format(n=passage.id) if len(item.passages) > 1 else words["one_passage"]
            yield f"{title}{words['title'].format(title=passage.title) if passage.title else ''}", passage.text


def _split(line: str | None) -> tuple[str, str]:
    """The first word of a line, as a key, and the rest."""
    first, _, rest = (line or "").strip().partition(" ")
    return _WORDS.get(first.lower(), first.lower()), rest.strip()


def _choice(task: Task, key: str) -> Choice | None:
    return next((choice for choice in task.choices if choice.key == key), None)


def _filled(line: str) -> str:
    return "\n".join(wrapped(line, _width()))


def _width() -> int:
    return min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)
