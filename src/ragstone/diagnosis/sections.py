"""The cases of a diagnosis by cause, each as a pair: the answer as is, and the answer that shows the cause."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import zip_longest
from typing import Any

from markupsafe import Markup
from msgspec.structs import replace

from ragstone.analysis.gold_passages import holds, rank_of
from ragstone.analysis.statements import letters
from ragstone.diagnosis.interventions.benchmark import Interventions
from ragstone.diagnosis.interventions.causes import CAUSES
from ragstone.diagnosis.interventions.conditions import SEARCHES
from ragstone.diagnosis.interventions.details import details, meaning_of
from ragstone.diagnosis.interventions.diagnosed import Diagnosed, by_condition, of_questions
from ragstone.diagnosis.interventions.labels import misleading
from ragstone.diagnosis.interventions.question import fetched_of, prompt_of, rewritten_of, unread_prompt, whole
from ragstone.diagnosis.interventions.waterfall import bar_of
from ragstone.display import Span, shown_passage
from ragstone.error_text import failure_in
from ragstone.messages import messages
from ragstone.report.html import lang_attribute, marked
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas, Section, View
from ragstone.report.sections.opening import anchor
from ragstone.report.sections.worst_answers import OWN_CASES, Card, free_anchor, linked_question
from ragstone.responses.stages import passages_at
from ragstone.text import find_answer
from ragstone.text.quotes import find_quote
from ragstone.types import Benchmark, Passage, Record, Run

CASES, CASE_BYTES = 60, 900_000  # limits for all cases of a page
_QUESTION, _LINE, _ANSWER, _TEXT, _PASSAGES = 1_000, 180, 1_600, 600, 10

_ADDED = ("gold_added", "gold_only")
_ALONE = ("gold_only",)
PROOF: Mapping[str, tuple[str, ...]] = {
    "unstable": ("again", "again_2", "again_3"),
    "k_too_small": ("k2", "k4", *_ADDED),
    "stale": _ALONE,
    "chunking": ("chunk_only", "evidence_only", *_ADDED),
    **dict.fromkeys(("not_in_index", "rewriting", "search_mismatch", "filtered", "not_retrieved"), _ADDED),
    "language": (*_ADDED[:1], "gold_explicit", *_ALONE),
    **dict.fromkeys(("duplicates", "reranking", "ranking"), _ADDED),
    "prompt_cut": ("spaced", "evidence_first", "gold_first", *_ADDED),
    "history": ("no_history", "after_1", "after_2"),
    "cached_answer": ("reworded", "reworded_2"),
    "guard": ("gold_open", "counterfactual", *_ALONE),
    "position": ("gold_first", "gold_last", "only_after", "only_before", "gold_middle"),
    **dict.fromkeys(("noise", "refused_wrongly", "integration", "reference_in_doubt"), _ALONE),
    "reading": ("two_rows", *_ALONE),
    **dict.fromkeys(("units", "instruction"), ("gold_explicit", *_ALONE)),
    "memory": ("closed_book", *_ALONE),
    "healthy": ("gold_only", "gold_added"),
}
"""The conditions whose answer shows a cause, the best first; of those that were asked a right answer is preferred
(for an answer that was right, a wrong one)."""


@dataclass
class _Page:
    """The texts of the page, and the ids that it has used."""

    view: Canvas
    w: Mapping[str, str]
    names: Mapping[str, str]  # of causes, conditions and labels
    used: set[str] = field(default_factory=set)


def _page(canvas: Canvas) -> _Page:
    names = messages(Interventions.__module__.rpartition(".")[0] + ".tables", canvas.language)
    return _Page(canvas, messages(__name__, canvas.language), names)


def question_html(canvas: Canvas, benchmark: Benchmark, answers: Sequence[Record], run: Run | None = None) -> Markup:
    """The cause of one question with the two answers that show it, from all its records; "" if the benchmark is no
    diagnosis, or the first answer is missing. `run`: has the answers to all questions."""
    records = by_condition(answers)
    if not isinstance(benchmark, Interventions) or "as_is" not in records:
        return Markup()
    page, system, case = _page(canvas), records["as_is"].system_id, records["as_is"].case.id
    if run is None:
        (item,) = of_questions([records], takes=benchmark.taken_by(run, system), gates=benchmark.gates, sure=False)
    else:  # also what was asked right before it, which is another question's sample
        found = benchmark.diagnosed(run, system, sure=False)
        item = next(one for one in found if one.evidence.records["as_is"].case.id == case)
    luck = item.cause.name == "healthy"
    why = page.w["luck"] if luck and bar_of(item) else page.names[item.missing or meaning_of(item.cause.name, [item])]
    head = page.view.html(
        "<p><b>{{ name }}</b>: {{ why }}</p>", name=page.names["cause_luck" if luck and bar_of(item) else
                                                              f"cause_{item.cause.name}"],
        why=page.w["because"].format(why=why),
    )  # fmt: skip
    return head + _card(page, item, opened=True).html


def _body(view: View) -> Markup | None:
    if not isinstance(view.benchmark, Interventions):
        return None
    page = _page(view)
    w = page.w
    systems = {name: view.benchmark.diagnosed(view.run, name) for name in view.summaries}
    found = [
        (number, name, group, cause, items)
        for number, (name, all_items) in enumerate(systems.items())
        for (group, cause), items in _grouped(all_items).items()
    ]
    cards = _cards(page, [items for *_, items in found], min(CASES, view.cases_shown))
    view.shared[OWN_CASES] = True
    view.shared["cards"] = {
        (name, card.order[1]): card for (_, name, *_), some in zip(found, cards, strict=True) for card in some
    }
    total, shown = sum(len(items) for *_, items in found), sum(map(len, cards))
    intro = w["shown_all"] if shown == total else w["shown_some"].format(shown=f"{shown:,}", total=f"{total:,}")
    groups: dict[str, list[dict[str, Any]]] = {}
    headings = Counter[str]()
    for (number, name, group, cause, items), cases in zip(found, cards, strict=True):
        at = anchor(number, f"cause-{cause}")  # a cause that loses answers at two steps has two headings
        headings[at] += 1
        groups.setdefault(anchor(number, group), []).append(
            _heading(
                page,
                at if headings[at] == 1 else f"{at}-at-{group}",
                name if len(systems) > 1 else "",
                cause,
                items,
                cases,
            )
        )
    listed = [{"id": name, "causes": causes} for name, causes in groups.items()]
    return view.html("diagnosis/diagnosed.html", w=w, groups=listed, intro=intro if total else w["none"])


def _grouped(items: Sequence[Diagnosed]) -> dict[tuple[str, str], list[Diagnosed]]:
    """The questions of each group of the waterfall and cause; unknown causes first, then the most frequent."""
    groups: dict[tuple[str, str], list[Diagnosed]] = {}
    for item in items:
        if group := bar_of(item):
            groups.setdefault((group, item.cause.name), []).append(item)
    size: dict[str, int] = {}
    for (group, _), some in groups.items():
        size[group] = size.get(group, 0) + len(some)
    order = sorted(groups, key=lambda key: (key[0] != "unknown", key[0] == "luck", -size[key[0]], key[0],
                                            -len(groups[key]), CAUSES.index(key[1])))  # fmt: skip
    return {key: sorted(groups[key], key=_rank) for key in order}


def _rank(item: Diagnosed) -> tuple[float, bytes]:
    """The surest first, equally sure ones in a fixed random order."""
    return -item.confidence, blake2b(item.id.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _heading(
    page: _Page, at: str, system: str, cause: str, items: Sequence[Diagnosed], cases: Sequence[Card]
) -> dict[str, Any]:
    luck = cause == "healthy"
    n, shown = len(items), len(cases)
    name = page.names["cause_luck" if luck else f"cause_{cause}"]
    counted = "count_one" if n == 1 else "count" if shown == n else "count_shown"
    why = page.w["luck"] if luck else page.names[items[0].missing or meaning_of(cause, items)]
    return {
        "id": at, "system": system, "n": f"{n:,}", "cases": [card.html for card in cases],
        "name": name[:1].upper() + name[1:], "why": page.w["because"].format(why=why[:1].upper() + why[1:]),
        "details": details(cause, items, language=page.view.language),
        "count": page.w[counted].format(n=f"{n:,}", shown=f"{shown:,}"),
    }  # fmt: skip


def _cards(page: _Page, groups: Sequence[Sequence[Diagnosed]], most: int) -> list[list[Card]]:
    """The cases of each group as HTML: in turn from every group, as many as fit."""
    cards: list[list[Card]] = [[] for _ in groups]
    turns = [
        (number, item) for turn in zip_longest(*groups) for number, item in enumerate(turn) if item is not None
    ]  # fmt: skip
    used = 0
    for number, item in turns[:most]:
        card = _card(page, item)
        used += len(card.html.encode("utf-8", "backslashreplace"))
        if used > CASE_BYTES:
            break
        cards[number].append(card)
    return cards


def _card(page: _Page, item: Diagnosed, *, opened: bool = False) -> Card:
    records, sample = item.evidence.records, item.evidence.sample
    first, w, at = records["as_is"], page.w, free_anchor(item.id, page.used)
    sides = [_side(page, item, "as_is")]
    if (proof := _proof(item)) is not None:
        sides.append(_side(page, item, proof))
    sure = w["sure"].format(share=f"{100 * item.confidence:.0f}%") if item.confidence < 1 else ""
    html = page.view.html(
        "diagnosis/diagnosed_case.html", w=w, open=opened, id=one_line(item.id, 80), at=at,
        lang=lang_attribute(sample.language),
        question=one_line(sample.question, _QUESTION), sure=sure, sides=sides,
        answer_line=one_line(first.response.answer, _LINE) if first.response else "",
        labels=[page.names[f"label_{label}"] for label in item.labels],
        error=one_line(failure_in(first.error or "", page.view.language), _QUESTION),
        expected=[one_line(slot[0], _LINE) for slot in sample.references if slot],
        lost=list(_lost(page, item)), evidence=list(_evidence(page, item)), asked=list(_asked(page, item)),
    )  # fmt: skip
    cause = item.cause.name
    order = (0.0, first.case.id, first.system_id)
    return Card(at, item.id, linked_question(first), cause, cause, order, html)


def _proof(item: Diagnosed) -> str | None:
    """The condition whose answer shows the cause."""
    names = [name for name in PROOF.get(item.cause.name, _ALONE) if item.evidence.response(name) is not None]
    wanted = 0.0 if item.cause.name == "healthy" else 1.0
    return next((name for name in names if item.right(name) == wanted), names[0] if names else None)


def _side(page: _Page, item: Diagnosed, condition: str) -> dict[str, Any]:
    """One answer of the pair, with the passages that it was made from."""
    record = item.evidence.records[condition]
    answer = record.response.answer if record.response else ""
    passages = _passages_of(record)
    wrong = misleading(item.evidence) if condition == "as_is" else None
    tone, verdict = _verdict(page, item, condition)
    return {
        "name": page.names[f"condition_{condition}"], "tone": tone, "verdict": verdict,
        "answer": marked(page.view, answer, _stated(item, answer), limit=_ANSWER),
        "passages": [_passage(page, item, shown, wrong, known) for shown, known in passages[:_PASSAGES]],
        "more": max(0, len(passages) - _PASSAGES),
    }  # fmt: skip


def _passages_of(record: Record) -> list[tuple[Passage, Passage]]:
    """The passages of the prompt, each as much of it as stood there and the whole one, under the id that it was given
    with; where no prompt was recorded, those that were given or returned."""
    response = record.response
    known = record.case.query.passages or (response.passages if response else ())
    shown = () if response is None else passages_at(response, "prompt") or ()
    if response is None or not shown or unread_prompt(response):
        return [(item, item) for item in known]
    pairs = [(item, whole(item, known)) for item in shown]
    return [(replace(item, id=all_of_it.id), all_of_it) for item, all_of_it in pairs]


def _verdict(page: _Page, item: Diagnosed, condition: str) -> tuple[str, str]:
    outcome = item.evidence.outcome(condition) or "unscored"
    return {"right": "good", "unscored": ""}.get(outcome, "bad"), page.w[outcome]


def _stated(item: Diagnosed, text: str) -> list[Span]:
    """Where a text states the reference."""
    slots = item.evidence.slots
    return [Span("", *span) for slot in slots for alias in slot if alias.strip() for span in find_answer(alias, text)]


def _passage(
    page: _Page, item: Diagnosed, passage: Passage, wrong: Passage | None, known: Passage
) -> dict[str, Any]:  # fmt: skip
    """A passage with what it is: gold, the one that states the wrong answer, or less than the whole one (`known`)."""
    gold = any(holds(passage, evidence, item.evidence.slots) for evidence in item.evidence.gold)
    misled = wrong is not None and passage.id == wrong.id
    spans = _stated(item, passage.text)
    first = item.evidence.first
    if misled and first is not None and (quote := find_quote(first.answer.strip().rstrip(".。"), passage.text)):
        spans = [Span("", *quote, kind="wrong")]
    cut = len(letters(passage.text)) < len(letters(known.text))
    badge = page.w["gold"] if gold else page.w["misled"] if misled else page.w["cut"] if cut else ""
    limit = _TEXT if gold or misled else _TEXT // 3
    return {
        "id": _passage_name(page, passage), "badge": badge, "tone": "good" if gold else "bad",
        "text": marked(page.view, passage.text, spans, limit=limit),
    }  # fmt: skip


def _passage_name(page: _Page, passage: Passage) -> str:
    return one_line(shown_passage(passage.id, page.names), 80)


def _lost(page: _Page, item: Diagnosed) -> Iterator[dict[str, Any]]:
    """The gold passages that the prompt lacked, with the rank at which they were fetched."""
    evidence = item.evidence
    first = evidence.first
    prompt = prompt_of(first) if first is not None else ()
    for gold in evidence.gold:
        if any(holds(passage, gold, evidence.slots) for passage in prompt):
            continue
        rank = None if first is None else rank_of(fetched_of(first), [gold], evidence.slots)
        badge = page.w["not_fetched"] if rank is None else page.w["fetched_at"].format(rank=rank)
        text = marked(page.view, gold.text, _stated(item, gold.text), limit=_TEXT)
        yield {"id": _passage_name(page, gold), "badge": badge, "text": text}


def _evidence(page: _Page, item: Diagnosed) -> Iterator[tuple[str, str]]:
    """What is known about the gold passages at each stage, and the rewritten query."""
    evidence, first = item.evidence, item.evidence.first
    if first is not None and (query := rewritten_of(first, evidence.sample.question)):
        yield page.w["rewritten"], one_line(query, _LINE)
    if item.found:
        yield page.w["gold_passages"], page.w[f"found_{item.found}"]
    for name in ("in_index", "fetched", "asked", "by_reference", "prompted"):
        value = item.evidence.value(name)
        if value in ("yes", "no"):
            yield page.names[name], page.w[value]


def _asked(page: _Page, item: Diagnosed) -> Iterator[tuple[str, str, str]]:
    """Every condition that was asked, with its outcome."""
    for name in item.evidence.records:
        if name not in SEARCHES:
            tone, verdict = _verdict(page, item, name)
            yield page.names[f"condition_{name}"], tone, verdict


PLUGINS = {"diagnosed": Section(15, {"en": "Cases by cause", "zh": "按原因分组的用例"}, _body, question=question_html)}
