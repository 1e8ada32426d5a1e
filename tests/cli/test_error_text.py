"""Errors in the language of the command: click's, those that name what is unknown, and a frame for the others."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.test_language import chinese
from tests.cli.tools import Told

from ragstone.cli.main import language_of
from ragstone.error_text import told
from ragstone.errors import RunMismatch

Ragstone = Callable[..., Told]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("bench", "rgb", "--modle", "x"),
            "没有选项 --modle。您要用的是不是其中之一：'--method', '--model', '--otlp'？",
        ),
        (("merge", "-o", "m.run"), "缺少参数 RUN…。详见 `ragstone merge --help`。"),
        (
            ("bench", "rgb", "--model", "local/extractive", "--metrics", "recal"),
            "没有名为“recal”的指标。您要用的是不是 recall？",
        ),
        (("bench", "rgb", "--concurrency", "many"), "选项 --concurrency 的值无效：“many”不是整数。"),
        (("bench", "rgb", "--concurrency", "0"), "0 不在范围 1<=x<=4096 内。"),
        (("bench", "rgb", "--combine", "sum"), "选项 --combine 的值无效：“sum”不在可选值之中："),
        (("bench", "rgb", "--judge-base-url"), "选项 --judge-base-url 需要一个值。"),
        (
            ("bench", "rgb", "--model", "openai/m", "--base-url", "ftp://x"),
            "“ftp://x”不是接口地址：应类似 https://host/v1。",
        ),
        (("bench", "rgb", "--limit", "0"), "ragstone: 选项 --limit 的值无效：0 不在范围 x>=1 内。"),
        (("bench", "mirage"), "没有要评测的对象：请指定 --model、--retriever，或两者都指定。"),
        (("bench", "niah", "--model", "local/extractive", "--needle", "x"), "没有名为“x”的针。"),
        (("bench", "rgb", "--model", "compat/x"), "compat/x 需要 --base-url：端点的地址。"),
        (("bench", "rgb", "--model", "local/extractive", "--data", "no"), "--data “no”：没有这个文件夹或文件。"),
        (("bench", "niah", "--model", "local/extractive", "--lengths", "a"), "应为数字，例如 500,1000，或"),
        (("eval", "no.csv"), "'no.csv'：没有这个文件或文件夹。"),
        (("run", "no.csv", "--system", "a.py:ask"), "'no.csv'：没有这个文件或文件夹。"),
        (("report", __file__, "-o", "r.html"), "test_error_text.py：不是 SQLite 数据库，也就不是运行文件。"),
        (("merge", "a.run", "a.run", "-o", "m.run"), "a.run 出现了两次。每个运行文件请只写一次。"),
    ],
)
def test_an_error_is_told_in_the_language_of_the_command(ragstone: Ragstone, words: tuple[str, ...], said: str) -> None:
    where = 1 if words[0] != "bench" else 2
    with_language = (*words[:where], "--language", "zh", *words[where:])
    found = ragstone(*with_language)
    assert found.code == 2
    assert found.err.startswith("ragstone: ")
    assert said in found.err, found.err
    assert len(found.err.splitlines()) == 1
    assert not chinese(ragstone(*words).err)


def test_a_sentence_without_a_translation_stays_and_is_not_lost() -> None:
    assert told("Plums are late. Wait.", "zh") == "出错（英文说明）：Plums are late. Wait."
    assert told("Missing command. Plums are late.", "zh") == "缺少命令。 Plums are late."
    assert told("Plums are late. Missing command.", "zh") == "Plums are late. 缺少命令。"
    assert told("Plums are late.", "en") == "Plums are late."


def test_the_environment_decides_without_an_option_and_one_that_is_wrong_is_told_in_english(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "zh")
    assert [language_of(words) for words in ([], ["--language"], ["--language=en"], ["--language", "qq"])] == [
        "zh", "zh", "en", "zh"
    ]  # fmt: skip
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "qq")
    assert language_of([]) == "en"


def test_what_a_check_of_data_finds_is_told_in_the_language_of_the_environment(
    ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("en.json").write_text('{"id": 1, "query": "q", "answer": 3, "positive": ["a"], "negative": []}\n', "utf-8")
    assert "error: en.json, line 1, field 'answer': found a number;" in ragstone("data", "check", "en.json").out
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "zh")
    assert "错误：en.json，第 1 行，字段 answer：这里是数字；" in ragstone("data", "check", "en.json").out


def test_the_settings_that_differ_are_told_in_the_language_of_the_error() -> None:
    differences: dict[str, tuple[object, object]] = {"limit": (5, 10), "k": (1, 2), "ks": (3, 4), "seed": (0, 1)}
    message = told(str(RunMismatch("a.run", differences)), "zh")
    assert "k：文件中为 1，现在为 2；" in message
    assert "另有 1 项" in message
    assert "in the file" not in message
