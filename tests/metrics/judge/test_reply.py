"""A reply is one JSON object of the form that was asked for, or what is wrong with it is named."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.metrics.judge.reply import ids_problem, read_reply
from ragstone.metrics.judge.schemas import OUTPUTS, one_line

FORM = OUTPUTS["verify_reference"]
GOOD = {"answer_claims": [{"id": 1, "in_reference": True}], "reference_claims": []}
TEXT = json.dumps(GOOD)
OTHER = TEXT.replace("true", "false")


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f" \n{TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```\n",
        f"```JSON {TEXT}```",
        f"\ufeff{TEXT}",
        json.dumps(GOOD, indent=2),
    ],
)
def test_one_whole_object_is_read_and_a_fence_around_it_is_form(text: str) -> None:
    found, problem, coerced = read_reply(text, FORM, finish_reason="stop")
    assert (found, problem) == (GOOD, "")
    assert coerced == (("fence",) if "```" in text else ())


UNUSABLE = {
    "empty": ("", "empty"),
    "blank": (" \n\t", "empty"),
    "an empty fence": ("```json\n```", "empty"),
    "two objects": (f"{TEXT}\n{OTHER}", "several objects that differ"),
    "two fences": (f"```json\n{TEXT}\n```\n```json\n{OTHER}\n```", "several objects that differ"),
    "prose alone": ("I cannot help with that.", "has no JSON object"),
    "a refusal in Chinese": ("抱歉，我无法评判这段内容。", "has no JSON object"),
    "half an object": (TEXT[:-5], "has no end"),
    "a list of two": (f"[{TEXT}, {TEXT}]", "is not an object"),
    "a text": ('"supported"', "is not an object"),
    "null": ("null", "is not an object"),
    "a key that occurs twice": ('{"answer_claims": [], "answer_claims": [], "reference_claims": []}', "occurs twice"),
    "a key that occurs twice inside": (
        '{"answer_claims": [{"id": 1, "in_reference": false, "in_reference": true}], "reference_claims": []}',
        "'in_reference' occurs twice",
    ),
    "a key that is missing": ('{"answer_claims": []}', "reference_claims is missing"),
    "NaN": ('{"answer_claims": [{"id": NaN, "in_reference": true}], "reference_claims": []}', "NaN is not JSON"),
    "infinity": ('{"answer_claims": -Infinity, "reference_claims": []}', "-Infinity is not JSON"),
    "a verdict of 5": (TEXT.replace("true", "5"), "in_reference is not true or false"),
    "a verdict of 1": (TEXT.replace("true", "1"), "in_reference is not true or false"),
    "a verdict in words": (TEXT.replace("true", '"partly"'), "in_reference is not true or false"),
    "a verdict of null": (TEXT.replace("true", "null"), "in_reference is not true or false"),
    "an id in words": (TEXT.replace("1", '"one"'), "id is not a whole number"),
    "an id with a point": (TEXT.replace("1", "1.0"), "id is not a whole number"),
    "an id beyond all bounds": (TEXT.replace("1", "1e999"), "id is not a whole number"),
    "an id of true": (TEXT.replace('"id": 1', '"id": true'), "id is not a whole number"),
    "a number without end": (TEXT.replace("1", "1" * 5000), "number without end"),
    "an object for a list": ('{"answer_claims": {}, "reference_claims": []}', "answer_claims is not a list"),
    "brackets without end": ("[" * 100_000, "nested too deeply"),
    "a text without an end": ('{"answer_claims": "a\nb}', "has no end"),
    "a quote within a text": ('{"answer_claims": [], "reference_claims": ["he said "no""]}', "not JSON"),
}


@pytest.mark.parametrize(("text", "told"), UNUSABLE.values(), ids=UNUSABLE)
def test_any_other_reply_is_not_read_and_its_problem_is_named_in_one_line(text: str, told: str) -> None:
    found, problem, _ = read_reply(text, FORM)
    assert found == {}
    assert told in problem
    assert len(problem) < 250
    assert problem.isprintable()


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_a_reply_that_was_cut_off_is_not_read_even_where_it_looks_whole(reason: str) -> None:
    assert read_reply(TEXT, FORM, finish_reason=reason) == ({}, "it was cut off before its end", ())


def test_a_reply_of_which_a_filter_withheld_a_part_is_not_read() -> None:
    found, problem, _ = read_reply(TEXT, FORM, finish_reason="content_filter")
    assert found == {}
    assert "content filter" in problem


@given(st.text(max_size=200))
def test_no_text_breaks_the_reading(text: str) -> None:
    found, problem, _ = read_reply(text, FORM)
    assert bool(found) != bool(problem)
    assert problem.isprintable()


KEYS = st.sampled_from(["answer_claims", "reference_claims", "id", "in_reference", "in_answer", "\n\ud800", "x"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_no_json_breaks_the_reading_and_what_is_read_has_the_form(value: Any) -> None:
    found, problem, _ = read_reply(json.dumps(value), FORM)
    if problem:
        assert found == {}
        assert problem.isprintable()
    else:
        assert found == value
        assert all(type(item["id"]) is int and type(item["in_reference"]) is bool for item in found["answer_claims"])


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ([1, 2, 3], ""),
        ([3, 1, 2], ""),
        ([1, 2], "lacks the verdict on 3"),
        ([], "lacks the verdict on 1, 2, 3"),
        ([1, 2, 3, 4], "has the id 4, expected ids 1 to 3"),
        ([0, 1, 2], "has the id 0"),
        ([-1, 2, 3], "has the id -1"),
        ([1, 2, 2, 3], "has the id 2 twice"),
    ],
)
def test_each_id_is_there_exactly_once_or_the_problem_says_which(ids: list[int], told: str) -> None:
    problem = ids_problem([{"id": number} for number in ids], 3, "answer_claims")
    assert told in problem
    assert bool(problem) is bool(told)


def test_a_verdict_on_nothing_is_a_problem() -> None:
    assert "nothing to judge" in ids_problem([{"id": 1}], 0, "reference_claims")
    assert ids_problem([], 0, "reference_claims") == ""


def test_a_problem_is_one_line_whatever_a_judge_calls_its_keys() -> None:
    assert one_line("a\nb\u202ec\ud800\U000e0041") == "a\\nb\\u202ec\\ud800\\U000e0041"
