"""The four shares of adaptability, against labels told by hand and the official formulas."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.benchmarks.mirage.handmade import GOLD, NOISE, found_by, labelled, record

from ragstone.benchmarks.mirage import official
from ragstone.benchmarks.mirage.adaptability import (
    GROUPS,
    MEASURES,
    Adaptability,
    macro,
    name_of,
    shares,
    shares_of,
)
from ragstone.benchmarks.mirage.aggregate import (
    BASE,
    MIXED,
    OFFICIAL,
    ORACLE,
    AnswerKind,
    Condition,
    CrossTab,
    QuestionFlag,
    is_short,
    tally_records,
)
from ragstone.stats import count_interval
from ragstone.types import NO_ANSWER, Aggregate, Passage, Response

NO_GOLD = (NOISE, Passage("p3", "A green door.", relevant=False))


def test_the_shares_are_those_of_the_official_program() -> None:
    groups = {code: number for number, code in enumerate(GROUPS, 1)}
    held = shares_of(tally_records(labelled(groups)), "m", MIXED)
    assert held is not None
    wanted = official.adaptability(groups)
    assert {name: held.measures[name].value for name in MEASURES} == {name: wanted[name] for name in MEASURES}
    assert held.total.value == pytest.approx(wanted["total"])
    assert held.groups == groups
    assert held.total.n == held.total.total == 36


@given(st.dictionaries(st.sampled_from(GROUPS), st.integers(0, 40), min_size=1).filter(lambda d: sum(d.values()) > 0))
def test_the_four_sum_to_one_and_the_total_is_a_line_through_acceptability(groups: dict[str, int]) -> None:
    crosstab = CrossTab(sum(groups.values()))
    for code, number in groups.items():
        crosstab.kinds[AnswerKind(int(code, 2), 1, 0, 0)] += number
    held = shares(crosstab)
    assert held is not None
    values = [part.value or 0.0 for part in held.measures.values()]
    accepted = held.measures["context_acceptability"]
    assert math.isclose(math.fsum(values), 1.0)
    total, low, high = held.total.value or 0.0, held.total.low, held.total.high
    assert total == pytest.approx(2 * values[1] - 1, abs=1e-12)
    if held.total.n == 1:
        assert (low, high) == (None, None)
        return
    assert low is not None
    assert high is not None
    assert low <= total <= high
    assert (accepted.low, accepted.high) == count_interval(accepted.count, held.total.n)
    ends = count_interval(accepted.count, held.total.n)
    assert (low, high) == pytest.approx((2 * ends[0] - 1, 2 * ends[1] - 1))


def test_noise_vulnerability_is_parted_by_whether_a_supporting_chunk_was_retrieved() -> None:
    missed = labelled({"010": 3, "011": 1}, m="retrieved", retriever="bm25", k=1, given=NO_GOLD)
    there = labelled(
        {"010": 2, "011": 4}, m="retrieved", prefix="g", retriever="bm25", k=1, given=(GOLD, NOISE)
    )  # fmt: skip
    held = shares_of(tally_records(missed + there), "m", Condition("retrieved", "bm25", 1))
    assert held is not None
    assert held.measures["noise_vulnerability"].count == 5
    assert (held.missed.count, held.noise.count, held.missed.n) == (3, 2, 10)
    assert (held.given_gold.count, held.given_gold.n) == (2, 6)
    assert (held.without_gold.count, held.without_gold.n) == (1, 4)


def test_base_and_oracle_are_shared_by_all_retrievers() -> None:
    records = labelled({"011": 2, "110": 1})
    records += [
        record("retrieved", f"q{n:03d}", n == 0, retriever=name, k=k)
        for n, (name, k) in product(range(3), product(("bm25", "dense"), (1, 3)))
    ]
    tally = tally_records(records)
    contexts = tally.contexts("m")
    assert [name_of(spot) for spot in contexts] == ["mixed", "bm25@1", "bm25@3", "dense@1", "dense@3"]
    values = [shares_of(tally, "m", spot) for spot in contexts]
    assert [held.measures["context_acceptability"].count for held in values if held] == [2, 1, 1, 1, 1]


def test_a_question_counts_only_where_all_three_answers_were_scored() -> None:
    records = labelled({"011": 3})
    records[2] = record("mixed", "q000", None, error="timed_out: no answer")
    held = shares_of(tally_records(records), "m", MIXED)
    assert held is not None
    assert (held.total.n, held.total.total) == (2, 3)


def test_without_base_there_are_no_shares() -> None:
    records = [one for one in labelled({"011": 3}) if one.case.condition["setting"] != "base"]
    assert shares_of(tally_records(records), "m", MIXED) is None
    assert Adaptability().over(records) == {}
    assert Adaptability().over([]) == {}


def test_repeats_of_a_question_do_not_make_the_interval_narrower_than_they_may() -> None:
    once = labelled({"011": 10, "010": 10})
    again = [one for repeat in range(4) for one in labelled({"011": 10, "010": 10}, repeat=repeat)]
    single, repeated = (shares_of(tally_records(records), "m", MIXED) for records in (once, again))
    assert single is not None
    assert repeated is not None
    one, four = single.measures["context_acceptability"], repeated.measures["context_acceptability"]
    assert four.n == 4 * one.n
    assert four.value == one.value
    assert one.known is not None
    assert four.known is not None
    width, wider = (high - low for _, low, high in (one.known, four.known))
    assert wider == pytest.approx(width, rel=0.05)


def test_the_macro_average_counts_a_small_source_as_much_as_a_large_one() -> None:
    large = labelled({"011": 9, "010": 1})
    small = [
        record(setting, f"s{n}", right, source="drop")
        for n in range(2)
        for setting, right in (("base", False), ("oracle", True), ("mixed", False))
    ]
    tally = tally_records(large + small)
    crosstab = tally.crosstab("m", (BASE, ORACLE, MIXED), OFFICIAL)
    assert crosstab is not None
    mean = macro(crosstab, lambda kind: kind.code == 0b011)
    assert mean.known is not None
    value, low, high = mean.known
    assert value == pytest.approx((0.9 + 0.0) / 2)
    assert 0 <= low < value < high <= 1
    assert mean.n == 2
    assert tally.sources == ["popqa", "drop"]


def test_the_aggregate_serves_any_rule_and_names_each_score() -> None:
    records = labelled({"010": 1, "011": 1}, m="retrieved", retriever="bm25", k=3, default=True)
    one: Aggregate = Adaptability()
    scores = one.over(iter(records))
    assert scores["noise_vulnerability[m, bm25@3]"].value == 0.5
    assert scores["total[m, bm25@3]"].evidence["groups"]["010"] == 1
    assert scores["right_without_gold[m, bm25@3]"].status == "not_applicable"
    other = Adaptability("answer_match").over(iter(records))
    assert other["noise_vulnerability[m, bm25@3]"].value == 0.0


def test_what_is_odd_about_a_question_is_noted_once() -> None:
    records = [
        record("base", "short", True, aliases=("ab", "abacus")),
        record("base", "echo", True, asked="Is Ada the one?"),
        record("mixed", "pure", True, given=(GOLD, GOLD)),
        record("oracle", "hops", True, given=(GOLD, GOLD)),
        record("mixed", "short", True, aliases=("ab", "abacus")),
        record("base", "probe", False, probe="fictional", aliases=("x",)),
    ]
    tally = tally_records(records)
    assert [tally.questions(bit) for bit in (1, 2, 4, 8)] == [1, 1, 1, 1]
    assert tally.questions() == 4


def test_several_oracle_chunks_that_each_do_are_no_question_that_needs_several() -> None:
    one = record("oracle", "beir", True, given=(GOLD, GOLD))
    told = replace(one, case=replace(one.case, sample=replace(one.case.sample, meta={"source": "beir", "hops": 1})))
    assert [tally_records([record]).questions(QuestionFlag.HOPS) for record in (one, told)] == [1, 0]


def test_two_letters_are_short_and_two_chinese_characters_are_a_name() -> None:
    assert all(map(is_short, ("UK", "4", " a ", "Ås")))
    assert not is_short("USA")
    assert is_short("张", chinese=True)
    assert not is_short("张伟", chinese=True)


def test_a_run_of_retrieval_alone_has_lists_and_no_answers() -> None:
    tally = tally_records([found_by("bm25", "q1", "10010", 2), found_by("bm25", "q2", "00000", 1)])
    assert tally.systems == []
    assert list(tally.found[("bm25", 0)].values()) == [("10010", 2), ("00000", 1)]


def test_the_longest_list_of_a_retriever_is_kept() -> None:
    records = [found_by("bm25", "q1", found, 2, k=k) for k, found in ((5, "10010"), (10, "1001001001"), (3, "10010"))]
    tally = tally_records(records)
    assert tally.found[("bm25", 0)] == {0: ("1001001001", 2)}
    assert tally.ks == {3, 5, 10}


def test_records_without_a_setting_and_answers_that_nobody_gave_are_passed_over() -> None:
    one = record("base", "q", True)
    nothing = one.__class__(one.system_id, one.case, Response("", finish_reason=NO_ANSWER))
    foreign = record("noise", "q", True)
    assert tally_records([nothing, foreign]).systems == []
