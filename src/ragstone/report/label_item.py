"""One item as an expert sees it, in the viewer and in the file that a colleague fills in: the question, what is to be
judged, the guideline beside it, and the fields of the label. Nothing here tells the system, a score or a judge."""

from collections.abc import Iterator

from markupsafe import Markup

from ragstone.labels import Choice, Label, LabelItem, Task
from ragstone.messages import messages
from ragstone.report.html import lang_attribute
from ragstone.report.sanitize import cut, pieces, readable
from ragstone.report.section import Canvas
from ragstone.structs import to_json

_LONGEST = 60_000  # characters of a text
_MOST_PASSAGES = 100
_MOST_REFERENCES = 50
_MOST_TURNS = 50


def item_html(canvas: Canvas, item: LabelItem, task: Task, entered: Label | None = None) -> Markup:
    """The inside of the form of an item: what the task shows of it, and the fields `value`, `comment`, `spans` (JSON:
    objects with start, end and answer) and `seconds`, as they were `entered`."""
    entered = entered or Label(item.id, task.name, "", "")
    words = messages(__name__, canvas.language)
    passages = item.passages if "passages" in task.shows else ()
    references = item.references[:_MOST_REFERENCES] if "references" in task.shows else ()
    spans = [{"start": span.start, "end": span.end, "answer": span.answer} for span in entered.spans]
    return canvas.html(
        "report/label_item.html", w=words, lang=lang_attribute(item.language),
        question=traceable(canvas, item.question),
        history=[(turn.role, traceable(canvas, turn.content)) for turn in item.history[-_MOST_TURNS:]],
        references=[[traceable(canvas, alias) for alias in slot] for slot in references],
        unanswerable=item.answerable is False, several=item.kind != "passage",
        answers=[traceable(canvas, answer) for answer in item.answers],
        passages=[(passage.title, traceable(canvas, passage.text)) for passage in passages[:_MOST_PASSAGES]],
        more=max(0, len(passages) - _MOST_PASSAGES), no_passages="passages" in task.shows and not passages,
        ask=task.question.to(canvas.language), guideline=task.guideline.to(canvas.language).splitlines(),
        choices=_choices(task, canvas.language), entered=entered, comment=Markup.escape(readable(entered.comment)),
        spans=to_json(spans),
    )  # fmt: skip


def _choices(task: Task, language: str) -> Iterator[tuple[Choice, str, str]]:
    """The choices of a task, each with its key and its title. A key is a digit: that of the scale where every step is
    one, else the number of the choice; choices after the ninth have none."""
    scale = [choice.value for choice in task.choices if choice.number is not None]
    digits = all(len(value) == 1 and value.isdigit() for value in scale)
    first = int(scale[0]) if digits and scale else 1
    for number, choice in enumerate(task.choices, first):
        title = choice.title.to(language)
        if choice.value in scale and (digits or not title):
            title = f"{choice.value}: {title}" if title else choice.value
        yield choice, str(number) if number <= 9 else "", title


def traceable(canvas: Canvas, text: str) -> Markup:
    """The text, escaped, with each replaced character in an element that says for how many characters it stands: a
    place that a reader points at can be traced back to the text as it was written."""
    kept, left_out = cut(text, _LONGEST)
    html = Markup("").join(_signed(kept))
    if left_out:
        html += Markup('<span class="sign cut" data-size="{}">{}</span>').format(
            left_out, canvas.words["left_out"].format(n=f"{left_out:,}")
        )
    return html


def _signed(text: str) -> Iterator[Markup]:
    for piece, size in pieces(text):
        yield (
            Markup('<span class="sign" data-size="{}">{}</span>').format(size, piece) if size else Markup.escape(piece)
        )
