"""Labelling a large run: what a round and an agreement read and keep of it."""

import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragstone import evaluate
from ragstone.analysis.expert_agreement import Scored, calibrate
from ragstone.experts.experts import agreement_of_experts, scores_of
from ragstone.experts.label_round import label_round
from ragstone.labels.items import Candidate
from ragstone.labels.sampling import By, draw
from ragstone.runs.record_pages import RecordPages

COUNT = 250


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of two rule metrics with a passage for each answer, too long to be kept in its record."""
    rows = [
        {"id": f"q{n}", "question": f"{n}?", "answer": f"in {n}", "reference": f"in {n}", "contexts": [f"{n} " * 200]}
        for n in range(COUNT)
    ]
    evaluate(rows, ["answer_match", "token_f1"], run=tmp_path / "a.run", name="recorded")
    return tmp_path / "a.run"


@pytest.mark.parametrize("by", ["random", "uncertainty", "stratified"])
def test_a_draw_keeps_little_more_than_it_draws(by: By) -> None:
    alive, most = list[Any](), 0

    def found() -> Iterator[Candidate]:
        nonlocal alive, most
        for number in range(20_000):
            if number % 1_000 == 0:
                alive = [each for each in alive if each() is not None]
                most = max(most, len(alive))
            candidate = Candidate(("answer", "s", str(number)), number / 20_000, "ab"[number % 2])
            alive.append(weakref.ref(candidate))
            yield candidate

    assert len(draw(found(), 10, by)) == 10
    assert 0 < most < 5_000


def test_a_round_reads_the_drawn_answers_alone_with_their_passages(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: dict[bool, int] = {True: 0, False: 0}
    page_of = RecordPages._page

    def counted(self: RecordPages, *values: Any, texts: bool = True) -> Any:
        rows = page_of(self, *values, texts=texts)
        read[texts] += len(rows)
        return rows

    monkeypatch.setattr(RecordPages, "_page", counted)
    with label_round(tmp_path / "labels.sqlite", run, sample=5) as store:
        items = list(store.items("correct"))
    assert len(items) == 5
    assert all(item.passages[0].text.startswith(f"{item.sample_id[1:]} ") for item in items)
    assert read == {False: COUNT, True: COUNT + 5}  # the draw; the questions of the run, and what was drawn


def test_only_the_metric_that_is_compared_and_the_labelled_questions_are_kept(run: Path) -> None:
    found = scores_of(run, "recorded", metrics={"answer_match"}, about={"q3"})
    assert found.keys() == {"answer_match", "token_f1"}
    assert len(found["answer_match"].values) == COUNT
    assert not found["token_f1"].values
    assert found["answer_match"].lengths == {"q3": 4}
    labels = [{"id": f"q{n}", "expert": "ann", "correct": "yes"} for n in range(60)]
    assert agreement_of_experts(labels, run).judged[0].n == 60


def test_a_calibrated_mean_looks_at_each_question_a_few_times_only() -> None:
    looked = 0

    class Counted(dict[str, str]):
        def __getitem__(self, name: str) -> str:
            nonlocal looked
            looked += 1
            return super().__getitem__(name)

    questions = [f"q{n}" for n in range(2_000)]
    strata = Counted({item: "ab"[n % 2] for n, item in enumerate(questions)})
    calibrate(dict.fromkeys(questions[:100], 1.0), Scored(dict.fromkeys(questions, 1.0), strata=strata))
    assert looked < 2 * len(questions)
