"""`ragstone compare` and `ragstone gate` on real run files: what they print and how they exit."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.api.test_evaluate import rows
from tests.cli.tools import Told, one_line

GOOD, BAD = "good.run", "bad.run"


@pytest.fixture
def runs(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    """Two runs of the same questions: the answers of the second are worse."""
    many = [
        {**row, "question": f"{row['question']} {number}"} for number in range(4) for row in rows() if row["reference"]
    ]
    worse = [{**row, "answer": "Something else was said."} for row in many]
    for name, data in ((GOOD, many), (BAD, worse)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in data), encoding="utf-8")
        told = ragstone("eval", path, "--metrics", "token_f1,answer_match", "--run", name, "--name", "mine", "--quiet")
        assert told.code == 0, told.err


@pytest.mark.usefixtures("runs")
def test_a_comparison_says_differences_tests_and_flips(ragstone: Callable[..., Told]) -> None:
    told = ragstone("compare", GOOD, BAD)
    assert told.code == 0, told.err
    for words in ("mine (bad.run) against mine (good.run)", "McNemar", "permutation", "Samples that flipped", "q-"):
        assert words in told.out
    assert "得分翻转的样本" in ragstone("compare", GOOD, BAD, "--tables", "zh").out
    document = ragstone("compare", GOOD, BAD, "--json").document
    assert document["pairs"] == 20
    rows_ = {row["metric"]: row for row in document["metrics"]}
    assert rows_["token_f1"]["difference"] < 0
    assert rows_["answer_match"]["lost_total"] > 0


@pytest.mark.usefixtures("runs")
def test_a_regression_is_exit_1_and_an_improvement_is_none(ragstone: Callable[..., Told]) -> None:
    told = ragstone("compare", GOOD, BAD, "--fail-on-regression", "--by", "0.02")
    assert told.code == 1
    assert "regression: token_f1" in told.err
    assert ragstone("compare", BAD, GOOD, "--fail-on-regression").code == 0
    assert ragstone("compare", GOOD, BAD, "--fail-on-regression", "--by", "0.99").code == 0
    assert ragstone("compare", GOOD, BAD, "--fail-on-regression", "--json").document["exit"] == 1


def test_what_could_not_be_compared_never_passes_for_no_regression(
    ragstone: Callable[..., Told], tmp_path: Path
) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    judge = Path("mute.jsonl")
    judge.write_text('{"contains": "judged", "text": "{}"}\n')
    other = Path("other.jsonl")
    other.write_text(judge.read_text())
    asked = ("--metrics", "faithfulness,token_f1", "--quiet")
    assert ragstone("eval", path, "--metrics", "token_f1", "--run", "plain.run", "--quiet").code == 0
    for script, name in ((judge, "one.run"), (judge, "two.run"), (other, "three.run")):
        assert ragstone("eval", path, *asked, "--judge", f"scripted/{script}", "--run", name).code == 3
    told = ragstone("compare", "one.run", "two.run", "--fail-on-regression")
    assert told.code == 3
    assert "too few pairs have both scores of faithfulness" in told.err
    told = ragstone("compare", "one.run", "three.run", "--fail-on-regression")
    assert told.code == 3
    assert "faithfulness is not compared: the judge's model differs" in told.err
    # A metric that only one run was asked for is named, and is missing only where it was asked for.
    told = ragstone("compare", "one.run", "plain.run", "--fail-on-regression")
    assert told.code == 0
    assert "Only the first was asked for: faithfulness." in told.out
    assert ragstone("compare", "one.run", "plain.run", "--metric", "faithfulness", "--fail-on-regression").code == 3


@pytest.mark.usefixtures("runs")
def test_a_run_can_be_gated_afterwards(ragstone: Callable[..., Told]) -> None:
    assert ragstone("gate", GOOD, "--fail-under", "token_f1=0.2").code == 0
    failed = ragstone("gate", BAD, "--fail-under", "token_f1=0.5")
    assert failed.code == 1
    assert "decided by: q-" in failed.err
    document = ragstone("gate", BAD, "--fail-under", "token_f1=0.5", "--json").document
    assert document["gates"][0]["verdict"] == "failed"
    Path("pyproject.toml").write_text("[tool.ragstone.gates]\ntoken_f1 = 0.5\n")
    assert ragstone("gate", BAD).code == 1
    assert ragstone("gate", BAD, "--fail-under", "token_f1=0.0").code == 0  # the command line goes before the file


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("compare", GOOD), ("--system-a",)),
        (("compare", GOOD, GOOD), ("--system-a",)),
        (("compare", GOOD, "nowhere.run"), ("nowhere.run",)),
        (("compare", GOOD, f"{BAD}.jsonl"), (f"{BAD}.jsonl",)),
        (("compare", GOOD, BAD, "--metric", "recall"), ("recall",)),
        (("compare", GOOD, BAD, "--system-a", "yours"), ("yours", "mine")),
        (("compare", GOOD, BAD, "--by", "0.1"), ("--fail-on-regression",)),
        (("compare", GOOD, BAD, "--where", "topic=none"), ("No case of mine", "topic is a, b")),
        (("compare", GOOD, BAD, "--where", "subject=a"), ("has 'subject'", "topic")),
        (("compare", GOOD, BAD, "--group-by", "subject"), ("has 'subject'", "topic")),
        (("gate", GOOD), ("No gate is set",)),
        (("gate", GOOD, "--fail-under", "recall=0.5"), ("no scores of 'recall'",)),
        (("gate", GOOD, "--fail-under", "ragchecker.hallucination=0.5"), ("--fail-over",)),
        (("gate", "nowhere.run", "--fail-under", "token_f1=0.5"), ("nowhere.run",)),
    ],
)
def test_bad_input_is_one_clear_line(
    ragstone: Callable[..., Told], arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    one_line(ragstone(*arguments), *words)
