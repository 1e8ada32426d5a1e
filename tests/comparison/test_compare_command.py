"""`ragstone compare` and `ragstone gate` on real run files: what they print and how they exit."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.test_unfinished import Stopping, stopped
from tests.cli.tools import Told, one_line
from tests.evaluation.test_evaluate import rows

from ragstone.evaluation.evaluate import evaluate

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
    for words in (
        "bad against good",
        "McNemar",
        "gains and losses",
        "Samples that flipped",
        "q-",
    ):
        assert words in told.out
    assert "得分翻转的样本" in ragstone("compare", GOOD, BAD, "--language", "zh").out
    document = ragstone("compare", GOOD, BAD, "--json").document
    assert document["pairs"] == 20
    rows_ = {row["metric"]: row for row in document["metrics"]}
    assert rows_["token_f1"]["difference"] < 0
    assert rows_["answer_match"]["lost_total"] > 0


@pytest.mark.usefixtures("runs")
def test_a_regression_is_exit_1_and_an_improvement_is_none(ragstone: Callable[..., Told]) -> None:
    told = ragstone("compare", GOOD, BAD, "--fail-on-regression", "--tolerance", "0.02")
    assert told.code == 1
    assert "regression: token_f1" in told.err
    assert ragstone("compare", BAD, GOOD, "--fail-on-regression").code == 0
    assert ragstone("compare", GOOD, BAD, "--fail-on-regression", "--tolerance", "0.99").code == 0
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
    assert ragstone("compare", "one.run", "plain.run", "--metrics", "faithfulness", "--fail-on-regression").code == 3


@pytest.mark.usefixtures("runs")
def test_a_primary_metric_that_is_not_compared_passes_no_build_and_another_blocks_none(
    ragstone: Callable[..., Told],
) -> None:
    path = Path("rows.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    for name in ("one", "two"):
        Path(f"{name}.jsonl").write_text('{"contains": "judged", "text": "{}"}\n')
        asked = ("--metrics", "faithfulness,token_f1", "--judge", f"scripted/{name}.jsonl", "--run", f"{name}.run")
        assert ragstone("eval", path, *asked, "--quiet").code == 3
    assert ragstone("eval", path, "--metrics", "token_f1", "--run", "plain.run", "--quiet").code == 0
    deciding = ("--fail-on-regression", "--primary")
    told = ragstone("compare", "one.run", "plain.run", *deciding, "faithfulness")
    assert told.code == 3
    assert "faithfulness" in told.err
    assert "no metric could be compared." in told.err
    assert told.out.startswith("No metric could be compared.")
    told = ragstone("compare", "one.run", "two.run", "--metrics", "token_f1", *deciding, "faithfulness")
    assert told.code == 3
    assert "faithfulness is not compared: the judge's model differs" in told.err
    assert ragstone("compare", "one.run", "two.run", *deciding, "token_f1").code == 0


@pytest.mark.usefixtures("runs")
def test_a_run_can_be_gated_afterwards(ragstone: Callable[..., Told]) -> None:
    assert ragstone("gate", GOOD, "--fail-under", "token_f1=0.2").code == 0
    failed = ragstone("gate", BAD, "--fail-under", "token_f1=0.5")
    assert failed.code == 1
    assert re.search(r"decided by: (?!q-)\w", failed.out)
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
        (("compare", GOOD, BAD, "--metrics", "recall"), ("recall",)),
        (("compare", GOOD, BAD, "--system-a", "yours"), ("yours", "mine")),
        (("compare", GOOD, BAD, "--tolerance", "0.1"), ("--fail-on-regression",)),
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


@pytest.mark.usefixtures("runs")
def test_a_comparison_opens_with_its_verdict(ragstone: Callable[..., Told]) -> None:
    told = ragstone("compare", GOOD, BAD, "--metrics", "answer_match")
    document = ragstone("compare", GOOD, BAD, "--metrics", "answer_match", "--json").document
    (row,) = document["metrics"]
    assert row["lost_total"] == row["worsened"] == 16
    assert (row["samples"], row["improved"]) == (20, 0)
    right, line = told.out.splitlines()[:2]
    assert right.startswith("good gives more right answers than bad: by 80 points [51, 92] over 20 questions.")
    assert line == document["verdict"]["line"]
    assert line.startswith("answer_match fell by 0.80 [−0.")
    assert line.endswith("]: a regression; 16 of 20 questions worse, 0 better.")
    assert document["verdict"]["kind"] == "regression"
    better = ragstone("compare", BAD, GOOD, "--metrics", "answer_match", "--json").document["verdict"]
    assert better["kind"] == "improvement"
    assert "answer_match rose by 0.80 [0." in better["line"]
    told = ragstone("compare", GOOD, BAD, "--metrics", "answer_match", "--language", "zh")
    right, chinese = told.out.splitlines()[:2]
    assert right == "good 比 bad 答对更多：80 个百分点 [51, 92]，共 20 个问题。"
    assert chinese.startswith("answer_match 下降 0.80 [−0.")
    assert chinese.endswith("]：变差；20 题中 16 题变差、0 题变好。")


@pytest.mark.usefixtures("runs")
def test_no_difference_is_said_to_be_none_that_was_found(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    (tmp_path / "again.run").write_bytes((tmp_path / GOOD).read_bytes())
    told = ragstone("compare", GOOD, "again.run")
    right, line = told.out.splitlines()[:2]
    assert right.startswith(("No difference is seen between", "Too few questions to tell whether"))
    assert line == "No significant difference (Holm) in answer_match, token_f1 (20 questions)."
    document = ragstone("compare", GOOD, "again.run", "--json").document
    assert document["verdict"]["kind"] == "no_difference"


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "answer_match of bad is worse on 16 of 20 questions"),
        ("zh", "bad 在 20 题中有 16 题的 answer_match 更差"),
    ],
)
def test_a_comparison_is_one_page_that_fetches_nothing(
    ragstone: Callable[..., Told], language: str, words: str
) -> None:
    told = ragstone("compare", GOOD, BAD, "--language", language, "--report", "c.html")
    assert (told.code, told.err) == (0, "")
    assert told.out.endswith("c.html\n")
    page = Path("c.html").read_text(encoding="utf-8")
    assert page.index(words) < page.index("answer_match</bdi></th>")  # the verdict, then the tables
    assert "mine (bad.run)" in page
    assert "<dd><bdi>ragstone " in page  # how it was made
    assert page.index('<table class="flips">') < page.index('id="metrics"')  # the picture, too
    lost = re.findall(r'<td class="lost"><a href="#cases-lost"><b>(\d+)</b>', page)
    cards = page.partition('<div id="cases-lost">')[2].partition('<div id="cases-')[0]
    assert lost == [str(cards.count('<details class="case">'))]
    assert "<script" not in page
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)
    one_line(ragstone("compare", GOOD, BAD, "--report", BAD), "is not an HTML page")


def test_names_of_a_stranger_are_text_in_the_page_of_a_comparison(ragstone: Callable[..., Told]) -> None:
    hostile = "<img src=x onerror=alert(1)>\x1b[31m\u202e"
    data = [row for row in rows() if row["reference"]]
    for run in (GOOD, BAD):
        evaluate(data, "token_f1", run=run, name=hostile)
    assert ragstone("compare", GOOD, BAD, "--report", "c.html").code == 0
    page = Path("c.html").read_text(encoding="utf-8")
    assert "&lt;img src=x" in page
    assert "<img" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page


async def test_an_unfinished_side_is_said_first_and_never_passes_for_no_regression(
    ragstone: Callable[..., Told],
) -> None:
    await stopped("rgb", Stopping(after=99), "whole.run")
    await stopped("rgb", Stopping(after=5), "part.run")
    said = "my/system (part.run): 5 of 12, unfinished"
    assert said in one_line(ragstone("compare", "whole.run", "part.run"), "--on common")
    told = ragstone("compare", "whole.run", "part.run", "--on", "common", "--fail-on-regression")
    assert told.code == 3
    assert told.out.startswith(said)
    assert "my/system (part.run) is unfinished: run its command again." in told.err
    document = ragstone("compare", "whole.run", "part.run", "--on", "common", "--json", "--report", "c.html").document
    assert document["unfinished"] == [{"name": "my/system (part.run)", "asked": 5, "total": 12}]
    assert document["report"] == "c.html"
    assert said in Path("c.html").read_text(encoding="utf-8")  # noqa: ASYNC240
    both = ("part.run", "whole.run", "--on", "common", "--where", "noise_ratio=0.0", "--fail-on-regression")
    assert ragstone("compare", *both).code == 0  # of this condition all four were asked


APP = "def ask(question, passages=None):\n    return '{answer}' if 'ten' in question else 'unknown'\n"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_diagnosis_is_compared_with_a_run_of_its_questions_by_the_answers_as_is(
    ragstone: Callable[..., Told], language: str
) -> None:
    """As after `init`, whose first run is a diagnosis: other answers of it have no part, nor have its causes."""
    questions = "".join(f"How many are in ten times {number}?,{number} tens\n" for number in range(1, 11))
    Path("q.csv").write_text(f"question,reference\n{questions}Who counted them?,Ann\n", "utf-8")
    Path("app.py").write_text(APP.format(answer="not told"), "utf-8")
    asked = ("q.csv", "--system", "app.py:ask", "--metrics", "answer_match,token_f1", "--quiet", "--language", language)
    assert ragstone("diagnose", *asked, "--run", "before.run").code == 0
    Path("app.py").write_text(
        "def ask(question, passages=None):\n    return question.split()[-1][:-1] + ' tens'\n", "utf-8"
    )
    assert ragstone("run", *asked, "--run", "after.run").code == 0
    told = ragstone("compare", "before.run", "after.run", "--json")
    assert told.code == 0, told.err
    rows_ = {row["metric"]: row for row in told.document["metrics"]}
    assert told.document["pairs"] == 11
    assert told.document["left_out"] == {"only_a": 0, "only_b": 0, "changed": 0}
    assert rows_["answer_match"]["difference"] == pytest.approx(10 / 11)
    assert told.document["one_sided"] == {"only_a": [], "only_b": []}
    assert ragstone("compare", "after.run", "before.run", "--fail-on-regression").code == 1
    assert "cause" not in ragstone("compare", "before.run", "after.run", "--language", "en").out
    assert ragstone("compare", "before.run", "after.run", "--report", "c.html").code == 0
    trend = ragstone("trend", "before.run", "after.run", "--language", "en").out
    assert "2 runs" in trend
    assert "11 answers each" in trend
    assert "cause" not in trend


def test_a_cause_of_neither_diagnosis_is_no_row_of_their_comparison(ragstone: Callable[..., Told]) -> None:
    """It would take part in the correction of all others; whoever names it gets it."""
    questions = "".join(f"How many are in ten times {number}?,{number} tens\n" for number in range(1, 11))
    Path("q.csv").write_text(f"question,reference\n{questions}", "utf-8")
    for run, body in (("before.run", "'777 tens'"), ("after.run", "question.split()[-1][:-1] + ' tens'")):
        Path("app.py").write_text(f"def ask(question, passages=None):\n    return {body}\n", "utf-8")
        asked = ("q.csv", "--system", "app.py:ask", "--metrics", "answer_match", "--quiet", "--run", run)
        assert ragstone("diagnose", *asked).code == 0
    told = ragstone("compare", "before.run", "after.run", "--json").document
    rows_ = [row for row in told["metrics"] if row["metric"] != "right answers"]
    assert all(row["a"] or row["b"] for row in rows_)
    assert any("answer_match" in (row["metric"], *row["aliases"]) for row in rows_)
    assert any("cause.healthy" in (row["metric"], *row["aliases"]) for row in rows_)
    named = ragstone("compare", "before.run", "after.run", "--metrics", "cause.history", "--json").document
    assert "cause.history" in {row["metric"] for row in named["metrics"]}


def test_a_diagnosis_is_called_by_its_command_where_it_cannot_be_compared(ragstone: Callable[..., Told]) -> None:
    Path("q.csv").write_text("question,reference,answer\nHow many?,7,7\nWhy?,rain,rain\n", "utf-8")
    Path("app.py").write_text(APP.format(answer="7"), "utf-8")
    assert ragstone("diagnose", "q.csv", "--system", "app.py:ask", "--quiet", "--run", "d.run").code == 0
    assert ragstone("eval", "q.csv", "--metrics", "token_f1", "--quiet", "--run", "e.run").code == 0
    one_line(ragstone("compare", "d.run", "e.run"), "is a run of 'diagnose' and", "one of 'eval': compare runs of one")
