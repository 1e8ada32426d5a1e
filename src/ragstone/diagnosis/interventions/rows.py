"""Rows of a table that a model mixes up: the row that states the answer, and the one whose value was given. A table of
these two alone leaves nothing of a chunk that is too large, and nothing of other passages."""

from typing import NamedTuple

from msgspec.structs import replace

from ragstone.analysis.gold_passages import evidence_of
from ragstone.analysis.statements import Statement, letters
from ragstone.diagnosis.interventions.question import Question, with_passages
from ragstone.retrieval.markdown import tables_of
from ragstone.text import find_answer
from ragstone.types import Passage, Query, Response


class Rows(NamedTuple):
    """A gold passage, a table of its right row and the other one, and the cell of the latter in the same column."""

    gold: Passage
    table: str
    other: str


def rows_of(question: Question, answer: str) -> Rows | None:
    """The two rows, if an answer gives the value that another row of the table of the gold has in the same column."""
    for gold in question.gold:
        for statement in evidence_of(gold, question.sample.references):
            if statement.value and "|" in statement.context and (found := _other_row(gold, statement, answer)):
                return Rows(gold, *found)
    return None


def _other_row(gold: Passage, statement: Statement, answer: str) -> tuple[str, str] | None:
    right = _cells(statement.text)
    column = next((n for n, cell in enumerate(right) if find_answer(statement.value, cell)), None)
    for table in tables_of(gold.text):
        rows = [row.strip() for row in gold.text[table.header : table.end].splitlines() if row.strip()]
        if column is None or statement.text not in rows:
            continue
        for row in rows:
            cells = _cells(row)
            cell = cells[column] if column < len(cells) else ""
            if letters(cell) and letters(cell) != letters(right[column]) and find_answer(cell, answer):
                pair = [one for one in rows if one in (statement.text, row)]
                return "\n".join((statement.context.rstrip(), *pair)), cell
    return None


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def two_rows(question: Question, first: Response) -> Query | None:
    """The gold with two rows in place of the passage that states the answer in a table."""
    found = rows_of(question, first.answer)
    if found is None:
        return None
    given = [replace(one, text=found.table, title="") if one is found.gold else one for one in question.gold]
    return with_passages(question, given)
