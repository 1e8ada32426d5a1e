"""Chinese texts: one word for one thing, Chinese punctuation, and a translation of all that a Chinese reader meets."""

import ast
import re
import tomllib
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import ragstone
from ragstone.metrics.catalogue import catalogue, in_language
from ragstone.runs import Outcome
from ragstone.types import Need

SOURCE = Path(ragstone.__file__).parent
ROOT = SOURCE.parents[1]
CATALOGUES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*_zh.toml"))
DOCUMENTS = ["README.zh-CN.md", *(f"docs/{name}.zh-CN.md" for name in ("benchmarks", "ci", "durability", "rubrics"))]

HAN = "\u3400-\u9fff"
# A half-width mark after a Chinese character and before one, a space or the end; and one between a place and Chinese.
HALF_WIDTH = re.compile(f"[{HAN}][,;:?!](?=[{HAN}\\s]|$)|[,;:?!] ?(?=[{HAN}])|[{HAN}][(]|[)][{HAN}]|[{HAN}]\\.$")
# Twins of 段落, 阈值, 论断, 裁判模型, 用例, and of 答案 as a noun (回答 is the verb).
TWINS = re.compile(
    "块|门限|观点|评委|评审模型|切片|案例|回答(?=中|的内容|称|予以|没有|却|是空|为空|词元|原文|达到|不来自)"
    "|(?<=[个的空此该])回答(?!问题)|(?<=得到)回答"
)


def texts(table: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, str):
            yield f"{path}{key}", value
        else:
            yield from texts(value, f"{path}{key}.")


def of(catalogue: str) -> list[tuple[str, str]]:
    return list(texts(tomllib.loads((SOURCE / catalogue).read_text(encoding="utf-8"))))


def test_the_marks_that_are_looked_for_are_found() -> None:
    for wrong in ("均值: 1", "有,无", "说明; 见", "结果:好", "区间(下)", "好吗?", "{n}; 共", "结束."):
        assert HALF_WIDTH.search(wrong), wrong
    for right in ("均值：1", "（见下）", "`a: b`", "95%, Wilson", "RAG (x)", "共 1,000 个", "--price 输入/输出"):
        assert not HALF_WIDTH.search(right), right
    for wrong in ("正确块", "上一个案例", "这个回答", "回答中有", "得到回答"):
        assert TWINS.search(wrong), wrong
    for right in ("无法回答的问题", "每个问题回答 3 次", "才能回答"):
        assert not TWINS.search(right), right


@pytest.mark.parametrize("catalogue", CATALOGUES)
def test_chinese_texts_have_chinese_punctuation_and_one_word_for_one_thing(catalogue: str) -> None:
    entries = of(catalogue)
    assert entries
    assert [(key, text) for key, text in entries if HALF_WIDTH.search(text)] == []
    assert [(key, text) for key, text in entries if TWINS.search(text)] == []


def test_readers_are_addressed_in_one_way() -> None:
    """您, in catalogues and documents; prompts, which are sent to models, say 你 as the papers do."""
    messages = [path for path in SOURCE.rglob("*_zh.toml") if "prompts" not in path.parts]
    documents = [ROOT / "README.zh-CN.md", *(ROOT / "docs").rglob("*.zh-CN.md")]
    assert len(messages) > 20
    assert len(documents) > 10
    texts = {path: path.read_text(encoding="utf-8") for path in (*messages, *documents)}
    assert [path.name for path, text in texts.items() if "你" in text] == []
    assert sum("您" in text for text in texts.values()) > 10


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_documents_have_one_word_for_one_thing_too(document: str) -> None:
    lines = re.sub(r"```.*?```", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.DOTALL).splitlines()
    assert len(lines) > 10
    assert [line for line in lines if TWINS.search(line)] == []


def chinese(text: str) -> bool:
    return re.search(f"[{HAN}]", text) is not None


_ENDS = ("declines", "does not decline")


def test_every_metric_and_every_range_is_described_in_chinese() -> None:
    entries = catalogue()
    assert len(entries) > 50
    names = {entry.name.partition("@")[0] for entry in entries}
    assert [name for name in sorted(names) if not chinese(in_language(name, "zh"))] == []
    assert [entry.range for entry in entries if not chinese(in_language(entry.range, "zh"))] == []
    built = {"the answer is noncommittal", *(f"the question cannot be answered; the answer {end}" for end in _ENDS)}
    lacking = {f"the case has no {' and no '.join(names)}" for n in (1, 2, 3) for names in combinations(Need, n)}
    assert [reason for need in Need if not chinese(in_language(reason := f"the case has no {need}", "zh"))] == []
    known = names | {entry.range for entry in entries} | set(reasons()) | built | lacking
    assert [key for key, _ in of("metrics/help_zh.toml") if key not in known] == []


def reasons() -> Iterator[str]:
    """The constant reasons of scores: arguments of `not_applicable` and `unsure`, `reason=` of `Score.of`, and
    what they name."""
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        if path.is_relative_to(SOURCE / "metrics"):
            yield from (
                value for name, value in constants.items() if re.fullmatch("_?(NO_|NOTHING|UNANSW|UNSURE)[A-Z_]*", name)
            )
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            given = node.args[:1] if node.func.attr in ("not_applicable", "unsure") else []
            given += [keyword.value for keyword in node.keywords if keyword.arg == "reason" and node.func.attr == "of"]
            for value in given:
                for part in ast.walk(value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str) and " " in part.value:
                        yield from [part.value] if not isinstance(value, ast.JoinedStr) else []


def test_every_constant_reason_of_a_score_has_a_chinese_text() -> None:
    found = sorted({reason for reason in reasons() if " " in reason})
    assert "the answer makes no claim" in found
    assert "the answer cites nothing" in found
    assert [reason for reason in found if not chinese(in_language(reason, "zh"))] == []
    assert in_language("a reason of somebody's own", "zh") == "a reason of somebody's own"


def test_the_end_of_a_run_is_told_in_chinese() -> None:
    outcome = Outcome(done=3, failed=2, remaining=5, unscored=1, permanent=1)
    assert outcome.advice_in("zh") == (
        "10 个用例中还剩 5 个，2 个失败（其中 1 个重试无效），1 个评分失败。请先解决以上错误，再运行同一命令即可继续。"
    )
    assert outcome.advice == (
        "5 of 10 cases remain, 2 failed (1 permanently), 1 score failed. "
        "Fix the errors above, then run the same command again to resume."
    )
    assert Outcome(done=3).advice_in("zh") == ""
