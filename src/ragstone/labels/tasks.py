"""Questions to experts: six tasks, each with its choices and a guideline in English and Chinese."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from ragstone.errors import UnknownName, UsageError
from ragstone.labels.records import CANNOT_TELL, Kind
from ragstone.messages import LANGUAGES, messages
from ragstone.metrics.rubric import Rubric, Text
from ragstone.structs import Frozen

TASKS = ("correct", "faithful", "relevant", "better", "question")
"""The tasks that every file can have; `rubric.NAME` is one for each rubric."""

Shown: TypeAlias = tuple[str, ...]
_KINDS: dict[str, tuple[Kind, Shown]] = {
    "correct": ("answer", ("question", "references", "answers")),
    "faithful": ("answer", ("question", "answers", "passages")),
    "relevant": ("passage", ("question", "references", "passages")),
    "better": ("pair", ("question", "references", "answers", "passages")),
    "question": ("question", ("question", "references", "passages")),
    "rubric": ("answer", ("question", "references", "answers", "passages")),
}
_PREFIX = "rubric."


class Choice(Frozen, frozen=True):
    """A value that a label can have: what is stored, the `key` that is typed for it, what it counts as (None: as no
    rating), and its title. `edits`: the expert changes the question or its reference first."""

    value: str
    key: str
    number: float | None
    title: Text
    edits: bool = False


class Task(Frozen, frozen=True):
    """A question to experts about every item of a kind. `shows`: the fields of the item that the expert needs. The
    texts are kept with the labels: they say what the experts were asked."""

    name: str
    kind: Kind
    question: Text
    guideline: Text
    choices: tuple[Choice, ...]
    shows: tuple[str, ...]
    metric: str = ""

    def choice(self, value: str) -> Choice:
        """The choice with this value. Raises UsageError."""
        for choice in self.choices:
            if choice.value == value:
                return choice
        known = ", ".join(choice.value for choice in self.choices)
        raise UsageError(f"{value[:40]!r} is no label of the task {self.name}: it takes {known}.")

    @property
    def scale(self) -> tuple[float, float]:
        """The lowest and the highest number of a label."""
        numbers = [choice.number for choice in self.choices if choice.number is not None]
        return min(numbers), max(numbers)


def task_named(name: str, rubrics: Sequence[Rubric] = ()) -> Task:
    """A task by its name. Raises UnknownName for one that is neither of ours nor `rubric.NAME` of these rubrics."""
    if name in TASKS:
        kind, shows = _KINDS[name]
        return Task(
            name, kind, _text(f"question_{name}"), _text(f"guideline_{name}"), (*_choices(name), _cannot()), shows
        )
    known = {f"{_PREFIX}{rubric.name}": rubric for rubric in rubrics}
    if name not in known:
        hint = "" if rubrics else "Rubrics are given with --rubric; their task is rubric.NAME."
        raise UnknownName("task", name, (*TASKS, *known), hint=hint)
    kind, shows = _KINDS["rubric"]
    rubric = known[name]
    return Task(name, kind, rubric.question, _rubric_guideline(rubric), (*_rubric_choices(rubric), _cannot()), shows,
                f"rubric:{rubric.name}")  # fmt: skip


def _text(key: str, **values: object) -> Text:
    return Text(*(messages(__name__, language)[key].format(**values) for language in LANGUAGES))


def _choices(name: str) -> tuple[Choice, ...]:
    if name == "better":
        sides = (("first", "1", 1.0), ("second", "2", 0.0), ("tie", "=", 0.5))
        return tuple(Choice(value, key, number, _text(value)) for value, key, number in sides)
    if name == "question":
        verdicts = (("accepted", "a", 1.0), ("edited", "e", 0.5), ("rejected", "r", 0.0))
        return tuple(Choice(value, key, number, _text(value), value == "edited") for value, key, number in verdicts)
    return Choice("yes", "y", 1.0, _text("yes")), Choice("no", "n", 0.0, _text("no"))


def _cannot() -> Choice:
    return Choice(CANNOT_TELL, "?", None, _text(CANNOT_TELL))


def _rubric_choices(rubric: Rubric) -> Iterable[Choice]:
    """The steps of a rubric's scale; without one: whether the answer has everything that the rubric asks for."""
    if rubric.scale is None:
        return _choices("rubric")
    meanings = {anchor.value: anchor.text for anchor in rubric.scale.anchors}
    steps = range(rubric.scale.low, rubric.scale.high + 1)
    return [Choice(str(step), str(step), float(step), meanings.get(step, Text())) for step in steps]


def _rubric_guideline(rubric: Rubric) -> Text:
    """The rubric's instruction to a judge, for a person."""
    if not rubric.elements:
        return _text("guideline_rubric")
    parts = []
    for language in LANGUAGES:
        texts = messages(__name__, language)
        listed = texts["join"].join(element.text.to(language) for element in rubric.elements)
        parts.append(texts["guideline_elements"].format(elements=listed))
    return Text(*parts)
