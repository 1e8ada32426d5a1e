"""What the tables and maps of a needle run say, from synthetic answers whose truth is known."""

import random
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace
from tests.planless import Planless

from ragstone.benchmarks.niah.aggregate import CellScores
from ragstone.benchmarks.niah.charts import charts
from ragstone.benchmarks.niah.diagnosis import explain
from ragstone.benchmarks.niah.effective import Bar, effective, ruler_bar
from ragstone.benchmarks.niah.tables import name_of_length, tables
from ragstone.display import Table
from ragstone.plans import Plan, PlanCell
from ragstone.stats import count_interval, holm, mcnemar_exact, wilson
from ragstone.types import Case, Passage, Query, Record, Response, Sample, Score, Usage

LENGTHS, DEPTHS = (1000, 2000, 4000), (0.0, 50.0, 100.0)


def record(
    length: int, depth: float, found: float | None, *, template: str = "simple", repeat: int = 0, refused: float = 0.0,
    judged: float | None = None, **more: Any,
) -> Record:  # fmt: skip
    condition = {
        "ability": "needle" if found is not None else "control", "language": "en", "length": length, "depth": depth,
        "length_reached": length - 10, "depth_reached": depth, "template": template, "needle": "number",
        "repeat": repeat, "tokenizer": "local/smollm2", "mode": "full", **more,
    }  # fmt: skip
    name = f"{template}/{length}/{depth}/{repeat}/{found is None}"
    scores = {"needle.refused": Score.of(refused, evidence={"spans": [[0, 2]] if refused else []})}
    if found is not None:
        scores["needle.found"] = Score.of(found, evidence={"spans": [[[0, 4]]] if found else [[]]})
    if judged is not None:
        scores["needle.judge"] = Score.of(judged)
    if more.get("mode") == "rag":
        scores["needle.retrieved"] = Score.of(float(bool(more.get("hit"))))
    passages = (Passage("chunk", "", relevant=bool(more.get("hit"))),) if more.get("mode") == "rag" else ()
    response = Response("some words", passages, usage=Usage(prompt_tokens=2 * (length - 10)))
    return Record("m", Case(name, Sample(name, "?"), condition, Query("?")), response, None, scores)


class SyntheticRun(Planless):
    def __init__(self, *records: Record) -> None:
        self._records = sorted(records, key=lambda one: one.case.id)
        self.meta: Mapping[str, Any] = {}
        self.systems: Mapping[str, Mapping[str, Any]] = {"m": {}}

    def records(
        self, *, system: str | None = None, cases: Collection[str] | None = None, texts: bool = True
    ) -> Iterator[Record]:
        return iter(self._records)


def by_id(run: SyntheticRun, language: str = "en") -> dict[str, Table]:
    return {table.id: table for table in tables(run, language=language)}


def grid(*missed: tuple[int, float], template: str = "simple", **more: Any) -> list[Record]:
    return [
        record(length, depth, 0.0 if (length, depth) in missed else 1.0, template=template, **more)
        for length in LENGTHS
        for depth in DEPTHS
    ]


def test_the_summary_counts_cells_and_refusals_apart() -> None:
    controls = [record(length, 100.0, None, refused=float(length > 1000)) for length in LENGTHS]
    alarm = record(4000, 50.0, 0.0, refused=1.0)
    run = SyntheticRun(*grid()[:-2], alarm, record(4000, 100.0, 1.0), *controls)
    (row,) = by_id(run)["niah-summary"].rows
    found, whole, misses, refused, alarms = row.cells[1:6]
    assert found.value == pytest.approx(8 / 9)
    assert (whole.scored, whole.total, misses.text) == (8, 9, "1")
    assert refused.value == pytest.approx(2 / 3)
    assert alarms.value == pytest.approx(1 / 9)


def test_a_cell_that_was_asked_again_counts_once() -> None:
    run = SyntheticRun(record(1000, 0.0, 1.0), *[record(1000, 50.0, 0.0, repeat=number) for number in range(9)])
    (row,) = by_id(run)["niah-summary"].rows
    assert row.cells[1].value == pytest.approx(0.5)


def test_templates_are_compared_cell_by_cell() -> None:
    first = grid((4000, 0.0), (4000, 50.0), (2000, 0.0), template="simple")
    second = grid((4000, 0.0), template="anthropic-rev2")
    (row,) = by_id(SyntheticRun(*first, *second))["niah-templates"].rows
    assert [cell.text for cell in row.cells[1:]] == ["anthropic-rev2", "simple", "1", "3", "2", "0", "0.5", "9"]


def test_all_pairs_of_templates_are_corrected_together_and_the_repeats_of_a_cell_are_one_unit() -> None:
    cells = [(length, float(depth)) for length in (1000, 2000) for depth in range(0, 100, 10)]
    missed = {"a": 0, "b": 7, "c": 12, "d": 2}  # of the first cells

    def asked(repeats: int) -> list[Record]:
        return [
            record(*cell, float(place >= count), template=template, repeat=repeat)
            for template, count in missed.items()
            for place, cell in enumerate(cells)
            for repeat in range(repeats)
        ]

    once, again = (by_id(SyntheticRun(*asked(repeats)))["niah-templates"] for repeats in (1, 3))
    pairs = [(row.cells[1].text, row.cells[2].text) for row in once.rows]
    raw = [mcnemar_exact(abs(missed[x] - missed[y]), 0) for x, y in pairs]
    assert [row.cells[-2].text for row in once.rows] == [f"{p:.3g}" for p in holm(raw)]
    assert any(p < 0.05 < adjusted for p, adjusted in zip(raw, holm(raw), strict=True))
    assert [row.cells[-2].text for row in again.rows] == [row.cells[-2].text for row in once.rows]


def test_a_single_cell_has_no_interval() -> None:
    found = by_id(SyntheticRun(record(1000, 0.0, 1.0), record(2000, 0.0, 1.0), record(2000, 50.0, 1.0)))
    one, two = found["niah-lengths"].rows[0].cells[1:]
    assert (one.value, one.low, one.high) == (1.0, None, None)
    assert (two.low, two.high) == pytest.approx(count_interval(2, 2))


def test_pairs_of_templates_say_what_else_differs_between_rows() -> None:
    pairs = [
        grid(template=template, language=language, **how)
        for template in ("simple", "earlier")
        for language in ("en", "zh")
        for how in ({}, {"mode": "rag", "retriever": "bm25", "chunk": 60, "k": 1})
    ]
    table = by_id(SyntheticRun(*[one for pair in pairs for one in pair]))["niah-templates"]
    assert table.columns[:3] == ("System", "Language", "Mode")
    assert len({tuple(cell.text for cell in row.cells[: table.keys]) for row in table.rows}) == len(table.rows) == 4


def test_many_depths_are_told_by_tenths() -> None:
    run = SyntheticRun(*[record(1000, float(depth), float(depth < 50)) for depth in range(101)])
    table = by_id(run)["niah-depths"]
    assert table.columns[1:4] == ("0–10%", "10–20%", "20–30%")
    assert [cell.value for cell in table.rows[0].cells[1:]] == [1.0] * 5 + [0.0] * 5


def test_effective_lengths_by_both_bars() -> None:
    cells = CellScores()
    for length, value in ((1000, 1.0), (2000, 0.9), (4000, 0.852), (8000, 0.9), (16000, 0.2)):
        cells.values[length, 0.0].append(value)
    assert effective(cells, Bar((0.85,) * 3)).reached == 8000
    assert effective(cells, ruler_bar()).reached == 2000
    assert effective(cells, Bar((1.1,) * 3)).reached == 0
    # None of 3 is at most 1 - 0.035 ** (1 / 3) = 67.3%: below 85.6%, not below 85% of 3 of 3 (at least 27.8%).
    run = SyntheticRun(*grid((4000, 0.0), (4000, 50.0), (4000, 100.0)))
    (row,) = by_id(run)["niah-effective"].rows
    assert [cell.text for cell in row.cells[1:]] == ["2k [1k, –]", "2k [below 1k, 2k]"]


def test_rule_and_judge_that_disagree_are_listed() -> None:
    run = SyntheticRun(record(1000, 0.0, 1.0, judged=0.0), record(1000, 50.0, 1.0, judged=1.0))
    found = by_id(run)
    (row,) = found["niah-rule-judge"].rows
    assert row.cells[1].text == "simple/1000/0.0/0/False"
    assert row.cells[3].value == 1.0
    assert found["niah-summary"].rows[0].cells[6].value == pytest.approx(5.5)


def test_what_the_endpoint_counts_is_told() -> None:
    notes = " ".join(by_id(SyntheticRun(*grid()))["niah-summary"].notes)
    assert "2.00 times" in notes
    assert "local/smollm2" in notes


def test_maps_have_a_row_a_depth_and_a_column_a_length() -> None:
    run = SyntheticRun(*grid((4000, 50.0)), *grid(template="anthropic-rev2"))
    made = {chart.id: chart for chart in charts(run)}
    maps = [chart for chart in made.values() if chart.kind == "heatmap"]
    assert len(maps) == 2
    simple = next(chart for chart in maps if "simple" in chart.title)
    assert simple.categories == ("1k", "2k", "4k")
    assert [series.name for series in simple.series] == ["0%", "50%", "100%"]
    assert [point.y for point in simple.series[1].points] == [1.0, 1.0, 0.0]
    assert "worst at length 4k" in simple.alt
    assert len(made["niah-lengths"].series) == 2


def test_through_a_retriever_there_are_three_maps() -> None:
    run = SyntheticRun(
        *(record(1000, depth, 1.0, mode="rag", retriever="bm25", hit=depth > 0) for depth in DEPTHS),
    )
    maps = {chart.title: chart for chart in charts(run) if chart.kind == "heatmap"}
    values = {title: [series.points[0].y for series in chart.series] for title, chart in maps.items()}
    assert sorted(values.values()) == [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]]


@pytest.mark.parametrize(
    ("one", "right", "cause"),
    [
        (record(1000, 0.0, 1.0), True, ""),
        (record(1000, 0.0, 0.0), False, "missed"),
        (record(1000, 0.0, 0.5), False, "partly"),
        (record(1000, 0.0, 0.0, refused=1.0), False, "refused"),
        (record(1000, 0.0, None, refused=1.0), True, ""),
        (record(1000, 0.0, None), False, "invented"),
        (record(1000, 0.0, 0.0, mode="rag", hit=False), False, "not_retrieved"),
        (record(1000, 0.0, 0.0, mode="rag", hit=True), False, "missed"),
    ],
)
def test_every_miss_has_a_cause(one: Record, right: bool, cause: str) -> None:
    for language in ("en", "zh"):
        finding = explain(one, language=language)
        assert (finding.right, finding.cause) == (right, cause)
        assert bool(finding.reason) is not right
        assert all(0 <= span.start < span.end <= len("some words") for span in finding.spans)


def test_both_languages_have_every_word() -> None:
    run = SyntheticRun(*grid((4000, 0.0)), *grid(template="anthropic-rev2"), record(1000, 0.0, None))
    english, chinese = tables(run, language="en"), tables(run, language="zh")
    assert [table.id for table in english] == [table.id for table in chinese]
    assert all(one.title != other.title for one, other in zip(english, chinese, strict=True))


def test_lengths_have_short_names() -> None:
    assert [name_of_length(length) for length in (500, 1000, 1500, 200_000)] == ["500", "1k", "1.5k", "200k"]


def test_an_effective_length_ends_before_a_length_of_which_cases_are_still_to_be_asked() -> None:
    run = SyntheticRun(*(record(length, depth, 1.0) for length in (1000, 2000) for depth in (0.0, 100.0)))
    axes = dict(run.records().__next__().case.condition)
    cells = [
        PlanCell(axes | {"length": length, "depth": depth}, 1, int(length < 4000))
        for length in (1000, 2000, 4000) for depth in (0.0, 100.0)
    ]  # fmt: skip
    run.planned = {"m": Plan(6, 4, 0, tuple(cells))}
    (row,) = by_id(run)["niah-effective"].rows
    assert [cell.text for cell in row.cells[1:]] == [
        "at least 2k (unfinished) [1k, –]",
        "at least 2k (unfinished) [below 1k, –]",
    ]
    (row,) = by_id(run, "zh")["niah-effective"].rows
    assert [cell.text for cell in row.cells[1:]] == ["至少 2k（未完成） [1k, –]", "至少 2k（未完成） [不足 1k, –]"]
    whole = by_id(run)["niah-summary"].rows[0].cells[2]
    assert (whole.scored, whole.total) == (4, 6)


def repeated(length: int, depth: float, found: int, of: int) -> list[Record]:
    return [record(length, depth, float(number < found), repeat=number) for number in range(of)]


def test_a_cell_that_is_repeated_has_an_interval_over_its_repeats() -> None:
    run = SyntheticRun(*repeated(1000, 50.0, 15, 20), *repeated(2000, 50.0, 20, 20), *repeated(2000, 100.0, 8, 20))
    tables_by_id = by_id(run)
    rows = {row.cells[1].text: row.cells[2:] for row in tables_by_id["niah-cells"].rows}
    assert (rows["50%"][0].value, rows["50%"][0].low, rows["50%"][0].high) == pytest.approx(
        (0.75, *count_interval(15, 20))
    )
    assert (rows["50%"][1].low, rows["50%"][1].high) == pytest.approx(count_interval(20, 20))
    assert rows["100%"][0].value is None
    assert (rows["100%"][1].low, rows["100%"][1].high) == pytest.approx(count_interval(8, 20))
    by_length = tables_by_id["niah-lengths"].rows[0].cells[1]
    assert (by_length.low, by_length.high) == pytest.approx(count_interval(15, 20))  # the only cell of its length
    assert "niah-cells" not in by_id(SyntheticRun(*grid()))


def test_by_length_the_repeats_of_a_cell_are_not_counted_as_independent() -> None:
    apart = SyntheticRun(*repeated(1000, 0.0, 20, 20), *repeated(1000, 50.0, 20, 20), *repeated(1000, 100.0, 5, 20))
    cell = by_id(apart)["niah-lengths"].rows[0].cells[1]
    assert cell.value == pytest.approx(0.75)
    assert cell.low is not None
    assert cell.low < wilson(45, 60)[0] - 0.15


@pytest.mark.parametrize(("cells", "repeats"), [(4, 5), (10, 3), (15, 2)])
@pytest.mark.parametrize("chance", [0.5, 0.75, 0.95])
def test_the_interval_by_length_covers_the_mean_of_unequal_depths(cells: int, repeats: int, chance: float) -> None:
    rng, covered, draws = random.Random(cells), 0, 300
    for _ in range(draws):
        scores = CellScores()
        for depth in range(cells):
            found = rng.betavariate(5 * chance, 5 * (1 - chance))
            scores.values[1000, float(depth)] = [float(rng.random() < found) for _ in range(repeats)]
        estimate = scores.mean(lengths=[1000])
        assert estimate.low is not None
        assert estimate.high is not None
        covered += estimate.low <= chance <= estimate.high
    assert covered / draws > 0.92  # 0.95 or more over 1,500 draws; 300 draws leave 0.013 of error


def test_a_needle_is_named_with_its_settings_and_a_template_as_it_is() -> None:
    several: dict[str, Any] = {"needle": "chain", "variant": "hops=2,hop=0.1,distractors=3", "template": "my own"}
    found = by_id(SyntheticRun(record(1000, 0.0, 1.0, **several)))["niah-summary"]
    assert "a chain (hops=2,hop=0.1,distractors=3), prompt my own" in " ".join(found.notes)
    assert any("counts with its own key only" in note for note in found.notes)
    assert not any("counts with its own key" in note for note in by_id(SyntheticRun(*grid()))["niah-summary"].notes)


def test_a_value_with_another_key_is_a_cause_of_its_own() -> None:
    one = record(1000, 0.0, 0.0, needle="multi")
    sample = Sample("s", "?", (("1",), ("2",)), meta={"keys": ["Oslo", "Rome"]})
    evidence = {"spans": [[[0, 1]], [[2, 3]]], "keys": [["Rome"], ["Oslo"]], "extra": ["3"]}
    scores = one.scores | {"needle.found": Score.of(0.0, evidence=evidence)}
    mixed = explain(replace(one, case=replace(one.case, sample=sample), scores=scores))
    assert (mixed.cause, mixed.right) == ("mixed", False)
    assert mixed.reason.startswith("2 of the values")
    assert "1 that nobody asked for" in mixed.reason
