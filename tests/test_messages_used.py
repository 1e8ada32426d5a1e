"""Every text of the catalogues is read by some code: a key that nothing names any more is deleted with its reader."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import ragstone

SOURCE = Path(ragstone.__file__).parent
ROOT = SOURCE.parents[1]
CATALOGUES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("messages_en.toml"))
# Keys of two parts, of which one is no word of its own: an outcome of a probe, number or name of a table, a unit,
# a type of question.
_OF_TWO = re.compile(
    r"(passages|k|retrieve)_(not_taken|ignored|failed)|title_(7|published_\w+)|unit[._]h|field_question_type_\w+"
)
_IN_TEMPLATE = re.compile(r"\b(?:w|words|texts)\.(\w+)")


@cache
def named() -> tuple[frozenset[str], list[re.Pattern[str]]]:
    """The texts of the code and the words that its templates read, and the patterns of keys that are put together."""
    words: set[str] = {""}
    patterns: set[str] = set()
    for path in [*SOURCE.rglob("*.py"), *(ROOT / "docs").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words.update((node.value, node.value.replace("-", "_"), *_IN_TEMPLATE.findall(node.value)))
            elif isinstance(node, ast.keyword) and node.arg:
                words.add(node.arg)
            elif isinstance(node, ast.JoinedStr):
                patterns.add(
                    "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values)
                )
    for path in SOURCE.rglob("templates/*.html"):
        text = path.read_text("utf-8")
        words.update((*re.findall(r'"(\w+)"', text), *_IN_TEMPLATE.findall(text)))
    likely = [text for text in sorted(patterns) if re.fullmatch(r"[*\w.]+", text) and re.search("[a-z]", text)]
    return frozenset(words), [re.compile(re.escape(text).replace(r"\*", "(.*)")) for text in likely]


def is_read(key: str) -> bool:
    """Whether the code has this key, or puts it together from a pattern such as f"cause_{name}" and words it has."""
    words, patterns = named()
    matches = (pattern.fullmatch(key) for pattern in patterns)
    if key in words or _OF_TWO.fullmatch(key):
        return True
    return any(match is not None and words.issuperset(match.groups()) for match in matches)


def keys(catalogue: str) -> Iterator[str]:
    for key, value in tomllib.loads((SOURCE / catalogue).read_text("utf-8")).items():
        yield from [key] if isinstance(value, str) else value


@pytest.mark.parametrize("catalogue", CATALOGUES)
def test_every_text_has_a_reader(catalogue: str) -> None:
    found = [*keys(catalogue)]
    assert found
    assert [key for key in found if not is_read(key)] == []


def test_a_key_that_nothing_reads_is_found() -> None:
    assert not is_read("no_alternative_text")
    assert not is_read("title_of_" + "nothing")
    assert is_read("cause_healthy")
    assert is_read("title_1")
