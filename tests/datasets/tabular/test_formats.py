"""Every format in which people keep answers, written here by the programs that write it."""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.datasets.tabular.samples import ROWS, answer, assert_is_rows, texts

from ragstone.datasets.tabular import read_eval_data
from ragstone.datasets.tabular.jsonfiles import json_rows
from ragstone.datasets.tabular.rows import Rows
from ragstone.errors import DataError, MissingExtra, UnknownName, UsageError
from ragstone.optional import load
from ragstone.storage import Spool

FRAME = pd.DataFrame(ROWS)
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
FLAT = pl.DataFrame([row | {"retrieved_contexts": str(row["retrieved_contexts"])} for row in ROWS])
RESULTS = [
    {"query_id": "1", "query": "Q1?", "gt_answer": "G1.", "response": "R1.",
     "retrieved_context": [{"doc_id": "d1", "text": "T1"}, {"doc_id": "d2", "text": "T2"}]},
]  # fmt: skip


def _lines(path: Path) -> None:
    path.write_text("\n\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS) + "\n", encoding="utf-8")


def _json(value: Any, **options: Any) -> Callable[[Path], None]:
    return lambda path: void(path.write_text(json.dumps(value, **options), encoding="utf-8"))


def void(_: object) -> None:
    """Forgets what a function gives."""


def _excel(path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append([*ROWS[0]])
    for row in ROWS:
        sheet.append([json.dumps(value) if isinstance(value, list) else value for value in row.values()])
    book.save(path)


FORMATS: dict[str, Callable[[Path], None]] = {
    "lines.jsonl": _lines,
    "lines.json": _lines,
    "lines.txt": _lines,
    "list.json": _json(ROWS),
    "list.jsonl": _json(ROWS, indent=1),
    "pretty.json": _json({"samples": ROWS}, indent=2),
    "data.json": _json({"version": 1, "data": ROWS}),
    "columns.json": _json(COLUMNS),
    "pandas.json": FRAME.to_json,
    "records.json": lambda path: FRAME.to_json(path, orient="records"),
    "split.json": lambda path: FRAME.to_json(path, orient="split"),
    "index.json": lambda path: FRAME.to_json(path, orient="index"),
    "lines2.jsonl": lambda path: FRAME.to_json(path, orient="records", lines=True, force_ascii=False),
    "comma.csv": FRAME.to_csv,
    "semicolon.csv": lambda path: FRAME.to_csv(path, sep=";", index=False, quoting=csv.QUOTE_ALL),
    "mark.csv": lambda path: FRAME.to_csv(path, index=False, encoding="utf-8-sig", lineterminator="\r\n"),
    "tab.tsv": lambda path: FRAME.to_csv(path, sep="\t", index=False),
    "bar.csv": lambda path: FRAME.to_csv(path, sep="|", index=False),
    "told.csv": lambda path: void(path.write_text("sep=;\n" + FRAME.to_csv(sep=";", index=False), encoding="utf-8")),
    "unicode.csv": lambda path: FRAME.to_csv(path, sep="\t", index=False, encoding="utf-16"),
    "chinese.csv": lambda path: FRAME.to_csv(path, index=False, encoding="gb18030"),
    "polars.csv": FLAT.write_csv,
    "book.xlsx": _excel,
    "pandas.xlsx": lambda path: FRAME.to_excel(path, index=False),
    "pandas.parquet": FRAME.to_parquet,
    "indexed.parquet": lambda path: FRAME.set_index([pd.Index(["a", "b"])]).to_parquet(path),
    "polars.parquet": lambda path: pl.DataFrame(ROWS).write_parquet(path),
    "no_ending": FRAME.to_parquet,
    "feather.arrow": lambda path: pl.DataFrame(ROWS).write_ipc(path),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_items(tmp_path: Path, name: str) -> None:
    FORMATS[name](tmp_path / name)
    data = read_eval_data(tmp_path / name)
    assert_is_rows(data)
    assert data.name == name
    assert data.sha256 == read_eval_data(ROWS).sha256


@pytest.mark.parametrize(
    "source",
    [
        ROWS,
        tuple(ROWS),
        COLUMNS,
        FRAME,
        FRAME.assign(retrieved_contexts=[pd.Series(row["retrieved_contexts"]).to_numpy() for row in ROWS]),
        pl.DataFrame(ROWS),
        pl.DataFrame(ROWS).lazy(),
    ],
    ids=["list", "tuple", "columns", "pandas", "numpy", "polars", "lazy"],
)
def test_what_is_in_memory_gives_the_same_items(source: Any) -> None:
    data = read_eval_data(source)
    assert_is_rows(data)
    assert data.sha256 == read_eval_data(ROWS).sha256


@dataclass
class Case:
    """As deepeval and ragas have theirs: objects with fields."""

    input: str
    actual_output: str
    retrieval_context: list[str]


class Model(Case):
    """As pydantic has it."""

    def model_dump(self) -> dict[str, Any]:
        return {"input": self.input, "actual_output": self.actual_output, "retrieval_context": self.retrieval_context}


@pytest.mark.parametrize("kind", [Case, Model])
def test_objects_of_other_tools_are_rows(kind: type[Case]) -> None:
    data = read_eval_data([kind("Q?", "A.", ["a", "b"])])
    assert (data.schema, answer(data).answer, texts(data)) == ("deepeval", "A.", ["a", "b"])


def test_a_generator_is_read_once() -> None:
    assert_is_rows(read_eval_data(dict(row) for row in ROWS))


class Dataset:
    """Looks like a datasets.Dataset, as far as a reader may look."""

    column_names = tuple(ROWS[0])

    def __iter__(self) -> Any:
        return iter(ROWS)


def test_a_hugging_face_dataset_is_its_rows_and_a_dict_of_them_wants_one() -> None:
    data = read_eval_data(Dataset())
    assert_is_rows(data)
    assert data.name == "Dataset"
    with pytest.raises(UsageError, match=r"holds the splits 'train', 'test'; give one of them: data\['train'\]"):
        read_eval_data({"train": Dataset(), "test": Dataset()})


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (7, "a number; expected a path"),
        (None, "null; expected a path"),
        (b"x", "bytes"),
        ({"question": "Q?", "answer": "A."}, "one object that is not columns"),
        ({"question": ["Q?"], "answer": []}, "'question' has 1, 'answer' has 0"),
        (["a", "b"], "rows 1, 2: found a text; expected an object"),
        ([], "has no rows"),
        ({}, "not columns"),
    ],
)
def test_what_is_no_data_is_told_in_a_line(source: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told.replace("[", r"\[")) as caught:
        read_eval_data(source)
    assert "\n" not in str(caught.value)


def _ipc_stream(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def _saved(folder: Path, rows: list[dict[str, Any]], *, shards: int = 1, features: Any = None, **state: Any) -> None:
    """What `datasets.Dataset.save_to_disk` writes."""
    folder.mkdir(parents=True)
    table = pa.Table.from_pylist(rows)
    files = []
    for shard in range(shards):
        name = f"data-{shard:05}-of-{shards:05}.arrow"
        start = shard * len(rows) // shards
        _ipc_stream(folder / name, table.slice(start, (shard + 1) * len(rows) // shards - start))
        files.append({"filename": name})
    (folder / "state.json").write_text(json.dumps({"_data_files": files, "_split": None, **state}))
    (folder / "dataset_info.json").write_text(json.dumps({"features": features or {}}))


def test_a_saved_dataset_is_read_with_all_its_shards(tmp_path: Path) -> None:
    _saved(tmp_path / "mine", ROWS, shards=2)
    data = read_eval_data(tmp_path / "mine")
    assert_is_rows(data)
    assert data.name == "mine"
    assert [item.where for item in data.items] == ["row 1", "row 2"]


def test_numbers_that_stand_for_names_are_named(tmp_path: Path) -> None:
    features = {"kind": {"names": ["easy", "hard"], "_type": "ClassLabel"}}
    _saved(tmp_path / "mine", [{"question": "Q?", "answer": "A.", "kind": 1}], features=features)
    assert read_eval_data(tmp_path / "mine").items[0].extra == {"kind": "hard"}


def test_a_dataset_dict_wants_a_split(tmp_path: Path) -> None:
    for split in ("train", "test"):
        _saved(tmp_path / "mine" / split, ROWS, _split=split)
    (tmp_path / "mine" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(UsageError, match=r"splits 'train', 'test'; choose one with --split NAME"):
        read_eval_data(tmp_path / "mine")
    with pytest.raises(UnknownName, match="Did you mean 'test'"):
        read_eval_data(tmp_path / "mine", split="tset")
    data = read_eval_data(tmp_path / "mine", split="test")
    assert_is_rows(data)
    assert data.name == "mine/test"


def test_a_dataset_dict_of_one_split_needs_no_choice(tmp_path: Path) -> None:
    _saved(tmp_path / "mine" / "test", ROWS)
    assert_is_rows(read_eval_data(tmp_path / "mine"))


def test_a_damaged_saved_dataset_is_told(tmp_path: Path) -> None:
    _saved(tmp_path / "a", ROWS, shards=2)
    (tmp_path / "a" / "data-00001-of-00002.arrow").unlink()
    with pytest.raises(DataError, match=r"data-00001-of-00002\.arrow is missing"):
        read_eval_data(tmp_path / "a")
    _saved(tmp_path / "b", ROWS)
    (tmp_path / "b" / "data-00000-of-00001.arrow").write_bytes(b"\xff\xff\xff\xff broken")
    with pytest.raises(DataError, match="cannot be read as Arrow"):
        read_eval_data(tmp_path / "b")
    _saved(tmp_path / "c", ROWS, _indices_files=[{"filename": "indices.arrow"}])
    with pytest.raises(DataError, match=r"flatten_indices\(\)"):
        read_eval_data(tmp_path / "c")
    _saved(tmp_path / "d", ROWS)
    (tmp_path / "d" / "state.json").write_text('{"_data_files": [{"filename": "../b/data-00000-of-00001.arrow"}]}')
    with pytest.raises(DataError, match="is missing"):
        read_eval_data(tmp_path / "d")


def test_a_folder_of_parquet_shards_is_read_by_split(tmp_path: Path) -> None:
    folder = tmp_path / "hub" / "data"
    folder.mkdir(parents=True)
    for place, row in enumerate(ROWS):
        pq.write_table(pa.Table.from_pylist([row]), folder / f"test-{place:05}-of-00002.parquet")
    assert_is_rows(read_eval_data(tmp_path / "hub"))
    pq.write_table(pa.Table.from_pylist(ROWS[:1]), folder / "train-00000-of-00001.parquet")
    with pytest.raises(UsageError, match="splits 'test', 'train'"):
        read_eval_data(tmp_path / "hub")
    assert_is_rows(read_eval_data(tmp_path / "hub", split="test"))


def test_ragcheckers_results_are_unwrapped(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(json.dumps({"results": RESULTS}))
    data = read_eval_data(tmp_path / "in.json")
    assert data.schema == "ragchecker"
    assert (data.items[0].sample.id, data.items[0].sample.references) == ("1", (("G1.",),))
    assert [(passage.id, passage.text) for passage in answer(data).passages] == [("d1", "T1"), ("d2", "T2")]


def test_the_sheet_with_a_question_is_read_and_others_are_told(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    notes = book.active
    assert notes is not None
    notes.title = "Notes"
    notes.append(["Written by me"])
    sheet = book.create_sheet("Answers")
    sheet.append([])
    sheet.append(["Question", "Answer", None, "Score"])
    sheet.append(["How many?", 5, None, 2.5])
    sheet.append([None, None, None, None])
    sheet.append(["True?", True, None, None])
    book.save(tmp_path / "a.xlsx")
    data = read_eval_data(tmp_path / "a.xlsx")
    assert [item.where for item in data.items] == ["row 3", "row 5"]
    assert [answer(data, 0).answer, answer(data, 1).answer] == ["5", "true"]
    assert data.items[0].extra == {"Score": 2.5}
    assert data.warnings == ("read from the sheet 'Answers'; there are others: 'Notes' (--sheet NAME).",)
    assert read_eval_data(tmp_path / "a.xlsx", sheet="Answers").warnings == ()
    with pytest.raises(UnknownName, match="Did you mean 'Answers'"):
        read_eval_data(tmp_path / "a.xlsx", sheet="answer")
    with pytest.raises(DataError, match="has no rows"):
        read_eval_data(tmp_path / "a.xlsx", sheet="Notes")


def test_cells_of_a_workbook_below_no_name_and_names_that_repeat_are_told(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["question", "answer"], ["Q?", "A.", "lost?"]):
        sheet.append(row)
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(DataError, match=r"row 2: 'lost[?]' stands in a column without a name"):
        read_eval_data(tmp_path / "a.xlsx")
    sheet["C1"] = "answer"
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(DataError, match="row 1: the column 'answer' occurs twice"):
        read_eval_data(tmp_path / "a.xlsx")


def test_dates_in_a_workbook_are_texts_to_group_by(tmp_path: Path) -> None:
    frame = pd.DataFrame({"question": ["Q?"], "answer": ["A."], "day": [pd.Timestamp("2025-03-04")]})
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    assert read_eval_data(tmp_path / "a.xlsx").items[0].extra == {"day": "2025-03-04"}
    assert read_eval_data(frame).items[0].extra == {"day": "2025-03-04"}


def test_what_excel_escapes_is_what_was_written(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["question", "answer"])
    sheet.append(["Q?", "one_x000D_\ntwo"])
    book.save(tmp_path / "a.xlsx")
    assert answer(read_eval_data(tmp_path / "a.xlsx")).answer == "one\r\ntwo"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old kind .* Save it as .xlsx"),
        ("a.run", b"SQLite format 3\x00", "is a run file"),
        ("a.jsonl.gz", b"\x1f\x8b\x08", "compressed .* Unpack it first"),
        ("a.pdf", b"%PDF-1.7", "PDF"),
        ("a.xlsx", b"PK\x03\x04 not a workbook", "is no workbook that can be read"),
        ("a.parquet", b"PAR1 not really PAR1", "cannot be read as Parquet"),
        ("a.arrow", b"ARROW1 not really", "cannot be read as Arrow"),
        ("a.csv", b"", "is empty"),
        ("a.json", b" \n ", "is empty"),
        ("a.json", b'"a text"', "found a text; expected a list of objects"),
        ("a.json", b"[1, 2]", "rows 1, 2: found a number; expected an object"),
        ("a.json", b"[", "not JSON"),
        ("a.json", b'{"question": ["Q?", "R?"], "answer": ["A."]}', "not of equal length"),
        ("a.jsonl", b'{"question": "Q?"\n{"question": "R?"}', "line 1: not JSON"),
        ("a.jsonl", b'[1]\n{"question": "R?"}', "not JSON"),
        ("a.jsonl", b'{"question": "Q?", "question": "R?"}\n{}', "line 1: the key 'question' occurs twice"),
        ("qrels.txt", b"1 0 d1 1\n", "relevance judgements .*--qrels qrels.txt"),
    ],
)
def test_files_that_cannot_be_read_say_why(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=told) as caught:
        read_eval_data(tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))


def test_a_path_that_is_not_there_offers_the_nearest(tmp_path: Path) -> None:
    _lines(tmp_path / "answers.jsonl")
    with pytest.raises(UsageError, match=r"no such file or folder\. Did you mean '.*answers\.jsonl'"):
        read_eval_data(tmp_path / "answer.jsonl")
    with pytest.raises(UsageError, match="no such file"):
        read_eval_data("")
    with pytest.raises(UsageError, match=r"no such file|is no path"):  # as Python's version has it
        read_eval_data("a\0b")
    with pytest.raises(UsageError, match=r"no such file|is no path"):
        read_eval_data("a" * 5000)
    with pytest.raises(DataError, match=r"no saved data set .* Name a file in it: answers\.jsonl"):
        read_eval_data(tmp_path)


def test_what_is_not_installed_is_told_with_the_command() -> None:
    with pytest.raises(MissingExtra, match=r"Reading x needs not_there.* pip install 'ragstone\[files\]'"):
        load("not_there.inner", extra="files", purpose="Reading x")


def test_one_object_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"question": "Q?", "contexts": ["a"], "answer": "A."}, indent=1))
    data = read_eval_data(tmp_path / "a.json")
    assert (len(data.items), texts(data)) == (1, ["a"])


def test_nan_as_python_writes_it_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"question": "Q?", "contexts": NaN, "answer": "A.", "reference": NaN}\n')
    data = read_eval_data(tmp_path / "a.jsonl")
    assert (data.items[0].sample.references, texts(data)) == ((), [])


def test_the_columns_of_json_lines_are_those_of_all_lines_whose_values_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lines = tmp_path / "a.jsonl", 30
    rows = [{"question": f"Q{number}?", "answer": "A."} for number in range(lines)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"question": "Q?", "answer": "A.", "x": NaN}\n')
    read: list[str] = []

    def counted(text: str, **options: Any) -> Any:
        read.append(text)
        return json.loads(text)

    monkeypatch.setattr("ragstone.datasets.tabular.jsonfiles.strict_json", counted)
    raw = Rows(json_rows(path, lines=True))
    assert (raw.columns, len(raw)) == (("question", "answer", "x"), lines + 1)
    assert [row.cells["question"] for row in raw.take()] == [*(row["question"] for row in rows), "Q?"]
    assert len(read) == lines + 3  # the first line shows what the file is, and NaN is no JSON


def test_a_run_that_is_one_object_is_read_line_by_line_of_its_queries(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": name, "text": f"Text {name}."}) + "\n" for name in ("d1", "d2", "d3"))
    )
    (tmp_path / "corpus" / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": name, "text": f"Question {name}?"}) + "\n" for name in ("q1", "q2"))
    )
    run = {"q1": {"d1": 0.5, "d2": 2}, "q2": {"d3": 1.5}}
    (tmp_path / "run.json").write_text(json.dumps(run))
    data = read_eval_data(tmp_path / "run.json", corpus=tmp_path / "corpus")
    found = {
        item.sample.question: [(one.id, one.text, one.score) for one in item.response.passages]
        for item in data.items
        if item.response is not None
    }
    assert found == {
        "Question q1?": [("d2", "Text d2.", 2.0), ("d1", "Text d1.", 0.5)],
        "Question q2?": [("d3", "Text d3.", 1.5)],
    }


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"question": "Q?", "answer": "A."}\n{"question": "R?", "answer": "B."}\n'),
        ("a.json", '[{"question": "Q?", "answer": "A."},\n {"question": "R?", "answer": "B."}]\n'),
        ("a.csv", "question,answer\nQ?,A.\nR?,B.\n"),
        ("a.tsv", "question\tanswer\nQ?\tA.\nR?\tB.\n"),
        ("a.txt", "question,answer\nQ?,A.\nR?,B.\n"),
        ("no_ending", '{"question": "Q?", "answer": "A."}\n{"question": "R?", "answer": "B."}\n'),
    ],
)
@pytest.mark.parametrize("blank", ["\n", "\r\n\n", "  \n\t\n", "\ufeff\n"])
def test_blank_first_lines_are_no_rows_and_hide_no_form(tmp_path: Path, name: str, content: str, blank: str) -> None:
    (tmp_path / name).write_text(blank + content, encoding="utf-8", newline="")
    data = read_eval_data(tmp_path / name)
    assert [(item.sample.question, item.response and item.response.answer) for item in data.items] == [
        ("Q?", "A."), ("R?", "B."),
    ]  # fmt: skip


def test_json_lines_are_read_again_rather_than_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path := tmp_path / "a.jsonl").write_text('{"question": "Who?"}\n\n{"question": "Why?", "answer": "So."}\n')
    monkeypatch.setattr(Spool, "append", None)  # which keeps a row
    rows = Rows(json_rows(path, lines=True))
    assert rows.columns == ("question", "answer")
    assert len(rows) == 2
    for _ in range(2):
        assert [row.where for row in rows] == ["line 1", "line 3"]
    assert [row.cells.get("answer") for row in rows.take()] == [None, "So."]
    assert list(rows) == []


def test_a_file_that_is_deleted_between_its_two_readings_is_one_line(tmp_path: Path) -> None:
    (path := tmp_path / "a.jsonl").write_text('{"question": "Who?"}\n{"question": "Why?"}\n')
    rows = Rows(json_rows(path, lines=True))
    assert len(rows) == 2
    path.unlink()
    with pytest.raises(DataError, match=r"a\.jsonl.*cannot be read"):
        list(rows)


@pytest.mark.parametrize(("question", "found"), [("5", "a number"), ("true", "true or false")])
def test_a_question_that_is_no_text_is_refused_with_row_and_field(tmp_path: Path, question: str, found: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(f'{{"question": "Who?", "answer": "x"}}\n{{"question": {question}, "answer": "x"}}\n')
    with pytest.raises(DataError, match=rf"line 2, field 'question': found {found}; expected the question"):
        read_eval_data(path)


@pytest.mark.parametrize(
    "rows",
    [
        '{"question": {"a": 1}, "answer": "x", "reference": "x"}',
        '{"question": {"a": "q"}, "answer": {"a": "x"}, "reference": {"a": "x"}}',  # columns, were it not JSON lines
        '{"question": "q", "answer": "x"}\n{"question": {"text": "q"}, "answer": "x"}',
    ],
)
def test_a_question_of_json_lines_that_is_an_object_is_refused_in_one_line(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(f"{rows}\n")
    with pytest.raises(
        DataError, match=r"d\.jsonl, (row|line) \d, field 'question': found an object; expected the question"
    ):
        read_eval_data(path)
