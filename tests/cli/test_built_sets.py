"""Built sets in use: run and diagnosed at once with their slices, extended, and made from folders as they are."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import Told, one_line
from tests.construction.test_places import write_pdf
from tests.construction.test_questions import changed

from ragstone.analysis.fields import fields_of
from ragstone.construction.build_questions import BuiltQuestions, build_questions
from ragstone.construction.builders.template_model import _facts, _paraphrase, _question, _read
from ragstone.display import Table
from ragstone.runs import open_run

BUILD = ("-o", "set", "--model", "local/template", "--quiet")
HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook" / "docs"


def rows_of(folder: Path, name: str = "questions") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_built_set_runs_and_is_diagnosed_at_once_and_its_columns_are_slices(
    ragstone: Callable[..., Told], language: str
) -> None:
    docs = str(HANDBOOK / language)
    assert ragstone("build", "questions", docs, *BUILD, "--size", 12).code == 0
    system = ("--corpus", docs, "--model", "local/extractive", "--quiet")
    assert ragstone("run", "set", *system, "--run", "a.run").code == 0
    assert json.loads(ragstone("show", "a.run", "--slices", "--json").out)["systems"]
    with open_run("a.run") as run:
        fields = fields_of(run, ["type", "difficulty", "style", "heading", "document"])
        found = [fields(record.case) for record in run.records()]
    assert len(found) == len(rows_of(Path("set")))
    for column in ("type", "difficulty", "style", "heading", "document"):
        assert {one[column] for one in found} == {str(row[column]) for row in rows_of(Path("set"))}
    told = ragstone("diagnose", "set", *system, "--run", "d.run", "--language", "en")
    assert told.code == 0
    assert "right as is" in told.out


def test_pages_are_slices_of_a_set_built_from_pdf(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name, topic, text in (("a", "Charging", "A full charge takes 11 hours at 20 degrees."),
                              ("b", "Length", "The steel cable reaches 80 metres down a well.")):  # fmt: skip
        write_pdf(tmp_path / "docs" / f"{name}.pdf", f"Manual {name}", f"Chapter {name}", topic, text)
    assert ragstone("build", "questions", "docs", *BUILD, "--size", 4, "--type", "single").code == 0
    assert ragstone("run", "set", "--corpus", "docs", "--model", "local/extractive", "--run", "a.run").code == 0
    with open_run("a.run") as run:
        fields = fields_of(run, ["page"])
        assert {fields(record.case)["page"] for record in run.records()} == {"2"}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_extension_drops_just_the_questions_of_changed_documents(tmp_path: Path, language: str) -> None:
    shutil.copytree(HANDBOOK / language, tmp_path / "docs")
    build_questions(tmp_path / "docs", tmp_path / "a", size=12, types={"single": 1})
    before = rows_of(tmp_path / "a")
    changed, value = before[0]["evidence"][0], before[0]["reference"][0][0]
    file = tmp_path / "docs" / changed["document"]
    file.write_text(file.read_text("utf-8").replace(value, "4711 ducats"), "utf-8")
    more: Any = {"types": {"single": 1.0}, "extend": tmp_path / "a", "seed": 7}
    built = build_questions(tmp_path / "docs", tmp_path / "b", size=3, **more)
    after = rows_of(tmp_path / "b")
    lost = {row["id"] for row in before for one in row["evidence"]
            if one["document"] == changed["document"] and value in one["text"]}  # fmt: skip
    kept = [row["id"] for row in before if row["id"] not in lost]
    assert [row["id"] for row in after[: len(kept)]] == kept
    assert before[0]["id"] in lost
    assert len(lost) < len(before)
    assert {row["id"] for row in rows_of(tmp_path / "b", "rejected") if row["reason"] == "document_changed"} == lost
    assert str(len(lost)) in "".join(built.warnings)
    chunks = {row["id"] for row in rows_of(tmp_path / "b", "corpus")}
    assert {one["passage"] for row in after for one in row["evidence"]} <= chunks


def test_an_extension_by_other_documents_keeps_the_chunks_of_the_earlier_questions(tmp_path: Path) -> None:
    build_questions(HANDBOOK / "en", tmp_path / "a", size=4, types={"single": 1})
    zh = HANDBOOK / "zh"  # its files have the same names
    build_questions(zh, tmp_path / "b", size=4, types={"single": 1}, extend=tmp_path / "a")
    after = rows_of(tmp_path / "b")
    assert {row["language"] for row in after} == {"en", "zh"}
    chunks = {row["id"] for row in rows_of(tmp_path / "b", "corpus")}
    assert {one["passage"] for row in after for one in row["evidence"]} <= chunks


def test_a_messy_folder_is_built_from_what_can_be_read_and_the_rest_is_told(
    ragstone: Callable[..., Told], tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    shutil.copytree(HANDBOOK / "en", docs)
    (docs / "empty.md").write_text("", "utf-8")
    (docs / "photo.png").write_bytes(b"\x89PNG")
    (docs / "gb.txt").write_bytes("仓库的温度必须保持在18摄氏度以下，每天检查两次。".encode("gb18030"))
    shutil.copy(docs / "returns.md", docs / "returns-copy.md")
    write_pdf(docs / "scan.pdf", "", "", "", "")
    told = ragstone("build", "questions", "docs", *BUILD, "--size", 40, "--type", "single")
    assert told.code == 0
    for name in ("empty.md", "scan.pdf", "photo.png"):
        assert name in told.err + told.out
    rows = rows_of(tmp_path / "set")
    assert len({one["document"] for row in rows for one in row["evidence"] if "returns" in one["document"]}) == 1
    assert [row for row in rows if row["document"] == "gb.txt" and row["language"] == "zh"]


def test_folders_without_anything_to_ask_are_one_line(ragstone: Callable[..., Told], tmp_path: Path) -> None:
    for name, content in (("empty", b""), ("short", b"Hello."), ("binary", b"\x00\xff\xfe\x80"), ("bad-set", b"x")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_bytes(content)
    (tmp_path / "bad-set" / "questions.jsonl").write_text("{}\n", "utf-8")
    for arguments in (("empty",), ("short",), ("binary",), ("nosuch",), (HANDBOOK, "--extend", "nosuch"),
                      (HANDBOOK, "--extend", "bad-set")):  # fmt: skip
        told = ragstone("build", "questions", *arguments, *BUILD)
        assert told.code == 2, arguments
        assert one_line(told)


def test_one_document_is_enough(tmp_path: Path) -> None:
    built = build_questions(HANDBOOK / "en" / "returns.md", tmp_path / "set", size=10)
    assert built.accepted >= 1
    assert {row["document"] for row in rows_of(tmp_path / "set") if row["answerable"]} == {"returns.md"}


def spent_of(built: BuiltQuestions) -> tuple[dict[str, tuple[float | None, str]], Table, Table]:
    """What the tables say a set took, by row; the table; and that of its passes."""
    tables = {table.id: table for table in built.tables(language="en")}
    cost = tables["construction-cost"]
    spent = {row.cells[0].text: (row.cells[1].value, row.cells[2].text) for row in cost.rows}
    return spent, cost, tables["construction-passes"]


def test_what_a_set_took_is_told_for_each_question(tmp_path: Path) -> None:
    built = build_questions(HANDBOOK / "en", tmp_path / "set", changed(), size=10, types={"single": 1})
    spent, cost, passes = spent_of(built)
    requests, _ = spent["Requests"]
    assert requests
    assert spent["Requests"][1] == f"{requests / built.accepted:,.0f}"
    assert requests == sum(row.cells[3].value or 0 for row in passes.rows)
    assert (passes.columns[3], cost.notes) == ("Requests", ())


@pytest.mark.parametrize(("checker", "by_rules"), [("local/template", True), ("openai/m", False)])
def test_a_dry_run_as_json_marks_the_passes_that_ask_no_model(
    ragstone: Callable[..., Told], checker: str, by_rules: bool
) -> None:
    models = ("--model", "local/template", "--checker", checker)
    passes = ragstone("build", "questions", str(HANDBOOK / "en"), *models, "--dry-run", "--json", "-o", "s").document
    roles = {
        role: {one["by_rules"] for one in passes.values() if one["role"] == role} for role in ("writer", "checker")
    }
    assert roles == {"writer": {True}, "checker": {by_rules}}


def test_a_set_made_by_rules_took_no_requests_and_no_tokens(tmp_path: Path) -> None:
    built = build_questions(HANDBOOK / "en", tmp_path / "set", size=5, types={"single": 1})
    spent, cost, passes = spent_of(built)
    assert [value for value, _ in spent.values()] == [0, 0, 0]
    assert "no model was asked" in cost.notes[0]
    assert passes.columns[3] == "Tasks"


@pytest.mark.parametrize(
    ("text", "name", "value", "question"),
    [
        ("The Osprey is a water level sensor for rivers.", "Osprey", "a water level sensor for rivers",
         "What is Osprey?"),
        ("鱼鹰是用于河流的水位传感器，每 15 分钟上报一次。", "鱼鹰", "用于河流的水位传感器", "什么是鱼鹰？"),
    ],
)  # fmt: skip
def test_a_definition_becomes_a_question_that_the_definition_answers(
    text: str, name: str, value: str, question: str
) -> None:
    (fact,) = _facts({"title": "T", "passage": text})["facts"]
    assert (fact["subject"], fact["value"], fact["evidence"]) == (name, value, text)
    written = _question({"type": "single", "facts": [fact]})
    assert (written["question"], written["answers"]) == (question, [[value]])
    for asked in (question, *_paraphrase({"question": question})["paraphrases"]):
        assert _read({"question": asked, "passages": {"1": text}}) == {"answer": value, "found": True}
        assert not _read({"question": asked, "passages": {"1": "…"}})["found"]


@pytest.mark.parametrize("text", ["It is a sensor for rivers and wells.", "This is a test of our pumps.",
                                  "公司是由玛丽特在船屋创立的。", "这是用于河流的水位传感器。",
                                  "他是否同意这个方案还不清楚"])  # fmt: skip
def test_what_defines_nothing_is_no_definition(text: str) -> None:
    assert _facts({"title": "T", "passage": text})["facts"] == []
