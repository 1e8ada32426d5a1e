"""The worst answers: the question, the expected and actual answer, the reason for the score, and the passages."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from ragstone.display import Diagnosis, Span
from ragstone.messages import messages
from ragstone.report.digest import CaseKey
from ragstone.report.html import lang_attribute, marked, score_entries
from ragstone.report.metadata import case_anchor, condition_of, passage_name
from ragstone.report.sanitize import one_line
from ragstone.report.section import Section, View
from ragstone.report.sections._judged_case import case_html
from ragstone.types import Passage, Record

OWN_CASES = "own cases"  # in `View.shared`: a section of the benchmark shows the cases

_NAME = 40  # characters of the name of a case in a link


_QUESTION, _LINE, _ANSWER, _REASONING, _PASSAGE, _NOISE, _REASON = 1_000, 180, 2_400, 1_200, 900, 420, 1_000
JUDGED_BYTES = 420_000  # the limit of samples that are shown claim by claim
_OPEN = 8  # cases that are not folded away, as in the style sheet
_FILTERS = 12  # of a kind, as in the style sheet
_PASSAGES, _ALIASES, _SCORES = 20, 12, 24  # shown per case


@dataclass(frozen=True)
class Card:
    """A wrong answer as it is shown: its place on the page (`at`), its sample, the beginning of the question for links
    to it, and its HTML with the order in its group."""

    at: str
    sample: str
    question: str
    cause: str
    group: str
    order: tuple[float, str, str]
    html: Markup


def linked_question(record: Record) -> str:
    """The beginning of its question, for a link."""
    return one_line(record.case.query.question, _NAME)


def free_anchor(name: str, used: set[str]) -> str:
    """An id of the page for the user's own id, with a number where it is used already."""
    slug = case_anchor(name)
    number, free = 1, slug
    while free in used:
        number += 1
        free = f"{slug}-{number}"
    used.add(free)
    return free


def cards(view: View) -> Mapping[CaseKey, Card]:
    """The wrong answers that are shown, as many as fit: in turn from every system and group, so that the size limit
    affects all equally."""
    if "cards" not in view.shared:
        rendered = _rendered(view)
        shown: dict[CaseKey, Card] = {}
        used = 0
        judged = {*view.judged.worst}
        for key in _keys(view):
            if key not in rendered:
                continue
            used += len(rendered[key].html.encode("utf-8", "backslashreplace"))
            if shown and used > (JUDGED_BYTES if key in judged else view.case_bytes):
                continue
            shown[key] = rendered[key]
        view.shared["cards"] = _told_apart(shown)
    found: Mapping[CaseKey, Card] = view.shared["cards"]
    return found


def _told_apart(cards: Mapping[CaseKey, Card]) -> dict[CaseKey, Card]:
    """The cards, with the id of the sample behind questions that begin alike."""
    samples: dict[str, set[str]] = {}
    for card in cards.values():
        samples.setdefault(card.question, set()).add(card.sample)
    return {
        key: replace(card, question=f"{card.question} ({one_line(card.sample, _NAME)})")
        if len(samples[card.question]) > 1 else card
        for key, card in cards.items()
    }  # fmt: skip


def _keys(view: View) -> Sequence[CaseKey]:
    """The samples that are worst by the judge, then the other wrong answers."""
    return list(dict.fromkeys([*view.judged.worst, *view.digest.chosen]))


def _body(view: View) -> Markup | None:
    if OWN_CASES in view.shared:
        return None
    w = messages(__name__, view.language)
    judged = {*view.judged.worst}
    others = {key: card for key, card in cards(view).items() if key not in judged}
    if not others and (judged or not view.digest.decided):
        return None
    shown, wrong = len(others), view.digest.wrong
    intro = (
        w["shown_all"].format(wrong=f"{wrong:,}")
        if shown == wrong
        else w["shown_some"].format(shown=f"{shown:,}", wrong=f"{wrong:,}")
    )
    ordered = sorted(others, key=lambda key: others[key].order)
    names = {key: (view.digest.labels.get(card.cause, card.cause), card.group, key[0]) for key, card in others.items()}
    facets = [_facet(number, [names[key][number] for key in ordered]) for number in range(3)]
    listed = [
        ("".join(option[name] for (option, _), name in zip(facets, names[key], strict=True)), others[key].html)
        for key in ordered
    ]
    return view.html(
        "report/worst_answers.html", w=w, words=view.words, cases=listed, shown=_OPEN, intro=intro,
        facets=[(w[name], number, options) for number, (name, (_, options)) in
                enumerate(zip(("by_cause", "by_condition", "by_system"), facets, strict=True)) if len(options) > 1],
    )  # fmt: skip


def _facet(number: int, names: Sequence[str]) -> tuple[dict[str, str], list[tuple[str, int]]]:
    """The class of each name as a filter, and the names with their counts, the most frequent first. The style sheet
    knows so many filters; further names have none."""
    options = [(one_line(name, 80), n) for name, n in Counter(names).most_common()]
    classes = {name: f" f{number}-{place}" if place < _FILTERS else "" for place, name in
               enumerate(name for name, _ in Counter(names).most_common())}  # fmt: skip
    return classes, options[:_FILTERS]


def _rendered(view: View) -> dict[CaseKey, Card]:
    """Each chosen case. Records are streamed; only their HTML is stored."""
    w = messages(__name__, view.language)
    used: set[str] = set()
    rendered = {}
    number_of = {key: number for number, key in enumerate(view.judged.worst, 1)}
    judged_words = messages(case_html.__module__.replace("_judged_case", "judged"), view.language)
    for key, record in view.records(_keys(view)):
        diagnosis = view.benchmark.explain(record, language=view.language)
        order = (-diagnosis.weight, record.case.id, record.system_id)
        at = free_anchor(record.case.sample.id, used)
        if key in number_of:
            html = case_html(
                view, judged_words, record, number_of[key], place=at, diagnosis=diagnosis, benchmark=view.benchmark
            )
        else:
            html = _case(view, w, record, diagnosis, at)
        question = linked_question(record)
        rendered[key] = Card(at, record.case.sample.id, question, diagnosis.cause, diagnosis.group, order, html)
    return rendered


def _case(view: View, w: Mapping[str, str], record: Record, diagnosis: Diagnosis, at: str) -> Markup:
    case, response = record.case, record.response
    answer = response.answer if response else ""
    passages = response.passages if response and response.passages else (case.query.passages or ())
    language = case.query.language or case.sample.language
    return view.html(
        "report/worst_answer.html", w=w, record=record, at=at, id=one_line(case.sample.id, 80),
        lang=lang_attribute(language),
        question=one_line(case.query.question, _QUESTION), answer_line=one_line(answer, _LINE),
        label=one_line(diagnosis.label or diagnosis.cause, _LINE), reason=one_line(diagnosis.reason, _REASON),
        cut=response is not None and response.finish_reason == "length",
        expected=[[one_line(alias, _LINE) for alias in slot[:_ALIASES]] for slot in case.sample.references[:_ALIASES]],
        fakes=fakes_of(case.sample.meta), answer=marked(view, answer, _spans(diagnosis, "answer"), limit=_ANSWER),
        reasoning=marked(view, response.reasoning, (), limit=_REASONING) if response and response.reasoning else "",
        passages=[
            _passage(view, w, passage, place, case.sample.meta, diagnosis)
            for place, passage in enumerate(passages[:_PASSAGES], 1)
        ],
        more=max(0, len(passages) - _PASSAGES), retrieved=case.query.passages is None, closed=case.query.passages == (),
        scores=score_entries(view, record.scores, w, limit=_SCORES),
        condition=list(condition_of(case.condition, view.language, view.benchmark)),
    )  # fmt: skip


def _spans(diagnosis: Diagnosis, field: str) -> list[Span]:
    return [span for span in diagnosis.spans if span.field == field]


def fakes_of(meta: Mapping[str, Any]) -> list[str]:
    """The false answers that the notes of a sample say are planted in its passages."""
    fakes = meta.get("fake") or ()
    fakes = [fakes] if isinstance(fakes, str) else fakes
    if not isinstance(fakes, list | tuple):
        return []
    return [one_line(fake, _LINE) for fake in fakes if isinstance(fake, str)][:_ALIASES]


def _passage(
    view: View, w: Mapping[str, str], passage: Passage, place: int, meta: Mapping[str, Any], diagnosis: Diagnosis
) -> dict[str, Any]:
    spans = _spans(diagnosis, passage.id)
    kinds = meta.get("kinds")
    kind = passage.meta.get("kind") or (kinds.get(passage.id) if isinstance(kinds, dict) else None) or ""
    names = messages(type(view.benchmark).__module__, view.language)
    own = "" if view.benchmark.gives_passages else str(kind)  # a code of the benchmark is no word for readers
    label = {True: w["relevant"], False: w["irrelevant"], None: ""}[passage.relevant]
    limit = _PASSAGE if spans or passage.relevant else _NOISE
    return {
        "place": place,
        "id": passage_name(passage.id, view.language, view.benchmark),
        "title": one_line(passage.title, _LINE),
        "label": label,
        "relevant": passage.relevant is True,
        "kind": one_line(names.get(f"what_{kind}", own) if kind else "", 60),
        "text": marked(view, passage.text, spans, limit=limit),
    }


PLUGINS = {"worst_answers": Section(19, {"en": "The worst answers", "zh": "最差的回答"}, _body)}
