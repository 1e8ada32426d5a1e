"""The rows of the user's data as cases: deterministic, streamed, and nothing of the references in a question."""

from itertools import islice

import pytest
from msgspec.structs import replace

from ragstone.benchmarks import BENCHMARKS
from ragstone.benchmarks.recorded.benchmark import RecordedAnswers, RecordedRow
from ragstone.benchmarks.row_names import row_number
from ragstone.errors import UsageError
from ragstone.structs import from_json, to_json
from ragstone.types import Case, Passage, Resources, Response, Sample, Turn


def rows(count: int = 3) -> list[RecordedRow]:
    return [
        RecordedRow(
            row, Sample(f"q{row}", f"Question {row}?", (("secret",),), (Passage("p", "text", relevant=True),)),
            Response(f"answer {row}"), (Turn("user", "Before."),), {"topic": "a"},
        )
        for row in range(1, count + 1)
    ]  # fmt: skip


def test_it_is_found_by_name() -> None:
    assert isinstance(BENCHMARKS.get("eval").from_meta({}), RecordedAnswers)


def test_the_same_rows_give_the_same_cases_which_survive_json() -> None:
    first, again = list(RecordedAnswers(rows()).cases()), list(RecordedAnswers(rows()).cases())
    assert first == again
    assert [from_json(to_json(case), Case) for case in first] == first


def test_cases_are_streamed() -> None:
    data = RecordedAnswers(rows(), repeat=10**9)
    assert [case.id for case in islice(data.cases(), 3)] == ["000001", "000001/r1", "000001/r2"]
    assert data.size == 3 * 10**9


def test_ids_sort_in_the_order_of_the_data() -> None:
    ids = [case.id for case in RecordedAnswers(rows(120)).cases()]
    assert ids == sorted(ids)


def test_ids_of_more_than_a_million_rows_sort_in_the_order_of_the_data() -> None:
    numbers = [1, 999_999, 1_000_000, 1_000_001, 9_999_999, 10_000_000, 123_456_789]
    some = [replace(row, row=number) for row, number in zip(rows(len(numbers)), numbers, strict=True)]
    ids = [case.id for case in RecordedAnswers(some, repeat=2).cases()]
    assert ids == sorted(ids)
    assert ids[::2] == ["000001", "999999", "a1000000", "a1000001", "a9999999", "b10000000", "c123456789"]
    assert [row_number(case.partition("/")[0]) for case in ids[1::2]] == numbers


def test_a_question_says_nothing_of_the_references() -> None:
    for case in RecordedAnswers(rows()).cases():
        assert "secret" not in to_json(case.query)
        assert case.query.passages is None
        assert case.query.history == (Turn("user", "Before."),)


def test_a_repeat_is_a_condition_and_leaves_the_first_cases_as_they_were() -> None:
    once, twice = list(RecordedAnswers(rows()).cases()), list(RecordedAnswers(rows(), repeat=2).cases())
    assert [case for case in twice if not case.condition] == once
    assert [case.condition for case in twice if case.condition] == [{"judge_repeat": 1}] * 3
    assert {case.query.repeat for case in twice} == {1, 2, 3}


def test_the_question_is_the_data_and_not_how_they_are_tabulated() -> None:
    question = RecordedAnswers(rows(), sha256="x").question
    assert RecordedAnswers(rows(), sha256="x", repeat=3, group_by=("topic",)).question == question
    assert RecordedAnswers(rows(), sha256="y").question != question
    assert RecordedAnswers(rows(), sha256="x", language="zh").question != question


def test_the_columns_of_a_row_are_kept_with_it() -> None:
    assert [case.sample.meta["columns"] for case in RecordedAnswers(rows(1)).cases()] == [{"topic": "a"}]


def test_it_can_be_made_again_from_what_a_run_says() -> None:
    made = RecordedAnswers(rows(), data_name="mine", repeat=2, group_by=("topic",), mapping={"question": "q"})
    again = RecordedAnswers.from_meta({"options": dict(made.options)})
    assert again.options == {**made.options, "rows": 0}
    assert list(again.cases()) == []
    assert list(RecordedAnswers.from_meta({}).cases()) == []


async def test_preparing_gives_the_hash_of_the_data() -> None:
    assert await RecordedAnswers(rows(), sha256="x").prepare(Resources()) == "x"


def test_a_judge_is_asked_at_least_once() -> None:
    with pytest.raises(UsageError, match="expected 1 or more"):
        RecordedAnswers(rows(), repeat=0)
