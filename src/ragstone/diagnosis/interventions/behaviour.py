"""What the conditions tell besides causes: what a system does without the gold, with a document that says otherwise,
and with its passages twice or in reverse order; and its refusals, with the reason for each."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragstone.analysis.gold_passages import states
from ragstone.diagnosis.interventions.diagnosed import Diagnosed
from ragstone.diagnosis.interventions.labels import misleading
from ragstone.stats import Estimate
from ragstone.types import Passage


@dataclass(frozen=True)
class Figure:
    """How often a system behaved in this way under a condition, of the answers to it. `cases`: the questions."""

    condition: str
    name: str
    share: Estimate
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Refusals:
    """`name`: "should_have_refused" or "refused_wrongly"; the share is of the questions that could go wrong so.
    `reasons`: the number of questions by cause, or "misled" and "made_up"."""

    name: str
    share: Estimate
    reasons: Mapping[str, int]
    cases: tuple[str, ...]


def behaviours(items: Sequence[Diagnosed]) -> list[Figure]:
    """The figures of the conditions that were asked."""
    return [
        figure
        for condition, names in _BEHAVIOURS.items()
        for name, shows in names.items()
        if (figure := _figure(items, condition, name, shows)) is not None
    ]


def _figure(
    items: Sequence[Diagnosed], condition: str, name: str, shows: Callable[[Diagnosed, str], bool]
) -> Figure | None:
    answered = [item for item in items if item.right(condition) is not None and item.evidence.response(condition)]
    cases = tuple(item.id for item in answered if shows(item, condition))
    return Figure(condition, name, Estimate.of_count(len(cases), len(answered)), cases) if answered else None


def _outcome(value: str) -> Callable[[Diagnosed, str], bool]:
    return lambda item, condition: item.evidence.outcome(condition) == value


def _says(item: Diagnosed, condition: str, slots: Sequence[Sequence[str]]) -> bool:
    response = item.evidence.response(condition)
    return response is not None and states(Passage("", response.answer), slots)


def _follows_document(item: Diagnosed, condition: str) -> bool:
    return _says(item, condition, [[item.evidence.question.stand_in]])


def _keeps_memory(item: Diagnosed, condition: str) -> bool:
    return _says(item, condition, item.evidence.slots) and not _follows_document(item, condition)


def _neither(item: Diagnosed, condition: str) -> bool:
    return not _follows_document(item, condition) and not _keeps_memory(item, condition)


def _changed(item: Diagnosed, condition: str) -> bool:
    return item.right(condition) != item.right("as_is")


_BEHAVIOURS: Mapping[str, Mapping[str, Callable[[Diagnosed, str], bool]]] = {
    "no_gold": {"refused": _outcome("refused"), "from_memory": _outcome("right"), "made_up": _outcome("wrong")},
    "counterfactual": {
        "document_over_memory": _follows_document, "memory_over_document": _keeps_memory, "neither": _neither,
    },
    "duplicated": {"changed": _changed},
    "reordered": {"changed": _changed},
    "again": {"changed": _changed},
}  # fmt: skip


def refusals(items: Sequence[Diagnosed]) -> Iterator[Refusals]:
    """Answers that should have been refusals, and refusals that should have been answers; none where nothing of the
    kind occurred."""
    known = [item for item in items if item.right("as_is") is not None]
    unanswerable = [item for item in known if item.evidence.value("answerable") == "no"]
    answerable = [item for item in known if item.evidence.value("answerable") == "yes"]
    answered = [item for item in unanswerable if item.evidence.outcome("as_is") == "wrong"]
    refused = [item for item in answerable if item.evidence.outcome("as_is") == "refused"]
    if answered:
        reasons = Counter("misled" if misleading(item.evidence) else "made_up" for item in answered)
        yield _refusals("should_have_refused", answered, unanswerable, reasons)
    if refused:
        yield _refusals("refused_wrongly", refused, answerable, Counter(item.cause.name for item in refused))


def _refusals(name: str, items: Sequence[Diagnosed], of: Sequence[Diagnosed], reasons: Counter[str]) -> Refusals:
    share = Estimate.of_count(len(items), len(of))
    return Refusals(name, share, dict(reasons.most_common()), tuple(item.id for item in items))
