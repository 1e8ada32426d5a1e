"""JSON and TOML of others: whatever cannot be used is one line for people."""

import json
import re
import tomllib
from typing import Any

import pytest

from ragstone.error_text import told
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
    with pytest.raises(FormatError, match=r"^not TOML \(.*line 2") as caught:
        parse_toml("a = 1\nb = }\n")
    assert "\n" not in str(caught.value)


def test_hooks_are_those_of_json() -> None:
    assert parse_json('{"a": 1, "a": 2}', object_pairs_hook=list) == [("a", 1), ("a", 2)]
    with pytest.raises(json.JSONDecodeError):
        json.loads("{")  # which `parse_json` never raises
    with pytest.raises(FormatError):
        parse_json("{")


MISTAKES = [
    ("[run", "表头的结尾应为 ]", "文件结尾处"),
    ("[run\na = 1", "表头的结尾应为 ]", "第 1 行第 5 列"),
    ("[[run]\n", "表数组的表头结尾应为 ]]", "第 1 行"),
    ("a", "键之后应为 =", "文件结尾处"),
    ("a = b", "无效的值", "第 1 行第 5 列"),
    ("= 1", "这一行既不是键值对", "第 1 行第 1 列"),
    ("a = 1 b", "应换行", "第 1 行第 7 列"),
    ("a.= 1", "此处应为键名", "第 1 行"),
    ("[a]\n[a]", "表 a 重复定义", "第 2 行"),
    ("[a.b]\n[a.b]", "表 a.b 重复定义", "第 2 行"),
    ("a = 1\na = 2", "这个键已有值", "文件结尾处"),
    ("a = {b = 1}\na.c = 2", "a 已经定义完整", "文件结尾处"),
    ("a = {b = 1}\n[a.c]", "a", "第 2 行"),
    ("a = [1", "数组没有结束", "文件结尾处"),
    ("a = {b = 1", "内联表没有结束，缺少 }", "文件结尾处"),
    ("a = {b = 1, b = 2}", "重复的键 'b'", "第 1 行"),
    ('a = "\\d"', "反斜杠没有转义", "第 1 行"),
    ('a = "\\uzzzz"', "无效的十六进制值", "第 1 行"),
    ('a = "\\ud800"', "不是有效的 Unicode 字符", "第 1 行"),
    ('a = "b', "字符串没有结束", "文件结尾处"),
    ("a = 'b", "此处应有", "文件结尾处"),
    ("a = 2026-02-30", "无效的日期或时间", "第 1 行"),
    ('a = "b\nc"', "有不允许的字符", "第 1 行"),
    ("a = '\x01'", "有不允许的字符", "第 1 行"),
    ("[a]\nb.c = 1\n[a.b]", "重复定义", "第 3 行"),
]


@pytest.mark.parametrize(("text", "cause", "place"), MISTAKES)
def test_a_mistake_in_toml_is_told_in_chinese_with_its_place(text: str, cause: str, place: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_toml(text)
    chinese = told(f"ragstone.toml: {caught.value}.", "zh")
    assert chinese.startswith(f"ragstone.toml：不是 TOML（{place}")
    assert cause in chinese
    assert "(" not in str(caught.value).removeprefix("not TOML (").replace(" (at ", "")  # no tuple of Python
    assert not re.search(r"[A-Za-z]{4,}", chinese.removeprefix("ragstone.toml：不是 TOML").replace("Unicode", ""))


def test_what_python_says_newly_of_toml_is_quoted_with_its_place_in_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    def newer(_: str) -> Any:
        raise tomllib.TOMLDecodeError("Surprising plum (at line 3, column 2)")

    monkeypatch.setattr("tomllib.loads", newer)
    with pytest.raises(FormatError) as caught:
        parse_toml("")
    assert told(f"a.toml: {caught.value}.", "zh") == "a.toml：不是 TOML（第 3 行第 2 列，Surprising plum）。"
