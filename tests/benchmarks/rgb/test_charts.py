"""The charts of RGB: the right points, and alternative texts that tell the finding."""

from typing import Any

import pytest
from tests.benchmarks.rgb.handmade import HandBenchmark, HandRun, official, record

from ragstone.benchmarks.rgb.charts import charts
from ragstone.display import Chart
from ragstone.report.chart_text import chart_lines
from ragstone.types import Record


def chart(found: list[Chart], name: str) -> Chart:
    return next(one for one in found if one.id == name)


def falling(system: str = "m", language: str = "en", dataset: str = "", questions: int = 20) -> list[Record]:
    """All right at noise 0, half of them at 0.8."""
    return [
        record(
            "noise", number, system=system, language=language, dataset=dataset, ratio=ratio,
            right=ratio == 0 or number % 2 == 0, label=[int(ratio == 0 or number % 2 == 0)],
        )
        for ratio in (0.0, 0.8) for number in range(questions)
    ]  # fmt: skip


def test_the_noise_curve_has_a_line_with_intervals_for_each_system() -> None:
    found = chart(charts(HandRun([*falling("a"), *falling("b")]), HandBenchmark(), "en"), "rgb-noise-en")
    assert (found.kind, found.title) == ("lines", "Noise robustness, English")
    assert [series.name for series in found.series] == ["a", "b"]
    first, last = found.series[0].points
    assert (first.x, first.y, last.x, last.y) == (0.0, 1.0, 0.8, 0.5)
    # 10 of 20: the 3.5% quantile of beta(10, 11), and mirrored.
    assert (last.low, last.high) == pytest.approx((0.2859, 0.7141), abs=5e-5)


def test_the_alternative_text_of_a_curve_tells_the_finding() -> None:
    found = chart(charts(HandRun(falling()), HandBenchmark(), "en"), "rgb-noise-en")
    assert found.alt == ("m: 100.0% at noise ratio 0, 50.0% at 0.8, significantly lower from 0.8 on.")
    found = chart(charts(HandRun(falling(questions=4)), HandBenchmark(), "en"), "rgb-noise-en")
    assert found.alt.endswith("50.0% at 0.8, no significant drop.")
    chinese = chart(charts(HandRun(falling(language="zh")), HandBenchmark(), "zh"), "rgb-noise-zh")
    assert chinese.alt == "m：噪声比例 0 时为 100.0%，0.8 时为 50.0%，从 0.8 起显著下降。"


def test_a_curve_of_one_ratio_claims_no_drop() -> None:
    records = [record("integration", number, ratio=0.4, right=True) for number in range(3)]
    found = chart(charts(HandRun(records), HandBenchmark(), "en"), "rgb-integration-en")
    assert found.alt == "m: 100.0% at noise ratio 0.4."


def test_the_published_models_are_thin_lines_on_the_same_data_only() -> None:
    whole = falling(language="zh", dataset="zh", questions=300)
    found = chart(charts(HandRun(whole), official(), "en"), "rgb-noise-zh")
    assert [series.published for series in found.series] == [False, *[True] * 6]
    assert found.series[1].name == "ChatGPT"
    assert [(point.x, round(point.y, 4)) for point in found.series[1].points] == [
        (0.0, 0.9567), (0.2, 0.9467), (0.4, 0.91), (0.6, 0.8767), (0.8, 0.7067),
    ]  # fmt: skip
    assert found.alt.endswith("Thin lines: 6 published models.")
    for other in (HandBenchmark(), official(template="paper")):
        apart = chart(charts(HandRun(whole), other, "en"), "rgb-noise-zh")
        assert [series.published for series in apart.series] == [False]


def test_a_row_of_the_grid_is_a_system_and_a_language_the_worst_first_and_its_lowest_cell_is_outlined() -> None:
    records = [
        *falling(),
        *(record("rejection", number, rejected=number < 15) for number in range(20)),
        *falling(language="zh"),
        *(record("rejection", number, language="zh", rejected=number < 2) for number in range(20)),
    ]
    grid = chart(charts(HandRun(records), HandBenchmark(), "en"), "rgb-abilities")
    assert grid.title == "Right in each ability, with the most noise (n = 20)"
    assert grid.categories == ("right at noise 0.8", "refused where no document has the answer")
    shown = {series.name: [(point.x, point.y) for point in series.points] for series in grid.series}
    assert shown == {"m, Chinese": [(0.0, 0.5), (1.0, 0.1)], "m, English": [(0.0, 0.5), (1.0, 0.75)]}
    assert list(shown) == ["m, Chinese", "m, English"]
    assert grid.outlined() == [0.1, 0.5]
    assert "m, English: right at noise 0.8 50.0%" in grid.alt
    lines = chart_lines(grid, width=100)
    assert any("m, Chinese" in line and "50% [29, 71]" in line and "▶ 10% [1, 30]" in line for line in lines)
    assert lines[-1].strip() == "▶ lowest of the row"
    narrow = chart_lines(grid, width=40)
    assert max(map(len, narrow)) <= 40
    assert any("▶ 10%" in line for line in narrow)
    one = charts(HandRun(falling()), HandBenchmark(), "en")
    assert [each.id for each in one] == ["rgb-noise-en"]  # one ability is no comparison


def test_each_ability_has_its_picture_beside_the_verdict() -> None:
    records = [*falling(), *falling(language="zh")]
    for language in ("en", "zh"):
        records += [
            record("rejection", 0, language=language, rejected=True),
            record("rejection", 1, language=language, rejected=False),
            record("integration", 0, language=language, right=False),
            record("counterfactual", 0, language=language, right=True),
            record("counterfactual", 0, language=language, closed=True, right=False),
        ]  # fmt: skip
    drawn = charts(HandRun(records), HandBenchmark(), "en")
    assert [each.kind for each in drawn] == ["grid"] + ["lines"] * 4 + ["bars"] * 2
    assert [each.leading for each in drawn] == [True] * 5 + [False] * 2
    rejection = chart(drawn, "rgb-rejection")
    assert rejection.categories == ("English", "Chinese")
    (series,) = rejection.series
    assert [(point.x, point.y) for point in series.points] == [(0.0, 0.5), (1.0, 0.5)]
    (series,) = chart(drawn, "rgb-counterfactual").series
    assert [(point.x, point.y) for point in series.points] == [(0.0, 1.0), (1.0, 1.0)]
    # One question alone has no interval.
    assert [point.low for point in series.points] == [None, None]
    assert "Negative rejection (English) 50.0%" in rejection.alt


@pytest.mark.parametrize("ability", ["rejection", "counterfactual"])
def test_of_one_ability_without_a_curve_the_bars_stand_beside_the_verdict(ability: str) -> None:
    right: dict[str, Any] = {"rejected" if ability == "rejection" else "right": True}
    (only,) = charts(HandRun([record(ability, number, **right) for number in range(5)]), HandBenchmark(), "en")
    assert (only.id, only.kind, only.leading) == (f"rgb-{ability}", "bars", True)
    assert any("100%" in line for line in chart_lines(only, width=80))
    both = [*(record(ability, number, **right) for number in range(5)), *falling()]
    assert [(each.id, each.leading) for each in charts(HandRun(both), HandBenchmark(), "en")] == [
        ("rgb-abilities", True), ("rgb-noise-en", True), (f"rgb-{ability}", False),
    ]  # fmt: skip


def test_a_system_that_was_not_asked_everything_has_fewer_bars() -> None:
    records = [*falling("a"), record("rejection", 0, system="b", rejected=True)]
    drawn = charts(HandRun(records), HandBenchmark(), "en")
    assert [series.name for series in chart(drawn, "rgb-rejection").series] == ["b"]
    assert [series.name for series in chart(drawn, "rgb-noise-en").series] == ["a"]


def test_a_chart_with_nothing_to_show_is_left_out() -> None:
    assert charts(HandRun([]), HandBenchmark(), "en") == []
    failed = [record("noise", 0, error="timed_out: 120 s")]
    assert charts(HandRun(failed), HandBenchmark(), "en") == []


def test_the_headline_scoring_is_the_one_that_is_drawn() -> None:
    records = [record("noise", 0, right=True, label=[0])]
    assert chart(charts(HandRun(records), HandBenchmark(), "en"), "rgb-noise-en").series[0].points[0].y == 1.0
    scored = HandBenchmark(scoring="official")
    assert chart(charts(HandRun(records), scored, "en"), "rgb-noise-en").series[0].points[0].y == 0.0
