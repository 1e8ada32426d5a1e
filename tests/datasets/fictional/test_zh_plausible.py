"""The worlds of Chinese news are possible: what grows grows a little, parts are smaller than the whole, dates are in
order. Each test draws series of events of three seeds, with all their editions."""

import datetime as dt
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import pytest

from ragstone.datasets.fictional import fictional_rgb
from ragstone.datasets.fictional.parts import seeded
from ragstone.datasets.fictional.zh import LANGUAGE
from ragstone.datasets.fictional.zh.patterns import World

SEEDS, SERIES = (0, 1, 2333), 15
YEARS = range(-4, 4)
DAY = re.compile(r"(?:(\d{4})年)?(\d+)月(\d+)日　")
NUMBER = re.compile(r"\d+(?:\.\d+)?")


@cache
def series(name: str) -> list[list[list[World]]]:
    """For each series of a domain, its editions of all years, and those of its other category."""
    domain = next(LANGUAGE.varied(domain) for domain in LANGUAGE.domains if domain.name == name)
    found = []
    for seed in SEEDS:
        rng = seeded("plausible", seed, name)
        for _ in range(SERIES):
            drawn = domain.worlds.series(rng)
            found.append(
                [[domain.worlds.edition(rng, drawn, _years=n, _other=other) for n in YEARS] for other in (False, True)]
            )
    return found


def editions(name: str) -> Iterator[list[World]]:
    for categories in series(name):
        yield from categories


def worlds(name: str) -> Iterator[World]:
    for years in editions(name):
        yield from years


def number(text: str) -> float:
    found = NUMBER.search(text)
    assert found is not None
    return float(found.group())


def money(text: str) -> float:
    """In 10,000 yuan."""
    return number(text) * (10_000 if "亿" in text else 1)


def near(low: float, value: float, high: float) -> bool:
    return low <= value <= high


def test_a_company_grows_and_shrinks_by_less_than_a_sixth_a_year() -> None:
    for years in editions("财报"):
        for before, after in pairwise(years):
            assert near(0.84, money(after["营收"]) / money(before["营收"]), 1.17)
            assert near(0.6, money(after["净利"]) / money(before["净利"]), 1.6)
            assert near(0.6, money(after["研发"]) / money(before["研发"]), 1.6)


def test_a_company_earns_and_spends_on_research_less_than_it_sells() -> None:
    for world in worlds("财报"):
        assert money(world["净利"]) + money(world["研发"]) < 0.3 * money(world["营收"])
        assert 10 * money(world["净利"]) / money(world["营收"]) < number(world["毛利"]) / 10
        assert 0 < number(world["海外"]) < 100
        assert 0 < number(world["负债"]) < 100


def test_what_a_company_says_of_its_growth_is_what_it_sells() -> None:
    for years in editions("财报"):
        for before, after in pairwise(years):
            extension = money(after["营收"]) / money(before["营收"]) - 1
            stated = number(after["同比"]) / 100 * (1 if "增长" in after["同比"] else -1)
            assert abs(extension - stated) < 0.012, (before["营收"], after["营收"], after["同比"])


def test_a_phase_is_shorter_than_its_line_and_cheaper() -> None:
    for years in editions("交通"):
        whole = years[4]
        assert re.search("[路桥道]$", whole["事"])
        for phase in (*years[:4], *years[5:]):
            assert number(phase["长"]) < 0.5 * number(whole["长"])
            assert money(phase["资"]) < 0.7 * money(whole["资"])
        assert [int(world["年"]) for world in years] == sorted({int(world["年"]) for world in years})


def test_a_kilometre_costs_between_half_a_hundred_million_and_ten() -> None:
    for world in worlds("交通"):
        assert near(0.5, money(world["资"]) / 10_000 / number(world["长"]), 12), (world["长"], world["资"])


def test_fewer_die_than_are_hurt_and_fewer_are_hurt_than_moved() -> None:
    for world in worlds("灾害"):
        dead, hurt, moved = (number(world[key]) for key in ("亡", "伤", "转"))
        assert dead < hurt < moved
        assert number(world["救"]) < moved
        assert near(2.5, moved / number(world["户"]), 5)


def test_a_candidate_has_fewer_votes_than_voted_and_fewer_vote_than_may() -> None:
    for world in worlds("选举"):
        assert near(45, number(world["投票率"]), 95)
        assert near(50, number(world["得票率"]), 65)
        share = 100 * number(world["投票数"]) / number(world["选民"])
        assert abs(share - number(world["投票率"])) < 0.1
        assert world["当选"] != world["落选"]
    for years in editions("选举"):
        assert all(b >= a for a, b in pairwise(number(world["选民"]) for world in years))


def test_the_finds_of_a_site_are_of_one_age_and_the_spectators_fit_the_sport() -> None:
    for years in editions("考古"):
        ages = [number(world["距今"]) for world in years]
        assert max(ages) - min(ages) <= 600
        assert near(3000, min(ages), 9000)
    most = {"水球": 5000, "曲棍球": 7500, "手球": 7500, "排球": 12000, "冰球": 14500, "篮球": 17500, "橄榄球": 30000}
    for world in worlds("体育"):
        assert near(1000, number(world["观众"]), most.get(world["项"], 50000)), (world["项"], world["观众"])
        score = [int(part) for part in world["比分"].split("比")]
        assert score[0] > score[1]
        assert len({world[key] for key in ("冠军", "亚军", "季军", "殿军")}) == 4


def test_a_prize_a_fair_a_film_and_a_product_change_a_little_from_year_to_year() -> None:
    for name, key, most in (("奖项", "奖金", 1.4), ("展会", "额", 1.6), ("展会", "参展", 1.35), ("电影", "票房", 2.0)):
        for years in editions(name):
            values = [money(world[key]) for world in years]
            assert max(b / a for a, b in pairwise(values)) < most, (key, values)
            assert min(b / a for a, b in pairwise(values)) > 1 / most, (key, values)
    for years in editions("产品"):
        prices = [number(world["价"]) for world in years]
        assert max(abs(b - a) for a, b in pairwise(prices)) <= 500
        assert all(number(world["顶配"]) > number(world["价"]) for world in years)


def test_a_probe_brings_back_less_than_a_kilogram_and_returns_after_its_landing() -> None:
    for world in worlds("航天"):
        assert near(100, number(world["样"]), 1000)
        assert number(world["返年"]) == number(world["年"]) + 2
        assert near(150, number(world["天数"]), 320)
        assert near(1000, number(world["重"]), 5000)


def test_the_takings_of_a_film_fit_its_spectators() -> None:
    for world in worlds("电影"):
        assert near(30, money(world["票房"]) / number(world["人次"]), 46)  # yuan a ticket
        assert money(world["票房"]) > 0.3 * number(world["成本"])
        assert near(80, number(world["时长"]), 180)


@pytest.mark.parametrize("name", [domain.name for domain in LANGUAGE.domains])
def test_a_guess_is_of_the_size_of_the_answer_and_never_the_answer(name: str) -> None:
    for world in worlds(name):
        for field in (
            "营收",
            "净利",
            "研发",
            "额",
            "参展",
            "件",
            "观众",
            "亡",
            "转",
            "样",
            "价",
            "资",
            "长",
            "票房",
            "奖金",
        ):
            if f"{field}传" in world:
                assert world[f"{field}传"] != world[field]
                assert near(0.35, money(world[f"{field}传"]) / money(world[field]), 2.6), (field, world)


@pytest.mark.parametrize("name", [domain.name for domain in LANGUAGE.domains])
def test_nothing_is_reported_before_it_happened_or_announced_after_it(name: str) -> None:
    for world in worlds(name):
        year = int(world["报年"])
        event, told = _date(world["月日"], year), _date(world["电日"], year)
        assert event <= told <= event + dt.timedelta(2)
        assert year <= 2026
        before = _date(world["前日"], year)
        assert event - dt.timedelta(25) <= before <= event


def _date(text: str, year: int) -> dt.date:
    _, month, day = (int(part or 0) for part in re.fullmatch(r"(\d+年)?(\d+)月(\d+)日", text).groups())  # type: ignore[union-attr]
    return dt.date(year, month, day)


@pytest.mark.parametrize("seed", SEEDS)
def test_chronologies_are_in_order_and_no_share_is_above_the_whole(seed: int) -> None:
    for row in fictional_rgb("zh", seed=seed, size=12, difficulty="news"):
        for text in [*row["positive"], *row["negative"]]:
            for part in text.split("\n\n"):
                lines = [found for line in part.split("\n") if (found := DAY.match(line))]
                years = [int(found[1]) for found in lines if found[1]]
                if not years:  # all of one year
                    days = [(int(found[2]), int(found[3])) for found in lines]
                    assert days == sorted(days), part
                assert years == sorted(years)
            assert all(float(share) <= 100 for share in re.findall(r"([\d.]+)%", text)), text
