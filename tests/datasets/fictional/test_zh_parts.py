"""The tools of the Chinese half: names, numerals, patterns, inventories."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.datasets.fictional.zh import LANGUAGE, names
from ragstone.datasets.fictional.zh.domains import ChineseDomain, make_domain
from ragstone.datasets.fictional.zh.patterns import Pattern, PatternPool, World
from ragstone.datasets.fictional.zh.writer import PassageWriter

DOMAINS: tuple[ChineseDomain, ...] = LANGUAGE.domains  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "零"), (7, "七"), (10, "十"), (12, "十二"), (20, "二十"), (101, "一百零一"), (110, "一百一十"),
        (1005, "一千零五"), (1050, "一千零五十"), (10_000, "一万"), (18_342, "一万八千三百四十二"),
        (20_011, "二万零一十一"), (110_000, "十一万"), (300_405, "三十万零四百零五"),
    ],
)  # fmt: skip
def test_whole_numbers_are_spelled_as_they_are_read(number: int, text: str) -> None:
    assert names.han(number) == text


def test_decimals_are_spelled_with_a_point() -> None:
    assert names.han_decimal(52.3) == "五十二点三"
    assert names.han_decimal(60.0) == "六十"


@given(st.integers())
def test_names_of_people_and_places_are_well_formed(seed: int) -> None:
    rng = random.Random(seed)
    assert len(set(names.EASY.person(rng))) == 3
    assert len(names.EASY.place(rng)) == 2
    full, family = names.EASY.foreigner(rng)
    assert full.endswith("·" + family)
    assert names.EASY.title(rng)


def test_no_place_is_one_that_exists() -> None:
    rng = random.Random(1)
    assert not {names.EASY.place(rng) for _ in range(5000)} & set(names.EASY.words["real_places"])


def test_inventories_hold_no_word_twice() -> None:
    for name in ("surnames", "first", "second", "place_first", "given_foreign", "family_foreign", "team_words"):
        counts = Counter(names.EASY.words[name])
        assert max(counts.values()) == 1, (name, counts.most_common(1))


def test_a_pattern_spells_out_its_choices_and_knows_its_fields() -> None:
    line = Pattern("{甲}<今天|昨天>到{乙}<|了>。||他走了。")
    assert line.fields == {"甲", "乙"}
    assert line.parts[0] == ("{甲}今天到{乙}。", "{甲}今天到{乙}了。", "{甲}昨天到{乙}。", "{甲}昨天到{乙}了。")
    assert line.parts[1] == ("他走了。",)


def test_a_pool_is_used_up_before_a_pattern_comes_again() -> None:
    pool = PatternPool("一。", "二。", "三。")
    writer = PassageWriter(random.Random(3), DOMAINS[0])
    drawn = []
    for _ in range(3):
        writer.used = []  # another passage
        line = writer.draw(pool, frozenset())
        assert line is not None
        drawn.append(line.parts[0][0])
    assert sorted(drawn) == ["一。", "三。", "二。"]


def test_a_pattern_that_tells_a_blocked_field_is_not_drawn() -> None:
    writer = PassageWriter(random.Random(3), DOMAINS[0])
    assert writer.draw(PatternPool("{甲}来了。"), frozenset({"甲"})) is None


def test_an_unknown_pool_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="体育: no pool '迷路'"):
        make_domain(DOMAINS[0].worlds, {"迷路": ["迷路的句子。"]})


def worlds(domain: ChineseDomain) -> list[World]:
    rng = random.Random(domain.name)
    out = []
    for _ in range(30):
        series = domain.worlds.series(rng)
        out += [
            domain.worlds.edition(rng, series, _years=years, _other=other)
            for years in (-4, -1, 0, 1, 3)
            for other in (False, True)
        ]
    return out


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_every_pattern_can_be_filled_from_every_world_of_its_domain(domain: ChineseDomain) -> None:
    made = worlds(domain)
    pools = [
        getattr(domain, name)
        for name in ("title", "lead", "detail", "quote", "color", "close", "pre", "wait", "aside", "common")
    ]
    asked = [
        getattr(qtype, name)
        for qtype in domain.question_types
        for name in ("query", "head", "state", "say", "far", "qa", "rumour")
    ]
    known = set.intersection(*(set(world) for world in made)) | {"报", "记者", "甲", "乙", "答者"}
    for pool in pools + asked:
        for line in pool.patterns:
            assert line.fields <= known, (line.parts, line.fields - known)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_pools_state_the_answer_exactly_where_they_should(domain: ChineseDomain) -> None:
    for qtype in domain.question_types:
        for pool in (qtype.state, qtype.say):
            assert all(line.fields & qtype.blocked for line in pool.patterns), [line.parts for line in pool.patterns]
        for line in qtype.rumour.patterns + qtype.query.patterns:
            assert not line.fields & qtype.blocked, line.parts
        for line in qtype.far.patterns + qtype.qa.patterns:
            assert len(line.parts) == 2, line.parts
            assert qtype.field not in Pattern(line.parts[0][0]).fields, line.parts
            assert Pattern(line.parts[1][0]).fields & qtype.blocked, line.parts


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_what_states_or_asks_names_the_event(domain: ChineseDomain) -> None:
    naming = {"事", "题"} | ({"公司"} if domain.name == "财报" else set())
    for qtype in domain.question_types:
        for line in qtype.state.patterns + qtype.query.patterns:
            assert line.fields & naming, line.parts
        for line in qtype.far.patterns:
            assert Pattern(line.parts[0][0]).fields & naming, line.parts
    for line in domain.lead.patterns + domain.pre.patterns:
        assert line.fields & {"事", "公司", "奖", "国"}, line.parts


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)
def test_another_year_and_another_category_are_other_events(domain: ChineseDomain) -> None:
    rng = random.Random(5)
    for _ in range(30):
        series = domain.worlds.series(rng)
        events = [
            domain.worlds.edition(rng, series, _years=years, _other=other)["事"]
            for years in (-1, 0, 1)
            for other in (False, True)
        ]
        assert len(set(events)) == len(events), events
