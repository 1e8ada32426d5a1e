"""The charts of a MIRAGE run: shares that sum to 1, curves over k, and what is on the front."""

import math

import pytest
from tests.benchmarks.mirage.handmade import GOLD, NOISE, HandmadeRun, found_by, labelled, record

from ragstone.benchmarks.mirage.charts import charts
from ragstone.display import Chart
from ragstone.report.charts import chart_svg
from ragstone.types import Passage, Record, Usage

NO_GOLD = (NOISE, Passage("p3", "A green door.", relevant=False))


def sweep(system: str = "m") -> list[Record]:
    """Two retrievers at k 1 and 3: bm25 finds six of eight, dense all of them, and noise takes one answer at k = 3."""
    records = labelled({"010": 2, "011": 6}, system=system)
    for name, found in (("bm25", 6), ("dense", 8)):
        for k in (1, 3):
            records += [
                record(
                    "retrieved", f"q{n:03d}", n < found - (k == 3), retriever=name, k=k, system=system,
                    given=(GOLD, NOISE)[:k] if n < found else NO_GOLD[:k],
                    found="10000" if n < found else "00000", labels=1,
                    usage=Usage(100 * k + (name == "dense"), 10), seconds=0.25 * k,
                )
                for n in range(8)
            ]  # fmt: skip
    return records


def by_id(records: list[Record], language: str = "en") -> dict[str, Chart]:
    return {chart.id: chart for chart in charts(HandmadeRun(records), language=language)}


def test_the_four_shares_of_each_context_are_stacked_to_one() -> None:
    chart = by_id(sweep())["mirage-shares-0-0"]
    assert chart.stacked
    assert chart.categories == ("Mixed", "bm25 @ 1", "bm25 @ 3", "dense @ 1", "dense @ 3")
    for at in range(len(chart.categories)):
        assert math.isclose(math.fsum(p.y for s in chart.series for p in s.points if p.x == at), 1.0)
    assert chart.series[0].name == "Context acceptability"
    assert "bm25 @ 1: acceptable 75%" in chart.alt


def test_quality_is_a_curve_over_k_for_each_retriever() -> None:
    chart = by_id(sweep())["mirage-k-0"]
    assert {one.name: [(p.x, p.y) for p in one.points] for one in chart.series} == {
        "bm25": [(1, 6 / 8), (3, 5 / 8)], "dense": [(1, 1.0), (3, 7 / 8)],
    }  # fmt: skip
    assert all(p.low is not None and p.low <= p.y <= (p.high or 0) for one in chart.series for p in one.points)


def test_noise_takes_more_as_k_grows_where_the_chunk_was_there() -> None:
    chart = by_id(sweep())["mirage-vulnerability-0"]
    assert {one.name: [p.y for p in one.points] for one in chart.series} == {
        "bm25": [0.0, pytest.approx(1 / 6)], "dense": [0.0, pytest.approx(1 / 8)],
    }  # fmt: skip


def test_recall_needs_no_model() -> None:
    records = [found_by("bm25", "q1", "10010", 2), found_by("bm25", "q2", "00001", 1)]
    made = charts(HandmadeRun(records, {"ks": [1, 3, 5]}))
    assert [chart.id for chart in made] == ["mirage-recall"]
    assert [(p.x, p.y) for p in made[0].series[0].points] == [(1, 0.25), (3, 0.25), (5, 1.0)]


def test_the_front_leaves_out_what_costs_more_and_is_no_better() -> None:
    chart = by_id(sweep())["mirage-tokens"]
    front = chart.series[-1]
    assert front.name == "Pareto front"
    assert [(p.x, p.y) for p in front.points] == [(110.0, 0.75), (111.0, 1.0)]
    assert "dense @ 1" in chart.alt
    assert "dense @ 3" not in chart.alt.split("front")[-1]


def test_the_oracle_is_no_choice_and_not_on_the_front() -> None:
    records = sweep()
    records += [record("oracle", f"z{n}", True, usage=Usage(1, 1), seconds=0.01) for n in range(2)]
    front = by_id(records)["mirage-tokens"].series[-1]
    assert front.points[0].x == 110.0


def test_systems_have_charts_of_their_own() -> None:
    found = by_id([*sweep("a"), *sweep("b")])
    assert {"mirage-shares-0-0", "mirage-shares-1-0", "mirage-k-0", "mirage-k-1"} <= found.keys()
    assert {one.name for one in found["mirage-seconds"].series} >= {"a, bm25", "b, dense"}


def test_many_contexts_are_parted_into_several_charts() -> None:
    records = labelled({"011": 1})
    records += [record("retrieved", "q000", True, retriever=f"r{n:02d}", k=1) for n in range(30)]
    found = by_id(records)
    assert [len(found[f"mirage-shares-0-{part}"].categories) for part in (0, 1)] == [24, 7]


def test_many_curves_are_parted_into_several_charts_and_none_is_left_out() -> None:
    records = labelled({"011": 1})
    for n in range(30):
        for k in (1, 3):
            records.append(
                record("retrieved", "q000", True, retriever=f"r{n:02d}", k=k, usage=Usage(100 * k + n, 10), labels=1,
                       found="10000")
            )  # fmt: skip
    found = by_id(records)
    for name, most in (("mirage-k-0", 12), ("mirage-recall", 12), ("mirage-tokens", 11)):
        parts = [chart for key, chart in found.items() if key == name or key.startswith(f"{name}-part-")]
        shown = [[one.name for one in chart.series if one.name != "Pareto front"] for chart in parts]
        assert len(parts) == 3
        assert max(map(len, shown)) <= most
        assert [name for part in shown for name in part] == [f"r{n:02d}" for n in range(30)]
        assert len({chart.title for chart in parts}) == 1
    assert all(chart.series[-1].name == "Pareto front" for key, chart in found.items() if "tokens" in key)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_chart_can_be_drawn(language: str) -> None:
    for chart in charts(HandmadeRun(sweep()), language=language):
        assert chart.alt
        assert chart.kind == "grid" or chart_svg(chart).startswith("<svg")  # a grid is a table of the page


def test_a_run_without_answers_has_no_charts() -> None:
    assert charts(HandmadeRun([])) == []
    assert charts(HandmadeRun([record("base", "q1", True)])) == []
