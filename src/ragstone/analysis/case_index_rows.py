"""What an index keeps of a record: the values to filter and sort by, and the texts that a list of cases shows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from ragstone.analysis.case_filter import Status, printable
from ragstone.analysis.fields import derived
from ragstone.analysis.selection import NOT_IDENTIFYING, attributes
from ragstone.analysis.sides import pair_of, question_digest
from ragstone.display import Diagnosis, shown_id
from ragstone.types import Case, Record, Score, Usage

# Columns of numbers that stand for a sample, and for a sample under one condition: the same in every run.
SAMPLE, PAIR, INPUT, QUESTION = "h.sample", "h.pair", "h.input", "h.question"
SHOWN = 200  # characters of a text in a list of cases
SEARCHED = 4_000  # characters of each text that are searched
_SEVERITY: Mapping[Status, int] = {"wrong": 0, "failed": 1, "unscored": 2, "right": 3}


@dataclass(frozen=True)
class CaseRow:
    """A record in a list of cases: its texts are cut, `answer` is the error where it failed, and `label` is the cause
    in the reader's language. `scores` has None for what could not be scored."""

    system_id: str
    case_id: str
    sample_id: str
    question: str
    answer: str
    status: Status
    cause: str
    label: str
    group: str
    language: str
    scores: Mapping[str, float | None]

    @property
    def shown(self) -> str:
        """The id of the case for people."""
        return shown_id(self.case_id, self.sample_id)


@dataclass(frozen=True)
class IndexedRecord:
    """A record as an index keeps it: the values of its columns by name, what is shown, and what is searched."""

    values: Mapping[str, str]
    numbers: Mapping[str, float]
    details: str
    text: str
    status: Status
    usage: Usage = field(default_factory=Usage)


def is_number(column: str) -> bool:
    """Whether a column of this name has numbers; the others have codes of values."""
    return column in ("worst", "id") or column.startswith(("m.", "h."))


def number_of(*texts: str) -> float:
    """A number from 1 to 2^52 that stands for these texts: others have another one, but for one in 10^15."""
    whole = "\0".join(texts).encode("utf-8", "surrogatepass")
    return float(1 + int.from_bytes(blake2b(whole, digest_size=8).digest()) % 2**52)


def cut(text: str, limit: int = SHOWN) -> str:
    """The beginning of a text, with "…" where something follows."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def status_of(record: Record, diagnosis: Diagnosis) -> Status:
    """Whether the answer is right or wrong, could not be judged, or does not exist."""
    if record.error is not None or record.response is None:
        return "failed"
    return "unscored" if diagnosis.right is None else "right" if diagnosis.right else "wrong"


def indexed(record: Record, diagnosis: Diagnosis, better: Mapping[str, str]) -> IndexedRecord:
    """What to keep of a record. `better`: which end of a metric is good, "higher" by default."""
    status, case, response = status_of(record, diagnosis), record.case, record.response
    language = derived(case, ("language",)).get("language", "")
    answer = (record.error or "") if response is None else response.answer
    question = case.query.question or case.sample.question
    scores = {printable(name): score.value for name, score in record.scores.items()}
    shown = [
        printable(case.sample.id)[:SHOWN], *(cut(printable(text)) for text in (question, answer)), status,
        printable(diagnosis.cause)[:SHOWN] if status == "wrong" else "", printable(diagnosis.group)[:SHOWN], language,
        scores,
    ]  # fmt: skip
    searched = "\n".join(text[:SEARCHED] for text in (*dict.fromkeys((case.id, case.sample.id)), question, answer))
    usage = None if response is None else response.usage
    by_id, by_input = pair_of(case)
    return IndexedRecord(
        values=_values(record, diagnosis, status, language),
        numbers=_numbers(record, status, diagnosis.weight, better)
        | {SAMPLE: number_of(case.sample.id), PAIR: number_of(*by_id), INPUT: number_of(*by_input)}
        | {QUESTION: number_of(question_digest(case).hex())},
        details=json.dumps(shown, ensure_ascii=False, separators=(",", ":")),
        text=printable(searched).casefold().replace("\0", " "),
        status=status,
        usage=usage or Usage(),
    )


def _values(record: Record, diagnosis: Diagnosis, status: Status, language: str) -> dict[str, str]:
    case = record.case
    values = {
        "system": record.system_id, "status": status, "cause": diagnosis.cause if status == "wrong" else "",
        "group": diagnosis.group, "language": language,
        **{f"c.{name}": str(value) for name, value in case.condition.items() if name not in NOT_IDENTIFYING},
        **{f"label.{name}": value for name, value in _columns(case).items()},
    }  # fmt: skip
    return {printable(name): printable(value)[:SHOWN] for name, value in values.items() if value.strip()}


def _columns(case: Case) -> dict[str, str]:
    """The columns of the user's data."""
    names = {*case.condition, "language"}
    return {name: value for name, value in attributes(case).items() if name not in names}


def _numbers(record: Record, status: Status, weight: float, better: Mapping[str, str]) -> dict[str, float]:
    response = record.response
    usage = None if response is None else response.usage
    numbers = {
        "seconds": None if response is None else response.seconds,
        "tokens": None if usage is None else usage.prompt_tokens + usage.completion_tokens,
        **{name: score.value for name, score in record.scores.items()},
    }
    found = {f"m.{printable(name)}": float(value) for name, value in numbers.items() if value is not None}
    return {"worst": _badness(record.scores, status, weight, better), **found}


def _badness(scores: Mapping[str, Score], status: Status, weight: float, better: Mapping[str, str]) -> float:
    """Sorts the worst cases first: wrong ones by severity, then failed ones, then those that were not judged, then the
    right ones; equal ones by the mean of their scores."""
    values = [
        min(1.0, max(0.0, 1 - score.value if better.get(name) == "lower" else score.value))
        for name, score in scores.items()
        if score.value is not None
    ]
    mean = sum(values) / len(values) if values else 1.0
    return 4 * _SEVERITY[status] + 1 / (1 + max(0.0, weight)) + 1e-6 * mean


def row_of(details: str, system_id: str, case_id: str) -> CaseRow:
    """The row of a list of cases from what `indexed` kept of it; the cause is not translated yet."""
    sample, question, answer, status, cause, group, language, scores = json.loads(details)
    return CaseRow(system_id, case_id, sample, question, answer, status, cause, "", group, language, scores)
