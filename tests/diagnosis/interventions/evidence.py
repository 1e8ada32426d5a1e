"""Evidence made from answers by condition, without a system."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ragstone.diagnosis.interventions.causes import cause_of, next_conditions
from ragstone.diagnosis.interventions.conditions import CONDITIONS, SEARCHES
from ragstone.diagnosis.interventions.evidence import Evidence
from ragstone.diagnosis.interventions.labels import labels_of
from ragstone.diagnosis.interventions.observations import question_of
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.responses.stages import stage_step
from ragstone.text import detect
from ragstone.types import Case, Passage, Query, Record, Response, Sample, Score

__all__ = ["evidence_of", "examined", "item_of", "labels", "scored"]


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


def item_of(
    name: str, outcomes: Mapping[str, str], *, at: str = "prompted", in_index: str | None = None, gold: bool = True,
    answerable: bool = True, seconds: Mapping[str, float] | None = None, around: str = "",
) -> dict[str, Record]:  # fmt: skip
    """The records of a question with these outcomes by condition. `at`: where its gold passage was seen: in the prompt,
    only "fetched", nowhere (""), or the system does not say ("unreported"). `around`: the rest of that passage."""
    right, refusal, wrong = "It weighs 338 kg.", "I do not know.", "It weighs 12 kg."
    passage = Passage("gold", right + around, relevant=True)
    meta: dict[str, Any] = {} if in_index is None else {"in_index": in_index}
    meta |= {} if answerable else {"answerable": False}
    references = (("338 kg",),) if answerable else ()
    sample = Sample(name, "What does it weigh?", references, (passage,) if gold else (), language="en", meta=meta)
    other = Passage("other", "It is green.")
    plain = replace(passage, relevant=None)
    fetched = (other, plain) if at in ("fetched", "prompted") else (other,)
    prompt = fetched if at == "prompted" else (other,)
    records = {}
    for condition, outcome in outcomes.items():
        case = Case(f"{name}/{condition}", sample, {"intervention": condition}, Query(sample.question))
        if outcome == "error":
            records[condition] = Record("s", case, None, error="it failed")
            continue
        good = refusal if not answerable else right
        answer = {"right": good, "refused": refusal if answerable else wrong, "wrong": wrong}[outcome]
        response = Response(answer, prompt, (stage_step("fetch", fetched),), seconds=(seconds or {}).get(condition))
        if at == "unreported":
            response = Response(answer, seconds=(seconds or {}).get(condition))
        records[condition] = scored(Record("s", case, response))
    return records


def labels(evidence: Evidence) -> set[str]:
    """The labels of a question."""
    return set(labels_of(evidence, cause_of(evidence)))


def scored(record: Record) -> Record:
    """The record with what `answer_match` finds."""
    assert record.response is not None
    return replace(record, scores={"answer_match": AnswerMatch().score(record.case, record.response)})


def examined(
    sample: Sample, ask: Callable[[Query], Response], takes: str = "repeat passages k retrieve", **settings: Any
) -> Evidence:
    """The evidence about a question when the adaptive plan has asked a system everything it wants to know."""
    question = question_of(sample)
    evidence = Evidence({}, frozenset(takes.split()), **settings)
    wanted = ["as_is"]
    while wanted:
        new = {}
        for name in wanted:
            first = Response("") if name == "as_is" else evidence.first
            assert first is not None
            query = CONDITIONS[name].build(question, first)
            assert query is not None
            record = Record("s", Case(f"000000/{name}", sample, {"intervention": name}, query), ask(query))
            new[name] = record if name in SEARCHES else scored(record)
        evidence = Evidence({**evidence.records, **new}, evidence.takes, **settings)
        wanted = [name for name in next_conditions(evidence) if name not in evidence.records]
    return evidence
