"""The words go to JSON and back without loss, and never hold a number that is none."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.structs import from_json, to_json
from ragstone.types import Case, Passage, Query, Record, Response, Sample, Score, Turn, Usage

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)  # lone surrogates and NUL too


def record(text: str) -> Record:
    passage = Passage("negative:7", text, relevant=False, meta={"kind": text})
    sample = Sample("en:1", text, references=((text, "b"), ("c",)), language="en", meta={"fake": [text]})
    query = Query(text, (passage,), history=(Turn("user", text),), language="en", repeat=2)
    case = Case("noise/en/0.2/0001", sample, {"noise_ratio": 0.2, "closed_book": False, "n": 5, "a": text}, query)
    response = Response(text, usage=Usage(3, 4, 0, 1), reasoning=text, finish_reason="stop", model=text)
    return Record("local/x", case, response, None, {"answer_match": Score.of(1, evidence={"slots": [[text]]})})


@given(ANY_TEXT)
def test_a_record_survives_json_whatever_its_texts_hold(text: str) -> None:
    before = record(text)
    written = to_json(before)
    assert written.isascii()
    # Two halves of a pair are one character to JSON; nothing else may change.
    assert from_json(written, Record) == from_json(to_json(from_json(written, Record)), Record)
    if not any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        assert from_json(written, Record) == before


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["text", "null", "\x7f", "字"]), inner),
))  # fmt: skip
def test_what_is_written_means_what_the_standard_library_would_write(value: object) -> None:
    written = to_json(value)
    assert written.isascii()
    assert json.loads(written) == json.loads(json.dumps(value)) == from_json(written, object)


def test_a_lone_surrogate_survives_json() -> None:
    assert from_json(to_json(record("a\ud800b\x00c\u2028")), Record) == record("a\ud800b\x00c\u2028")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(Score(value))


def test_defaults_are_not_written() -> None:
    assert json.loads(to_json(Query("q"))) == {"question": "q"}


def test_closed_book_and_retrieving_for_oneself_stay_apart() -> None:
    assert from_json(to_json(Query("q", ())), Query).passages == ()
    assert from_json(to_json(Query("q")), Query).passages is None


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4, 5) + Usage(10, 20, 30, 40, 50) == Usage(11, 22, 33, 44, 55)


def test_words_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        record("x").case.id = "y"  # type: ignore[misc]


def test_a_score_that_could_not_be_made_has_no_value() -> None:
    assert (Score.failed("why").value, Score.failed("why").status) == (None, "failed")
    assert (Score.not_applicable("why").value, Score.not_applicable("why").status) == (None, "not_applicable")
