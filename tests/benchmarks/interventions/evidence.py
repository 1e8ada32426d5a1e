"""Evidence made from answers by condition, without a system."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ragstone.benchmarks.interventions.causes import cause_of
from ragstone.benchmarks.interventions.conditions import SEARCHES
from ragstone.benchmarks.interventions.evidence import Evidence
from ragstone.benchmarks.interventions.labels import labels_of
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.responses.stages import stage_step
from ragstone.text import detect
from ragstone.types import Case, Passage, Query, Record, Response, Sample, Score

__all__ = ["evidence_of", "labels", "scored"]


def evidence_of(
    question: str,
    references: Sequence[str],
    answers: Mapping[str, str],
    *,
    gold: Sequence[str] = (),
    others: Sequence[str] = (),
    before: Sequence[str] = (),
    right: Mapping[str, bool] | None = None,
) -> Evidence:
    """Evidence of these answers by condition; the prompt had `before`, the gold passages, the others. `right` overrides
    what `answer_match` finds."""
    labelled = tuple(Passage(f"gold{n}", text, relevant=True) for n, text in enumerate(gold))
    passages = tuple(Passage(f"before{n}", text) for n, text in enumerate(before))
    passages += tuple(replace(one, relevant=None) for one in labelled)
    passages += tuple(Passage(f"other{n}", text) for n, text in enumerate(others))
    slots = tuple((reference,) for reference in references)
    sample = Sample("q", question, slots, labelled, language=detect(question))
    records = {}
    for name, answer in answers.items():
        assert name not in SEARCHES
        case = Case(f"000000/{name}", sample, {"intervention": name}, Query(question))
        response = Response(answer, passages, (stage_step("fetch", passages),))
        score = AnswerMatch().score(case, response)
        if right is not None and name in right:
            score = Score.of(float(right[name]))
        records[name] = Record("s", case, response, scores={"answer_match": score})
    return Evidence(records, frozenset())


def labels(evidence: Evidence) -> set[str]:
    """The labels of a question."""
    return set(labels_of(evidence, cause_of(evidence)))


def scored(record: Record) -> Record:
    """The record with what `answer_match` finds."""
    assert record.response is not None
    return replace(record, scores={"answer_match": AnswerMatch().score(record.case, record.response)})
