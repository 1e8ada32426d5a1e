"""JSON and TOML of others: whatever cannot be used is one line for people."""

import json

import pytest

from ragstone.storage import FormatError, parse_json, parse_toml


def test_what_is_sound_is_read() -> None:
    largest = 10**308 - 1
    assert parse_json(f'{{"a": [1, -2.5, {largest}, "\\ud800"]}}') == {"a": [1, -2.5, largest, "\ud800"]}
    assert parse_toml(f"a = [1, {{ b = {largest} }}]\nc = 1979-05-27\n")["a"] == [1, {"b": largest}]
    assert float(largest) < float("inf")


@pytest.mark.parametrize("digits", [309, 400, 5000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_that_no_float_holds_is_told(digits: int, sign: str) -> None:
    number = sign + "9" * digits
    for text in (f"a = {number}", f"a = [{number}]", f"[t]\nb = {{ c = {number} }}", f"[[t]]\na = {number}"):
        with pytest.raises(FormatError, match="number of more than 308 digits; write it as a text"):
            parse_toml(text)
    for text in (number, f'{{"a": [{number}]}}'):
        with pytest.raises(FormatError, match="number of more than 308 digits; write it as a text"):
            parse_json(text)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_nesting_too_deep_is_told(text: str) -> None:
    with pytest.raises(FormatError, match="nested too deeply"):
        parse_json(text)
    with pytest.raises(FormatError, match="nested too deeply"):
        parse_toml("a = " + "[" * 100_000)


def test_a_mistake_has_its_line() -> None:
    with pytest.raises(FormatError, match=r"^not JSON \(.*, column 1\)$") as caught:
        parse_json('{"a": 1,\n\n]')
    assert caught.value.line == 3
    with pytest.raises(FormatError, match=r"^not TOML \(.*line 2") as told:
        parse_toml("a = 1\nb = }\n")
    assert "\n" not in str(told.value)


def test_hooks_are_those_of_json() -> None:
    assert parse_json('{"a": 1, "a": 2}', object_pairs_hook=list) == [("a", 1), ("a", 2)]
    with pytest.raises(json.JSONDecodeError):
        json.loads("{")  # which `parse_json` never raises
    with pytest.raises(FormatError):
        parse_json("{")
