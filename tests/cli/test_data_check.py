"""`ragstone data check` on answers to be scored: what it sees, what rows lack, and everything that is wrong."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import ROOT, Told

from ragstone.evaluation.data_check import CheckedAnswers, check_data

Ragstone = Callable[..., Told]
NO_CONTEXTS = "found a number; expected a list of texts, or of objects with a text."
EXAMPLES = ROOT / "examples" / "answers.jsonl"
ROWS: list[dict[str, Any]] = [
    {"user_input": "When?", "response": "At 8.", "retrieved_contexts": ["At 8."], "reference": "At 8.", "topic": "a"},
    {"user_input": "何时？", "response": "八点。", "retrieved_contexts": None, "reference": "八点。", "topic": "b"},
    {"user_input": "Why?", "response": None, "retrieved_contexts": ["So."], "reference": None, "topic": "a"},
]


def write(name: str, rows: list[Any]) -> Path:
    path = Path(name)
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_it_tells_the_layout_the_columns_and_which_rows_lack_what(ragstone: Ragstone) -> None:
    write("mine.jsonl", ROWS)
    told = ragstone("data", "check", "mine.jsonl")
    assert (told.code, told.err) == (0, "Errors: 0; warnings: 1.\n")
    lines = told.out.splitlines()
    assert lines[:14] == [
        "mine.jsonl: ragas, 3 rows (2 en, 1 zh)",
        "  question               user_input",
        "  answer                 response",
        "  contexts               retrieved_contexts",
        "  reference              reference",
        "  to group by            topic",
        "warning: mine.jsonl: line 3: contexts but no answer; only the retrieval is scored.",
        "Rows that have",
        "  answer                 2 of 3; not line 3",
        "  reference              2 of 3; not line 3",
        "  contexts               2 of 3; not line 2",
        "  labels                 0 of 3",
        "Rows that have what these metrics need",
        "  answer: 2 of 3",
    ]
    assert lines[14].startswith(
        "    answer_relevance, answer_relevancy, "
    )  # then metrics by name, more with each new one
    assert "  answer + contexts: 1 of 3\n    citation_precision, citation_recall, faithfulness" in told.out
    assert "  contexts + labels: 0 of 3\n    f1, hit, map, mrr, ndcg, precision, recall\n" in told.out


def test_the_same_as_one_json_document(ragstone: Ragstone) -> None:
    write("mine.jsonl", ROWS)
    told = ragstone("data", "check", "mine.jsonl", "--json")
    assert told.code == 0
    [seen] = told.document["files"]
    assert told.document["problems"] == []
    assert (seen["schema"], seen["rows"], seen["languages"]) == ("ragas", 3, {"en": 2, "zh": 1})
    assert seen["mapping"]["contexts"] == "retrieved_contexts"
    assert seen["has"][2] == {"name": "contexts", "ready": 2, "lacking": ["line 2"]}
    by_needs = {tuple(one["needs"]): one for one in seen["metrics"]}
    assert by_needs["answer", "reference", "contexts"]["ready"] == 1
    assert by_needs["answer", "reference", "contexts"]["lacking"] == ["line 2", "line 3"]
    assert "faithfulness" in by_needs["answer", "contexts"]["metrics"]


def test_every_metric_that_can_be_asked_for_is_told_once(ragstone: Ragstone) -> None:
    write("mine.jsonl", ROWS)
    seen = ragstone("data", "check", "mine.jsonl", "--json").document["files"][0]
    names = [name for one in seen["metrics"] for name in one["metrics"]]
    assert len(names) == len(set(names))
    five = {"faithfulness", "answer_relevancy", "context_precision", "context_recall", "answer_correctness"}
    assert {*five, "groundedness", "exact_match", "ndcg", "ragchecker.f1", "rubric.empathy"} <= set(names)


def test_what_is_wrong_is_told_in_lines_and_the_other_files_too(ragstone: Ragstone) -> None:
    write("bad.jsonl", [{"question": ""}, {"question": None}, {"question": "Q?", "contexts": 3}, {"question": "Q?"}])
    write("good.jsonl", ROWS)
    told = ragstone("data", "check", "bad.jsonl", "god.jsonl", "good.jsonl")
    assert told.code == 2
    assert told.out.splitlines()[0] == "good.jsonl: ragas, 3 rows (2 en, 1 zh)"
    assert told.out.splitlines()[-3:] == [
        "error: bad.jsonl, field 'question': lines 1, 2: is empty; expected the question.",
        f"error: bad.jsonl, line 3, field 'contexts': {NO_CONTEXTS}",
        "error: god.jsonl: no such file or folder. Did you mean 'good.jsonl'?",
    ]
    assert told.err == "Errors: 3; warnings: 1.\n"
    document = ragstone("data", "check", "bad.jsonl", "--json").document
    assert [(one["line"], one["field"]) for one in document if one["field"] == "contexts"] == [(3, "contexts")]


def test_options_say_how_to_read(ragstone: Ragstone) -> None:
    write("odd.jsonl", [{"q": "Q?", "out": "A.", "ctx": "a||b", "n": 1}])
    assert "--map question=" in ragstone("data", "check", "odd.jsonl").out
    mapping = ("--map", "question=q", "--map", "answer=out", "--map", "contexts=ctx")
    told = ragstone("data", "check", "odd.jsonl", *mapping)
    assert told.code == 0
    assert "--sep TEXT splits them" in told.out
    assert "warning" not in ragstone("data", "check", "odd.jsonl", *mapping, "--sep", "||").out
    wrong = ragstone("data", "check", "odd.jsonl", "--map", "question=qq")
    assert wrong.code == 2
    assert "No column named 'qq'. Did you mean 'q'?" in wrong.out


def test_a_run_with_judgements_is_enough_for_rank_metrics(ragstone: Ragstone) -> None:
    Path("run.trec").write_text("q1 Q0 d1 1 2.0 x\nq2 Q0 d2 1 1.0 x\n")
    Path("qrels.txt").write_text("q1 0 d1 1\nq2 0 d3 1\n")
    told = ragstone("data", "check", "run.trec", "--qrels", "qrels.txt")
    assert told.code == 0
    assert "run.trec: trec, 2 rows (2 en)" in told.out
    assert "  contexts + labels: 2 of 2\n" in told.out
    assert "  answer                 0 of 2\n" in told.out


@pytest.mark.parametrize("name", ["en.json", "zh_refine.jsonl", "anything.json"])
def test_files_of_rgb_are_checked_as_rgb(ragstone: Ragstone, name: str) -> None:
    write(name, [{"id": 1, "query": "Q?", "answer": "A", "positive": [], "negative": []}])
    told = ragstone("data", "check", name)
    assert "fewer than the 5 documents" in told.out
    assert "ragas" not in told.out


@pytest.mark.parametrize("name", ["en.json", "zh.jsonl"])
def test_answers_in_a_file_with_a_name_of_rgb_are_answers(name: str) -> None:
    checked, problems = check_data([write(name, ROWS)])
    assert ([one.schema for one in checked if isinstance(one, CheckedAnswers)], problems) == (["ragas"], [])


def test_folders_of_data_sets_are_told_from_folders_of_rgb(ragstone: Ragstone) -> None:
    Path("beir").mkdir()
    Path("beir/queries.jsonl").write_text('{"_id": "q1", "text": "Q?"}\n')
    assert "beir: beir, 1 rows" in ragstone("data", "check", "beir").out
    Path("nothing").mkdir()
    assert "holds no RGB file" in ragstone("data", "check", "nothing").out


def test_the_examples_are_twelve_in_two_languages_and_enough_for_every_judged_metric() -> None:
    [seen], problems = check_data([EXAMPLES])
    assert isinstance(seen, CheckedAnswers)
    assert problems == []
    assert (seen.rows, seen.languages, seen.warnings) == (12, {"en": 6, "zh": 6}, ())
    assert seen.columns == ("topic", "quality")
    assert [one.ready for one in seen.has] == [12, 12, 12, 0]


def test_eval_tells_each_problem_of_its_data_on_a_line(ragstone: Ragstone) -> None:
    write("bad.jsonl", [{"question": ""}, {"question": "Q?", "contexts": 3}])
    told = ragstone("eval", "bad.jsonl")
    assert (told.code, told.out) == (2, "")
    assert told.err.splitlines() == [
        "ragstone: bad.jsonl, line 1, field 'question': is empty; expected the question.",
        f"ragstone: bad.jsonl, line 2, field 'contexts': {NO_CONTEXTS}",
    ]


def test_what_is_only_retrieved_is_scored_for_its_retrieval_alone(ragstone: Ragstone) -> None:
    rows = [{"question": "When?", "contexts": ["At 8."], "reference_contexts": ["At 8."], "reference": "At 8."}]
    write("retrieved.jsonl", rows)
    metrics = ("--metrics", "exact_match,token_f1,recall@1")
    told = ragstone("eval", "retrieved.jsonl", *metrics, "--run", "a.run", "--quiet", "--json")
    assert told.code == 0
    scores = told.document["scores"]
    assert {name: (one["mean"], one["n"], one["not_applicable"]) for name, one in scores.items()} == {
        "exact_match": (None, 0, 1), "token_f1": (None, 0, 1), "recall@1": (1.0, 1, 0),
    }  # fmt: skip


def test_a_chinese_session_is_told_in_chinese(ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "zh")
    write("mine.jsonl", [*ROWS, {**ROWS[2], "retrieved_contexts": []}])
    told = ragstone("data", "check", "mine.jsonl")
    assert (told.code, told.err) == (0, "错误：0；警告：2。\n")
    lines = told.out.splitlines()
    assert lines[:9] == [
        "mine.jsonl：ragas 格式，4 行（3 en，1 zh）",
        "  question               user_input",
        "  answer                 response",
        "  contexts               retrieved_contexts",
        "  reference              reference",
        "  可用于分组的列         topic",
        "警告：mine.jsonl：第 3 行：有检索段落而没有答案，只评检索。",
        (
            "警告：mine.jsonl：第 4 行：检索段落列表为空，表示没有检索到段落，检索类指标记为 0。"
            "如果只是没有记录，请把单元格留空（null）。"
        ),
        "含有下列数据的行数",
    ]
    assert lines[9] == "  answer                 2/4，缺少的是第 3、4 行"
    assert not re.search(r"[\u4e00-\u9fff][,;:!?()]|[,;:!?()][\u4e00-\u9fff]", told.out + told.err)


def test_a_workbook_or_an_archive_under_the_name_of_text_is_called_what_it_is(ragstone: Ragstone) -> None:
    for name in ("en.json", "qrels.txt"):
        Path(name).write_bytes(b"PK\x03\x04" + bytes(range(256)))
    write("mine.jsonl", ROWS)
    told = ragstone("bench", "rgb", "--data", "en.json", "--model", "scripted/x", "--dry-run")
    assert (told.code, "is a workbook (.xlsx) or a zip archive" in told.err, "UTF-8" in told.err) == (2, True, False)
    told = ragstone("eval", "mine.jsonl", "--qrels", "qrels.txt", "--dry-run")
    assert (told.code, "is a workbook (.xlsx) or a zip archive" in told.err, "UTF-8" in told.err) == (2, True, False)


def test_an_empty_output_folder_is_refused_in_one_line(ragstone: Ragstone) -> None:
    told = ragstone("build", "fictional", "-o", " ", "--size", "1")
    assert (told.code, told.out, told.err) == (2, "", "ragstone: -o is empty: pass the folder to write to.\n")
    assert not list(Path().iterdir())
