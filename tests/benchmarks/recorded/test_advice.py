"""Advice is about cases that fit it, whatever causes a run mixes."""

import itertools
import random
from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace
from tests.benchmarks.recorded.memory_run import MemoryRun, record

from ragstone.benchmarks.recorded.advice import BAR, Advice, advise, attempt
from ragstone.benchmarks.recorded.aggregate import tally_scores
from ragstone.benchmarks.recorded.diagnosis import explain
from ragstone.benchmarks.recorded.summary import summaries
from ragstone.benchmarks.recorded.tables import tables
from ragstone.messages import messages
from ragstone.responses.stages import stage_step
from ragstone.types import Passage, Record, Response

_Scores = Mapping[str, float]


def advice_on(records: list[Record], gates: Mapping[str, float] | None = None) -> list[Advice]:
    (tally,) = tally_scores(MemoryRun(records)).values()
    return advise(tally, gates or {})


def _is_good(scores: _Scores) -> bool:
    return scores.get("recall", 0.0) >= BAR and scores.get("context_precision", 1.0) >= BAR


def _is_poor(scores: _Scores) -> bool:
    return scores.get("recall", 1.0) < BAR or scores.get("context_precision", 1.0) < BAR


# Rule → whether a case fits what it says.
FITS: Mapping[str, Callable[[_Scores, bool], bool]] = {
    "recall": lambda scores, wrong: scores["recall"] < BAR,
    "recall_none": lambda scores, wrong: scores["recall"] == 0,
    "precision": lambda scores, wrong: scores["context_precision"] < BAR,
    "correctness": lambda scores, wrong: wrong and _is_good(scores),
    "correctness_too": lambda scores, wrong: wrong and _is_poor(scores),
    "correctness_alone": lambda scores, wrong: wrong and "recall" not in scores,
    "faithfulness": lambda scores, wrong: scores["faithfulness"] < BAR,
    "relevancy": lambda scores, wrong: scores["answer_relevancy"] < BAR,
}
CAUSES: tuple[_Scores, ...] = (
    {"recall": 0.0, "answer_match": 0.0}, {"recall": 1.0, "answer_match": 0.0}, {"recall": 1.0, "answer_match": 1.0},
    {"recall": 1.0, "context_precision": 0.2, "answer_match": 0.0}, {"recall": 0.0, "answer_match": 1.0},
    {"answer_match": 0.0}, {"recall": 1.0, "answer_match": 0.0, "faithfulness": 0.1},
    {"recall": 1.0, "answer_correctness": 0.4, "answer_relevancy": 0.1}, {"recall": 1.0, "answer_correctness": 0.7},
)  # fmt: skip


def mixed(seed: int) -> list[Record]:
    """A run of some causes, in shares of chance; some questions cannot be answered and are declined."""
    draw = random.Random(seed)
    causes = draw.sample(CAUSES, draw.randint(2, len(CAUSES)))
    records = []
    for number in range(40):
        scores, name = dict(draw.choice(causes)), f"q-{number}"
        if draw.random() < 0.2:
            records.append(record(name, scores, answer="I do not know.", meta={"answerable": False}))
        else:
            records.append(record(name, scores))
    return records


@pytest.mark.parametrize("gates", [{}, {"answer_match": 0.9}, {"answer_correctness": 0.8}])
def test_every_case_behind_a_rule_fits_what_it_says(gates: Mapping[str, float]) -> None:
    seen = set()
    for seed in range(150):
        records = mixed(seed)
        by_id = {one.case.sample.id: one for one in records}
        for item in advice_on(records, gates):
            seen.add(item.rule)
            assert item.worst, item.rule
            for sample, _ in item.worst:
                one = by_id[sample]
                values = {name: score.value for name, score in one.scores.items() if score.value is not None}
                wrong = explain(one, gates=gates).right is not True
                assert FITS[item.rule](values, wrong), (seed, item.rule, values)
    assert {"recall", "correctness", "faithfulness", "relevancy", "precision"} <= seen


@pytest.mark.parametrize("language", ["en", "zh"])
def test_wrong_answers_to_missed_passages_are_no_examples_of_good_passages(language: str) -> None:
    missed = [record(f"missed-{at}", {"recall": 0.0, "answer_match": 0.0}) for at in range(2)]
    wrong = [record(f"wrong-{at}", {"recall": 1.0, "answer_match": 0.0}) for at in range(8)]
    right = [record(f"right-{at}", {"recall": 1.0, "answer_match": 1.0}) for at in range(10)]
    run = MemoryRun([*missed, *wrong, *right])
    (summary,) = summaries(run, {}, language=language).values()
    assert summary.actions[0].samples == tuple(f"wrong-{at}" for at in range(5))
    (table,) = (table for table in tables(run, {}, language=language) if table.id == "eval-advice")
    assert "missed" not in "".join(cell.text for row in table.rows for cell in row.cells)


def test_where_the_good_passages_are_answered_rightly_only_retrieval_is_advised() -> None:
    missed = [record(f"m-{at}", {"recall": 0.0, "answer_match": 0.0}) for at in range(20)]
    found = [record(f"f-{at}", {"recall": 1.0, "answer_match": 1.0}) for at in range(20)]
    assert [item.rule for item in advice_on(missed + found)] == ["recall", "correctness_too"]


def staged(name: str, *, fetched: bool, prompted: bool) -> Record:
    """A record with stages: of the question's right passage, whether it was fetched, and whether it reached the
    prompt."""
    right, other = Passage("right", "So.", relevant=True), Passage("other", "No.")
    one = record(name, {"recall": float(prompted), "answer_match": float(prompted)})
    prompt = (right,) if prompted else (other,)
    steps = (stage_step("fetch", (other, right) if fetched else (other,)), stage_step("prompt", prompt))
    case = replace(one.case, sample=replace(one.case.sample, passages=(right,)))
    return replace(one, case=case, response=Response("So.", prompt, steps))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_where_the_stages_show_that_the_search_found_it_the_search_is_not_blamed(language: str) -> None:
    lost = [staged(f"l-{at}", fetched=True, prompted=False) for at in range(12)]
    missed = [staged(f"m-{at}", fetched=False, prompted=False) for at in range(4)]
    right = [staged(f"r-{at}", fetched=True, prompted=True) for at in range(8)]
    first, *_ = advice_on([*missed, *lost, *right])
    assert first.rule == "recall_later"
    assert first.mean.value == pytest.approx(1 / 3)
    assert {sample[0] for sample, _ in first.worst} == {"l"}
    (summary,) = summaries(MemoryRun([*missed, *lost, *right]), {}, language=language).values()
    assert {"en": "reranker", "zh": "重排器"}[language] in summary.actions[0].text
    assert {"en": "knowledge base", "zh": "知识库"}[language] not in summary.actions[0].text
    more = [staged(f"n-{at}", fetched=False, prompted=False) for at in range(20)]
    assert advice_on([*missed, *lost, *right, *more])[0].rule == "recall"


def test_cases_judged_several_times_count_with_their_means() -> None:
    records = [
        record(name, {"recall": recall, "answer_correctness": value}, repeat=number)
        for (name, recall), (number, value) in itertools.product([("a", 1.0), ("b", 0.0)], [(0, 0.0), (1, 0.2)])
    ]
    (item,) = [item for item in advice_on(records) if item.rule == "correctness"]
    assert item.worst == (("a", 0.1),)


@pytest.mark.parametrize(("language", "said"), [("en", "Let a language model answer"), ("zh", "让语言模型作答")])
def test_a_system_without_a_language_model_is_not_told_to_try_a_stronger_one(language: str, said: str) -> None:
    words = messages("ragstone.benchmarks.recorded.tables", language)
    own, of_reader = {"kind": "extractive"}, {"kind": "rag", "reader": {"kind": "extractive"}}
    for spec in (own, of_reader):
        assert attempt("correctness", spec, words).startswith(said)
        assert attempt("recall", spec, words) == words["try_recall"]
    assert attempt("correctness", {"kind": "rag", "reader": {"kind": "chat"}}, words) == words["try_correctness"]
