"""A model that takes the value of another row of a table is told apart from a chunk in which the value drowns: two rows
alone are enough for it to be wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragstone.diagnosis.diagnose import diagnose

LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])
SIZE = 6  # questions
LARGE = 60  # rows of a table that is longer than a chunk should be
REFUSAL = {"en": "The documents do not contain the answer.", "zh": "文档中没有答案。"}


def name(number: int, language: str) -> str:
    return f"Kiln {number}x" if language == "en" else f"窑炉{number}号"


def heat(number: int) -> str:
    return f"{810 + 37 * number}"


def table(language: str, size: int) -> str:
    head = "| Kiln | Chimneys | Heat |" if language == "en" else "| 窑炉 | 烟囱 | 温度 |"
    rows = [f"| {name(n, language)} | {2 + n} | {heat(n)} |" for n in range(size)]
    return "\n".join((head, "|---|---|---|", *rows))


def document(language: str, size: int) -> str:
    around = "The kilns stand in the north yard." if language == "en" else "窑炉都在北院。"
    return f"{around}\n\n{table(language, size)}\n\n{around}"


def causes(
    language: str, pick: Callable[[list[str], int], int], tmp_path: Path, size: int = SIZE
) -> set[str]:  # fmt: skip
    """The causes of the wrong answers of a function that reads a row of the table that it has. `pick`: the place of the
    row that it takes, of the rows and that of the right one; `size`: of the table, in rows."""
    ask_of = {n: f"How hot does {name(n, 'en')} get?" if language == "en" else f"{name(n, 'zh')}有多热？"
              for n in range(SIZE)}  # fmt: skip

    def ask(question: str, passages: list[str] | None = None) -> Any:
        texts = [table(language, size)] if passages is None else passages
        number = next((n for n, text in ask_of.items() if text in question), 0)
        rows = [line for text in texts for line in text.splitlines() if "x |" in line or "号 |" in line]
        right = next((n for n, row in enumerate(rows) if name(number, language) in row), None)
        if right is None:
            answer = REFUSAL[language]
        else:
            answer = rows[pick(rows, right) % len(rows)].strip("| ").split("|")[-1].strip()
        return {"answer": answer, "contexts": texts}

    data = [{"question": text, "reference": heat(n), "reference_contexts": [document(language, size)]}
            for n, text in ask_of.items()]  # fmt: skip
    tmp_path.mkdir(exist_ok=True)
    found = diagnose(data, ask, run=tmp_path / "rows.run").causes().values()
    return {cause.name for cause in found if cause.name != "healthy"}


@LANGUAGES
def test_a_model_that_takes_the_row_below_reads_wrongly(language: str, tmp_path: Path) -> None:
    assert causes(language, lambda rows, right: right + 1, tmp_path) == {"reading"}


@LANGUAGES
def test_a_model_that_loses_its_row_in_a_large_table_only_has_chunks_that_are_too_large(
    language: str, tmp_path: Path
) -> None:
    """Of six rows a model has to read the right one: such a chunk is not too large."""
    loses: Callable[[list[str], int], int] = lambda rows, right: right + (len(rows) > 2)  # noqa: E731
    assert causes(language, loses, tmp_path / "large", LARGE) == {"chunking"}
    assert causes(language, loses, tmp_path / "small") == {"reading"}
