"""Whatever texts hold, what is read is what was written."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.datasets.tabular.samples import answer, texts
from tests.examples import examples

from ragstone.datasets.tabular import EvalData, read_eval_data
from ragstone.structs import from_json, to_json

SETTINGS = settings(
    max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
ANY = st.text(st.characters(), max_size=40)  # lone surrogates and NUL among them
WRITABLE = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def filled(text: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return text.filter(lambda one: bool(one.strip()))


def tables(text: st.SearchStrategy[str]) -> Any:
    row = st.fixed_dictionaries(
        {
            "question": filled(text).filter(lambda one: not one.lstrip().startswith("[{")),
            "answer": filled(text) | st.none(),
            "contexts": st.lists(text, max_size=3),
            "reference": st.lists(filled(text), max_size=2, unique=True),
            "topic": filled(text),
        }
    )
    return st.lists(row, min_size=1, max_size=4)


def assert_same(data: EvalData, rows: list[dict[str, Any]]) -> None:
    assert [item.sample.question for item in data.items] == [row["question"] for row in rows]
    for place, row in enumerate(rows):
        item = data.items[place]
        if row["answer"] is not None:
            assert answer(data, place).answer == row["answer"]
        if item.response is None:
            assert (row["answer"], row["contexts"]) == (None, [])
        else:
            assert texts(data, place) == row["contexts"]
        assert item.sample.references == ((tuple(row["reference"]),) if row["reference"] else ())
        assert item.extra["topic"] == row["topic"]
        assert from_json(to_json(item), type(item)) == item


@SETTINGS
@given(rows=tables(ANY))
def test_json_lines_lose_nothing(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert_same(read_eval_data(path), rows)
    assert read_eval_data(path).sha256 == read_eval_data(rows).sha256


@SETTINGS
@given(rows=tables(WRITABLE))
def test_json_in_utf_8_loses_nothing(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(json.dumps(rows, ensure_ascii=False, indent=1).encode())
    assert_same(read_eval_data(path), rows)


@SETTINGS
@given(
    rows=tables(WRITABLE),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_csv_loses_nothing(tmp_path: Path, rows: list[dict[str, Any]], delimiter: str, encoding: str) -> None:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    for row in rows:
        lists = {name: json.dumps(row[name], ensure_ascii=False) for name in ("contexts", "reference")}
        writer.writerow(row | lists)
    path = tmp_path / "a.csv"
    path.write_bytes(stream.getvalue().encode(encoding))
    assert_same(read_eval_data(path), rows)


@SETTINGS
@given(rows=tables(WRITABLE))
def test_parquet_loses_nothing(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "a.parquet"
    names = {name: pa.list_(pa.string()) if name in ("contexts", "reference") else pa.string() for name in rows[0]}
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(list(names.items()))), path)
    assert_same(read_eval_data(path), rows)
