"""Items for experts, from the records of a run: blind, and in an order that a seed draws."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

from ragstone.datasets.tabular.items import Item
from ragstone.labels.records import Kind, LabelItem, Origin
from ragstone.types import NO_ANSWER, Case, Passage, Query, Record, Response, Sample

RECORDED = "recorded"
"""The system of the answers that data came with."""

Key: TypeAlias = tuple[str, ...]
"""The unit that is drawn: ("answer", system, case), ("pair", system, system, case), ("passage", question) or
("question", question)."""


@dataclass(frozen=True)
class Candidate:
    """An answer, a pair of answers or a question with its passages that experts could label. `uncertainty`: from 0 to
    1, None where nothing is scored. `stratum`: the part of the data that it is from."""

    key: Key
    uncertainty: float | None = None
    stratum: str = ""


@dataclass
class _Seen:
    """Values that the candidates of a case take from its answers: system → the mean of its scores."""

    scores: dict[str, float | None] = field(default_factory=dict)
    stratum: str = ""


def drawn(seed: int, *parts: str) -> str:
    """A text that is random and depends on nothing but the seed and these parts."""
    return hashlib.sha256("\n".join((str(seed), *parts)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def records_of_data(items: Iterable[Item]) -> Iterator[Record]:
    """The rows of data as records of one system, `RECORDED`."""
    for item in items:
        sample = item.sample
        query = Query(sample.question, history=item.history, language=sample.language)
        yield Record(RECORDED, Case(sample.id, sample, dict(item.extra), query), item.response, item.error or None)


def candidates(
    records: Iterable[Record],
    kinds: Collection[Kind],
    *,
    rated: Callable[[Record], Sequence[float]] = lambda record: (),
    stratum: Callable[[Record], str] = lambda record: "",
) -> Iterator[Candidate]:
    """Everything that experts could label of these records; answers one by one, which need no memory. `rated`: the
    scores of a record, by one or more judges or metrics, from 0 to 1. Their mean is near one half where they are near
    the bar or disagree: 1 - 2·|mean - ½| is the uncertainty of an answer; of a pair, it is 1 - |difference of the
    means|; of a question, the largest of its answers."""  # fmt: skip
    cases: dict[str, _Seen] = {}
    questions: dict[str, tuple[float | None, str]] = {}
    reviewed: dict[str, str] = {}
    for record in records:
        part = stratum(record)
        values = rated(record)
        mean = sum(values) / len(values) if values else None
        doubt = None if mean is None else 1 - 2 * abs(mean - 0.5)
        if _answered(record):
            if "answer" in kinds:
                yield Candidate(("answer", record.system_id, record.case.id), doubt, part)
            if "pair" in kinds:
                cases.setdefault(record.case.id, _Seen(stratum=part)).scores[record.system_id] = mean
        if "passage" in kinds and _passages(record):
            before = questions.get(record.case.sample.id, (None, part))[0]
            doubts = [value for value in (before, doubt) if value is not None]
            questions[record.case.sample.id] = (max(doubts, default=None), part)
        if "question" in kinds:
            reviewed.setdefault(record.case.sample.id, part)
    for case, seen in cases.items():
        for first, other in combinations(sorted(seen.scores), 2):
            a, b = seen.scores[first], seen.scores[other]
            doubt = None if a is None or b is None else 1 - abs(a - b)
            yield Candidate(("pair", first, other, case), doubt, seen.stratum)
    yield from (Candidate(("question", sample), None, part) for sample, part in reviewed.items())
    yield from (Candidate(("passage", sample), *rest) for sample, rest in questions.items())


def items_of(
    records: Iterable[Record],
    chosen: Mapping[Key, Candidate],
    *,
    source: str,
    seed: int = 0,
    by: str = "",
    evidence: Callable[[Record], Sequence[Passage]] | None = None,
) -> Iterator[tuple[LabelItem, Origin, str]]:
    """The items of what was chosen, each with its origin and its place in the round. Answers of several systems stand
    in an order that the seed draws, and so do the two sides of a pair; the passages of a question follow each other.
    `evidence`: the passages that the reference of a question is from, by default its gold passages."""
    pairs: dict[tuple[str, str], list[tuple[str, Key]]] = {}
    for key in chosen:
        if key[0] == "pair":
            for system, other in ((key[1], key[2]), (key[2], key[1])):
                pairs.setdefault((system, key[3]), []).append((other, key))
    waiting: dict[tuple[str, str], Record] = {}
    passages: set[tuple[str, str]] = set()
    questions: set[str] = set()
    for record in records:
        case = record.case
        if (candidate := chosen.get(("answer", record.system_id, case.id))) is not None and _answered(record):
            yield _item("answer", (record,), candidate, source, seed, by)
        for other, key in pairs.get((record.system_id, case.id), ()):
            if (first := waiting.get((other, case.id))) is not None:
                two = sorted((first, record), key=lambda answer: drawn(seed, case.id, answer.system_id))
                yield _item("pair", two, chosen[key], source, seed, by)
            elif _answered(record):
                waiting[record.system_id, case.id] = record
        question = chosen.get(("question", case.sample.id))
        if question is not None and case.sample.id not in questions:
            questions.add(case.sample.id)
            yield _item("question", (record,), question, source, seed, by, shown=(evidence or _gold)(record))
        if (candidate := chosen.get(("passage", case.sample.id))) is not None:
            for passage in _passages(record):
                if (same := (case.sample.id, _identity(passage))) not in passages:
                    passages.add(same)
                    yield _item("passage", (record,), candidate, source, seed, by, passage)


def _item(
    kind: Kind, records: Sequence[Record], candidate: Candidate, source: str, seed: int, by: str,
    passage: Passage | None = None, shown: Sequence[Passage] = (),
) -> tuple[LabelItem, Origin, str]:  # fmt: skip
    case = records[0].case
    responses = [record.response or Response("") for record in records]
    about_answers = kind in ("answer", "pair")
    if passage is not None or about_answers:
        shown = _union(responses) if passage is None else (passage,)
    identity = () if passage is None else (_identity(passage),)
    item = LabelItem(
        f"i-{drawn(0, source, *candidate.key, *identity)}", kind, case.sample.id, case.sample.question,
        tuple(response.answer for response in responses) if about_answers else (),
        tuple(Passage(str(place), given.text, given.title) for place, given in enumerate(shown, 1)),
        case.sample.references, case.query.history, case.sample.language,
        _answerable(case.sample) if kind == "question" else None,
    )  # fmt: skip
    systems = tuple(record.system_id for record in records) if about_answers else ()
    origin = Origin(
        source, case.sample.id, case.id if about_answers else "", systems, passage.id if passage else "", by,
        candidate.stratum,
    )  # fmt: skip
    return item, origin, "-".join((drawn(seed, *candidate.key), *(drawn(seed, part) for part in identity)))


def _answered(record: Record) -> bool:
    return record.response is not None and record.response.finish_reason != NO_ANSWER


def _passages(record: Record) -> Sequence[Passage]:
    """The retrieved passages; otherwise the passages of the question."""
    retrieved = record.response.passages if record.response is not None else ()
    return [passage for passage in retrieved or record.case.sample.passages if passage.text]


def _gold(record: Record) -> list[Passage]:
    return [passage for passage in record.case.sample.passages if passage.relevant and passage.text]


def _answerable(sample: Sample) -> bool | None:
    mark = sample.meta.get("answerable")
    return mark if isinstance(mark, bool) else None


def _union(responses: Sequence[Response]) -> list[Passage]:
    """The passages of these responses, each once."""
    found = {_identity(passage): passage for response in responses for passage in response.passages if passage.text}
    return list(found.values())


def _identity(passage: Passage) -> str:
    return f"{passage.id}\n{passage.title}\n{passage.text}"
