"""The table of causes: every combination of evidence names exactly one cause, and every row is of use."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ragstone.diagnosis.interventions import causes
from ragstone.diagnosis.interventions.causes import CAUSES, LOST, STAGES, TABLE, cause_of
from ragstone.diagnosis.interventions.evidence import FIELDS, Evidence
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


def reached(rows: tuple[causes.Row, ...], values: dict[str, str]) -> set[tuple[int, bool]]:
    """The rows that some combination of values reaches as the first that matches, each with whether a value of the
    combination is missing. Combinations that differ only in what no later row looks at are followed as one."""
    found: set[tuple[int, bool]] = set()
    states = {(frozenset(values.items()), False)}
    for number, row in enumerate(rows):
        later = {field for one in rows[number + 1 :] for field in one.fields}
        left: set[tuple[frozenset[tuple[str, str]], bool]] = set()
        for state, missing in states:
            for full, matches in _split(row, dict(state)):
                lacks = missing or any(full[field] == "missing" for field in row.fields if field in full)
                if matches:
                    found.add((number, lacks))
                else:
                    left.add((frozenset((field, value) for field, value in full.items() if field in later), lacks))
        states = left
    assert not states, "a combination matches no row"
    return found


def _split(row: causes.Row, values: dict[str, str]) -> Iterator[tuple[dict[str, str], bool]]:
    """The values with every value of the fields that the row looks at, and whether it matches them."""
    try:
        match, waiting = causes._match((row,), known(values))
    except _Unset as unset:
        for value in FIELDS[unset.field]:
            yield from _split(row, {**values, unset.field: value})
        return
    assert not waiting
    yield values, match is row


def test_every_combination_has_one_cause_and_every_row_is_of_use() -> None:
    assert {number for number, _ in reached(TABLE, {})} == set(range(len(TABLE)))


def test_every_stage_that_loses_the_gold_is_reached() -> None:
    assert {number for number, _ in reached((*STAGES, causes.Row("", {})), {})} == {*range(len(STAGES) + 1)}


def test_a_missing_value_leaves_only_what_needs_it_unknown() -> None:
    wrong = {"as_is": "wrong", "again": "wrong", "answerable": "yes", "gold": "yes"}
    blocked = [missing for number, missing in reached(TABLE, wrong) if TABLE[number].cause == "unknown"]
    assert blocked
    assert all(blocked)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_cause_has_its_words(language: str) -> None:
    words = messages("ragstone.diagnosis.interventions.tables", language)
    assert {f"cause_{name}" for name in CAUSES} <= set(words)
    assert {f"means_{name}" for name in CAUSES} <= set(words)
    assert {f"fix_{name}" for name in CAUSES if name not in ("healthy", "unknown")} <= set(words)


def test_a_condition_that_is_still_to_be_asked_leaves_the_cause_open() -> None:
    values: dict[str, Any] = {"as_is": "wrong", "again": "wrong", "answerable": "yes", "gold": "yes", "in_index": "yes"}
    values |= dict.fromkeys(("reread", "in_doubt", "carried", "stuck"), "no") | {"unburdened": "missing"}
    values |= {"added": "wrong"}
    evidence = SimpleNamespace(value=values.get)
    cause = cause_of(cast("Evidence", evidence))
    assert (cause.name, cause.missing) == ("unknown", "alone")


@pytest.mark.parametrize(("split", "cause"), [("yes", "chunking"), ("no", "stale")])
def test_a_cut_sentence_is_named_before_an_old_one_beside_it(split: str, cause: str) -> None:
    values: dict[str, Any] = {"as_is": "wrong", "again": "wrong", "answerable": "yes", "gold": "yes", "in_index": "no"}
    values |= dict.fromkeys(("reread", "in_doubt", "carried", "stuck", "contradicted"), "no") | {
        "unburdened": "missing"
    }
    values |= {"added": "right", "alone": "right", "indexed": "wrong", "prompted": "no", "own": "missing"}
    found = cause_of(cast("Evidence", SimpleNamespace(value=(values | {"split": split}).get, first=None)))
    assert found.name == cause


def test_stages_come_before_reading() -> None:
    stages = [number for number, row in enumerate(TABLE) if row.cause in LOST and "alone" not in row.fields]
    reading = [number for number, row in enumerate(TABLE) if row.cause in ("position", "noise", "reading", "memory")]
    assert max(stages) < min(reading)
