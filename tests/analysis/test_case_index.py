"""The index of the cases of a run gives what reading every record would give."""

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.analysis.case_runs import Probe, opened, record, write

from ragstone.analysis.case_filter import STATUSES, CaseFilter, terms
from ragstone.analysis.case_index import CaseIndex
from ragstone.analysis.case_index_rows import status_of
from ragstone.errors import UnknownName, UsageError
from ragstone.types import Record

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = ["plum", "harvest", "began", "AI", "Ünïted", "2024", "李子", "丰收", "的", "a\"b'c%_", "straße"]
SYSTEMS, ABILITIES, LANGUAGES, TYPES = ["s1", "s2"], ["noise", "refusal", ""], ["en", "zh"], ["why", "who"]
PROBE = Probe()  # type: ignore[abstract]


def some_records(count: int = 300, seed: int = 7) -> list[Record]:
    draw = random.Random(seed)

    def text() -> str:
        return " ".join(draw.choices(WORDS, k=4)) + draw.choice(["", "!", "李子树"])

    def scores() -> dict[str, float | None]:
        values = {"right": draw.choice([0.0, 0.5, 1.0, None]), "f1": draw.choice([0.1, 0.2, 0.9, None])}
        return {name: value for name, value in values.items() if draw.random() < 0.8}

    records = []
    for number in range(count // 2):
        asked = record(
            f"{draw.choice('ab')}/{number}",
            question=text(),
            condition={"ability": draw.choice(ABILITIES), "ratio": draw.choice([0.2, 0.4])},
            columns={"type": draw.choice(TYPES)} if draw.random() < 0.7 else None,
            language=draw.choice(LANGUAGES),
        ).case
        for system in SYSTEMS:
            answer = text() if draw.random() < 0.9 else None
            item = record("", system, answer=answer, error=f"timed_out: {text()}", scores=scores())
            records.append(replace(item, case=asked))
    return records


RECORDS = some_records()


def matches(chosen: CaseFilter, item: Record, without: str = "") -> bool:
    """Whether a record matches, read from the record itself."""
    diagnosis = PROBE.explain(item)
    status = status_of(item, diagnosis)
    columns = item.case.sample.meta.get("columns", {})
    tests: dict[str, tuple[object, tuple[str, ...]]] = {
        "system": (item.system_id, chosen.systems),
        "status": (status, chosen.status),
        "cause": (diagnosis.cause if status == "wrong" else "", chosen.causes),
        "group": (diagnosis.group, chosen.groups),
        "language": (item.case.sample.language, chosen.languages),
        **{f"c.{name}": (item.case.condition.get(name), values) for name, values in chosen.conditions.items()},
        **{f"label.{name}": (columns.get(name), values) for name, values in chosen.labels.items()},
    }
    if any(values and name != without and str(value) not in values for name, (value, values) in tests.items()):
        return False
    for name, (low, high) in chosen.metrics.items():
        value = item.scores[name].value if name in item.scores else None
        if value is None or not (low is None or value >= low) or not (high is None or value <= high):
            return False
    answer = item.response.answer if item.response is not None else item.error or ""
    text = f"{item.case.id}\n{item.case.sample.id}\n{item.case.query.question}\n{answer}".casefold()
    return all(word in text for word in terms(chosen.text))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> CaseIndex:
    folder = tmp_path_factory.mktemp("index")
    write(folder / "a.run", RECORDS)
    return opened(folder / "a.run", folder / "cache")


def subset(values: list[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from([*values, "absent"]), max_size=2).map(tuple)


LIMITS = st.none() | st.sampled_from([0.0, 0.1, 0.15, 0.5, 1.0])
FILTERS = st.builds(
    CaseFilter,
    systems=subset(SYSTEMS),
    status=st.lists(st.sampled_from(STATUSES), max_size=2).map(tuple),
    causes=subset(WORDS),
    groups=subset(["noise", "refusal"]),
    languages=subset(LANGUAGES),
    conditions=st.dictionaries(st.sampled_from(["ratio", "ability", "none"]), subset(["0.2", "noise"]), max_size=1),
    labels=st.dictionaries(st.just("type"), subset(TYPES), max_size=1),
    metrics=st.dictionaries(st.sampled_from(["f1", "right"]), st.tuples(LIMITS, LIMITS), max_size=1),
    text=st.sampled_from(
        ["", "plum", "lum har", "李", "子丰", "李子树", "ai", "i", "ÜNÏ", "a\"b'", "%", "strasse", "b/1"]
    )
    | st.text(max_size=3),
    sort=st.sampled_from(["worst", "id", "f1", "-f1", "-id", "seconds"]),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILTERS)
def test_a_page_has_what_reading_every_record_finds(index: CaseIndex, chosen: CaseFilter) -> None:
    page = index.page(chosen, size=1_000)
    expected = {(item.system_id, item.case.id) for item in RECORDS if matches(chosen, item)}
    assert {(row.system_id, row.case_id) for row in page.rows} == expected
    assert (page.total, page.exact) == (len(expected), True)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILTERS)
def test_of_frequent_words_the_cases_that_are_shown_have_them(index: CaseIndex, chosen: CaseFilter) -> None:
    expected = {(item.system_id, item.case.id) for item in RECORDS if matches(chosen, item)}
    whole = index.page(chosen, size=1_000).rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ragstone.analysis.case_index_text.MOST", 5)
        index._searches.clear()
        page = index.page(chosen, size=1_000)
        neighbours = [index.neighbours(chosen, (row.system_id, row.case_id)) for row in page.rows[:9]]
        first = index.page(chosen, size=7).rows
    index._searches.clear()
    assert page.rows == whole
    assert first == whole[:7]
    assert {(row.system_id, row.case_id) for row in page.rows} == expected
    assert page.total >= len(expected)
    assert page.total == len(expected) or not page.exact
    keys = [(row.system_id, row.case_id) for row in page.rows]
    assert neighbours == list(zip([None, *keys], [*keys[1:], None], strict=False))[: min(9, len(keys))]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILTERS)
def test_a_facet_counts_what_would_match_with_each_of_its_values(index: CaseIndex, chosen: CaseFilter) -> None:
    facets = index.facets(chosen)
    fields: dict[str, Callable[[Record], str]] = {
        "system": lambda item: item.system_id,
        "status": lambda item: status_of(item, PROBE.explain(item)),
        "group": lambda item: PROBE.explain(item).group,
        "c.ratio": lambda item: str(item.case.condition["ratio"]),
        "label.type": lambda item: item.case.sample.meta.get("columns", {}).get("type", ""),
    }
    for name, value in fields.items():
        counts = Counter(value(item) for item in RECORDS if matches(chosen, item, without=name))
        shown = {facet.value: facet.count for facet in facets.get(name, ()) if facet.count}
        assert shown == {key: count for key, count in counts.items() if key}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILTERS, st.integers(1, 40))
def test_pages_and_neighbours_walk_through_the_same_order(index: CaseIndex, chosen: CaseFilter, size: int) -> None:
    whole = [(row.system_id, row.case_id) for row in index.page(chosen, size=1_000).rows]
    pages = [
        (row.system_id, row.case_id)
        for offset in range(0, len(whole) + 1, size)
        for row in index.page(chosen, offset=offset, size=size).rows
    ]
    assert pages == whole
    for place, key in list(enumerate(whole))[:: max(1, len(whole) // 5)]:
        around = (whole[place - 1] if place else None, whole[place + 1] if place + 1 < len(whole) else None)
        assert index.neighbours(chosen, key) == around


def test_only_the_facets_that_are_asked_for_are_counted(index: CaseIndex) -> None:
    every = index.facets(CaseFilter(text="plum"))
    assert index.facets(CaseFilter(text="plum"), ("cause", "absent")) == {"cause": every["cause"]}


def test_the_worst_come_first_by_default(index: CaseIndex) -> None:
    rows = index.page(CaseFilter(), size=1_000).rows
    assert list(dict.fromkeys(row.status for row in rows)) == ["wrong", "failed", "unscored", "right"]
    rights = [row.scores["right"] for row in rows if row.status == "wrong"]
    assert rights == sorted(rights, key=lambda value: value or 0.0)


def test_a_metric_sorts_up_and_down_with_unscored_cases_last(index: CaseIndex) -> None:
    up = [row.scores.get("f1") for row in index.page(CaseFilter(sort="f1"), size=1_000).rows]
    down = [row.scores.get("f1") for row in index.page(CaseFilter(sort="-f1"), size=1_000).rows]
    scored = [value for value in up if value is not None]
    assert scored == sorted(scored) == up[: len(scored)]
    assert down[: len(scored)] == scored[::-1]
    assert {*up[len(scored) :], *down[len(scored) :]} == {None}


def test_ids_sort_by_their_numbers(index: CaseIndex) -> None:
    rows = index.page(CaseFilter(sort="id", systems=("s1",)), size=1_000).rows
    parts = [(row.case_id[0], int(row.case_id[2:])) for row in rows]
    assert parts == sorted(parts)


def test_causes_are_labelled_in_the_readers_language(index: CaseIndex) -> None:
    (row,) = index.page(CaseFilter(status=("wrong",)), size=1, language="zh").rows
    assert row.label == f"zh:{row.cause}"
    labels = {facet.label for facet in index.facets(CaseFilter())["cause"]}
    assert labels
    assert all(label.startswith("en:") for label in labels)


def test_a_record_is_read_by_its_key(index: CaseIndex) -> None:
    assert index.record("s2", RECORDS[1].case.id) == RECORDS[1]
    with pytest.raises(UsageError, match="no case 'absent' of system 's2'"):
        index.record("s2", "absent")


def test_an_unknown_metric_is_refused_by_name(index: CaseIndex) -> None:
    with pytest.raises(UnknownName, match=r"No metric named 'f2'\. Did you mean 'f1'"):
        index.page(CaseFilter(metrics={"f2": (0.0, None)}))
    with pytest.raises(UnknownName, match="No metric named 'f2'"):
        index.page(CaseFilter(sort="-f2"))


@pytest.mark.parametrize(("offset", "size"), [(-1, 10), (0, 0), (0, 1_001)])
def test_a_page_of_an_impossible_size_is_refused(index: CaseIndex, offset: int, size: int) -> None:
    with pytest.raises(UsageError, match="1 to 1,000 cases"):
        index.page(CaseFilter(), offset=offset, size=size)
