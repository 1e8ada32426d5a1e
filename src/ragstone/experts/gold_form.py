"""The form by which an expert edits the gold of a question: its fields, and the edit that they say."""

from collections.abc import Sequence

from markupsafe import Markup

from ragstone.errors import UsageError
from ragstone.labels import Edit
from ragstone.messages import messages
from ragstone.report.sanitize import readable
from ragstone.report.section import Canvas
from ragstone.types import Passage, Sample
from ragstone.web.forms import Form

_MARKS = (("", "not_stated"), ("yes", "yes"), ("no", "no"))


def fields_html(canvas: Canvas, sample: Sample, by: str) -> Markup:
    """The fields with the gold as it stands; every list has an empty place at its end."""
    words = messages(__name__, canvas.language)
    slots = [[*map(_field, slot), Markup()] for slot in (*sample.references, ())]
    known = [
        {"relevant": passage.relevant, "new": False, "title": readable(passage.title), "text": _field(passage.text)}
        for passage in sample.passages
    ]
    return canvas.html(
        "experts/gold_fields.html", w=words, question=_field(sample.question), slots=slots, by=by,
        answerable=_mark(sample),
        passages=[*known, {"relevant": None, "new": True, "title": "", "text": Markup()}],
        answers=[(value, words[name]) for value, name in _MARKS if value or not _mark(sample)],
    )  # fmt: skip


def _field(text: str) -> Markup:
    """A text that is not cut; what cannot be shown is written as a sign."""
    return Markup.escape(readable(text))


def _mark(sample: Sample) -> str:
    mark = sample.meta.get("answerable")
    return "yes" if mark is True else "no" if mark is False else ""


def edit_of(form: Form, sample: Sample) -> Edit:
    """What the fields change; a text that is as it was shown is left as it was written. Raises UsageError if the reason
    is missing."""
    if not form.get("why").strip():
        raise UsageError("The edit has no reason: write why, for those who read the versions later.")
    question = _same(form.get("question"), sample.question)
    references = _references(form, sample)
    gold = _gold(form, sample.passages)
    mark = {"yes": True, "no": False}.get(form.get("answerable"))
    before = tuple(passage for passage in sample.passages if passage.relevant)
    return Edit(
        sample.id, form.get("by").strip(), form.get("why").strip(),
        question if question != sample.question else None,
        references if references != sample.references else None,
        gold if gold != before else None,
        mark if form.get("answerable") != _mark(sample) else None,
    )  # fmt: skip


def _same(text: str, before: str) -> str:
    """The text of a field, or the one before it that is shown like this."""
    return before if text == readable(before).replace("\r", "") else text


def _references(form: Form, sample: Sample) -> tuple[tuple[str, ...], ...]:
    slots = []
    for number in range(len(sample.references) + 1):
        known = sample.references[number] if number < len(sample.references) else ()
        texts = form.all(f"reference-{number}")
        aliases = [_same(text, known[at]) if at < len(known) else text for at, text in enumerate(texts)]
        slots.append(tuple(alias for alias in aliases if alias.strip()))
    return tuple(slot for slot in slots if slot)


def _gold(form: Form, passages: Sequence[Passage]) -> tuple[Passage, ...]:
    gold = []
    known = {passage.id for passage in passages}
    for number, passage in enumerate(passages):
        text = _same(form.get(f"passage-{number}"), passage.text)
        title = _same(form.get(f"title-{number}"), passage.title)
        if form.get(f"gold-{number}") and text.strip():
            same = (text, title) == (passage.text, passage.title)
            gold.append(passage if same and passage.relevant else Passage(passage.id, text, title, True))
    new = form.get(f"passage-{len(passages)}")
    if form.get(f"gold-{len(passages)}") and new.strip():
        name = next(f"gold-{number}" for number in range(1, len(known) + 2) if f"gold-{number}" not in known)
        gold.append(Passage(name, new, form.get(f"title-{len(passages)}"), True))
    return tuple(gold)
