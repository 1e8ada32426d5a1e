"""`ragstone diagnose`: what it prints, its exit codes, and bad input in one line each."""

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import one_line

from ragstone.api import read_run

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
QUESTIONS, DOCS = str(HANDBOOK / "questions.csv"), str(HANDBOOK / "docs")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_causes_as_json_and_a_gate_on_one(ragstone: Any) -> None:
    options = ("--corpus", DOCS, "--limit", "12", "--quiet", "--json")
    told = ragstone("diagnose", QUESTIONS, *options, "--fail-over", "cause.refused_wrongly=0.05", "--gate", "point")
    document = json.loads(told.out)
    assert told.code == 1
    assert len(document["causes"]) == 12
    assert {entry["cause"] for entry in document["causes"].values()} >= {"healthy", "refused_wrongly"}
    assert document["gates"][0]["verdict"] == "failed"
    again = ragstone("gate", document["run"], "--fail-over", "cause.refused_wrongly=0.9")
    assert again.code == 0


_NO_PASSAGES = "def ask(question):\n    return {'answer': 'I do not know.', 'contexts': ['Nothing.']}\n"


def test_a_system_with_a_short_label_is_told_to_take_passages_not_to_be_named_again(ragstone: Any) -> None:
    """Pages and the terminal show app.py:ask as app:ask; what the run says that it accepts still applies to it."""
    Path("app.py").write_text(_NO_PASSAGES, "utf-8")
    arguments = ("--system", "app.py:ask", "--corpus", DOCS, "--limit", "3", "--run", "d.run", "--quiet")
    for told in (ragstone("diagnose", QUESTIONS, *arguments), ragstone("show", "d.run")):
        assert "app:ask answers" in told.out
        assert "let the system answer from the passages that a parameter `passages` gives it" in " ".join(
            told.out.split()
        )
        assert "--system, so that it can be asked" not in " ".join(told.out.split())


_IGNORES = "def ask(question, passages=None):\n    return {'answer': 'I do not know.', 'contexts': ['Nothing.']}\n"


def test_a_system_that_ignores_its_parameter_is_told_to_use_it(ragstone: Any) -> None:
    """It was told to add the parameter that it has, or to run the same command again."""
    Path("app.py").write_text(_IGNORES, "utf-8")
    told = ragstone("diagnose", QUESTIONS, "--system", "app.py:ask", "--corpus", DOCS, "--limit", "3", "--quiet")
    text = " ".join(told.out.split())
    assert "let the system answer from the passages that a parameter `passages` gives it" in text
    assert "run the same command again" not in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--system", "nosuch"), "'nosuch' has no provider"),
        (("--system", "opnai/gpt-4o"), "Did you mean 'openai'?"),
        (("--system", "local/extractve"), "No local model named 'extractve'"),
        (("--system", "app.py"), "name the object in it, too"),
        (("--corpus", DOCS, "--model", "nosuch"), "'nosuch' has no provider"),
        (("--corpus", DOCS, "--index", ""), "--index is empty"),
        (("--corpus", DOCS, "--index", " "), "--index is empty"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_the_dry_run_too(
    ragstone: Any, options: tuple[str, ...], said: str
) -> None:  # fmt: skip
    one_line(ragstone("diagnose", QUESTIONS, *options, "--dry-run"), said)
    if "--index" not in options:
        one_line(ragstone("run", QUESTIONS, *options, "--dry-run"), said)


def test_gates_of_the_project_on_metrics_that_a_diagnosis_does_not_score_are_skipped(ragstone: Any) -> None:
    Path("ragstone.toml").write_text("[gates]\nanswer_match = 0.1\ntoken_f1 = 0.3\n", "utf-8")
    told = ragstone("diagnose", QUESTIONS, "--corpus", DOCS, "--limit", "3", "--quiet")
    assert told.code == 0
    assert "gate not checked: token_f1" in told.err
    assert "answer_match" in told.out.split("Run file:")[1]  # the gate on what is scored is checked


def test_a_diagnosis_that_asks_nothing_says_so(ragstone: Any) -> None:
    arguments = ("diagnose", QUESTIONS, "--corpus", DOCS, "--limit", "3", "--run", "d.run", "--quiet")
    first, second = ragstone(*arguments), ragstone(*arguments)
    assert "Nothing was asked" not in first.err
    assert "Nothing was asked: d.run has all answers already." in second.err


def test_failures_of_the_system_are_named_and_exit_3(ragstone: Any) -> None:
    Path("app.py").write_text("def ask(question):\n    raise ValueError('no such tenant')\n", "utf-8")
    ended = ragstone("diagnose", QUESTIONS, "--system", "app.py:ask", "--limit", "2", "--quiet")
    assert ended.code == 3
    assert "2 failed" in ended.err
    assert "no such tenant" in ended.err


def test_notes_about_the_system_are_in_the_language_of_the_command(ragstone: Any) -> None:
    Path("app.py").write_text("def ask(question):\n    return 'none'\n", "utf-8")
    ended = ragstone("diagnose", QUESTIONS, "--system", "app.py:ask", "--limit", "2", "--quiet", "--language", "zh")
    assert "The system" not in ended.err
    assert "系统" in ended.err


def test_a_dry_run_counts_and_asks_nothing(ragstone: Any) -> None:
    told = ragstone("diagnose", QUESTIONS, "--corpus", DOCS, "--dry-run", "--json")
    document = json.loads(told.out)
    assert (document["questions"], document["requests_least"]) == (80, 80)
    assert 80 * 6 < document["requests_most"] < 80 * 36
    assert list(Path.cwd().glob("*.run")) == []


def test_a_dry_run_with_a_price_says_requests_tokens_and_money_as_ranges(ragstone: Any) -> None:
    options = ("--corpus", DOCS, "--judge", "openai/a", "--dry-run", "--price", "0.15/0.60")
    told = ragstone("diagnose", QUESTIONS, *options)
    assert re.search(r"80 to [\d,]+ answers of the system", told.out)
    assert re.search(r"Judge: [\d,]+ to [\d,]+ requests, [\d,]+ to [\d,]+ tokens", told.out)
    assert re.search(r"Cost at 0.15/0.60: [\d.]+ to [\d.]+", told.out)
    document = json.loads(ragstone("diagnose", QUESTIONS, *options, "--json").out)
    assert 0 < document["cost_least"] < document["cost_most"]
    chinese = ragstone("diagnose", QUESTIONS, "--corpus", DOCS, "--system", "rag(model=openai/a)", "--dry-run",
                       "--price", "0.15/0.60", "--language", "zh")  # fmt: skip
    assert re.search(r"系统的模型：80 至 [\d,]+ 次请求", chinese.out)


@pytest.mark.parametrize("option", ["--budget", "--max-cost"])  # what other commands, and the limit's message, say
def test_a_budget_with_a_price_is_taken(option: str, ragstone: Any) -> None:
    options = ("--corpus", DOCS, "--limit", "2", "--price", "0.15/0.60", option, "5.00", "--quiet", "--json")
    told = ragstone("diagnose", QUESTIONS, *options)
    assert told.code == 0, told.err
    assert len(json.loads(told.out)["causes"]) == 2


def test_a_change_is_tried_and_told(ragstone: Any) -> None:
    options = ("--corpus", DOCS, "--system", "rag(k=1, chunk=10)", "--try", "chunk=20", "--limit", "40", "--quiet")
    told = ragstone("diagnose", QUESTIONS, *options)
    assert told.code == 0
    assert "chunk=20" in told.out
    assert '+system = "rag(retriever=bm25, model=local/extractive, k=1, chunk=20)"' in told.out


def test_comparing_two_diagnoses_shows_causes(ragstone: Any) -> None:
    for k, chunk in ((1, 10), (1, 20)):
        system = f"rag(k={k}, chunk={chunk})"
        ragstone("diagnose", QUESTIONS, "--corpus", DOCS, "--system", system, "--run", f"{chunk}.run", "--quiet")
    told = ragstone("compare", "10.run", "20.run", "--json")
    document = json.loads(told.out)
    assert document["verdict"]["kind"] == "improvement"
    assert "cause: refused wrongly fell by 0.21" in document["verdict"]["line"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([QUESTIONS], "has no answers, so name a system to ask"),
        ([QUESTIONS, "--corpus", DOCS, "--budget", "5"], "--budget needs the price"),
        ([QUESTIONS, "--corpus", DOCS, "--try", "colour=red"], "cannot be changed from outside"),
        ([QUESTIONS, "--system", f"{HANDBOOK}/app.py:nothing"], "No system named 'nothing'"),
        (["none.csv", "--corpus", DOCS], "no such file"),
    ],
)
def test_bad_input_gets_one_line(arguments: list[str], message: str, ragstone: Any) -> None:
    told = ragstone("diagnose", *arguments)
    assert told.code == 2
    assert message in told.err
    assert len(told.err.strip().splitlines()) == 1


def test_traces_with_references_are_diagnosed_without_asking(ragstone: Any) -> None:
    traces = str(HANDBOOK.parent / "traces.jsonl")
    options = ("--references", QUESTIONS, "--corpus", DOCS, "--system", "recorded", "--quiet", "--json")
    told = ragstone("diagnose", traces, *options)
    document = json.loads(told.out)
    assert told.code == 0
    assert len(document["causes"]) == 4
    assert all(entry["cause"] != "unknown" for entry in document["causes"].values())


@pytest.mark.parametrize(("language", "line"), [
    ("en", "The answers in the data are diagnosed; to ask a system, name it with --system."),
    ("zh", "诊断的是数据中已有的答案；要向系统提问，请用 --system 指定系统。"),
])  # fmt: skip
def test_answers_in_the_data_are_diagnosed_and_no_system_is_built(
    language: str, line: str, ragstone: Any, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setenv("RAGSTONE_LANGUAGE", language)
    rows = [{"id": f"q{n}", "question": "When does it open?", "reference": "9:40", "answer": answer, "contexts": []}
            for n, answer in enumerate(("At 9:40.", "At 7."))]  # fmt: skip
    Path("answers.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    told = ragstone("diagnose", "answers.jsonl", "--corpus", DOCS, "--run", "d.run", "--quiet")
    assert told.code == 0, told.err
    assert line in told.out + told.err
    with read_run("d.run") as opened:
        assert list(opened.run.systems) == ["answers.jsonl"]
    named = ragstone("diagnose", "answers.jsonl", "--corpus", DOCS, "--system", "rag(k=2)", "--limit", "1", "--quiet")
    assert line not in named.out + named.err


_GIVEN = """
def ask(question, passages=None):
    found = ["Nothing.", "It is green."] if passages is None else passages
    return {"answer": (found or ["I do not know."])[0], "contexts": found}
"""


def test_a_change_that_a_limit_stopped_is_unfinished_on_the_command_line(ragstone: Any) -> None:
    Path("app.py").write_text(_GIVEN, "utf-8")
    options = ("--system", "app.py:ask", "--corpus", DOCS, "--limit", "10", "--quiet", "--run", "d.run")
    spent = json.loads(ragstone("diagnose", QUESTIONS, *options, "--json").out)
    assert spent["complete"]
    told = ragstone("diagnose", QUESTIONS, *options, "--try", "order=reversed", "--max-requests", "4")
    assert told.code == 3
    assert "Stopped before every change was asked" in " ".join(told.out.split())
    assert "--max-requests" in told.err
    assert "No change is significantly better" not in told.out
    done = ragstone("diagnose", QUESTIONS, *options, "--try", "order=reversed")
    assert done.code == 0


_DEAF = "def ask(question, passages=None):\n    return 'I do not know.'\n"
_EDIT = (
    "def ask(question, passages=None):",
    "passages = search(question) if passages is None else passages",
    'return {"answer": answer(question, passages), "contexts": passages}',
)


def test_the_same_command_again_has_the_same_warnings_in_json(ragstone: Any) -> None:
    """It asks nothing, so that what was learnt of the system comes from the run file."""
    Path("app.py").write_text("def ask(question):\n    return 'I do not know.'\n", "utf-8")
    Path("q.csv").write_text("question,reference\nHow tall is it?,5 m\n", "utf-8")
    words = ("diagnose", "q.csv", "--system", "app.py:ask", "--run", "d.run", "--quiet", "--json")
    first, again = (json.loads(ragstone(*words).out)["warnings"] for _ in range(2))
    assert len(first) >= 3
    assert again == first


@pytest.mark.parametrize(("language", "why"), [("en", "passages that are ignored"), ("zh", "答案缓存")])
def test_a_condition_without_effect_is_told_on_page_terminal_and_in_json_with_the_three_lines_to_add(
    language: str, why: str, ragstone: Any
) -> None:
    Path("app.py").write_text(_DEAF, "utf-8")
    options = (
        "--system",
        "app.py:ask",
        "--corpus",
        DOCS,
        "--limit",
        "12",
        "--run",
        "d.run",
        "--quiet",
        "--language",
        language,
    )
    terminal = ragstone("diagnose", QUESTIONS, *options, "--report", "d.html").out
    document = json.loads(ragstone("diagnose", QUESTIONS, *options, "--json").out)
    (withdrawn,) = document["withdrawn"]
    assert (withdrawn["condition"], withdrawn["why"], withdrawn["whole"]) == ("gold_only", "same_answers", True)
    (table,) = [table for table in document["tables"] if table["id"] == "diagnosis-withdrawn"]
    page = html.unescape(re.sub("<[^>]+>", "", Path("d.html").read_text("utf-8").split("<main")[1]))
    for text in (terminal, page, json.dumps(table, ensure_ascii=False).replace('\\"', '"')):
        letters = "".join(text.split())
        assert all("".join(line.split()) in letters for line in _EDIT), text
        assert "".join(why.split()) in letters
    assert document["alarms"] == []
    told = " ".join(terminal.split())
    assert "run the same command again" not in told  # asked again, they are ignored again
    assert "再次运行同一命令" not in told
