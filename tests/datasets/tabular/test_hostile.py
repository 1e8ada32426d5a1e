"""Data that somebody made to break a reader, or that are only very large."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.datasets.tabular.samples import answer, texts
from tests.examples import examples

from ragstone.datasets.tabular import EvalData, read_eval_data
from ragstone.errors import DataError, RagstoneError, UsageError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FLAT = pd.DataFrame([{"question": f"Question {n}?", "answer": f"Answer {n}."} for n in range(20)])
NAMES = st.sampled_from(["question", "answer", "contexts", "reference", "id", "context_ids", "language", "x",
                         "reference_contexts", "reference_context_ids"])  # fmt: skip
SETTINGS = settings(
    max_examples=examples(300), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


def attempt(source: Any) -> EvalData | None:
    """The data, or None where they are refused; both as promised. Another error than ours passes."""
    try:
        data = read_eval_data(source)
    except RagstoneError as error:
        name = source.name if isinstance(source, Path) else "data"
        for line in error.lines:
            assert name in line
            assert len(line.splitlines()) == 1
            assert len(line) < 600
        return None
    assert data.items
    assert all(item.sample.question.strip() for item in data.items)
    assert len({item.sample.id for item in data.items}) == len(data.items) == data.total
    assert read_eval_data(source).sha256 == data.sha256
    return data


@SETTINGS
@given(st.lists(st.dictionaries(NAMES, JSON, max_size=8), max_size=3))
def test_rows_are_refused_exactly_where_one_of_them_alone_is(rows: list[dict[str, Any]]) -> None:
    names = sorted({name for row in rows for name in row})
    rows = [{name: row.get(name) for name in names} for row in rows]
    alone = [attempt([row]) for row in rows]
    data = attempt(rows)
    assert (data is None) == (not rows or None in alone)
    if data is not None:
        questions = [one.items[0].sample.question for one in alone if one is not None]
        assert [item.sample.question for item in data.items] == questions


@SETTINGS
@given(
    content=st.binary(max_size=200),
    name=st.sampled_from(["a.csv", "a.json", "a.jsonl", "a.txt", "a.xlsx", "a.parquet"]),
)
def test_whatever_bytes_a_file_has_it_is_read_or_refused_in_words(tmp_path: Path, content: bytes, name: str) -> None:
    (tmp_path / name).write_bytes(content)
    data = attempt(tmp_path / name)
    assert data is None or not name.endswith(("xlsx", "parquet"))


@SETTINGS
@given(
    content=st.text(st.sampled_from('question,answer;"\t|\n\r{}[]:1 图馆'), max_size=60),
    name=st.sampled_from(["a.csv", "a.json", "a.jsonl", "a.txt", "a.tsv"]),
)
def test_whatever_text_a_file_has_it_is_read_or_refused_in_words(tmp_path: Path, content: str, name: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    data = attempt(tmp_path / name)
    assert (data is None) or "question" in content


def test_lone_surrogates_and_nul_survive(tmp_path: Path) -> None:
    row = {"question": "Who \ud800?", "answer": "\0 \udfff", "contexts": ["\ud801"], "topic": "\udc00", "id": "\ud805"}
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    data = read_eval_data(tmp_path / "a.jsonl")
    assert (data.items[0].sample.question, answer(data).answer, texts(data)) == ("Who \ud800?", "\0 \udfff", ["\ud801"])
    assert (data.items[0].sample.id, data.items[0].extra) == ("\ud805", {"topic": "\udc00"})
    assert len(data.sha256) == 64


@pytest.mark.parametrize(
    "content",
    ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"question":' * 50_000, "[{" + '"a":[' * 50_000],
    ids=["open", "closed", "objects", "mixed"],
)
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.csv"])
def test_nesting_without_end_is_refused(tmp_path: Path, content: str, name: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError):
        read_eval_data(tmp_path / name)


@pytest.mark.parametrize(("name", "checked"), [("a.xlsx", True), ("a.parquet", False), ("a.arrow", False)])
def test_damaged_binary_files_give_no_rows_that_were_not_there(tmp_path: Path, name: str, checked: bool) -> None:
    """`checked`: the format has checksums of all that it holds, so that hardly a damage goes unseen."""
    write = {"a.xlsx": FLAT.to_excel, "a.parquet": FLAT.to_parquet, "a.arrow": pl.from_pandas(FLAT).write_ipc}[name]
    write(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    read = 0
    for seed in range(120):
        draw = random.Random(seed)
        damaged = bytearray(whole)
        for _ in range(draw.randint(1, 6)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        (tmp_path / name).write_bytes(damaged[: draw.choice([None, draw.randrange(len(damaged))])])
        data = attempt(tmp_path / name)
        if data is not None:
            assert len(data.items) <= len(FLAT)
            read += 1
    assert read < 12 if checked else 0 < read < 90


def test_nesting_without_end_in_a_cell_is_a_text() -> None:
    deep = "[" * 50_000 + "]" * 50_000
    assert texts(read_eval_data([{"question": "Q?", "answer": "A.", "contexts": deep}])) == [deep]


def test_code_in_a_cell_is_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for cell in (
        f"[open({str(mark)!r}, 'w')]",
        f"__import__('pathlib').Path({str(mark)!r}).touch()",
        f"[*open({str(mark)!r}, 'w')]",
    ):
        data = read_eval_data([{"question": "Q?", "answer": "A.", "contexts": cell, "reference": cell}])
        assert texts(data) == [cell]
    assert not mark.exists()


@pytest.mark.parametrize(
    "cell",
    [
        "[" + "'a' " * 200_000 + "]",
        "['" + "a\\'" * 200_000 + "']",
        "['a'" + " " * 400_000 + "x]",
        "array([" + "(" * 200_000 + "])",
        "[" + '"a", ' * 200_000 + "'b']",
        "{'a': " * 100_000 + "}",
    ],
    ids=["array", "escapes", "spaces", "parentheses", "quotes", "objects"],
)
def test_large_cells_are_read_in_the_time_that_their_size_takes(cell: str) -> None:
    data = read_eval_data([{"question": "Q?", "answer": "A.", "contexts": cell}])
    assert data.items[0].response is not None


def test_a_hundred_thousand_rows_are_all_there(tmp_path: Path) -> None:
    count = 100_000
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "answer", "contexts", "reference"])
        writer.writerows([f"Q{n}?", f"A{n}.", f"['Text {n}.', 'Other.']", "R"] for n in range(count))
    data = read_eval_data(path, sample=1000)
    assert (data.total, len(data.items)) == (count, 1000)
    assert all(item.sample.question == f"Q{item.row - 1}?" for item in data.items)
    assert all(texts(data, place)[0] == f"Text {data.items[place].row - 1}." for place in range(1000))


def test_a_hundred_thousand_broken_rows_are_a_short_message() -> None:
    with pytest.raises(UsageError) as caught:
        read_eval_data([{"question": "Q?", "contexts": {f"x{n}": n}} for n in range(20_000)])
    assert len(str(caught.value)) < 1000


def test_columns_of_equal_names_after_folding_are_both_kept() -> None:
    data = read_eval_data([{"question": "Q?", "Question": "R?", "answer": "A."}])
    assert data.items[0].sample.question == "Q?"
    assert data.items[0].extra == {"Question": "R?"}
