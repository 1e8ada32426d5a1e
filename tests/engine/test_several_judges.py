"""Several judges of the same samples: combined or apart, their agreement, and where they disagree."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.judging import verdict
from tests.evaluation.test_eval import judging
from tests.evaluation.test_evaluate import rows
from tests.servers.fake_endpoint import FakeEndpoint

from ragstone import evaluate, evaluate_async
from ragstone.datasets.tabular.eval_data import read_data
from ragstone.engine.judge_tools import Judging
from ragstone.errors import UsageError
from ragstone.evaluation.estimate import estimate_evaluation
from ragstone.evaluation.evaluate import plan_evaluation
from ragstone.metrics.judge.panel import paneled
from ragstone.models import ModelOptions
from ragstone.models.scripted import Scripted
from ragstone.types import Case, Need, Query, Request, Response, Sample, Score

PLAIN = ModelOptions(cache=None)


def harsh(request: Request) -> str:
    """The judge of these tests, but nothing about the tower is supported."""
    reply = json.loads(verdict(request))
    if "tower" in request.messages[-1].content:
        for one in (*reply.get("answer_claims", ()), *reply.get("reference_claims", ())):
            one.update(supported_by=[]) if "supported_by" in one else None
    return json.dumps(reply)


def run(tmp_path: Path, judges: Any, **options: Any) -> Any:
    given: dict[str, Any] = {"run": tmp_path / "e.run", "model_options": PLAIN}
    return evaluate(rows(), "faithfulness", judges, **(given | options))


def two() -> list[Scripted]:
    return [Scripted(verdict, id="a/mild"), Scripted(harsh, id="b/harsh")]


def of_tower(result: Any) -> dict[str, Any]:
    row: dict[str, Any] = next(row for row in result.scores if "tower" in row["question"])
    return {name: value for name, value in row.items() if name.startswith("faithfulness")}


@pytest.mark.parametrize(("combine", "value"), [("mean", 2 / 3), ("majority", 1.0)])
def test_scores_are_combined(combine: Any, value: float, tmp_path: Path) -> None:
    judges = [*two(), Scripted(verdict, id="c/mild")]
    result = run(tmp_path, judges, combine=combine)
    assert of_tower(result) == {"faithfulness": pytest.approx(value)}
    assert [len(judge.requests) for judge in judges] == [2 * len(rows())] * 3


class Fixed:
    """A metric of one judge, with a score that is given."""

    name, version, needs, better, uses, steps = "m", 1, frozenset[Need](), "higher", ("judge",), frozenset[str]()

    def __init__(self, given: float | None) -> None:
        failed = Score.failed("no reply")
        self.given = failed if given is None else Score.of(given)

    async def score(self, case: Case, response: Response, /) -> Score:
        return self.given


async def of_panel(values: Sequence[float | None], combine: Any) -> Score:
    judges = {f"j{number}": (Fixed(value),) for number, value in enumerate(values, start=1)}
    (metric,) = paneled(judges, combine)
    result: Any = metric.score(Case("c", Sample("s", "q"), {}, Query("q")), Response("a"))
    score: Score = await result
    return score


@pytest.mark.parametrize(
    ("values", "value"),
    [
        ((1, 1, 1, None, 1), 1),
        ((0, 0, None), 0),
        ((1, 0, 0, None), 0),
        ((1, None), 1),
        ((0.2, 0.4, 0.9, None), 0.4),
        ((0.2, 0.4), 0.3),
        ((1, 0), None),
        ((1, 1, 0, 0, None), None),
        ((1, None, None), None),
        ((None, None), None),
    ],
)
async def test_the_majority_is_of_the_judges_that_replied_if_they_are_half_and_not_split(
    values: tuple[float | None, ...], value: float | None
) -> None:
    score = await of_panel(values, "majority")
    assert score.value == (value if value is None else pytest.approx(value))
    assert score.status == ("failed" if value is None else "scored")
    if None in values and value is not None:
        assert score.reason.startswith(f"{len(values) - values.count(None)} of {len(values)} judges replied; j")
        assert "no reply" in score.reason
        assert score.evidence["judges_missing"] == [f"j{at}" for at, one in enumerate(values, 1) if one is None]
    elif value is not None:
        assert score.reason == ""
    elif None not in values:
        assert score.reason == "The judges are split: 1 say 1 and 1 say 0."


async def test_a_mean_needs_every_judge() -> None:
    assert (await of_panel((1, 1, None), "mean")).status == "failed"
    assert (await of_panel((1, 0), "mean")).value == 0.5


@pytest.mark.parametrize(
    ("language", "words"), [("en", "of the scores are those of the judges that replied"), ("zh", "不含评判失败的")]
)
def test_the_table_says_how_many_scores_lack_a_judge(language: str, words: str, tmp_path: Path) -> None:
    mute = Scripted(lambda request: "No." if "tower" in request.messages[-1].content else verdict(request), id="d/mute")
    result = run(tmp_path, [*two(), Scripted(verdict, id="c/mild"), mute], combine="majority")
    assert of_tower(result) == {"faithfulness": 1.0}
    tables = {table.id: table for table in result.tables(language=language)}
    (note,) = (note for note in tables["eval-scores"].notes if words in note)
    assert "1" in note


def test_scores_are_kept_apart(tmp_path: Path) -> None:
    result = run(tmp_path, two(), combine="each")
    assert of_tower(result) == {"faithfulness[a/mild]": 1.0, "faithfulness[b/harsh]": 0.0}


@pytest.mark.parametrize("combine", ["mean", "each"])
def test_the_tables_show_agreement_and_the_samples_that_the_judges_disagree_on(combine: Any, tmp_path: Path) -> None:
    result = run(tmp_path, two(), combine=combine)
    for language, title in (("en", "Agreement of the judges"), ("zh", "裁判模型之间的一致程度")):
        tables = {table.id: table for table in result.tables(language=language)}
        assert tables["eval-judges"].title == title
    (row,) = tables["eval-judges"].rows
    shown = [cell.text if cell.value is None else cell.value for cell in row.cells]
    # Good in four and in three of five samples, the same in four: chance agrees in 0.8 * 0.6 + 0.2 * 0.4 of them.
    assert shown[:3] == ["faithfulness", "a/mild", "b/harsh"]
    assert shown[3:7] == pytest.approx([0.7, 0.5, 0.8, (0.8 - 0.56) / 0.44])
    (row,) = tables["eval-disagreements"].rows
    assert row.cells[-1].text == "a/mild: 1.00; b/harsh: 0.00"


def test_exports_have_a_column_for_each_judge_and_the_page_shows_the_first_ones_claims(tmp_path: Path) -> None:
    result = run(tmp_path, two())
    with result.open() as opened:
        opened.export(tmp_path / "e.csv", "csv")
        page = opened.write_report(tmp_path / "e.html").read_text(encoding="utf-8")
    with (tmp_path / "e.csv").open(encoding="utf-8-sig", newline="") as file:
        row = next(row for row in csv.DictReader(file) if "tower" in row["question"])
    assert (row["faithfulness"], row["faithfulness[a/mild]"], row["faithfulness[b/harsh]"]) == ("0.5", "1.0", "0.0")
    assert "b/harsh" in page


def test_another_set_of_judges_is_another_question_and_twice_the_same_is_refused(tmp_path: Path) -> None:
    run(tmp_path, two())
    with pytest.raises(UsageError, match="different settings"):
        run(tmp_path, two(), combine="majority")
    with pytest.raises(UsageError, match="a/mild is named twice"):
        run(tmp_path, [two()[0], two()[0]], run=tmp_path / "f.run")
    with pytest.raises(UsageError, match="choose majority, mean or each"):
        run(tmp_path, two(), run=tmp_path / "g.run", combine="vote")


async def test_judges_behind_an_endpoint_and_a_failure_of_one_is_no_score(tmp_path: Path) -> None:
    async with FakeEndpoint(answer=judging) as endpoint:
        result = await evaluate_async(
            rows(), "faithfulness", ["compat/one", "compat/two"], judge_base_url=endpoint.base_url,
            run=tmp_path / "e.run", model_options=PLAIN,
        )  # fmt: skip
    assert result.summary["faithfulness"]["n"] == 5
    async with FakeEndpoint(answer=judging) as first, FakeEndpoint(answer=judging) as second:
        await evaluate_async(
            rows(), "faithfulness", ["compat/one", "compat/two"], judge_base_url=[first.base_url, second.base_url],
            run=tmp_path / "apart.run", model_options=PLAIN,
        )  # fmt: skip
        assert [{request.body["model"] for request in place.seen} for place in (first, second)] == [{"one"}, {"two"}]
        urls = [first.base_url, second.base_url]
        with pytest.raises(UsageError, match="--judge-base-url is given 2 times for 3 judges"):
            Judging.of(["compat/one", "compat/two", "compat/three"], base_url=urls).check(["faithfulness"])
    broken = [two()[0], Scripted(lambda request: "prose", id="b/broken")]
    failed = await evaluate_async(rows(), "faithfulness", broken, run=tmp_path / "b.run", model_options=PLAIN)
    assert failed.summary["faithfulness"]["failed"] >= 3
    reason = next(row["faithfulness.reason"] for row in failed.scores if "tower" in row["question"])
    assert reason.startswith("failed: b/broken: ")


async def test_a_dry_run_counts_every_judge() -> None:
    data = read_data(rows())
    one = await estimate_evaluation(plan_evaluation(data, ["faithfulness"], Judging.of("openai/a")))
    both = await estimate_evaluation(plan_evaluation(data, ["faithfulness"], Judging.of(["openai/a", "openai/b"])))
    assert both.usage.requests == 2 * one.usage.requests
