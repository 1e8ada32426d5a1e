"""A diagnosis shows what a system does without the gold, with a document that says otherwise, and how it refuses."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.diagnosis.planted import SIZE, Planted
from tests.diagnosis.test_diagnose import corpus, labelled, run

from ragstone.diagnosis.diagnose import DiagnosisResult, diagnose
from ragstone.diagnosis.interventions.behaviour import behaviours, refusals
from ragstone.prices import Price
from ragstone.stats import Estimate
from ragstone.types import Query, Response, Usage

__all__ = ["corpus"]

EVERY = tuple(f"q{n:02d}" for n in range(SIZE))  # half in English, half in Chinese
CONCERNED = EVERY[::4]


def shown(result: DiagnosisResult) -> dict[tuple[str, str], tuple[str, ...]]:
    return {(figure.condition, figure.name): figure.cases for figure in behaviours(result.questions)}


def test_a_sound_system_refuses_without_the_gold_and_follows_the_document(tmp_path: Path, corpus: Path) -> None:
    _, result = run(tmp_path, corpus, plan="full")
    found = shown(result)
    assert found["no_gold", "refused"] == EVERY
    assert found["no_gold", "from_memory"] == found["no_gold", "made_up"] == ()
    assert found["counterfactual", "document_over_memory"] == EVERY
    assert found["counterfactual", "memory_over_document"] == found["counterfactual", "neither"] == ()
    assert found["duplicated", "changed"] == found["reordered", "changed"] == found["again", "changed"] == ()


def test_a_system_that_makes_answers_up_without_the_gold_is_shown(tmp_path: Path, corpus: Path) -> None:
    _, result = run(tmp_path, corpus, "never_refuses", plan="full")
    assert shown(result)["no_gold", "made_up"] == EVERY


def test_a_system_that_knows_the_answers_by_heart_keeps_to_them(tmp_path: Path, corpus: Path) -> None:
    class ByHeart(Planted):
        def _read(self, query: object, number: int | None, passages: object) -> str:
            return "I do not know." if number is None else f"It weighs {310 + 7 * number} kg."

    result = diagnose(labelled(), ByHeart(), corpus=corpus, run=tmp_path / "d.run", plan="full")
    found = shown(result)
    assert found["counterfactual", "memory_over_document"] == EVERY
    assert found["counterfactual", "document_over_memory"] == ()
    assert found["no_gold", "from_memory"] == EVERY


def test_answers_that_depend_on_the_order_are_counted(tmp_path: Path, corpus: Path) -> None:
    _, result = run(tmp_path, corpus, "middle", plan="full")
    assert shown(result)["reordered", "changed"] == CONCERNED
    _, flaky = run(tmp_path, corpus, "flaky", name="flaky.run", plan="full")
    assert shown(flaky)["again", "changed"] == CONCERNED


def test_refusals_have_their_reasons(tmp_path: Path, corpus: Path) -> None:
    _, result = run(tmp_path, corpus, "lost")
    (found,) = refusals(result.questions)
    assert (found.name, dict(found.reasons), found.share.n) == ("refused_wrongly", {"filtered": 6}, SIZE)
    assert found.cases == CONCERNED
    _, result = run(tmp_path, corpus, "never_refuses", "always_refuses", name="both.run")
    should, wrongly = refusals(result.questions)
    assert (should.name, dict(should.reasons), should.share.n) == ("should_have_refused", {"made_up": 2}, 2)
    assert (wrongly.name, dict(wrongly.reasons)) == ("refused_wrongly", {"refused_wrongly": 6})


@pytest.mark.parametrize(("language", "refusal", "behaviour"), [
    ("en", "kept out of the search (filter) (6)", "followed the document"),
    ("zh", "被检索过滤掉 (6)", "采纳文档中的答案"),
])  # fmt: skip
def test_tables_show_them_in_both_languages(
    language: str, refusal: str, behaviour: str, tmp_path: Path, corpus: Path
) -> None:
    _, result = run(tmp_path, corpus, "lost", plan="full")
    tables = {table.id: table for table in result.tables(language=language)}
    assert refusal in [cell.text for row in tables["diagnosis-refusals"].rows for cell in row.cells]
    assert behaviour in [cell.text for row in tables["diagnosis-behaviour"].rows for cell in row.cells]
    searches = [row for row in tables["diagnosis-conditions"].rows if row.cells[0].text.startswith(("search", "检索"))]
    assert searches
    assert all(row.cells[2].value is not None for row in searches)


class _Priced(Planted):
    async def answer(self, query: Query, /) -> Response:
        found = await super().answer(query)
        return replace(found, usage=Usage(100 * len(found.passages), 10, 50 * len(found.passages)), seconds=0.5)


def test_a_fix_has_its_price_in_tokens_time_and_money(tmp_path: Path, corpus: Path) -> None:
    result = diagnose(labelled(), _Priced(frozenset({"k"})), corpus=corpus, run=tmp_path / "d.run", price="2/10")
    (fix,) = result.fixes()
    assert fix.change == "k2"
    assert sorted(fix.usage) == [*[(100.0, 0.0, 50.0, 0.0)] * 6, *[(400.0, 0.0, 200.0, 0.0)] * 20]  # of all questions
    assert fix.tokens is not None
    assert fix.tokens.value == pytest.approx(8600 / 26)
    assert fix.seconds == Estimate(0.0, 0.0, 0.0, 26)
    costs = fix.cost(Price(2.0, 10.0)), fix.cost(Price(2.0, 10.0, 1.0))
    assert [cost.value for cost in costs if cost is not None] == pytest.approx([17.2 / 26, 12.9 / 26])
    table = next(table for table in result.tables(language="en") if table.id == "diagnosis-fixes")
    assert table.rows[0].cells[table.columns.index("Cost of 1,000 questions")].value == pytest.approx(17.2 / 26)
    with result.open() as run:
        (summary,) = run.benchmark.summary(run.run, language="en").values()
    text = summary.actions[0].text
    assert "twice as many passages: +23 points" in text
    assert re.search(r"\+331 \[\d+, \d+\] tokens per question \(\+0.66\d+ \[", text)
