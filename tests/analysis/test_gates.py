"""Gates: what an interval can tell and what it cannot, and which samples decided."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.benchmarks.recorded.memory_run import MemoryRun, record

from ragstone.analysis.gates import LEAST, Gate, check_gates, check_thresholds, gates_of
from ragstone.engine.gates import check_gates as from_python
from ragstone.engine.gates import project_gates
from ragstone.error_text import told
from ragstone.errors import DataError, UsageError
from ragstone.plans import Plan, PlanCell
from ragstone.types import Record, Score


def run(*values: float, failed: int = 0, not_applicable: int = 0, metric: str = "faithfulness") -> MemoryRun:
    records = [record(f"q{at:03d}", {metric: value}) for at, value in enumerate(values)]
    records += [record(f"f{at}", {metric: Score.failed("timed_out: late")}) for at in range(failed)]
    records += [record(f"n{at}", {metric: Score.not_applicable("no claim")}) for at in range(not_applicable)]
    return MemoryRun(records)


def verdict(held: MemoryRun, gate: Gate, mode: str = "interval", min_coverage: float = 0.95) -> str:
    (result,) = check_gates(held, [gate], mode=mode, min_coverage=min_coverage)  # type: ignore[arg-type]
    return result.verdict


@pytest.mark.parametrize(
    ("values", "threshold", "interval", "point"),
    [
        ([0.9] * 40 + [1.0] * 10, 0.8, "passed", "passed"),
        ([0.4] * 40 + [0.6] * 10, 0.8, "failed", "failed"),
        ([0.0, 1.0] * 5 + [1.0] * 5, 0.7, "warned", "failed"),
        ([0.0, 1.0] * 3 + [1.0] * 9, 0.75, "warned", "passed"),
    ],
)
def test_an_interval_that_holds_the_threshold_only_warns(
    values: list[float], threshold: float, interval: str, point: str
) -> None:
    gate = Gate("faithfulness", threshold)
    assert verdict(run(*values), gate) == interval
    assert verdict(run(*values), gate, mode="point") == point


def test_lower_is_better_gates_are_set_on_the_other_side() -> None:
    held = run(*[0.1] * 40, metric="ragchecker.hallucination")
    assert verdict(held, Gate("ragchecker.hallucination", 0.2, "over")) == "passed"
    assert verdict(held, Gate("ragchecker.hallucination", 0.05, "over")) == "failed"
    with pytest.raises(UsageError, match=r"--fail-over ragchecker\.hallucination=0\.2"):
        gates_of({"ragchecker.hallucination": 0.2}, {})
    with pytest.raises(UsageError, match=r"Higher values of faithfulness .* --fail-under faithfulness=0\.2"):
        gates_of({}, {"faithfulness": 0.2})
    assert len(gates_of({"token_f1": 0.2}, {"token_f1": 0.9})) == 2  # a least and a most


def test_the_direction_of_the_users_own_metrics_is_what_the_run_says() -> None:
    meta = {"better": {"rubric.rude": "lower"}}
    assert gates_of({}, {"rubric.rude": 0.2}) == [Gate("rubric.rude", 0.2, "over")]  # before there is a run
    assert gates_of({}, {"rubric.rude": 0.2}, meta) == [Gate("rubric.rude", 0.2, "over")]
    with pytest.raises(UsageError, match=r"--fail-over rubric\.rude"):
        gates_of({"rubric.rude": 0.2}, {}, meta)
    held = MemoryRun([record(f"q{at}", {"rubric.rude": 0.1}) for at in range(40)], **meta)
    (result,) = from_python(held, {"rubric.rude": 0.2})
    assert (result.gate.side, result.verdict) == ("over", "passed")


def test_records_not_scored_yet_lower_the_coverage() -> None:
    records = [record(f"q{at}", {"token_f1": 0.9} | ({"m": 1.0} if at < 10 else {})) for at in range(100)]
    lost = Record("s", record("r", {}).case, None, "timed_out: late", {})
    (result,) = check_gates(MemoryRun([*records, lost]), [Gate("m", 0.1)])
    assert (result.verdict, result.scored, result.total) == ("unknown", 10, 101)


def test_too_little_coverage_is_no_answer_whatever_the_mean() -> None:
    assert verdict(run(*[0.1] * 10, failed=2), Gate("faithfulness", 0.8)) == "unknown"
    assert verdict(run(*[0.1] * 10, failed=2), Gate("faithfulness", 0.8), min_coverage=0.8) == "failed"
    # What cannot apply is not lacking.
    assert verdict(run(*[0.9] * 40, not_applicable=80), Gate("faithfulness", 0.8)) == "passed"
    assert verdict(run(failed=1), Gate("faithfulness", 0.8)) == "unknown"


@pytest.mark.parametrize("n", [1, 2, LEAST - 1])
def test_few_samples_decide_nothing_and_say_so(n: int) -> None:
    for values, threshold in (([0.0] * n, 0.9), ([1.0] * n, 0.01), ([0.25] * n, 0.9)):
        (result,) = check_gates(run(*values), [Gate("faithfulness", threshold)])
        assert result.verdict == "warned"
        assert f"Only {n} samples: this gate decides nothing below {LEAST}" in result.line
        # A sample that was judged again is no further sample.
        again = [record(f"q{at}", {"m": value}, repeat=r) for r in range(9) for at, value in enumerate(values)]
        assert check_gates(MemoryRun(again), [Gate("m", threshold)])[0].verdict == "warned"
        assert verdict(run(*values), Gate("faithfulness", threshold), mode="point") != "warned"
    assert verdict(run(*[0.0] * LEAST), Gate("faithfulness", 0.9)) == "failed"


@pytest.mark.parametrize("threshold", [0.7, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("n", [10, 30])
def test_a_system_that_is_just_as_good_as_its_threshold_fails_in_at_most_one_run_of_forty(
    n: int, threshold: float
) -> None:
    share = 0.0
    for right in range(n + 1):
        if verdict(run(*[1.0] * right, *[0.0] * (n - right)), Gate("faithfulness", threshold)) == "failed":
            share += math.comb(n, right) * threshold**right * (1 - threshold) ** (n - right)
    assert 0 < share <= 0.025


def test_the_samples_that_decided_are_the_lowest_below_the_threshold() -> None:
    (result,) = check_gates(run(0.9, 0.1, 0.5, 0.95), [Gate("faithfulness", 0.8)])
    assert result.worst == (("q001", 0.1), ("q002", 0.5))
    assert "faithfulness ≥ 0.8" in result.line


def test_scores_that_are_not_applicable_are_covered_and_reported() -> None:
    (result,) = check_gates(run(*[0.9] * 40, not_applicable=8), [Gate("faithfulness", 0.7)])
    assert (result.verdict, result.scored, result.total, result.coverage) == ("passed", 40, 48, 1.0)
    assert "40 of 48 scored, 8 not applicable. The whole" in result.line


def test_a_sample_that_was_judged_several_times_decides_once() -> None:
    held = MemoryRun(
        [record("q", {"m": value}, repeat=r) for r, value in enumerate((0.0, 0.5))] + [record("p", {"m": 0.9})]
    )
    (result,) = check_gates(held, [Gate("m", 0.8)])
    assert result.worst == (("q", 0.25),)


def test_a_gate_on_what_was_not_scored_is_one_clear_line() -> None:
    with pytest.raises(UsageError, match="no scores of 'recall'"):
        check_gates(run(0.9), [Gate("recall", 0.8)])


def test_every_system_has_its_own_result() -> None:
    held = MemoryRun([record("q", {"m": 1.0}, system="a"), record("q", {"m": 0.0}, system="b")])
    found = check_gates(held, [Gate("m", 0.5)], mode="point")
    assert [(one.system, one.verdict) for one in found] == [("a", "passed"), ("b", "failed")]
    assert found[1].line.startswith("failed: b: m ≥ 0.5")
    (alone,) = check_gates(held, [Gate("m", 0.5)], mode="point", system="a")
    assert alone.verdict == "passed"
    with pytest.raises(UsageError, match="No system named 'c'"):
        check_gates(held, [Gate("m", 0.5)], system="c")


def test_thresholds_of_a_project_are_read_from_the_nearest_file_upward(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.ragstone.gates]\nfaithfulness = 0.8\n"ragchecker.hallucination" = { max = 0.1 }\n'
        'settings = { gate = "point", min_coverage = 0.5 }\n'
    )
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "x"\n')
    gates, settings = project_gates(inner)
    assert gates == [Gate("faithfulness", 0.8), Gate("ragchecker.hallucination", 0.1, "over")]
    assert settings == {"gate": "point", "min_coverage": 0.5}


def test_a_number_alone_is_a_maximum_where_lower_is_better(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.ragstone.gates]\n"ragchecker.hallucination" = 0.1\n"rubric.rude" = 0.2\ntoken_f1 = 0.5\n'
    )
    assert project_gates(tmp_path)[0][0] == Gate("ragchecker.hallucination", 0.1, "over")
    gates, _ = project_gates(tmp_path, meta={"better": {"rubric.rude": "lower"}})
    assert gates[1:] == [Gate("rubric.rude", 0.2, "over"), Gate("token_f1", 0.5)]


def test_a_project_sets_several_thresholds_of_a_metric_each_for_some_cases(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.ragstone.gates]\ntoken_f1 = [0.3, { min = 0.8, max = 0.9, where = { noise_ratio = 0.4 } }]\n"
    )
    some = {"noise_ratio": "0.4"}
    gates, _ = project_gates(tmp_path)
    assert gates == [Gate("token_f1", 0.3), Gate("token_f1", 0.8, "under", some), Gate("token_f1", 0.9, "over", some)]
    # A threshold of the command replaces the one that is about the same cases.
    assert [gate.threshold for gate in gates_of({"token_f1": 0.7}, {}, where=some, project=gates)] == [0.3, 0.7, 0.9]
    assert [gate.threshold for gate in gates_of({"token_f1": 0.4}, {}, project=gates)] == [0.4, 0.8, 0.9]


def planned(records: Sequence[Record], plan: Plan) -> MemoryRun:
    """A run of one system with a plan."""
    run = MemoryRun(records)
    run.planned = {"s": plan}
    return run


def by_ability() -> list[Record]:
    values = {"noise": (0.9, 0.8), "rejection": (0.1, 0.3)}
    return [
        record(f"{ability}{at}", {"m": value}, ability=ability, noise_ratio=at / 10)
        for ability, pair in values.items()
        for at, value in enumerate(pair)
    ]


def test_a_gate_may_be_about_some_cases_only() -> None:
    gates = [Gate("m", 0.5, where={"ability": ability}) for ability in ("noise", "rejection")]
    noise, rejection = check_gates(MemoryRun(by_ability()), gates, mode="point")
    assert (noise.verdict, noise.total, round(noise.mean or 0, 9)) == ("passed", 2, 0.85)
    assert (rejection.verdict, rejection.total, rejection.worst[0]) == ("failed", 2, ("rejection0", 0.1))
    assert rejection.line.startswith("failed: m (ability=rejection) ≥ 0.5: 0.200")
    (one,) = from_python(MemoryRun(by_ability()), {"m": 0.5}, where={"noise_ratio": "0.10", "ability": "noise"})
    assert (one.total, one.mean) == (1, 0.8)
    for where, words in (
        ({"ability": "nose"}, "available values: ability is noise, rejection"),
        ({"abil": "x"}, "has 'abil'; available: ability, noise_ratio"),
    ):
        with pytest.raises(UsageError, match=words):
            from_python(MemoryRun(by_ability()), {"m": 0.5}, where=where)


def test_cases_not_asked_yet_count_where_a_gate_is_about_them() -> None:
    cells = (PlanCell({"ability": "noise"}, total=2, asked=2), PlanCell({"ability": "rejection"}, total=4, asked=2))
    held = planned(by_ability(), Plan(6, 4, cells=cells))
    some = [Gate("m", 0.5, where={"ability": "noise"}), Gate("m", 0.5, where={"ability": "rejection"})]
    assert [(one.total, one.coverage) for one in check_gates(held, some)] == [(2, 1.0), (4, 0.5)]
    # The plan does not say which noise ratios are missing: they may be of these cases.
    (unknown,) = check_gates(held, [Gate("m", 0.5, where={"noise_ratio": "0"})])
    assert (unknown.total, unknown.verdict) == (4, "unknown")
    (lacking,) = check_gates(planned([record("q", {"m": 1.0}, ability="noise")], Plan(6, 4, cells=cells)), some[1:])
    assert (lacking.total, lacking.verdict, lacking.mean) == (2, "unknown", None)


def test_one_sentence_says_what_became_of_every_planned_score() -> None:
    records = list(run(*[0.9] * 2, failed=1, not_applicable=1).records())
    (result,) = check_gates(planned(records, Plan(8, 4)), [Gate("faithfulness", 0.8)])
    assert result.line.partition("], ")[2] == (
        "2 of 8 scored, 1 not applicable, 1 failed, 4 unfinished. The coverage is 37.5%, less than 95.0%: run the "
        "command again."
    )
    assert result.line_in("zh").partition("]，")[2] == (
        "8 个中已评分 2 个，不适用 1 个，失败 1 个，未完成 4 个。覆盖率为 37.5%，低于 95.0%：请重新运行该命令。"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tool.ragstone]\ngates = 3\n", "found a number; expected a table"),
        ('[tool.ragstone.gates]\nfaithfulness = "high"\n', "found a text; expected a number"),
        ("[tool.ragstone.gates]\nfaithfulness = { least = 1 }\n", "expected min, max or where"),
        ('[tool.ragstone.gates]\nfaithfulness = { where = { a = "b" } }\n', "has no threshold"),
        ("[tool.ragstone.gates]\nfaithfulness = []\n", "has no threshold"),
        ('[tool.ragstone.gates]\nfaithfulness = { min = 1, where = "a" }\n', "where is a table"),
        ('[tool.ragstone.gates]\nsettings = { gate = "hard" }\n', "interval or point"),
        ("[tool.ragstone.gates]\nsettings = { min_coverage = 2 }\n", "from 0 to 1"),
        ("[tool.ragstone.gates\n", "not TOML"),
    ],
)
def test_what_is_wrong_in_a_projects_thresholds_is_named(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(DataError, match=told):
        project_gates(tmp_path)


def test_a_gate_on_a_run_without_scores_says_so() -> None:
    with pytest.raises(UsageError) as caught:
        check_gates(MemoryRun([record("q", {})]), [Gate("mrr", 0.5)])
    assert str(caught.value) == "The run has no scores of 'mrr', which has a gate: it has no scores at all."
    assert told(str(caught.value), "zh") == "运行中没有“mrr”的得分，却为它设了门禁：这次运行没有任何得分。"


@pytest.mark.parametrize(
    ("gates", "limit", "numbers"),
    [("token_f1 = [{ min = 0.9 }, { min = 0.1 }]", "min", "0.9 and 0.1"),
     ("token_f1 = [0.9, { min = 0.1 }]", "min", "0.9 and 0.1"),
     ('token_f1 = [{ max = 0.9, where = { a = "1", b = "2" } }, { max = 0.8, where = { b = "2", a = 1 } }]', "max",
      "0.9 and 0.8")],
)  # fmt: skip
def test_two_thresholds_of_a_metric_for_the_same_cases_are_refused(
    tmp_path: Path, gates: str, limit: str, numbers: str
) -> None:
    (tmp_path / "ragstone.toml").write_text(f"[gates]\n{gates}\n")
    with pytest.raises(DataError) as caught:
        project_gates(tmp_path)
    problem = f"field 'gates.token_f1': sets {limit} twice for the same cases: {numbers}. Keep one of them."
    assert str(caught.value).endswith(problem)
    assert f"对同一批用例两次给出 {limit}：" in told(str(caught.value), "zh")


def test_the_same_threshold_twice_is_one_gate(tmp_path: Path) -> None:
    (tmp_path / "ragstone.toml").write_text("[gates]\ntoken_f1 = [{ min = 0.9 }, { min = 0.9 }]\n")
    assert project_gates(tmp_path)[0] == [Gate("token_f1", 0.9)]


def test_a_gate_can_name_an_element_of_a_rubric() -> None:
    def judged(status: str) -> Score:
        return Score.of(0.9, evidence={"rubric": {}, "elements": [{"id": "date", "status": status}]})

    statuses = ["present"] * 15 + ["missing"] * 3 + ["unknown"] * 2
    held = MemoryRun([record(f"q{at}", {"rubric.parcel": judged(status)}) for at, status in enumerate(statuses)])
    (result,) = from_python(held, {"rubric.parcel.date": 0.9}, mode="point")
    assert (result.verdict, result.scored, result.total) == ("failed", 18, 20)
    assert result.mean == pytest.approx(15 / 18)
    with pytest.raises(UsageError, match=r"rubric\.parcel\.place"):
        from_python(held, {"rubric.parcel.place": 0.9})


def test_two_gates_that_no_value_passes_are_refused_in_one_line_that_names_both() -> None:
    with pytest.raises(UsageError) as caught:
        gates_of({"answer_match": 0.9}, {"answer_match": 0.1})
    problem = (
        "No value passes both answer_match ≥ 0.9 and answer_match ≤ 0.1. "
        "Change one of the two thresholds, or remove it."
    )
    assert str(caught.value) == problem
    assert (
        told(problem, "zh")
        == "没有数值能同时满足 answer_match ≥ 0.9 和 answer_match ≤ 0.1。请修改其中一个阈值，或删除它。"
    )
    with pytest.raises(UsageError, match="No value passes both"):  # one of the project, one of the command
        gates_of({}, {"answer_match": 0.1}, project=[Gate("answer_match", 0.9, "under", {})])
    with pytest.raises(UsageError, match=r"No value passes both refusal.* ≥ 0\.5"):
        gates_of({"refusal": 0.5}, {"refusal": 0.4}, where={"language": "en"})


def test_a_range_a_point_and_gates_on_different_cases_are_no_contradiction() -> None:
    assert len(gates_of({"answer_match": 0.2}, {"answer_match": 0.8})) == 2
    assert len(gates_of({"answer_match": 0.5}, {"answer_match": 0.5})) == 2
    apart = Gate("answer_match", 0.1, "over", {"language": "zh"})
    assert len(gates_of({"answer_match": 0.9}, {}, where={"language": "en"}, project=[apart])) == 2
    replaced = Gate("answer_match", 0.9, "under", {})
    assert [gate.threshold for gate in gates_of({"answer_match": 0.1}, {"answer_match": 0.3}, project=[replaced])] == [
        0.1,
        0.3,
    ]


@pytest.mark.parametrize("metric", ["answer_match", "recall@5", "mirage.f1", "needle.judge"])
def test_a_threshold_that_no_score_of_ours_can_have_is_refused(metric: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_thresholds({metric: 80})
    problem = f"The threshold {metric}=80 is out of range: it must be from 0 to 1; 80% is {metric}=0.8."
    assert str(caught.value) == problem
    check_thresholds({metric: 0.8, "my_metric": 80})  # of a user's metric nothing is known
