"""All that is said of an RGB run, figure by figure."""

import pytest
from tests.benchmarks.rgb.handmade import HandBenchmark, HandRun, official, passages, record
from tests.benchmarks.rgb.test_tables import counterfactual, noise, rejections
from tests.golden import golden, structure

from ragstone.benchmarks.rgb.charts import charts
from ragstone.benchmarks.rgb.diagnosis import explain
from ragstone.benchmarks.rgb.tables import tables
from ragstone.types import Record

ALL: list[Record] = [
    *(one for at in range(5) for one in noise("+" * (20 - 3 * at) + "-" * (3 * at), at / 5)),
    *(one for at, ratio in enumerate((0.0, 0.4)) for one in noise("+-+x" * (3 + at), ratio, language="zh")),
    *(one for ratio in (0.0, 0.2) for one in noise("++-+--", ratio, system="z")),
    *(record("noise", number, ratio=0.2, repeat=1, right=number % 3 > 0, label=[1]) for number in range(9)),
    *(record("integration", number, ratio=ratio, right=number % 4 > 0, label=[1, int(number % 4 > 0)])
      for ratio in (0.0, 0.2, 0.4) for number in range(8)),
    *rejections(judge=True), *counterfactual(), *counterfactual(known=5, judge=False, system="z", language="zh"),
    record("noise", 90, right=False, label=[0], given=passages("plain", "rumour", "other_year"), answer="text 1"),
    record("noise", 91, right=False, rejected=True, label=[-1], given=passages("plain", ""), answer="I cannot answer."),
    record("noise", 92, right=False, label=[0], finish_reason="length", given=passages("far")),
]  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "how", [HandBenchmark(), official(), HandBenchmark(scoring="official")], ids=["ours", "paper", "rule"]
)
def test_tables_and_charts(request: pytest.FixtureRequest, how: HandBenchmark, language: str) -> None:
    said = [*tables(HandRun(ALL), how, language), *charts(HandRun(ALL), how, language)]
    golden(f"rgb/{request.node.callspec.id}", "\n\n".join(map(structure, said)))


@pytest.mark.parametrize("scoring", ["default", "official"])
def test_diagnoses(scoring: str) -> None:
    golden(f"rgb/diagnoses-{scoring}", "\n".join(structure(explain(one, scoring=scoring)) for one in ALL))
