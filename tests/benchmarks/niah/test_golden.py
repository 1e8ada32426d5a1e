"""All that is said of a needle run, figure by figure, and the cells that are asked for."""

import random
from typing import Any

import msgspec
import pytest
from tests.benchmarks.factory import make
from tests.benchmarks.niah.test_tables import record
from tests.benchmarks.recorded.memory_run import MemoryRun
from tests.golden import figures, golden, structure

from ragstone.benchmarks.niah.benchmark import expand_query
from ragstone.benchmarks.niah.charts import charts
from ragstone.benchmarks.niah.contexts import make_haystack
from ragstone.benchmarks.niah.diagnosis import explain
from ragstone.benchmarks.niah.make import depths_of, lengths_of
from ragstone.benchmarks.niah.needles import KINDS, NeedleQuestion, make_needle
from ragstone.benchmarks.niah.tables import name_of_length, tables
from ragstone.errors import UsageError
from ragstone.types import Passage, Query, Record, Score

LENGTHS = (500, 1000, 2000, 4000, 8000, 16_000)
DEPTHS = tuple(float(depth) for depth in range(0, 101, 10))


def kept(found: list[Record]) -> MemoryRun:
    return MemoryRun(sorted(found, key=lambda one: (one.system_id, one.case.id)))


def cells(system: str, skill: int, **how: Any) -> list[Record]:
    """Every cell, found where the skill reaches; a judge that mostly agrees; controls, the long ones not refused."""
    found = []
    for at, length in enumerate(LENGTHS):
        for number, depth in enumerate(DEPTHS):
            value = float((at * 7 + number * 5) % 23 < skill)
            refused = float(not value and (at + number) % 3 == 0)
            judged = 1.0 if value else (0.5 if number % 4 == 1 else 0.0)
            more = {**how, **({"hit": (at + number) % 4 > 0} if how.get("mode") == "rag" else {})}
            found.append(record(length, depth, value, refused=refused, judged=judged, **more))
        found += [record(length, 100.0, None, refused=float(at < 3 + again), repeat=again, **how) for again in range(2)]
    return [msgspec.structs.replace(one, system_id=system) for one in found]


RUNS = {
    "plain": kept(cells("m", 17)),
    "templates": kept(
        [
            *cells("m", 17),
            *cells("m", 12, template="anthropic-rev2"),
            *cells("z", 20, template="simple"),
            *cells("z", 20, template="anthropic-rev2", language="zh"),
        ]
    ),
    "rag": kept(
        [
            *cells("m", 17),
            *cells("m", 21, mode="rag", retriever="bm25", chunk=60, k=1),
            *cells("m", 15, mode="rag", retriever="bm25", chunk=330, k=5),
            *cells("m", 9, mode="rag", retriever="dense", chunk=60, k=5),
        ]
    ),
    "repeats": kept([one for repeat in range(3) for one in cells("m", 17 - 5 * repeat, repeat_of=repeat)]),
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", RUNS)
def test_tables_and_charts(name: str, language: str) -> None:
    said = [*tables(RUNS[name], language=language), *charts(RUNS[name], language=language)]
    golden(f"niah/{name}.{language}", "\n\n".join(map(structure, said)))


def test_findings() -> None:
    golden("niah/findings", "\n".join(structure(explain(one)) for run in RUNS.values() for one in run.records()))


def test_a_report_has_at_most_24_charts() -> None:
    def made(systems: int) -> list[str]:
        found = [
            msgspec.structs.replace(record(length, 50.0, 1.0), system_id=f"s{number:02d}")
            for number in range(systems)
            for length in (1000, 2000)
        ]
        return [chart.id for chart in charts(kept(found))]

    assert made(23) == [*(f"niah-map-{number}" for number in range(23)), "niah-lengths"]
    assert made(24) == made(23)


@pytest.mark.parametrize("count", [49, 50, 51])
def test_at_most_fifty_disagreements_of_rule_and_judge_are_listed(count: int) -> None:
    found = [record(1000, float(depth), 1.0, judged=0.0) for depth in range(count)]
    table = next(one for one in tables(kept(found)) if one.id == "niah-rule-judge")
    assert len(table.rows) == min(count, 50)
    assert [figures(note) for note in table.notes] == (["w 1 w"] if count > 50 else [])


def test_windows_that_a_model_needs_for_what_a_retriever_gives() -> None:
    lines = []
    for chunk in (60, 330):
        for k in (1, 2, 5):
            made = make("niah", retrievers=["bm25"], chunks=[chunk], ks=[k], lengths="4k", depths="50")
            lines.append(f"chunk {chunk}, k {k}: {made.window}")
    golden("niah/windows", "\n".join(lines))


def test_names_of_lengths() -> None:
    told = [name_of_length(length) for length in (1, 999, 1000, 1024, 1500, 9_950, 12_345, 999_999, 1_000_000)]
    golden("niah/lengths", "\n".join(told))


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("1k:32k:3", [1000, 16500, 32000]), ("500,1k,2.5K", [500, 1000, 2500]), ("8k", [8000]),
        ("50:60:3", [50, 55, 60]), ("1k:1k:1", [1000]), ("2000,1000,1000", [1000, 2000]),
        ("50,10000000", [50, 10_000_000]), ("9k:1k:2", [1000, 9000]), (" 100 , 200.4", [100, 200]),
    ],
)  # fmt: skip
def test_lengths_by_hand(text: str, lengths: list[int]) -> None:
    assert lengths_of(text) == lengths


@pytest.mark.parametrize("text", ["49", "10000001", "1k:2k:0", "1k:2k:10001", "1k:", "", "many", "inf", "nan", "-100"])
def test_lengths_that_cannot_be(text: str) -> None:
    with pytest.raises(UsageError):
        lengths_of(text)


def test_a_grid_has_at_most_ten_thousand_lengths() -> None:
    assert lengths_of("50:10049:10000") == list(range(50, 10_050))


def test_depths_by_hand() -> None:
    assert depths_of("0:100:5") == [0.0, 25.0, 50.0, 75.0, 100.0]
    assert depths_of("33.33333,66.66666") == [33.33, 66.67]
    # 100 / (1 + e^(-(depth - 50) / 10)), but the ends stay.
    assert depths_of("0,1,40,50,60,99,100", "sigmoid") == [0.0, 0.74, 26.89, 50.0, 73.11, 99.26, 100.0]
    for bad in ("-0.01", "100.01", "nan"):
        with pytest.raises(UsageError, match=r"not between 0 and 100|expected numbers"):
            depths_of(bad)
    with pytest.raises(UsageError, match="is not between 0 and 100"):
        depths_of([50.0, float("nan")])
    with pytest.raises(UsageError, match="at least one"):
        depths_of([])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_needles(language: str) -> None:
    """What is hidden and asked is part of the benchmark: other texts are another version of it."""
    lines = []
    for kind in KINDS:
        for seed in range(2):
            own = (NeedleQuestion("Why?", ("Because.",), (("Because", "So"),)),)
            made = make_needle(
                kind, language, random.Random(seed), from_file=own, keys=3, values=2, queries=2, distractors=2
            )
            lines.append(f"{kind} {seed}: {made}")
    golden(f"niah/needles.{language}", "\n".join(lines))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_cells_that_are_planned(language: str) -> None:
    """Where each needle stands, in which context: the same grid is the same questions, in every version."""
    lines = []
    for kind in ("number", "multi", "distractor", "chain"):
        made = make("niah", data_languages=[language], needles=[kind], lengths="900,3k", depths="0,30,100", repeat=2)
        for case in made.cases():
            assert case.query.passages
            recipe = {name: at for name, at in case.query.passages[0].meta["recipe"].items() if name != "needles"}
            lines.append(f"{case.id} {case.condition} {recipe} {case.lane}")
    golden(f"niah/cells.{language}", "\n".join(lines))


def test_more_cells_than_a_million_are_counted_and_refused() -> None:
    grid = {"lengths": "50:9000:100", "depths": "0:100:101", "needles": ["number", "chain"]}
    with pytest.raises(UsageError, match=r"1,010,000"):
        make("niah", **grid, repeat=50)


def test_the_first_depth_that_is_no_number_is_named() -> None:
    with pytest.raises(UsageError, match="'deep' is not a number"):
        make("niah", lengths=[600], depths=[0, "deep", 50])


def test_a_haystack_that_repeats_is_told_with_a_retriever_and_without() -> None:
    few = {"lengths": "50k", "depths": "50", "haystack_source": "essays"}
    for more in ({}, {"retrievers": ["bm25"]}):
        assert any("repeat" in warning for warning in make("niah", **few, **more).warnings)


def test_a_query_that_is_no_needle_stays_as_it_is() -> None:
    for query in (Query("Why?", (Passage("p", "Because."),)), Query("Why?", ()), Query("Why?")):
        assert expand_query(query, {}) is query


def test_a_published_score_below_the_best_weighs_by_what_is_missing() -> None:
    for value, cause, weight in ((0.0, "missed", 1.0), (0.75, "partly", 0.25)):
        one = record(1000, 50.0, value)
        found = explain(msgspec.structs.replace(one, scores={"needle.given": Score.of(value)}))
        assert (found.right, found.cause, found.weight) == (False, cause, weight)


def test_a_haystack_knows_its_longest_sentence_and_a_query_may_ask_for_one_city() -> None:
    hay = make_haystack(["a. ", "b. ", "c. "], [2, 9, 4], separator_tokens=1, language="en")
    assert hay.longest == 9
    assert len(make_needle("multi", "en", random.Random(0), keys=1, values=1, queries=1).answers) == 1
    for keys, values, queries in ((0, 1, 0), (1, 1, 2), (2, 0, 1), (2, 21, 1), (100_000, 1, 1)):
        with pytest.raises(UsageError, match="--keys"):
            make_needle("multi", "en", random.Random(0), keys=keys, values=values, queries=queries)
    assert len(make_needle("multi", "en", random.Random(0), keys=2, values=20, queries=2).needles) == 40
