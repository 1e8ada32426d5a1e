"""Needles from the user's own files: JSON lines, TOML or CSV.

A row has `needle` (a text, or several), `question`, and either `answer` (a text, or its aliases, any of which states
it) or `answers` (several answers, each a text or its aliases). In TOML the rows are `[[needle]]` tables with `text` for
the needle. In CSV, columns that are called `needle…` and `answer…` (`answer_1`, `answer_2`) hold one each, with " | "
between the aliases of an answer.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.datasets.jsonlines import json_objects, kind_of
from ragstone.datasets.tabular.csvfiles import csv_rows
from ragstone.errors import DataError
from ragstone.storage import FormatError, check_regular, parse_toml, reading, text_of

_HALVES = re.compile("[\ud800-\udfff]")
_MISSING = "{what} is empty or missing; expected needle, question and answer"
_BARS = " | "
_CSV = (".csv", ".tsv")
_Rows = Iterator[tuple[str, int, Mapping[str, Any]]]  # "line" or "needle", its number, the row


def read_needles(path: Path) -> tuple[NeedleQuestion, ...]:
    """The needles of a file, by its extension: .toml, .csv or .tsv, otherwise JSON lines. Raises DataError with the
    row."""
    with reading(path):
        check_regular(path)
    suffix = path.suffix.lower()
    if suffix == ".toml":
        rows = _toml_rows(path)
    elif suffix in _CSV:
        rows = _csv_rows(path)
    else:
        rows = (("line", number, row) for number, row in json_objects(path))
    questions = []
    for what, number, row in rows:
        try:
            questions.append(_question(row))
        except ValueError as error:
            problem = f"{error}." if what == "line" else f"{what} {number}: {error}."
            raise DataError(path, problem, line=number if what == "line" else 0) from None
    if not questions:
        raise DataError(path, "contains no needle.")
    return tuple(questions)


def _toml_rows(path: Path) -> _Rows:
    try:
        tables = parse_toml(text_of(path)).get("needle")
    except (UnicodeDecodeError, FormatError) as error:
        raise DataError(path, f"{error}.") from None
    if not isinstance(tables, list):
        raise DataError(path, "expected [[needle]] tables with text, question and answer.")
    for number, table in enumerate(tables, start=1):
        row = {**table, "needle": table.get("text")} if isinstance(table, dict) else {}
        yield "needle", number, row


def _csv_rows(path: Path) -> _Rows:
    for row in csv_rows(path, known=("needle", "question", "answer")).rows:
        number = int(row.where.removeprefix("line "))
        if row.problem:
            raise DataError(path, row.problem, line=number)
        cells = {name: cell for name, cell in row.cells.items() if cell.strip()}
        answers = [cell.split(_BARS) for name, cell in cells.items() if name.startswith("answer")]
        needles = [cell for name, cell in cells.items() if name.startswith("needle")]
        yield "line", number, {"needle": needles, "question": cells.get("question"), "answers": answers}


def _question(row: Mapping[str, Any]) -> NeedleQuestion:
    """Raises ValueError with what is missing or wrong."""
    if "answer" in row and "answers" in row:
        raise ValueError("has both answer and answers; expected one of them")
    needles = _texts(row.get("needle"), "needle")
    (question,) = _texts(None if isinstance(row.get("question"), list) else row.get("question"), "question")
    if "answers" not in row:
        return NeedleQuestion(question, needles, (_texts(row.get("answer"), "answer"),))
    answers = row["answers"]
    if not isinstance(answers, list) or not answers:
        raise ValueError("answers is empty or no list; expected one or more")
    slots = tuple(_texts(answer, f"answer {number}") for number, answer in enumerate(answers, start=1))
    return NeedleQuestion(question, needles, slots)


def _texts(value: object, what: str) -> tuple[str, ...]:
    """One text or several, without blanks at their ends."""
    texts: list[str] = []
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str | None):
            raise ValueError(f"{what} is {kind_of(text)}; expected a text")
        if text is None or not text.strip():
            raise ValueError(_MISSING.format(what=what))
        if _HALVES.search(text):
            raise ValueError(f"{what} has half a character, which cannot be sent")
        texts.append(text.strip())
    if not texts:
        raise ValueError(_MISSING.format(what=what))
    return tuple(texts)
