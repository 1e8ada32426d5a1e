"""Rows become items: ids, samples, labels, what is lacking, and everything that is wrong at once."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.datasets.tabular.samples import answer, texts

from ragstone.datasets.tabular import BadData, read_eval_data, retrieval_only, retrieval_only_note
from ragstone.datasets.tabular.fields import passage_id
from ragstone.errors import DataError, UsageError
from ragstone.types import NO_ANSWER, Turn


def rows(count: int) -> list[dict[str, Any]]:
    return [{"question": f"Question {n}?", "answer": f"Answer {n}.", "contexts": [f"Text {n}."]} for n in range(count)]


def ids(data: Any) -> list[str]:
    return [item.sample.id for item in data.items]


def test_rows_without_an_id_are_named_after_their_question() -> None:
    one = read_eval_data([{"question": "Q?", "answer": "a"}, {"question": "Q?", "answer": "b"}, {"question": "R?"}])
    other = read_eval_data([{"question": "R?"}, {"question": "Q?", "answer": "of another system"}])
    first, again, last = ids(one)
    assert first.startswith("q-")
    assert len(first) == 12
    assert again == f"{first}-2"
    assert ids(other) == [last, first]


def test_given_ids_are_kept_and_made_unique() -> None:
    given = [7, 7, "7-2", 7.0, None, "7"]
    data = read_eval_data([{"question": f"Q{n}?", "answer": "A.", "id": one} for n, one in enumerate(given)])
    assert ids(data)[:4] == ["7", "7-3", "7-2", "7-4"]
    assert ids(data)[5] == "7-5"
    assert ids(data)[4].startswith("q-")
    assert len(set(ids(data))) == 6
    assert data.warnings == ("rows 2, 4, 6: the id of an earlier row; -2, -3… is added.",)


def test_passages_are_named_after_their_texts_unless_they_have_ids() -> None:
    data = read_eval_data(
        [
            {
                "question": "Q?",
                "answer": "A.",
                "contexts": ["a", {"id": "x", "text": "b"}, "a"],
                "reference_contexts": ["b", "c"],
            }
        ]
    )
    assert [passage.id for passage in answer(data).passages] == [passage_id("a"), "x", passage_id("a")]
    gold = data.items[0].sample.passages
    assert [(passage.id, passage.relevant) for passage in gold] == [("x", True), (passage_id("c"), True)]


def test_ids_in_a_column_of_their_own_go_with_the_texts() -> None:
    row = {
        "user_input": "Q?", "response": "A.", "retrieved_contexts": ["a", "b"], "retrieved_context_ids": [1, 2],
        "reference_contexts": ["b"], "reference_context_ids": ["2"],
    }  # fmt: skip
    data = read_eval_data([row])
    assert [(passage.id, passage.text) for passage in answer(data).passages] == [("1", "a"), ("2", "b")]
    assert [(passage.id, passage.text) for passage in data.items[0].sample.passages] == [("2", "b")]
    assert data.warnings == ()
    with pytest.raises(BadData, match="field 'retrieved_context_ids': has 1 ids for 2 passages"):
        read_eval_data([row | {"retrieved_context_ids": [1]}])


def test_labelled_passages_that_nothing_retrieved_equals_are_told() -> None:
    row = {"question": "Q?", "answer": "A.", "contexts": ["a"], "reference_contexts": ["b"]}
    assert any("no labelled passage is among those retrieved" in one for one in read_eval_data([row]).warnings)
    assert read_eval_data([row, row | {"contexts": [" b "]}]).warnings == ()


def test_what_is_lacking_is_kept_as_lacking() -> None:
    data = read_eval_data(
        [
            {"question": "Q1?", "answer": None, "contexts": None, "reference": None},
            {"question": "Q2?", "answer": None, "contexts": ["a"]},
            {"question": "Q3?", "answer": ""},
        ]
    )
    assert data.items[0].response is None
    assert (answer(data, 1).finish_reason, answer(data, 1).answer) == (NO_ANSWER, "")
    assert (answer(data, 2).finish_reason, answer(data, 2).answer) == ("", "")
    assert retrieval_only_note([item.where for item in data.items if retrieval_only(item)]) == [
        "row 2: contexts but no answer; only the retrieval is scored."
    ]


def test_other_columns_are_there_to_group_by() -> None:
    row = {"question": "Q?", "answer": "A.", "lang": "EN", "topic": "t", "n": 3, "ok": True, "x": [1], "none": None}
    data = read_eval_data([row])
    assert data.items[0].extra == {"lang": "EN", "topic": "t", "n": 3, "ok": True}
    assert data.items[0].sample.language == "en"


def test_a_language_that_is_not_known_is_told_and_detected() -> None:
    data = read_eval_data(
        [{"question": "Où est-ce?", "answer": "Ici.", "language": "fr"}, {"question": "3 + 4 = ?", "answer": "是七"}]
    )
    assert [item.sample.language for item in data.items] == ["en", "zh"]
    assert data.warnings[0].startswith("row 1: a language other than en and zh")


def test_a_conversation_is_a_question_with_a_history() -> None:
    said = [
        {"content": "Hello", "type": "human"}, {"content": "Hi.", "type": "ai"}, {"content": "", "type": "tool"},
        {"content": "When?", "type": "human"}, {"content": "At 8.", "type": "ai"},
    ]  # fmt: skip
    data = read_eval_data([{"user_input": said, "reference": "At 8."}])
    assert (data.items[0].sample.question, answer(data).answer) == ("When?", "At 8.")
    assert data.items[0].history == (Turn("user", "Hello"), Turn("assistant", "Hi."))
    assert data.warnings == ("row 1: messages of tools are left out of the conversation.",)
    assert answer(read_eval_data([{"user_input": said, "response": "At 8."}])).answer == "At 8."
    with pytest.raises(BadData, match="the row has another answer too"):
        read_eval_data([{"user_input": said, "response": "At 9."}])


def test_a_sample_does_not_depend_on_the_order_of_rows_and_grows() -> None:
    all_rows = rows(200)
    chosen = set(ids(read_eval_data(all_rows, sample=50)))
    shuffled = random.Random(1).sample(all_rows, len(all_rows))
    assert set(ids(read_eval_data(shuffled, sample=50))) == chosen
    assert len(chosen) == 50
    assert chosen < set(ids(read_eval_data(all_rows, sample=80)))
    other = set(ids(read_eval_data(all_rows, sample=50, seed=1)))
    assert other != chosen
    answers = [{**row, "answer": "of another system", "contexts": None} for row in all_rows]
    assert set(ids(read_eval_data(answers, sample=50))) == chosen


def test_a_sample_keeps_the_order_of_rows_and_their_numbers() -> None:
    data = read_eval_data(rows(30), sample=10, limit=5)
    numbers = [item.row for item in data.items]
    assert numbers == sorted(numbers)
    assert [item.where for item in data.items] == [f"row {number}" for number in numbers]
    assert (len(numbers), data.total) == (5, 30)
    assert len(read_eval_data(rows(3), sample=10).items) == 3


def test_the_hash_is_of_all_rows_whatever_is_chosen() -> None:
    whole = read_eval_data(rows(20))
    assert read_eval_data(rows(20), limit=3).sha256 == read_eval_data(rows(20), sample=4).sha256 == whole.sha256
    changed = rows(20)
    changed[19]["answer"] = "Another."
    assert read_eval_data(changed, limit=3).sha256 != whole.sha256
    backwards = [dict(reversed(row.items())) for row in rows(20)]
    assert read_eval_data(backwards).sha256 == whole.sha256


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    lines = [
        {"question": "", "answer": "A."},
        {"question": None, "answer": "A."},
        {"answer": "A."},
        {"question": "Q?", "answer": ["A."], "contexts": 3},
        {"question": "Q?", "answer": "A.", "contexts": 4},
        {"question": "Q?", "answer": "A.", "reference": {"foo": 1}},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n{broken\n[1]\n")
    with pytest.raises(BadData) as caught:
        read_eval_data(path)
    told = str(caught.value).splitlines()
    assert told == [
        f"{path}, lines 1, 2, field 'question': is empty; expected the question.",
        f"{path}, line 3, field 'question': is missing; expected the question.",
        f"{path}, line 4, field 'answer': found a list; expected the answer, a text.",
        f"{path}, lines 4, 5, field 'contexts': found a number; expected a list of texts, or of objects with a text.",
        f"{path}, line 6, field 'reference': found an object; expected a text, a list of aliases, or a list of slots.",
        f"{path}: and 2 other problems.",
    ]
    assert len(caught.value.problems) == 5
    assert caught.value.path == str(path)


def test_many_rows_with_one_problem_are_one_line() -> None:
    with pytest.raises(BadData) as caught:
        read_eval_data([{"question": "Q?"}, *({"question": " "} for _ in range(100))])
    assert str(caught.value) == (
        "data, rows 2, 3, 4, 5, 6 and 95 more, field 'question': is empty; expected the question."
    )
    assert caught.value.problems[0].rows == 100


def test_no_line_that_can_be_read_is_told_as_that(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{broken\n{}\n")
    with pytest.raises(BadData, match="line 1: not JSON"):
        read_eval_data(tmp_path / "a.jsonl")


def test_rgbs_questions_are_sent_to_their_benchmark() -> None:
    row = {"id": 1, "query": "Q?", "answer": "A", "positive": ["a"], "negative": []}
    with pytest.raises(DataError, match="ragstone bench rgb --data"):
        read_eval_data([row])


def test_a_text_of_contexts_is_one_passage_unless_it_is_parted() -> None:
    table = [{"question": "Q?", "answer": "A.", "contexts": "a\n\nb"}]
    whole = read_eval_data(table)
    assert texts(whole) == ["a\n\nb"]
    assert whole.warnings == (
        "1 of 1 rows with contexts have one text in 'contexts', taken as one passage; --sep TEXT splits them.",
    )
    for sep in ("\n\n", "\\n\\n"):
        parted = read_eval_data(table, sep=sep)
        assert texts(parted) == ["a", "b"]
        assert parted.warnings == ()
    with pytest.raises(UsageError, match="--sep is empty"):
        read_eval_data(table, sep="")


def test_a_list_that_cannot_be_read_is_told() -> None:
    data = read_eval_data([{"question": "Q?", "answer": "A.", "contexts": "['it's', 'b']"}])
    assert texts(data) == ["['it's', 'b']"]
    assert any("look like a list but cannot be read as one" in warning for warning in data.warnings)


def test_a_mapping_says_which_column_is_which() -> None:
    data = read_eval_data(
        [{"q": "Q?", "out": "A.", "gold_answer": "G.", "topic": "t"}],
        mapping={"question": "q", "answer": "out", "reference": "gold_answer"},
    )
    assert data.schema == "columns"
    assert data.mapping == {"question": "q", "answer": "out", "reference": "gold_answer"}
    assert data.items[0].sample.references == (("G.",),)
    assert data.items[0].extra == {"topic": "t"}


@pytest.mark.parametrize("nothing", [[], "[]", " [] ", [None], ()])
def test_rows_that_retrieved_nothing_are_told_and_rows_that_recorded_nothing_are_not(nothing: Any) -> None:
    row = {"question": "How tall is it?", "answer": "7 m", "contexts": ["It is 7 m."], "reference": "7 m"}
    data = read_eval_data([row, {**row, "contexts": nothing}])
    (told,) = data.warnings
    assert told.startswith("row 2: the list of contexts is empty: nothing was retrieved, so metrics of retrieval are 0")
    assert [item.response and item.response.empty_retrieval for item in data.items] == [False, True]
    for unrecorded in (None, "", float("nan"), "null"):
        data = read_eval_data([row, {**row, "contexts": unrecorded}])
        assert data.warnings == ()
        assert not any(item.response and item.response.empty_retrieval for item in data.items)
    assert read_eval_data([{name: row[name] for name in ("question", "answer", "reference")}]).warnings == ()


def test_an_empty_retrieval_without_any_answers_is_a_response_too() -> None:
    rows = [{"question": "Q?", "contexts": contexts, "reference": "R."} for contexts in (["A."], [])]
    assert [item.response is None for item in read_eval_data(rows).items] == [False, False]
    answered = read_eval_data([{**row, "answer": answer} for row, answer in zip(rows, ("A.", None), strict=True)])
    assert [item.response is None for item in answered.items] == [False, True]


@pytest.mark.parametrize("column", ["answerable", "is_answerable", "是否可回答"])
def test_a_column_says_whether_a_question_can_be_answered(column: str) -> None:
    said = [
        (True, True),
        ("false", False),
        (0, False),
        ("是", True),
        ("否", False),
        (1.0, True),
        (None, None),
        (float("nan"), None),
        ("", None),
        ("None", None),
        ("NaN", None),
        (" null ", None),
    ]
    data = read_eval_data([{"question": "Q?", "answer": "A.", column: cell} for cell, _ in said])
    assert [item.sample.meta.get("answerable") for item in data.items] == [meant for _, meant in said]
    assert data.items[1].extra == {column: "false"}  # to group by
    with pytest.raises(DataError, match="'perhaps'; expected true or false"):
        read_eval_data([{"question": "Q?", "answer": "A.", column: "perhaps"}])
