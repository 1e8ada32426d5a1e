"""`/gold`: experts edit questions, references, gold passages and unanswerable marks; every edit is a version."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone.errors import UsageError
from ragstone.experts.pages.annotate import desk
from ragstone.labels import Edit, LabelStore
from ragstone.labels.records import edited
from ragstone.messages import messages
from ragstone.report.html import marked
from ragstone.report.sanitize import one_line, readable
from ragstone.report.section import Canvas
from ragstone.report.word_diff import word_diff
from ragstone.types import Passage, Sample
from ragstone.web.forms import Form, labels_of, posted, seen
from ragstone.web.page import address, canvas_of, library_of, link, parameter

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
    """Changes in the fields; a text that is as it was shown is left as it was written. Raises UsageError if the
    reason is missing."""
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


_SIZE = 100
_SHOWN = 20_000  # characters of a text in the history


def _list(request: Request) -> Response:
    """The questions, those that hold a text, a page at a time."""
    canvas, words = canvas_of(request, __name__)
    query = {name: request.query_params.get(name, "") for name in ("q", "edited", "by")}
    query = {name: value for name, value in query.items() if value}
    with labels_of(request) as store:
        found = list(_found(store, query.get("q", "").casefold(), only_edited="edited" in query))
    start = _SIZE * _number(request.query_params.get("page", "0"))
    rows = [
        {"href": link(request, "/gold/question", id=sample.id, by=query.get("by", "")),
         "question": one_line(sample.question, 200), "id": one_line(sample.id, 80),
         "references": one_line(" · ".join(alias for slot in sample.references for alias in slot[:1]), 160),
         "edits": count}
        for sample, count in found[start : start + _SIZE]
    ]  # fmt: skip
    number = start // _SIZE
    before, after = (
        address(request, "/gold", query | {"page": str(step)}) if there else ""
        for step, there in ((number - 1, number), (number + 1, start + _SIZE < len(found)))
    )
    kept = [(name, request.query_params[name]) for name in ("by", "lang") if request.query_params.get(name)]
    body = canvas.html(
        "experts/gold.html", w=words, rows=rows, total=len(found), q=query.get("q", ""), only="edited" in query,
        kept=kept,
        before=before, after=after, file=shlex.quote(str(library_of(request).labels)),
    )  # fmt: skip
    return desk(request, canvas, words["title"], body)


def _found(store: LabelStore, text: str, *, only_edited: bool) -> Iterator[tuple[Sample, int]]:
    """The questions with their edits, and how many there are of each."""
    edits: dict[str, list[Edit]] = {}
    for edit in store.edits():
        edits.setdefault(edit.sample_id, []).append(edit)
    for source in store.samples():
        sample, own = source.sample, edits.get(source.sample.id, [])
        for edit in own:
            sample = edited(sample, edit)
        texts = (sample.id, sample.question, *(alias for slot in sample.references for alias in slot))
        if (own or not only_edited) and (not text or any(text in value.casefold() for value in texts)):
            yield sample, len(own)


def _number(text: str) -> int:
    """A number of a page or of a version. Raises UsageError."""
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise UsageError(f"{text[:20]!r} is not a number: open the page from a link.")
    return int(text)


def _question(request: Request) -> Response:
    """One question: its fields, and its versions, newest first."""
    canvas, words = canvas_of(request, __name__)
    sample_id, by = parameter(request, "id"), request.query_params.get("by", "")
    with labels_of(request) as store:
        sample, edits = store.sample(sample_id).sample, store.edits(sample_id)
        first = store.sample(sample_id, original=True).sample
    body = canvas.html(
        "experts/gold_question.html", w=words, id=Markup.escape(sample_id), by=by,
        version=edits[-1].version if edits else 0,
        saved="saved" in request.query_params, fields=fields_html(canvas, sample, by),
        versions=list(_versions(canvas, first, edits))[::-1], up=link(request, "/gold", by=by),
        save=address(request, "/gold/edit"), revert=address(request, "/gold/revert"),
    )  # fmt: skip
    return desk(request, canvas, words["title"], body)


def _versions(canvas: Canvas, sample: Sample, edits: Sequence[Edit]) -> Iterator[dict[str, Any]]:
    """Every edit with the texts that it changed, before and after."""
    words = messages(__name__, canvas.language)
    before = 0
    for edit in edits:
        after = edited(sample, edit)
        changes = []
        for name, old, new in zip(words["fields"].split("|"), _texts(sample), _texts(after), strict=True):
            if old != new:
                spans = word_diff(old, new)
                sides = zip((old, new), spans, (words["gone"], words["came"]), strict=True)
                changes.append((name, *(marked(canvas, text, marks, limit=_SHOWN, kinds={"only": word})
                                        for text, marks, word in sides)))  # fmt: skip
        when = f"{datetime.fromtimestamp(edit.when, UTC):%Y-%m-%d %H:%M} UTC"
        yield {
            "number": edit.version,
            "before": before,
            "by": edit.by,
            "why": edit.why,
            "when": when,
            "changes": changes,
        }
        sample, before = after, edit.version


def _texts(sample: Sample) -> tuple[str, str, str, str]:
    """Question, references, gold passages and mark, as texts to compare."""
    references = "\n".join(" | ".join(slot) for slot in sample.references)
    gold = "\n\n".join(f"{passage.title}\n{passage.text}".strip() for passage in sample.passages if passage.relevant)
    return sample.question, references, gold, str(sample.meta.get("answerable", ""))


def _edit(request: Request, form: Form) -> Response:
    """Writes what the form changes as the newest version."""
    with labels_of(request) as store:
        sample = _current(store, form)
        store.edit(edit_of(form, sample))
    return seen(request, "/gold/question", {"id": form.get("id"), "by": form.get("by"), "saved": "1"})


def _current(store: LabelStore, form: Form) -> Sample:
    """The question that the form was made of. Raises UsageError if somebody edited it since."""
    sample_id = form.get("id")
    sample, edits = store.sample(sample_id).sample, store.edits(sample_id)
    if str(edits[-1].version if edits else 0) != form.get("version"):
        who = edits[-1].by if edits else "somebody"
        raise UsageError(f"{who} has edited this question meanwhile: go back, reload the page and edit that version.")
    return sample


def _revert(request: Request, form: Form) -> Response:
    """Writes an earlier state as the newest version."""
    with labels_of(request) as store:
        now, target = _current(store, form), store.sample(form.get("id"), original=True).sample
        version = _number(form.get("to"))
        for edit in store.edits(form.get("id")):
            if edit.version <= version:
                target = edited(target, edit)
        store.edit(_back(now, target, form))
    return seen(request, "/gold/question", {"id": form.get("id"), "by": form.get("by"), "saved": "1"})


def _back(now: Sample, target: Sample, form: Form) -> Edit:
    """The edit that makes `target` of `now`."""
    gold, before = (tuple(passage for passage in sample.passages if passage.relevant) for sample in (target, now))
    mark = target.meta.get("answerable", True)
    return Edit(
        now.id, form.get("by").strip(), f"back to version {form.get('to')}",
        target.question if target.question != now.question else None,
        target.references if target.references != now.references else None,
        gold if gold != before else None,
        bool(mark) if mark != now.meta.get("answerable", True) else None,
    )  # fmt: skip


ROUTES = (
    Route("/gold", _list),
    Route("/gold/question", _question),
    Route("/gold/edit", posted(_edit), methods=["POST"]),
    Route("/gold/revert", posted(_revert), methods=["POST"]),
)
