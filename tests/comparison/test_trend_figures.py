"""What a trend says of runs: changes, what else changed, what is not tested."""

import math
from array import array
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from tests.comparison.trends import moved, night, nights, records, trend

from ragstone.analysis.sides import Side
from ragstone.comparison.trend_figures import Curve, Trend, trend_of
from ragstone.comparison.trend_runs import moment_of, read_by_time, read_whole
from ragstone.comparison.trend_verdict import trend_notes
from ragstone.errors import UsageError
from ragstone.stats import Estimate, count_interval
from ragstone.types import Record, Response, Score


def curve(found: Trend, name: str) -> Curve:
    return next(curve for curve in found.curves if curve.name == name)


def own_records(side: Side) -> list[Record]:
    return [*side.run.records()]


def test_a_fall_is_found_in_its_night_and_nothing_else_moves() -> None:
    found = trend(nights())
    ((moved_curve, change),) = found.moves
    assert (moved_curve.name, change.kind, change.rose) == ("faithfulness", "regression", False)
    assert abs(change.at - 9) <= 1
    assert [one.name for one in found.tested] == ["faithfulness", "latency p50", "latency p95", "tokens"]
    values = [score.value or 0 for side in nights()[: change.at] for one in own_records(side)
              for score in one.scores.values()]  # fmt: skip
    assert change.before.value == pytest.approx(sum(values) / len(values))
    assert change.before.low is not None
    assert change.before.high is not None
    assert change.before.low < sum(values) / len(values) < change.before.high
    assert [one.name for one in found.worse] == ["faithfulness"]


def repeated(number: int, *means: float, kind: str = "repeat") -> Side:
    """A run whose answers all have one score, another in each repeat."""
    held = [
        structs.replace(record, case=structs.replace(record.case, condition={kind: repeat} if repeat else {}))
        for repeat, mean in enumerate(means)
        for record in records([mean] * 20)
    ]
    return night(number, held)


@pytest.mark.parametrize("kind", ["repeat", "judge_repeat"])
def test_what_repeats_vary_by_is_in_the_test_and_in_the_steps(kind: str) -> None:
    alone = trend([repeated(0, 0.7), repeated(1, 0.3)])
    assert [change.kind for _, change in alone.moves] == ["regression"]
    found = trend([repeated(0, 0.75, 0.65, kind=kind), repeated(1, 0.55, 0.45, kind=kind)])
    assert found.moves == []
    step = curve(found, "faithfulness").steps[1]
    assert step.value == pytest.approx(-0.2)
    assert step.low is not None
    assert step.high is not None
    reach = 4.30 * 0.005**0.5  # Student's of two degrees
    assert -1 < step.low <= -0.2 - reach < -0.2 + reach <= step.high < 1
    assert not curve(alone, "faithfulness").repeated
    assert curve(found, "faithfulness").repeated == (kind == "repeat")


def test_repeats_that_agree_leave_a_change_to_be_found() -> None:
    found = trend([repeated(0, 0.8, 0.8, 0.8), repeated(1, 0.6, 0.6, 0.6)])
    assert [change.kind for _, change in found.moves] == ["regression"]


def test_a_run_that_was_asked_once_varies_as_the_repeats_of_the_others() -> None:
    found = trend([repeated(0, 0.9, 0.5), repeated(1, 0.5)])
    assert found.moves == []
    assert curve(found, "faithfulness").repeated


def partly(number: int, mean: float, again: int, kind: str = "repeat") -> Side:
    """A run of which only the first questions were asked again."""
    return night(number, own_records(repeated(number, mean, mean, kind=kind))[: 20 + again])


def left_out(found: Trend) -> list[str]:
    return [note for note in trend_notes(found, "en") if "leave out what shifts all answers" in note]


def test_notes_say_what_is_left_out_wherever_repeats_show_no_variance() -> None:
    once = [repeated(0, 0.7), repeated(1, 0.5)]
    (note,) = left_out(trend(once))
    assert "faithfulness, tokens per question." in note
    assert "of a run alike. `--repeat 3`" in note
    assert left_out(trend([repeated(0, 0.9, 0.5), repeated(1, 0.7, 0.3)])) == []
    assert len(left_out(trend([repeated(0, 0.9, 0.5, kind="judge_repeat"), repeated(1, 0.7)]))) == 1
    (note,) = left_out(trend(once, by="day"))
    assert note.endswith("of a period alike.")
    assert left_out(trend([repeated(0, 0.9, 0.5), repeated(1, 0.7, 0.3)], by="day")) == []


def test_one_repeated_question_shows_nothing_of_how_runs_vary() -> None:
    found = trend([partly(0, 0.7, 1), partly(1, 0.3, 1)])
    assert [change.kind for _, change in found.moves] == ["regression"]
    assert len(left_out(found)) == 1
    assert left_out(trend([partly(0, 0.7, 2), partly(1, 0.5, 2)])) == []
    # All were judged again, one was asked again: the judge's repeats are no variance of the system.
    judged = own_records(repeated(0, 0.9, 0.5, kind="judge_repeat")) + own_records(partly(0, 0.9, 1))[20:]
    assert len(left_out(trend([night(0, judged), repeated(1, 0.7)]))) == 1


def test_repeats_of_one_stretch_say_nothing_of_another() -> None:
    def other(side: Side, number: int) -> Side:
        return night(number, moved(own_records(side), 1))

    first = [repeated(0, 0.9, 0.5), repeated(1, 0.7, 0.3)]
    again = [other(repeated(2, 0.9, 0.5), 2), other(repeated(3, 0.7, 0.3), 3)]
    alone = [other(repeated(2, 0.7), 2), other(repeated(3, 0.3), 3)]
    assert left_out(trend([*first, *again])) == []
    assert len(left_out(trend([repeated(0, 0.7), repeated(1, 0.5), *again]))) == 1
    found = trend([*first, *alone])
    assert [mark.kind for mark in found.marks] == ["data"]
    assert [change.at for _, change in found.moves] == [3]
    assert len(left_out(found)) == 1


def test_without_a_fall_nothing_is_found() -> None:
    found = trend(nights(fall=0.0))
    assert found.moves == []
    assert found.worse == []
    visible = curve(found, "faithfulness").visible
    assert visible is not None
    assert 0.02 < visible < 0.12


def test_each_run_has_means_with_intervals_errors_times_tokens_and_cost() -> None:
    held = records([1.0, 0.0, None, Score.failed("late"), 1.0])
    found = trend([night(0, held), night(1, held)])
    points = {one.name: one.points[0] for one in found.curves}
    values = Estimate.of_mean([1.0, 0.0, 1.0], groups=[0, 1, 4], total=4)
    assert points["faithfulness"] == values
    assert points["errors"].value == pytest.approx(1 / 5)
    assert points["latency p50"].value == pytest.approx(3.0)  # of 1, 2, 4 and 5 seconds
    assert points["tokens"].value == 110
    assert points["cost"].value == pytest.approx((100 * 1.0 + 10 * 2.0) / 1e6)
    assert found.runs[0].failed == {"faithfulness": 1}


def test_neighbouring_runs_have_an_unpaired_difference() -> None:
    before, after = records([1.0] * 30 + [0.0] * 10), records([1.0] * 20 + [0.0] * 20)
    step = curve(trend([night(0, before), night(1, after)]), "faithfulness").steps[1]
    assert step.value == pytest.approx(-0.25)
    assert step.low is not None
    assert step.high is not None
    (low_1, high_1), (low_2, high_2) = count_interval(30, 40), count_interval(20, 40)
    reach = (math.hypot(0.5 - low_2, high_1 - 0.75), math.hypot(high_2 - 0.5, 0.75 - low_1))  # Newcombe 1998, method 10
    assert (step.low, step.high) == pytest.approx((-0.25 - reach[0], -0.25 + reach[1]))


def test_a_change_of_the_questions_is_marked_and_is_no_change_of_quality() -> None:
    good, bad = records([1.0] * 40), records([0.0] * 40, first=20)
    sides = [night(number, good if number < 5 else bad) for number in range(10)]
    found = trend(sides)
    assert found.moves == []
    (mark,) = found.marks
    assert (mark.kind, mark.at, mark.shared, mark.total) == ("data", 5, 20, 40)
    assert not found.stream
    assert curve(found, "faithfulness").steps[5].value is None
    same = trend([night(number, good if number < 5 else records([0.0] * 40)) for number in range(10)])
    assert [change.at for _, change in same.moves] == [5]


def test_runs_that_each_have_their_own_questions_are_one_stream() -> None:
    sides = [
        replace(side, run=night(number, moved(own_records(side), number)).run)
        for number, side in enumerate(nights(questions=200, fall=0.2))
    ]
    found = trend(sides)
    assert found.stream
    assert found.marks == ()
    assert [(one.name, abs(change.at - 9) <= 1) for one, change in found.moves] == [("faithfulness", True)]


def test_a_change_of_the_judge_is_a_change_of_the_ruler() -> None:
    def judged(number: int, value: float) -> Side:
        evidence = {"verdicts": [{"step": "verify", "model": "m", "reply": "{}", "usage": {}, "cached": False}]}
        scores: list[Any] = [Score.of(value, evidence=evidence)] * 40
        model = "one" if number < 4 else "two"
        return night(number, records(scores), matrix={"model": model, "protocol": "matrix"})

    found = trend([judged(number, 0.9 if number < 4 else 0.4) for number in range(8)])
    (mark,) = found.marks
    assert (mark.kind, mark.at, mark.metrics) == ("ruler", 4, ("faithfulness",))
    assert mark.reason is not None
    assert (mark.reason.kind, mark.reason.what, mark.reason.a, mark.reason.b) == ("judge", "model", "one", "two")
    assert [one for one, _ in found.moves if one.kind == "metric"] == []


def test_a_change_of_a_metrics_version_breaks_only_its_curve() -> None:
    sides = [
        night(number, records([float(number < 4)] * 40), metrics={"faithfulness": 1 + (number >= 4)})
        for number in range(8)
    ]
    assert [(mark.kind, mark.at) for mark in trend(sides).marks] == [("ruler", 4)]
    assert trend(sides).moves == []


def test_a_change_of_the_system_is_named_and_its_effect_is_reported() -> None:
    sides = [
        night(number, records([float(number < 4)] * 40), system={"kind": "x", "k": 5 - (number > 3), "data": number})
        for number in range(8)
    ]  # fmt: skip
    found = trend(sides)
    assert [(mark.kind, mark.at, mark.settings) for mark in found.marks] == [("system", 4, ("k",))]
    assert [change.at for _, change in found.moves] == [4]


def test_an_unfinished_run_is_shown_and_not_tested() -> None:
    sides = [night(number, records([1.0] * 40)) for number in range(4)]
    sides.append(night(4, records([0.0] * 12), planned=40))
    found = trend(sides)
    assert found.runs[4].unfinished == (12, 40)
    assert curve(found, "faithfulness").points[4].value == 0.0
    assert found.moves == []
    assert found.marks == ()
    empty = trend([*sides[:4], night(5, [])])
    assert empty.runs[-1].unfinished == (0, 0)


def test_latency_is_tested_from_eight_runs_on_and_its_change_found() -> None:
    assert [one.name for one in trend(nights(7)).tested] == ["faithfulness", "tokens"]
    sides = [
        night(number, records([1.0] * 20, seconds=1 + 0.01 * (number % 3) + (number >= 8))) for number in range(16)
    ]
    found = trend(sides)
    assert {(one.name, change.at, change.kind) for one, change in found.moves} == {
        ("latency p50", 8, "regression"), ("latency p95", 8, "regression"),
    }  # fmt: skip


def test_errors_and_tokens_are_followed() -> None:
    held: list[float | None] = [1.0] * 40
    failing: list[float | None] = [1.0] * 20 + [None] * 20
    sides = [
        night(number, records(held if number < 4 else failing, tokens=100 + 50 * (number >= 4))) for number in range(8)
    ]
    found = {one.name: change for one, change in trend(sides).moves}
    assert {name: change.kind for name, change in found.items()} == {"errors": "regression", "tokens": "regression"}
    assert found["errors"].after.value == pytest.approx(0.5)


def test_after_a_recovery_nothing_is_worse() -> None:
    rates = [0.9] * 7 + [0.5] * 7 + [0.9] * 7
    sides = [
        night(at, records([float((number * 7 + at) % 40 < 40 * rate) for number in range(40)]))
        for at, rate in enumerate(rates)
    ]
    found = trend(sides, "faithfulness")
    assert [change.at for change in curve(found, "faithfulness").changes] == [7, 14]
    assert found.worse == []


def test_what_cannot_be_a_trend_is_refused_in_one_line() -> None:
    one, other = night(0, records([1.0])), night(1, records([1.0]), benchmark="rgb")
    for sides, metrics, words in (
        ([one], (), "at least two runs: one was given; --by day"),
        ([one, other], (), "n00.run is a run of 'eval' and n01.run one of 'rgb'"),
        ([one, one], ("recal",), "No run has scores of 'recal'; available: faithfulness"),
    ):
        with pytest.raises(UsageError) as caught:
            trend(sides, *metrics)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_run_without_a_start_has_the_time_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.touch()
    side = night(0, records([1.0]), started="yesterday")
    reading = read_whole(side, path, {}, None)
    assert not reading.dated
    assert reading.when == datetime.fromtimestamp(path.stat().st_mtime, UTC)


@pytest.mark.parametrize(
    "value",
    ["2026-11-03T02:00:00Z", "2026-11-03 02:00", "2026-11-03T03:00+01:00", 1793671200, 1793671200.0, 1793671200_000,
     1793671200_000_000, 1793671200_000_000_000, "1793671200000000000"],
)  # fmt: skip
def test_a_time_is_read_in_its_usual_forms(value: object) -> None:
    assert moment_of(value) == datetime(2026, 11, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize("value", ["", "soon", 3, 0.5, True, None, "1e400", float("nan"), 1e300, [], "9" * 400])
def test_what_is_no_time_is_none(value: object) -> None:
    assert moment_of(value) is None


def test_one_run_is_split_by_the_day_or_the_week_of_its_records() -> None:
    held = [
        one
        for day in range(10)
        for one in records([1.0, 0.0], first=10 * day, Start_Time=f"2026-11-{day + 1:02}T23:00:00+02:00")
    ]
    side = night(0, [*held, *records([1.0], first=500)])
    days, undated = read_by_time(side, "day", "", {}, None)
    assert ([one.name for one in days][:2], len(days), undated) == (["2026-11-01", "2026-11-02"], 10, 1)
    assert days[0].cases == 2
    weeks, _ = read_by_time(side, "week", "Start_Time", {}, None)
    assert [(one.name, one.cases) for one in weeks] == [("2026-10-26", 2), ("2026-11-02", 14), ("2026-11-09", 4)]
    with pytest.raises(
        UsageError, match=r"No record of n00\.run has a time in column 'when'; its columns are Start_Time"
    ):
        read_by_time(side, "day", "when", {}, None)


def test_recorded_answers_have_times_and_tokens_in_columns() -> None:
    columns = {"seconds": 2.5, "llm.token_count.prompt": 70, "llm.token_count.completion": 30}
    held = [structs.replace(one, response=Response("So.")) for one in records([1.0, 0.0], columns=columns)]
    found = trend([night(0, held), night(1, held)])
    assert {one.name: one.points[0].value for one in found.curves if one.kind != "metric"} == {
        "latency p50": 2.5, "latency p95": 2.5, "tokens": 100, "cost": pytest.approx(130 / 1e6),
    }  # fmt: skip


def test_questions_are_numbered_in_the_order_in_which_they_first_come_in_a_few_bytes_each(tmp_path: Path) -> None:
    sides = [night(at, records([1.0, 0.0, 1.0], first=at)) for at in (2, 0)]
    readings = [read_whole(side, tmp_path, {}, None) for side in sides]
    trend_of(readings)
    assert [reading.errors.units.tolist() for reading in readings] == [[0, 1, 2], [3, 4, 0]]
    assert all(reading.metrics["faithfulness"].units is reading.errors.units for reading in readings)
    assert {type(reading.data) for reading in readings} == {array}
    assert len(readings[0].questions) == 3
