"""All that is said of a MIRAGE run, figure by figure; and what the benchmark is."""

import dataclasses
import math

import pytest
from msgspec.structs import replace
from tests.benchmarks.factory import make
from tests.benchmarks.mirage.handmade import HandmadeRun, found_by, labelled, record
from tests.benchmarks.mirage.test_tables import everything
from tests.golden import golden, structure

from ragstone.benchmarks.mirage.adaptability import macro
from ragstone.benchmarks.mirage.aggregate import BASE, MIXED, OFFICIAL, ORACLE, tally_records
from ragstone.benchmarks.mirage.charts import charts
from ragstone.benchmarks.mirage.diagnosis import explain
from ragstone.benchmarks.mirage.tables import tables
from ragstone.stats import count_interval

SWEEP = [
    *everything(),
    *labelled({"011": 7, "010": 3, "110": 1, "000": 2}, system="z", default=True, prefix="z"),
    *labelled({"011": 4, "001": 2}, system="z", source="drop", prefix="d", aliases=("Bo", "Bob")),
    *labelled({"011": 2, "010": 2}, system="z", repeat=1, prefix="z"),
    record("base", "q900", None, error="timed_out: late"),
    record("oracle", "q901", False, refused=True, answer="I cannot tell."),
    record("mixed", "q902", False, answer="It is Bob.", evidence={"spans": [[0, 5]]}),
    record("mixed", "q903", True, aliases=()),
]
FOUND = [
    found_by(name, f"q{n:02d}", "".join("1" if (n * seed + at) % 7 == 0 else "0" for at in range(k)), 1 + n % 2, k=k)
    for seed, name in ((1, "bm25"), (3, "dense"), (5, "hybrid"))
    for k in (1, 5)
    for n in range(24)
]
RUNS = {
    "sweep": HandmadeRun(SWEEP),
    "official": HandmadeRun(SWEEP, {"scoring": "official", "protocol": "official"}),
    "found": HandmadeRun(FOUND),
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", RUNS)
def test_tables_and_charts(name: str, language: str) -> None:
    said = [*tables(RUNS[name], language=language), *charts(RUNS[name], language=language)]
    golden(f"mirage/{name}.{language}", "\n\n".join(map(structure, said)))


@pytest.mark.parametrize("scoring", ["default", "official"])
def test_diagnoses(scoring: str) -> None:
    golden(f"mirage/diagnoses-{scoring}", "\n".join(structure(explain(one, scoring=scoring)) for one in SWEEP))


def test_the_interval_of_a_macro_average_adds_the_errors_of_its_sources() -> None:
    """Of independent sources the squares of the half widths add up (Newcombe); each counts one half."""
    large, small = labelled({"011": 9, "010": 3}), labelled({"011": 2, "010": 4}, source="drop", prefix="d")
    crosstab = tally_records(large + small).crosstab("m", (BASE, ORACLE, MIXED), OFFICIAL)
    assert crosstab is not None
    found = macro(crosstab, lambda kind: kind.code == 0b011).known
    assert found is not None
    value, low, high = found
    ends = [(9 / 12, *count_interval(9, 12)), (2 / 6, *count_interval(2, 6))]
    assert value == pytest.approx((9 / 12 + 2 / 6) / 2)
    assert low == pytest.approx(value - math.sqrt(sum((share - end) ** 2 for share, end, _ in ends)) / 2)
    assert high == pytest.approx(value + math.sqrt(sum((end - share) ** 2 for share, _, end in ends)) / 2)


def test_the_benchmark_has_the_licence_of_its_data_and_adaptability() -> None:
    made = make("mirage", data="fictional", limit=3)
    assert made.license == ""  # invented data have none
    assert made.pool is not None
    assert dataclasses.replace(made, pool=replace(made.pool, license="CC BY 4.0")).license == "CC BY 4.0"
    assert [one.name for one in made.aggregates] == ["adaptability"]
