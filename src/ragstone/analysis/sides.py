"""Reads one side of a comparison: its scores by pair and metric, and a digest of each pair's input."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

from ragstone.analysis.fields import fields_of
from ragstone.analysis.pair_columns import PairName, SideScores
from ragstone.analysis.selection import FOUND, NOT_IDENTIFYING, check_selection, matches
from ragstone.errors import UsageError
from ragstone.metrics.judge.record import steps_by_metric
from ragstone.structs import to_json
from ragstone.types import Case, Passage, Record, Run, Score

Pair = tuple[str, str]  # sample id, or digest of the input; condition as text
RIGHT = "right answers"  # among what is compared; no metric has this name
_DIGEST = 16  # bytes
_AS_IS = ("intervention", "as_is")  # of a diagnosis: the question as a run asks it
# Parts of a generated text's recipe that depend on the tokenizer.
_TOKENIZER_DEPENDENT = ("sentences", "at", "wanted")


class Reader(Protocol):
    """Sees each record of a side, and says whether it is right (1.0, 0.0), or that nothing decides it."""

    def __call__(self, record: Record, /) -> float | None: ...


@dataclass(frozen=True)
class Side:
    """One system of one run. `name`: its name in tables. `axis` and `value` select the cases retrieved with this value
    of a condition (`retriever`, `bm25`); the axis then does not identify a pair. `path`: the run file, for errors."""

    run: Run
    system: str
    name: str
    axis: str = ""
    value: str = ""
    path: Path | None = None


def read_side(
    side: Side, where: Mapping[str, str], group_by: Sequence[str], reader: Reader | None = None, *, texts: bool = False
) -> SideScores:
    """Reads the records of a side that match `where`. `reader` sees them, too, and what it says is a score, `RIGHT`. A
    record without an answer counts as a failed score of every metric of this side. Both sides of a comparison are read
    with or without the `texts` of passages. Raises UsageError if no record matches, or none has a name of
    `group_by`."""
    result, judges, names = SideScores(), set[str](), dict[tuple[str, ...], PairName]()
    for record, values in selected(side, where, group_by, texts=texts):
        scores = record.scores
        if reader is not None and (right := reader(record)) is not None:
            scores = {**scores, RIGHT: Score.of(right)}
        group = ", ".join(f"{name}={values[name]}" for name in group_by if name in values)
        result.add(record.case.sample.id, case_digest(record.case), _named(record.case, side.axis, group, names),
                   scores)  # fmt: skip
        for name, steps in steps_by_metric(record).items():
            result.judged.update([name] if steps else [])
            judges.update(step.model for step in steps if step.model)
    if not result.sample:
        raise UsageError(f"{side.name} has no answers yet: run its command again.")
    result.judges = tuple(sorted(judges))
    return result


def selected(
    side: Side, where: Mapping[str, str], group_by: Sequence[str] = (), *, texts: bool = False
) -> Iterator[tuple[Record, Mapping[str, str]]]:
    """The records of a side that match `where`, each with the fields of its case (none without `where` and `group_by`).
    Raises UsageError, at the end, as `read_side`."""
    available: dict[str, dict[str, None]] = {}
    empty, listed = True, bool(where or group_by)
    fields = fields_of(side.run, (*where, *group_by))
    for record in side.run.records(system=side.system, texts=texts):
        values = fields(record.case) if listed else {}
        for name, value in values.items():
            available.setdefault(name, {})[value] = None
        if matches(values, where) and (not side.axis or retrieved_values(record.case, side.axis) == side.value):
            empty = False
            yield record, values
    check_selection(side.name, where, group_by, available, empty=empty)


def _named(case: Case, axis: str, group: str, names: dict[tuple[str, ...], PairName]) -> PairName:
    """The name of a case's pair. Few cases have a name of their own: those before are in `names`."""
    identity = _identity(case, axis)
    key = (group, *identity, *(str(case.condition[name]) for name in identity))
    if (known := names.get(key)) is None:
        condition = tuple((name, str(case.condition[name])) for name in identity)
        known = names[key] = PairName(_text(case, identity), group, condition)
    return known


def retrieved_values(case: Case, axis: str) -> str | None:
    """The value of a retrieval axis ("retriever", "k", "chunk"); None for a case without retrieval."""
    return str(case.condition[axis]) if case.condition.get("retriever") and axis in case.condition else None


def _identity(case: Case, axis: str) -> list[str]:
    """The parts of a condition that identify a pair; parts that describe retrieval results do not."""
    others = {axis, *(FOUND if case.condition.get("retriever") else ()), *NOT_IDENTIFYING}
    return sorted(name for name, value in case.condition.items() if name not in others and (name, value) != _AS_IS)


def pair_of(case: Case) -> tuple[Pair, Pair]:
    """The pair that a case belongs to, by the id of its sample and by its input, under one condition."""
    condition = _text(case, _identity(case, ""))
    return (case.sample.id, condition), (case_digest(case).hex(), condition)


def _text(case: Case, identity: Sequence[str]) -> str:
    return ", ".join(f"{name}={case.condition[name]}" for name in identity)


def case_digest(case: Case) -> bytes:
    """A digest of question, references and given passages. It excludes retrieved passages, the answer, and labels,
    which may belong to chunks of another size."""
    sample, query = case.sample, case.query
    given = None if case.condition.get("retriever") else query.passages
    passages = None if given is None else [_digested(passage) for passage in given]
    text = to_json([sample.question, sample.references, [query.question, passages, query.history]])
    return blake2b(text.encode(), digest_size=_DIGEST).digest()


def question_digest(case: Case) -> bytes:
    """A digest of what was asked, under whatever condition: question and references, not the id."""
    text = to_json([case.sample.question, case.sample.references])
    return blake2b(text.encode(), digest_size=8).digest()


def _digested(passage: Passage) -> list[Any]:
    meta = passage.meta
    if isinstance(recipe := meta.get("recipe"), Mapping):
        fixed = {name: value for name, value in recipe.items() if name not in _TOKENIZER_DEPENDENT}
        meta = {**meta, "recipe": fixed | {"needles": sorted(recipe.get("needles", ()))}}
    return [passage.title, passage.text, passage.relevant, meta]
