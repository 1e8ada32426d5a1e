"""`run`: a system is asked the user's own questions, and its answers are scored in one run file."""

import sys
import threading
import types
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.servers.threaded import ThreadedServer, serving

import ragstone
from ragstone.datasets.tabular.eval_data import read_data
from ragstone.engine.judge_tools import Judging
from ragstone.error_text import untranslated
from ragstone.errors import UnknownName, UsageError
from ragstone.evaluation.questions import plan_questions
from ragstone.runs import open_run
from ragstone.systems.http import HttpTarget
from ragstone.systems.rag import RagTarget

QUESTIONS = [
    {"id": "a", "question": "What is the capital of France?", "reference": "Paris", "topic": "geo"},
    {"id": "b", "question": "raise", "reference": "x", "topic": "bad"},
    {"id": "c", "question": "法国的首都是哪里？", "reference": "巴黎", "topic": "geo"},
]
CALLS: list[str] = []


def ask(question: str) -> dict[str, Any]:
    CALLS.append(question)
    if question == "raise":
        raise ValueError("no")
    answer = "它是巴黎。" if "法国" in question else "It is Paris."
    return {"answer": answer, "contexts": ["Paris is the capital of France."]}


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    CALLS.clear()


def test_a_live_function_is_asked_and_scored() -> None:
    result = ragstone.run(QUESTIONS, ask, metrics=["answer_match"], group_by="topic")
    assert result.system == "ask"
    assert result.summary["answer_match"]["mean"] == 1.0
    assert (result.summary["answer_match"]["n"], result.summary["answer_match"]["total"]) == (2, 3)
    assert result.summary["answer_match"]["failed"] == 1
    assert "answer_match" in repr(result)
    with open_run(result.run) as run:
        records = {record.case.sample.id: record for record in run.records()}
        assert run.meta["question"]["benchmark"] == "run"
    assert records["b"].error is not None
    assert records["b"].error.startswith("raised: ValueError: no (test_questions.py")
    assert records["a"].response is not None
    assert [passage.text for passage in records["a"].response.passages] == ["Paris is the capital of France."]


def test_a_question_that_failed_counts_in_its_group() -> None:
    result = ragstone.run(QUESTIONS, ask, metrics="answer_match", group_by="topic", run="g.run")
    (groups,) = [table for table in result.tables() if table.id.startswith("eval-groups")]
    counts = {row.cells[0].text: (row.cells[1].scored, row.cells[1].total) for row in groups.rows if row.cells[0].text}
    assert counts.get("geo") == (2, 2)


def test_the_same_command_asks_only_what_is_missing() -> None:
    ragstone.run(QUESTIONS[:1], ask, metrics="answer_match", run="one.run")
    assert len(CALLS) == 1
    again = ragstone.run(QUESTIONS[:1], ask, metrics=["answer_match", "token_f1"], run="one.run")
    assert len(CALLS) == 1
    assert set(again.summary) == {"answer_match", "token_f1"}


def test_repeats_ask_the_system_again() -> None:
    result = ragstone.run(QUESTIONS[:1], ask, metrics="answer_match", repeat=3)
    assert len(CALLS) == 3
    assert result.summary["answer_match"]["total"] == 3


def test_default_metrics_follow_the_references() -> None:
    result = ragstone.run([QUESTIONS[0]], ask)
    assert set(result.summary) == {"answer_match", "exact_match", "token_f1", "rouge_l"}
    with pytest.raises(UsageError, match="nothing to score without a judge"):
        ragstone.run([{"question": "why?"}], ask)


def test_recorded_answers_beside_the_questions_are_told_and_ignored() -> None:
    result = ragstone.run([{**QUESTIONS[0], "answer": "Berlin"}], ask, metrics="answer_match")
    assert result.warnings == ("1 of 1 rows have a recorded answer, which `run` ignores; `ragstone eval` scores it.",)
    assert result.summary["answer_match"]["mean"] == 1.0


def test_rag_over_documents_is_a_system(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "fr.md").write_text("Shipping to Norway costs 12 euros.", "utf-8")
    rows = [{"question": "What does shipping to Norway cost?", "reference": "12 euros"}]
    result = ragstone.run(rows, RagTarget(tmp_path / "docs"), metrics="answer_match")
    assert result.summary["answer_match"]["mean"] == 1.0
    assert result.system == "rag(retriever=bm25, model=local/extractive, k=5)"


def test_the_baseline_without_documents_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        ragstone.run(QUESTIONS, "local/extractive", metrics="answer_match", run=tmp_path / "a.run")
    assert str(caught.value) == (
        "local/extractive has no retriever. Name your documents instead: --corpus FOLDER asks it about them."
    )
    assert untranslated(str(caught.value), "zh") == []
    assert not (tmp_path / "a.run").exists()


@pytest.mark.parametrize(
    ("system", "words"),
    [("http://127.0.0.1:99999/x", "is not an address"), (HttpTarget("http:///x"), "is not an address"),
     (HttpTarget("http://127.0.0.1:1/x", body="{"), "--body is not JSON")],
)  # fmt: skip
def test_a_request_that_cannot_be_sent_is_refused_with_the_plan(system: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        plan_questions(read_data(QUESTIONS), system, ["answer_match"], Judging.of(None))


def test_changed_code_starts_another_run_file(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text('def ask(question):\n    return "It is Paris."\n', "utf-8")
    first = ragstone.run(QUESTIONS[:1], "app.py:ask", metrics="answer_match")
    assert ragstone.run(QUESTIONS[:1], "app.py:ask", metrics="answer_match").run == first.run
    app.write_text('def ask(question):\n    return "It is Berlin."\n', "utf-8")
    second = ragstone.run(QUESTIONS[:1], "app.py:ask", metrics="answer_match")
    assert second.run != first.run
    assert second.summary["answer_match"]["mean"] == 0.0


@pytest.mark.parametrize(
    ("questions", "system", "words"),
    [
        ([], ask, "has no rows"),
        ([{"question": " ", "reference": "x"}], ask, "is empty; expected the question"),
        (QUESTIONS, 3, "cannot be asked"),
        (QUESTIONS, "app.py:nothing", "app.py"),
        (QUESTIONS, "gpt-4o", "has no provider"),
    ],
)
def test_bad_input_is_one_line(questions: Any, system: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        ragstone.run(questions, system, metrics="answer_match")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_options_and_columns_suggest_what_is_there() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'repeat'"):
        ragstone.run(QUESTIONS, ask, repaet=2)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="there are: topic"):
        ragstone.run(QUESTIONS, ask, group_by="topci")


async def test_it_is_awaited_where_a_loop_runs() -> None:
    result = await ragstone.run_async(QUESTIONS[:1], ask, metrics="answer_match")
    assert result.summary["answer_match"]["mean"] == 1.0


def test_documents_that_are_left_out_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("Shipping to Norway costs 12 euros.", "utf-8")
    (folder / "scan.png").write_bytes(b"")
    rows = [{"question": "What does shipping to Norway cost?", "reference": "12 euros"}]
    result = ragstone.run(rows, RagTarget(folder), metrics=["answer_match"])
    assert [warning for warning in result.warnings if "scan.png" in warning] == list(result.warnings)
    assert len(result.warnings) == 1
    (folder / "a.md").write_text("Shipping to Norway costs 13 euros.", "utf-8")
    assert ragstone.run(rows, RagTarget(folder), metrics=["answer_match"]).run != result.run  # other documents


SMALL: dict[str, Any] = {
    "data_languages": ["en"],
    "abilities": ["noise"],
    "noise_ratios": [0.4],
    "limit": 2,
    "fictional_size": 2,
}


def read(question: str, passages: list[str]) -> str:
    CALLS.append(question)
    return passages[0]


def test_a_benchmark_asks_functions_addresses_and_names(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("def ask(question, passages):\n    return passages[0]\n", "utf-8")
    (tmp_path / "ragstone.toml").write_text('[systems.mine]\npython = "app.py:ask"\n', "utf-8")
    with serving(ThreadedServer(BaseHTTPRequestHandler)) as address:  # 501 to every request
        broken = HttpTarget(f"{address}/x", body='{"p": "{passages}"}', name="broken")
        result = ragstone.bench(
            "rgb", model="local/extractive", system=[read, "mine", broken], timeout=5, run="b.run", **SMALL
        )
    with open_run("b.run") as run:
        counts = run.counts()
    assert {name: count.answered for name, count in counts.items()} == {
        "local/extractive": 2, "read": 2, "app.py:ask": 2, "broken": 0,
    }  # fmt: skip
    assert len(CALLS) == 2
    assert not result.outcome.complete


def test_a_benchmark_keeps_to_the_time_limit_of_an_answer() -> None:
    def slow(question: str, passages: list[str]) -> str:
        threading.Event().wait(2)
        return ""

    ragstone.bench("rgb", system=slow, timeout=0.2, run="s.run", **SMALL)
    with open_run("s.run") as run:
        assert {str(failure.message) for failure in run.failures()} == {
            "timed_out: No answer within 0.2 seconds (the limit `timeout`)."
        }


@pytest.mark.parametrize("system", ["rag(k=2)", RagTarget("docs"), ask, 3])
def test_a_benchmark_refuses_what_retrieves_for_itself_or_is_none(system: Any) -> None:
    with pytest.raises(UsageError, match=r"retrieves for itself|cannot be asked"):
        ragstone.bench("rgb", system=system, **SMALL)


def written_app() -> str:
    Path("app.py").write_text('def ask(question):\n    return "It is Paris."\n', "utf-8")
    return "app.py:ask"


async def test_in_a_notebook_it_blocks_while_the_kernels_loop_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"await ragstone\.run_async"):
        ragstone.run(QUESTIONS[:1], ask, metrics="answer_match")
    python = types.ModuleType("IPython")
    python.get_ipython = lambda: types.SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", python)
    assert ragstone.run(QUESTIONS[:1], ask, metrics="answer_match").summary["answer_match"]["mean"] == 1.0
    named = ragstone.run(QUESTIONS[:1], written_app(), metrics="answer_match", run="named.run")
    assert named.summary["answer_match"]["mean"] == 1.0  # code in a process of its own, from a thread


@pytest.mark.parametrize(("documents", "recall"), [(("a.txt", "b.txt"), 0.5), (("Annual leave", "Office hours"), None)])
def test_a_column_of_documents_labels_the_questions_if_it_has_ids(
    documents: tuple[str, str], recall: float | None
) -> None:
    def search(question: str) -> dict[str, Any]:
        return {"answer": "25 days", "passages": [{"id": "a.txt#1", "text": "Annual leave is 25 days."}]}

    rows = [{"question": f"Question {name}?", "reference": "25 days", "document": name} for name in documents]
    assert ragstone.run(rows, search, metrics=["recall"]).summary["recall"]["mean"] == recall
