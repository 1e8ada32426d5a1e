"""The table of causes: every combination of evidence names exactly one cause, and every row is of use."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ragstone.benchmarks.interventions import causes
from ragstone.benchmarks.interventions.causes import CAUSES, LOST, STAGES, TABLE, cause_of
from ragstone.benchmarks.interventions.evidence import FIELDS, Evidence
from ragstone.messages import LANGUAGES, messages


class _Unset(Exception):
    def __init__(self, field: str) -> None:
        self.field = field


def known(values: dict[str, str]) -> Evidence:
    """Evidence with these values. Reading a field that has none raises _Unset."""

    def value(name: str) -> str:
        if name not in values:
            raise _Unset(name)
        return values[name]

    return cast("Evidence", SimpleNamespace(value=value))


def combinations(rows: tuple[causes.Row, ...], values: dict[str, str]) -> Iterator[tuple[dict[str, str], int | None]]:
    """All combinations of the fields that are looked at, each with the number of the row that it matches."""
    evidence = known(values)
    try:
        row, waiting = causes._match(rows, evidence)
    except _Unset as unset:
        for value in FIELDS[unset.field]:
            yield from combinations(rows, {**values, unset.field: value})
        return
    assert not waiting
    yield values, None if row is None else next(n for n, one in enumerate(rows) if one is row)


def test_every_combination_has_one_cause_and_every_row_is_of_use() -> None:
    found = list(combinations(TABLE, {}))
    assert len(found) > 500
    assert all(number is not None for _, number in found)
    assert {number for _, number in found} == set(range(len(TABLE)))


def test_every_stage_that_loses_the_gold_is_reached() -> None:
    reached = {number for _, number in combinations(STAGES, {})}
    assert reached == {None, *range(len(STAGES))}


def test_a_missing_value_leaves_only_what_needs_it_unknown() -> None:
    wrong = {"as_is": "wrong", "again": "wrong", "answerable": "yes", "gold": "yes"}
    blocked = [values for values, number in combinations(TABLE, wrong) if TABLE[cast("int", number)].cause == "unknown"]
    assert blocked
    assert all("missing" in values.values() for values in blocked)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_cause_has_its_words(language: str) -> None:
    words = messages("ragstone.benchmarks.interventions.tables", language)
    assert {f"cause_{name}" for name in CAUSES} <= set(words)
    assert {f"means_{name}" for name in CAUSES} <= set(words)
    assert {f"fix_{name}" for name in CAUSES if name not in ("healthy", "unknown")} <= set(words)


def test_a_condition_that_is_still_to_be_asked_leaves_the_cause_open() -> None:
    values: dict[str, Any] = {"as_is": "wrong", "again": "wrong", "answerable": "yes", "gold": "yes", "in_index": "yes"}
    values |= dict.fromkeys(("reread", "carried", "stuck"), "no") | {"unburdened": "missing"}
    evidence = SimpleNamespace(value=values.get)
    cause = cause_of(cast("Evidence", evidence))
    assert (cause.name, cause.missing) == ("unknown", "alone")


def test_stages_come_before_reading() -> None:
    stages = [number for number, row in enumerate(TABLE) if row.cause in LOST and "alone" not in row.fields]
    reading = [number for number, row in enumerate(TABLE) if row.cause in ("position", "noise", "reading", "memory")]
    assert max(stages) < min(reading)
