"""References from a file of their own, and values inside columns."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragstone.datasets.tabular import read_eval_data
from ragstone.errors import DataError, UsageError

ANSWERS: list[dict[str, Any]] = [
    {"id": "a", "question": "When does the ferry leave?", "answer": "At 8.",
     "contexts": [{"id": "ferry.md", "text": "The ferry leaves at 8."}]},
    {"id": "b", "question": "图书馆周一开放吗？", "answer": "不开放。", "contexts": []},
    {"id": "c", "question": "Why?", "answer": "Because."},
]  # fmt: skip


def gold(folder: Path, text: str, name: str = "gold.csv") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_references_labels_and_columns_are_joined_by_the_question(tmp_path: Path) -> None:
    path = gold(
        tmp_path,
        "question,reference,reference_contexts,answerable,topic\n"
        "WHEN does the  ferry leave ？,At eight.,The  ferry leaves at 8.,yes,town\n"
        "图书馆 周一开放吗,不开放。,,no,城市\n",
    )
    data = read_eval_data(ANSWERS, references=path)
    first, second, third = data.items
    assert first.sample.references == (("At eight.",),)
    assert [(passage.id, passage.relevant) for passage in first.sample.passages] == [("ferry.md", True)]
    assert (first.sample.meta, first.extra["topic"]) == ({"answerable": True}, "town")
    assert (second.sample.references, second.sample.meta) == ((("不开放。",),), {"answerable": False})
    assert third.sample.references == ()
    assert "1 of 3 rows have no reference in gold.csv (row 3)." in data.warnings


def test_references_are_joined_by_id_where_the_questions_do_not_match(tmp_path: Path) -> None:
    path = gold(tmp_path, "id,reference\nc,Because of it.\nz,Nothing.\n")
    data = read_eval_data(ANSWERS, references=path)
    assert [item.sample.references for item in data.items] == [(), (), (("Because of it.",),)]
    assert "gold.csv: 1 of 2 rows match no row of the data (line 3)." in data.warnings
    other = gold(tmp_path, "id,question,reference\nc,How?,Because of it.\n", "other.csv")
    data = read_eval_data(ANSWERS, references=other)
    assert data.items[2].sample.references == (("Because of it.",),)
    note = "1 of 3 rows are joined to other.csv by their id, although the questions differ (row 3)."
    assert note in data.warnings


def test_an_equal_question_comes_before_an_equal_id(tmp_path: Path) -> None:
    path = gold(tmp_path, "id,question,reference\nc,When does the ferry leave?,At eight.\na,Why?,Because of it.\n")
    items = read_eval_data(ANSWERS, references=path).items
    assert [item.sample.references for item in items] == [(("At eight.",),), (), (("Because of it.",),)]


def test_the_mapping_may_name_a_column_of_the_references(tmp_path: Path) -> None:
    path = gold(tmp_path, "question,expected_by_me\nWhy?,So.\n")
    data = read_eval_data(ANSWERS, references=path, mapping={"reference": "expected_by_me"})
    assert data.items[2].sample.references == (("So.",),)


def test_of_equal_questions_the_one_with_the_same_id_counts(tmp_path: Path) -> None:
    path = gold(tmp_path, "id,question,reference\nx,Why?,So.\nc,Why?,Because of it.\n")
    data = read_eval_data(ANSWERS, references=path)
    assert data.items[2].sample.references == (("Because of it.",),)
    assert not any("repeat a question" in note for note in data.warnings)


@pytest.mark.parametrize("column", ["question_id", "metadata.question_id", "qid", "case-id", "题号"])
def test_an_id_of_the_users_own_in_another_column_joins_rows_whose_own_id_is_another(
    column: str, tmp_path: Path
) -> None:  # fmt: skip
    rows = [{"id": f"trace-{n}", column: f"u{n}", "question": "Why?", "answer": "So."} for n in (1, 2)]
    path = gold(tmp_path, "id,question,reference\nu2,Why?,Second.\nu1,Why?,First.\n")
    items = read_eval_data(rows, mapping={"id": "id"}, references=path).items
    assert [item.sample.references for item in items] == [(("First.",),), (("Second.",),)]


def test_the_id_of_a_user_is_not_that_of_a_question(tmp_path: Path) -> None:
    rows = [{"id": "t1", "user.id": "u2", "question": "Why?", "answer": "So."}]
    path = gold(tmp_path, "id,question,reference\nu1,Why?,First.\nu2,How?,Second.\n")
    (item,) = read_eval_data(rows, references=path).items
    assert item.sample.references == (("First.",),)


def test_a_question_with_two_references_keeps_the_first_and_says_so(tmp_path: Path) -> None:
    path = gold(tmp_path, "question,reference\nWhy?,So.\nwhy,Otherwise.\n")
    data = read_eval_data(ANSWERS, references=path)
    assert data.items[2].sample.references == (("So.",),)
    assert any("1 rows repeat a question with other references (line 3)" in note for note in data.warnings)


def test_references_that_match_nothing_are_an_error(tmp_path: Path) -> None:
    path = gold(tmp_path, "question,reference\nElse?,So.\n")
    with pytest.raises(DataError, match="no row has the id or the question"):
        read_eval_data(ANSWERS, references=path)


def test_the_labels_of_references_change_the_hash_of_the_data(tmp_path: Path) -> None:
    path = gold(tmp_path, "question,reference\nWhy?,So.\n")
    assert read_eval_data(ANSWERS, references=path).sha256 != read_eval_data(ANSWERS).sha256


NESTED = [{"inputs": {"question": "Why?", "turns": [1, 2]}, "outputs": {"answers": [{"text": "So."}]}, "n": 1}]


@pytest.mark.parametrize("form", ["memory", "jsonl", "json", "csv"])
def test_a_path_maps_a_value_inside_a_column(tmp_path: Path, form: str) -> None:
    source: Any = NESTED
    if form == "csv":
        cell = {key: json.dumps(value).replace('"', '""') for key, value in NESTED[0].items()}
        source = gold(tmp_path, f'inputs,outputs,n\n"{cell["inputs"]}","{cell["outputs"]}",1\n', "data.csv")
    elif form != "memory":
        text = json.dumps(NESTED[0]) if form == "jsonl" else json.dumps(NESTED)
        source = gold(tmp_path, text, f"data.{form}")
    data = read_eval_data(source, mapping={"question": "inputs.question", "answer": "outputs.answers[0].text"})
    (item,) = data.items
    assert item.response is not None
    assert (item.sample.question, item.response.answer) == ("Why?", "So.")
    assert item.extra == {"n": "1" if form == "csv" else 1}
    assert data.mapping["question"] == "inputs.question"


def test_paths_that_lead_nowhere_or_are_none_are_named() -> None:
    with pytest.raises(DataError, match=r"no value at 'inputs\.text'"):
        read_eval_data(NESTED, mapping={"question": "inputs.text"})
    with pytest.raises(DataError, match=r"'inputz\.question'.*The columns are: 'inputs'"):
        read_eval_data(NESTED, mapping={"question": "inputz.question"})
    with pytest.raises(UsageError, match="neither a column nor a JMESPath"):
        read_eval_data(NESTED, mapping={"question": "inputs.[[["})


def test_a_column_with_a_dot_in_its_name_is_a_column() -> None:
    data = read_eval_data([{"my.question": "Why?", "answer": "So."}], mapping={"question": "my.question"})
    assert data.items[0].sample.question == "Why?"
