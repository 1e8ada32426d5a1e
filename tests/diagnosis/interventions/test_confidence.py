"""Confidence: how often a cause stays the same if answers are replaced as often as they change by themselves."""

from pathlib import Path

import pytest
from tests.diagnosis.planted import SIZE, Planted
from tests.diagnosis.test_diagnose import corpus, labelled, run

from ragstone.diagnosis.diagnose import diagnose
from ragstone.diagnosis.interventions.diagnosed import Diagnosed
from ragstone.types import Query, Response

__all__ = ["corpus"]


def by_id(items: list[Diagnosed]) -> dict[str, float]:
    return {item.id: item.confidence for item in items}


def test_where_no_answer_changes_every_cause_is_sure(tmp_path: Path, corpus: Path) -> None:
    _, result = run(tmp_path, corpus, "lost", "never_refuses")
    assert set(by_id(result.questions).values()) == {1.0}


class Changing(Planted):
    """Loses the gold of every fourth question, and answers some others wrongly when asked the first time."""

    changing = range(1, SIZE, 4)

    async def answer(self, query: Query, /) -> Response:
        found = await super().answer(query)
        number = next((n for n in self.changing if labelled()[n]["question"] == query.question), None)
        wrong = number is not None and query.passages is None and not query.repeat and not query.retrieve_only
        return Response("It weighs 1 kg.", found.passages, found.steps) if wrong else found


def test_where_answers_change_causes_are_less_sure_the_more_often_they_do(tmp_path: Path, corpus: Path) -> None:
    often = diagnose(labelled(), Changing(frozenset({"lost"})), corpus=corpus, run=tmp_path / "often.run")
    system = Changing(frozenset({"lost"}))
    system.changing = range(1, 2)
    seldom = diagnose(labelled(), system, corpus=corpus, run=tmp_path / "seldom.run")
    many, few = by_id(often.questions), by_id(seldom.questions)
    # 6 and 1 of 26 answers changed. A healthy question stays healthy if its answer as is does not change.
    assert sum(many[name] for name in ("q02", "q03", "q06")) / 3 == pytest.approx(1 - 6 / 26, abs=0.1)
    assert sum(few[name] for name in ("q02", "q03", "q06")) / 3 == pytest.approx(1 - 1 / 26, abs=0.06)
    for name in ("q00", "q04", "q08"):
        assert many[name] < few[name] < 1
    assert by_id(often.questions) == many  # the same in every process: seeded by the question
