"""Flips counted from two indices are those that comparing the records one by one finds."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.analysis.case_runs import opened, record, write

from ragstone.analysis.case_filter import CaseFilter
from ragstone.analysis.case_index import CaseIndex
from ragstone.analysis.flips import CELLS, Flips, flips_of
from ragstone.comparison.compare_figures import Side, compare_runs
from ragstone.runs import open_run
from ragstone.types import Record

COUNT = 120


def some_run(seed: int, *, skip: int) -> list[Record]:
    """A record for each of 120 samples under two conditions; some are missing, failed or not scored."""
    draw = random.Random(seed)
    records = []
    for number in range(COUNT):
        for ratio in (0.2, 0.4):
            right, f1 = draw.choice([0.0, 1.0, 1.0, None]), draw.choice([0.0, 0.25, 1.0, None])
            answer = None if draw.random() < 0.1 else "because it is"
            scores = {} if answer is None else {"right": right, "f1": f1}
            item = record(f"{seed}/{number}/{ratio}", answer=answer, condition={"ratio": ratio}, scores=scores)
            sample = replace(item.case.sample, id=f"q{number}", question=f"Why {number}?")
            if number % 17 != skip:
                records.append(replace(item, case=replace(item.case, sample=sample)))
    return records


@pytest.fixture
def indices(tmp_path: Path) -> Iterator[tuple[CaseIndex, CaseIndex]]:
    for name, seed in (("a", 1), ("b", 2)):
        write(tmp_path / f"{name}.run", some_run(seed, skip=seed))
    with opened(tmp_path / "a.run", tmp_path / "x") as a, opened(tmp_path / "b.run", tmp_path / "x") as b:
        yield a, b


def flips(indices: tuple[CaseIndex, CaseIndex]) -> Flips:
    a, b = (index.outcomes(CaseFilter(systems=("s",)), ["f1", "right"]) for index in indices)
    return flips_of(a, b)


def expected() -> tuple[Counter[str], int]:
    """The cells and the open pairs, from the records."""
    a, b = ({(r.case.sample.id, r.case.condition["ratio"]): r for r in some_run(seed, skip=seed)} for seed in (1, 2))
    cells: Counter[str] = Counter()
    for key in a.keys() & b.keys():
        values = [one.scores["right"].value if one.scores else None for one in (a[key], b[key])]
        name = {(0.0, 1.0): "won", (1.0, 0.0): "lost", (1.0, 1.0): "both_right", (0.0, 0.0): "both_wrong"}
        cells["open" if None in values else name[values[0], values[1]]] += 1  # type: ignore[index]
    return cells, len(a.keys() - b.keys())


def test_cells_are_those_of_the_records_though_the_case_ids_differ(indices: tuple[CaseIndex, CaseIndex]) -> None:
    found, (cells, alone) = flips(indices), expected()
    assert {name: cells[name] for name in CELLS} == found.counts
    assert found.open == cells["open"] > 0
    assert found.left_out[0] == alone
    a, b = indices
    for cell, (one, other) in (("won", ("wrong", "right")), ("lost", ("right", "wrong"))):
        places = found.places[cell]  # type: ignore[index]
        rows = zip(a.rows(places[:, 0].tolist()), b.rows(places[:, 1].tolist()), strict=True)
        assert {(x.status, y.status, x.sample_id == y.sample_id) for x, y in rows} == {(one, other, True)}


def test_differences_and_intervals_are_those_of_compare(tmp_path: Path, indices: tuple[CaseIndex, CaseIndex]) -> None:
    found = flips(indices)
    with open_run(tmp_path / "a.run") as a, open_run(tmp_path / "b.run") as b:
        rows = compare_runs(Side(a, "s", "A"), Side(b, "s", "B"), on="common").rows
    assert {row.metric for row in rows} == {*found.scores} == {"f1", "right"}
    for row in rows:
        gain = found.scores[row.metric]
        assert [gain.n, gain.a, gain.b] == pytest.approx([row.n, row.a, row.b])
        assert (gain.difference, gain.low, gain.high) == pytest.approx((row.difference, row.low, row.high))
        assert gain.p == pytest.approx(row.p_holm)
        assert gain.decided == row.significant()
    assert found.right == found.scores["right"]


def test_of_repeated_answers_to_one_question_the_mean_counts(tmp_path: Path) -> None:
    def run(name: str, values: list[float]) -> CaseIndex:
        items = [record(f"{number}", answer="x", scores={"right": value}) for number, value in enumerate(values)]
        write(
            tmp_path / f"{name}.run",
            [replace(one, case=replace(one.case, sample=items[0].case.sample)) for one in items],
        )
        return opened(tmp_path / f"{name}.run", tmp_path / "x")

    with run("a", [1.0, 1.0, 0.0]) as a, run("b", [0.0, 0.0, 1.0]) as b:
        found = flips_of(*(index.outcomes(CaseFilter()) for index in (a, b)))
    assert found.counts == {"won": 0, "lost": 1, "both_right": 0, "both_wrong": 0}
    assert found.right is not None
    assert found.right.n == 1
    assert (found.right.low, found.right.decided) == (None, False)


def test_runs_without_a_common_question_have_no_flips(tmp_path: Path) -> None:
    write(tmp_path / "a.run", [record("1", scores={"right": 1.0})])
    write(tmp_path / "b.run", [record("1", question="Who?", scores={"right": 1.0})])
    with opened(tmp_path / "a.run", tmp_path / "x") as a, opened(tmp_path / "b.run", tmp_path / "x") as b:
        found = flips_of(a.outcomes(CaseFilter(), ["right"]), b.outcomes(CaseFilter(), ["right", "f1"]))
    assert (found.pairs, found.right, found.left_out, dict(found.scores)) == (0, None, (1, 1), {})


def test_all_answers_to_a_question_are_found_by_its_id(indices: tuple[CaseIndex, CaseIndex]) -> None:
    rows = indices[0].same_sample("q3")
    assert [(row.sample_id, row.case_id) for row in rows] == [("q3", "1/3/0.2"), ("q3", "1/3/0.4")]
    assert indices[0].same_sample("nobody") == ()


def test_all_answers_to_a_question_of_another_run_are_found_by_what_it_asks(
    indices: tuple[CaseIndex, CaseIndex],
) -> None:
    case = some_run(1, skip=1)[0].case
    asked = replace(case, sample=replace(case.sample, id="another id", question="Why 3?"))
    assert [row.sample_id for row in indices[1].same_question(asked)] == ["q3", "q3"]
    other = replace(case, sample=replace(case.sample, id="q3", question="Who?"))
    assert indices[1].same_question(other) == ()
