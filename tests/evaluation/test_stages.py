"""Stages of a system in scores, tables and exports: what it fetched, reranked and put into the prompt."""

import csv
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace
from tests.evaluation.judging import scripted_judge

import ragstone
from ragstone.benchmarks.recorded.tables import tables
from ragstone.display import Table
from ragstone.errors import UsageError
from ragstone.metrics import find_metric
from ragstone.responses.stages import StageRecorder
from ragstone.runs import open_run
from ragstone.types import NO_ANSWER, Passage, Query, Response, Usage

FACTS = {
    "en": (
        "The pear orchard was planted in 1902.",
        "Shipping to Norway costs 12 euros.",
        "The pear orchard has 40 rows.",
    ),
    "zh": ("梨园种植于1902年。", "运往挪威的运费是12欧元。", "梨园有40行梨树。"),
}
ANSWERS = {
    "en": "The pear orchard was planted in 1902 [1]. The pear orchard has 40 rows [2].",
    "zh": "梨园种植于1902年[1]。梨园有40行梨树[2]。",
}


def passages(language: str) -> tuple[Passage, Passage, Passage]:
    first, second, third = (Passage(f"{number}.md", text) for number, text in enumerate(FACTS[language]))
    return first, second, third


class Application:
    """Fetches with two retrievers, reranks, and prompts with the best two, which it cites by their numbers."""

    id = "application"
    spec: ClassVar[dict[str, str]] = {"kind": "test"}

    def __init__(self, *, pools: bool = False) -> None:
        self.pools = pools

    async def answer(self, query: Query, /) -> Response:
        language = "zh" if "梨" in query.question else "en"
        planted, shipping, rows = passages(language)
        recorder = StageRecorder(query.question)
        recorder.queries.append(f"{query.question} orchard")
        recorder.fetch([shipping, planted], 0.25)
        recorder.fetch([rows, shipping], 0.5)
        recorder.rerank([planted, rows, shipping])
        recorder.prompts.append(f"{planted.text}\n{rows.text}\n{query.question}")
        recorder.usage = Usage(prompt_tokens=90, completion_tokens=10, requests=1)
        response = recorder.response(Response(ANSWERS[language], (planted, rows), seconds=2.0))
        return _with(response, (shipping, planted, rows)) if self.pools else response


def _with(response: Response, found: Sequence[Passage]) -> Response:
    return replace(response, passages=tuple(found))


QUESTIONS = [
    {"id": "en", "question": "When was the pear orchard planted?", "reference": "1902", "gold_ids": ["0.md", "2.md"]},
    {"id": "zh", "question": "梨园是什么时候种植的？", "reference": "1902年", "gold_ids": ["0.md", "2.md"]},
]
JUDGED = ["citation_precision", "citation_recall", "faithfulness", "groundedness"]
STAGED = ["recall@1 fetched", "recall@1 reranked", "recall@1 prompted", "mrr fetched", "recall prompted", "recall@1"]


def scores(folder: Path, metrics: list[str], *, pools: bool = False) -> list[dict[str, Any]]:
    result = ragstone.run(
        QUESTIONS, Application(pools=pools), metrics, judge=scripted_judge(), run=folder / f"{pools}.run"
    )
    return [dict(row) for row in result.scores]


def test_an_answer_is_judged_against_what_was_prompted_and_not_what_was_fetched(tmp_path: Path) -> None:
    for row in scores(tmp_path, JUDGED):
        assert {name: row[name] for name in JUDGED} == dict.fromkeys(JUDGED, 1.0)
    # With the passages of all retrievers, numbers mean other passages.
    for row in scores(tmp_path, JUDGED, pools=True):
        assert row["citation_precision"] < 1.0


def test_measures_of_a_ranking_are_given_by_stage(tmp_path: Path) -> None:
    expected = [0.0, 0.5, 0.5, 0.5, 1.0, 0.5]
    for row in scores(tmp_path, STAGED):
        assert [row[name] for name in STAGED] == expected


def test_the_spelling_of_a_stage_is_that_of_the_metric() -> None:
    for name in STAGED:
        assert find_metric(name).name == name
    assert find_metric("recall@1 fetched") != find_metric("recall@1")
    with pytest.raises(UsageError, match="faithfulness has no stages: only measures of a ranked list do"):
        find_metric("faithfulness fetched")
    with pytest.raises(UsageError, match="No metric named 'recall@1 grilled'"):
        find_metric("recall@1 grilled")


def test_a_stage_that_a_system_does_not_have_is_not_applicable(tmp_path: Path) -> None:
    def ask(question: str) -> dict[str, Any]:
        return {"answer": "1902", "contexts": [{"id": "0.md", "text": "It was planted in 1902."}]}

    result = ragstone.run(QUESTIONS, ask, ["recall@1 fetched", "recall@1"], run=tmp_path / "a.run")
    assert [row["recall@1 fetched"] for row in result.scores] == [None, None]
    assert [row["recall@1"] for row in result.scores] == [0.5, 0.5]
    with open_run(tmp_path / "a.run") as run:
        reasons = {record.scores["recall@1 fetched"].reason for record in run.records()}
        assert reasons == {"the system has no such stage, or did not tell it"}
        assert "eval-stages" not in {table.id for table in tables(run, {})}


def stage_table(path: Path, language: str) -> Table:
    with open_run(path) as run:
        return next(table for table in tables(run, {}, language=language) if table.id == "eval-stages")


def test_the_table_of_stages_has_passages_recall_seconds_and_tokens(tmp_path: Path) -> None:
    scores(tmp_path, ["recall"])
    table = stage_table(tmp_path / "False.run", "en")
    assert table.columns == ("Stage", "Answers", "Passages", "Recall", "Seconds", "Tokens")
    rows = {row.cells[0].text: row.cells[1:] for row in table.rows}
    assert list(rows) == ["rewritten", "fetched", "reranked", "prompted", "answer"]
    assert [[cell.text for cell in (row[0], row[1], row[3], row[4])] for row in rows.values()] == [
        ["2", "", "", ""], ["2", "3.0", "0.750", ""], ["2", "3.0", "", ""], ["2", "2.0", "", ""],
        ["2", "", "1.250", "100"],
    ]  # fmt: skip
    assert [row[2].value for row in rows.values()] == [None, 1.0, 1.0, 1.0, None]
    chinese = stage_table(tmp_path / "False.run", "zh")
    assert [row.cells[0].text for row in chinese.rows] == ["改写", "检索", "重排序", "放入提示词", "作答"]


def test_an_export_has_the_stages_of_each_answer(tmp_path: Path) -> None:
    scores(tmp_path, ["recall@1 fetched"])
    ragstone_export(tmp_path / "False.run", tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ("fetch.passages", "fetch.seconds", "rerank.passages", "prompt.passages", "recall@1 fetched")
    assert [[row[name] for name in names] for row in rows] == [["3", "0.75", "3", "2", "0.0"]] * 2


def test_the_seconds_to_the_first_token_are_in_the_table_and_the_export(tmp_path: Path) -> None:
    gate = threading.Event()

    def stream(question: str) -> Iterator[str]:
        gate.wait(0.05)
        yield "It was planted "
        gate.wait(0.3)
        yield "in 1902."

    ragstone.run(QUESTIONS, stream, ["answer_match"], run=tmp_path / "a.run")
    rows = {row.cells[0].text: row.cells[-1].text for row in stage_table(tmp_path / "a.run", "en").rows}
    assert 0.05 <= float(rows["to the first token"]) < float(rows["answer"]) - 0.2
    assert stage_table(tmp_path / "a.run", "zh").rows[-1].cells[0].text == "到首个词元"
    ragstone_export(tmp_path / "a.run", tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8-sig", newline="") as file:
        assert all(0.05 <= float(row["first_token.seconds"]) < 0.3 for row in csv.DictReader(file))


def ragstone_export(run: Path, target: Path) -> None:
    from tests.cli.tools import process

    assert process("export", run, "--format", "csv", "-o", target, folder=target.parent).code == 0


def test_a_retriever_beside_a_system_is_asked_by_a_diagnosis_alone(tmp_path: Path) -> None:
    searched: list[str] = []

    def search(query: str, k: int) -> list[str]:
        searched.append(query)
        return list(FACTS["en"])[:k]

    def ask(question: str) -> dict[str, Any]:
        return {"answer": "No idea.", "contexts": [FACTS["en"][1]]}

    questions = [{"question": "When was the pear orchard planted?", "reference": "1902", "gold_ids": ["0.md"]}]
    corpus = tmp_path / "docs"
    corpus.mkdir()
    (corpus / "0.md").write_text(FACTS["en"][0], "utf-8")
    ragstone.run(questions, ask, ["answer_match"], retriever=search, run=tmp_path / "a.run")
    assert searched == []
    ragstone.diagnose(questions, ask, retriever=search, corpus=corpus, run=tmp_path / "d.run")
    assert searched
    with open_run(tmp_path / "d.run") as run:
        responses = [record.response for record in run.records() if record.case.query.retrieve_only]
    assert responses
    assert {response.finish_reason for response in responses if response is not None} == {NO_ANSWER}
