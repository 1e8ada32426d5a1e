"""JSON lines are read strictly, and to the character."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragstone.datasets.jsonlines import json_lines, strict_json
from ragstone.errors import DataError

texts = st.text(st.characters(exclude_categories=()))  # lone surrogates, NUL, U+2028 and all


@settings(deadline=None)
@given(st.lists(st.dictionaries(texts, texts | st.lists(texts), max_size=3), max_size=5))
def test_what_json_writes_comes_back_to_the_character(rows: list[dict[str, object]]) -> None:
    for line, row in zip(map(json.dumps, rows), rows, strict=True):
        assert strict_json(line) == row


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    rows = [{"text": "one\u2028two\u2029three\x85four\x0bfive"}, {"text": "\ud800 alone"}]
    path.write_bytes(json.dumps(rows[0], ensure_ascii=False).encode() + b"\r\n\n  \n" + json.dumps(rows[1]).encode())
    assert [(line.number, line.row) for line in json_lines(path)] == [(1, rows[0]), (4, rows[1])]


def test_a_byte_order_mark_is_skipped_at_the_start_only(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": "\xef\xbb\xbf"}\n')
    assert [line.row for line in json_lines(path)] == [{"a": "\ufeff"}]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ('{"a": 1, "b": {"c": 1, "c": 1}}', "'c' occurs twice"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
        ('{"a": "\n"}', "not JSON"),
        ('{"a": 1', "not JSON"),
        ("1" * 5000, "digits"),
    ],
)
def test_what_is_no_json_is_told_in_one_line(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        strict_json(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[1]\n", "found a list; expected one JSON object a line"),
        (b'{"a": "\xff"}', "byte 8 of the line is not UTF-8"),
        (b"null", "found null"),
    ],
)
def test_a_bad_line_is_told_with_its_number_and_the_rest_is_still_read(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"a": 1}\n' + content.rstrip(b"\n") + b'\n{"a": 2}\n')
    first, second, third = json_lines(path)
    assert (first.row, third.row) == ({"a": 1}, {"a": 2})
    assert second.row is None
    assert second.number == 2
    assert says in second.problem


def test_a_file_that_cannot_be_read_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"missing\.json: cannot be read \(No such file"):
        list(json_lines(tmp_path / "missing.json"))
    with pytest.raises(DataError, match="cannot be read"):
        list(json_lines(tmp_path))
    wide = tmp_path / "wide.json"
    wide.write_bytes('{"a": 1}'.encode("utf-16"))
    with pytest.raises(DataError, match="UTF-16; expected UTF-8"):
        list(json_lines(wide))
