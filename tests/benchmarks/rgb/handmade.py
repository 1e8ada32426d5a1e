"""Runs made by hand, so that every number of a table can be checked by hand."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.planless import Planless

from ragstone.types import Case, Passage, Query, Record, Response, Sample, Score

DATASETS = {
    ("noise", "en"): "en_refine", ("noise", "zh"): "zh_refine",
    ("rejection", "en"): "en_refine", ("rejection", "zh"): "zh_refine",
    ("integration", "en"): "en_int", ("integration", "zh"): "zh_int",
    ("counterfactual", "en"): "en_fact", ("counterfactual", "zh"): "zh_fact",
}  # fmt: skip


class HandRun(Planless):
    """A run of these records. `reads` counts how often it was read."""

    def __init__(self, records: Iterable[Record], meta: Mapping[str, Any] | None = None) -> None:
        order = sorted(records, key=lambda record: (record.system_id, record.case.id))
        self._records = order
        self.meta: Mapping[str, Any] = meta or {}
        self.systems: Mapping[str, Mapping[str, Any]] = {record.system_id: {} for record in order}
        self.reads = 0

    def records(
        self, *, system: str | None = None, cases: Collection[str] | None = None, texts: bool = True
    ) -> Iterator[Record]:
        self.reads += 1
        found = (one for one in self._records if system in (None, one.system_id))
        return (one for one in found if cases is None or one.case.id in cases)


class HandBenchmark:
    """Nothing but options."""

    def __init__(self, **options: Any) -> None:
        self.options: Mapping[str, Any] = {
            "data_name": "fictional", "selection": "balanced", "scoring": "default", "template": "paper",
            "passages": 5, "correct_rate": 0.0, **options,
        }  # fmt: skip


def official(**options: Any) -> HandBenchmark:
    """The options with which the paper's figures are comparable."""
    same = {"data_name": "official", "selection": "official", "scoring": "official", "template": "official"}
    return HandBenchmark(**{**same, **options})


def passages(*kinds: str) -> tuple[Passage, ...]:
    """Passages of these kinds: those of "plain", "brief" and "far" are relevant."""
    made = []
    for number, kind in enumerate(kinds):
        relevant = kind in ("plain", "brief", "far")
        meta = {"kind": kind} if kind else {}
        made.append(
            Passage(
                f"{'positive' if relevant else 'negative'}:{number}", f"text {number}", relevant=relevant, meta=meta
            )
        )
    return tuple(made)


def record(
    ability: str,
    number: int = 0,
    *,
    system: str = "m",
    language: str = "en",
    dataset: str = "",
    ratio: float | None = None,
    closed: bool = False,
    repeat: int = 0,
    right: bool | None = None,
    rejected: bool | None = None,
    detected: bool | None = None,
    label: Sequence[int] | None = None,
    fact: bool = False,
    judged_rejected: bool | None = None,
    judged_detected: bool | None = None,
    error: str | None = None,
    question: str = "Who won?",
    answer: str = "Somebody.",
    references: tuple[tuple[str, ...], ...] = (("Ada",),),
    given: tuple[Passage, ...] = (),
    meta: dict[str, Any] | None = None,
    finish_reason: str = "stop",
    evidence: Mapping[str, Any] | None = None,
) -> Record:
    """One record. What is None was not scored; `label` is the official one, from which its value follows."""
    dataset = dataset or DATASETS[(ability, language)]
    ratio = (1.0 if ability == "rejection" else 0.0) if ratio is None else ratio
    setting = "closed" if closed else f"{ratio:g}"
    case = Case(
        f"{ability}/{dataset}/{setting}/{number:04}" + (f"/r{repeat}" if repeat else ""),
        Sample(f"{dataset}:{number}", question, references, language=language, meta=meta or {}),
        {
            "ability": ability, "dataset": dataset, "language": language, "noise_ratio": ratio, "correct_rate": 0.0,
            "passages": 0 if closed else 5, "documents": len(given), "closed_book": closed, "selection": "balanced",
            "repeat": repeat,
        },
        Query(question, given, language=language, repeat=repeat),
    )  # fmt: skip
    if error is not None:
        return Record(system, case, error=error)
    found = evidence or {}
    scores: dict[str, Score] = {}
    for name, value in (
        ("answer_match", right),
        ("refusal", rejected),
        ("error_detection", detected),
        ("rgb.judge.rejection", judged_rejected),
        ("rgb.judge.error_detection", judged_detected),
    ):
        if value is not None:
            scores[name] = Score.of(value, evidence=found.get(name))
    if label is not None:
        counted = (ratio == 1 and list(label[:1]) == [-1]) or (0 not in label and 1 in label)
        scores["rgb.official"] = Score.of(counted, evidence={"label": list(label), "factlabel": int(fact)})
    return Record(system, case, Response(answer, finish_reason=finish_reason), scores=scores)
