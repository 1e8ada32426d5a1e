"""The filter of the cases page: a value that is its address."""

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.analysis.case_filter import STATUSES, CaseFilter, terms
from ragstone.errors import UsageError

ANY = st.text(max_size=12)
NAMES = ANY.filter(bool)
VALUES = st.lists(ANY, max_size=3).map(tuple)
ENDS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
FILTERS = st.builds(
    CaseFilter,
    systems=VALUES,
    status=st.lists(st.sampled_from(STATUSES)).map(tuple),
    causes=VALUES,
    groups=VALUES,
    languages=VALUES,
    conditions=st.dictionaries(NAMES, VALUES, max_size=3),
    labels=st.dictionaries(NAMES, VALUES, max_size=3),
    metrics=st.dictionaries(NAMES, st.tuples(ENDS, ENDS), max_size=3),
    text=ANY,
    sort=ANY,
)


@given(FILTERS)
def test_the_address_of_a_filter_gives_the_same_filter(chosen: CaseFilter) -> None:
    again = CaseFilter.from_query(parse_qsl(chosen.query()))
    assert again == chosen
    assert again.query() == chosen.query()
    assert hash(again) == hash(chosen)


@given(st.lists(st.tuples(st.sampled_from(["system", "label", "m.x", "c.x", "q", "sort", "status", "run"]) | ANY, ANY)))
def test_any_address_is_a_filter_or_one_line_that_names_the_parameter(pairs: list[tuple[str, str]]) -> None:
    chosen, problem = None, ""
    try:
        chosen = CaseFilter.from_query(pairs)
    except UsageError as error:
        problem = str(error)
    if chosen is None:
        assert problem.isprintable()
        assert any(problem.startswith(name[:2]) for name, _ in pairs)
    else:
        assert CaseFilter.from_query(parse_qsl(chosen.query())) == chosen


def test_an_address_reads_as_it_is_documented() -> None:
    query = (
        "system=a&system=b&status=wrong&cause=refused&group=noise&language=zh&label=type%3Dwhy&c.ratio=0.4"
        "&m.faithfulness=..0.5&q=plum+harvest&sort=-faithfulness"
    )
    chosen = CaseFilter.from_query(parse_qsl(query))
    assert chosen == CaseFilter(
        systems=("a", "b"), status=("wrong",), causes=("refused",), groups=("noise",), languages=("zh",),
        labels={"type": ("why",)}, conditions={"ratio": ("0.4",)}, metrics={"faithfulness": (None, 0.5)},
        text="plum harvest", sort="-faithfulness",
    )  # fmt: skip
    assert chosen.query() == query
    assert CaseFilter().query() == ""


def test_equal_filters_have_equal_addresses() -> None:
    one = CaseFilter(systems=("b", "a", "a"), conditions={"y": ("2", "1"), "x": ("3",)}, text="  a   b ")
    other = CaseFilter(systems=("a", "b"), conditions={"x": ("3",), "y": ("1", "2"), "z": ()}, text="a b")
    assert one == other
    assert one.query() == other.query()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "bad"), ("m.f1", "a..b"), ("m.f1", "nan"), ("m.f1", "0..inf"), ("label", "alone"),
        ("label", "=x"), ("q", "x" * 201), ("system", "x" * 1_001),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_understood_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}"):
        CaseFilter.from_query([(name, value)])


def test_too_many_values_are_refused() -> None:
    with pytest.raises(UsageError, match="at most 200 values"):
        CaseFilter.from_query([("system", str(number)) for number in range(201)])


def test_one_number_is_a_range_of_itself() -> None:
    assert CaseFilter.from_query([("m.f1", "0.5")]).metrics == {"f1": (0.5, 0.5)}


def test_words_to_search_for_are_folded_and_each_counts_once() -> None:
    assert terms("Plum  PLUM Straße 收成") == ("plum", "strasse", "收成")
