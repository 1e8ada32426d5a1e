"""The worlds and texts of difficult English data: magnitudes that go together, readable names, no slips, many forms."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bench import grammar, leaks
from ragstone.datasets.fictional.en import LANGUAGE
from ragstone.datasets.fictional.en.domain import read_domain
from ragstone.datasets.fictional.en.grammar import Choice, Var, load, mended, parse
from ragstone.datasets.fictional.en.names import HARD, NEWS_DRAWS, NEWS_VOCABULARY, amount
from ragstone.datasets.fictional.parts import seeded

World = Mapping[str, Any]
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
SEEDS, SERIES = (0, 1, 2), 30


def number(text: str) -> float:
    """A number as a world spells it, an amount in millions."""
    figures = float(re.sub(r"[^\d.]", "", text))
    return figures * 1000 if "billion" in text else figures


def near(values: list[float], times: float) -> bool:
    """Whether no value is more than so many times another."""
    return max(values) <= times * min(values)


def results(worlds: list[World], part: World) -> None:
    """Sales grow by some per cent, profit is a part of them, a division is smaller than its group."""
    revenues = [number(world["revenue"]) for world in worlds]
    assert near(revenues, 2.2)
    for world in worlds:
        assert 0.02 < number(world["profit"]) / number(world["revenue"]) < 0.15
        assert 2 < number(world["staff"]) / number(world["revenue"]) < 6
        assert number(world["more"]) < 0.05 * number(world["staff"]) + 2
        assert number(world["trainees"]) < 0.05 * number(world["staff"]) + 5
    assert number(part["revenue"]) < 0.8 * number(worlds[0]["revenue"])


def deal(worlds: list[World], part: World) -> None:
    """The price of a company goes with the years, and a part costs less than the whole."""
    assert near([number(world["price"]) for world in worlds], 6)
    for world in worlds:
        assert number(world["research"]) < number(world["staff"])
        assert int(world["founded"]) < int(world["year"])
    assert number(part["price"]) < number(worlds[0]["price"])


def auction(worlds: list[World], part: World) -> None:
    """Top lots of one sale are of one order, and no more lots are sold than were called."""
    assert near([number(world["price"]) for world in worlds], 2)
    for world in worlds:
        assert number(world["sold"]) < number(world["lots"])
        assert number(world["odd_lot"]) < number(world["lots"])
        assert number(world["frame"]) / 1000 < number(world["price"])


def launch(worlds: list[World], part: World) -> None:
    """Models of one line weigh and cost about the same, and each is lighter by less than it weighs."""
    assert near([number(world["price"]) for world in worlds], 2.7)
    for world in worlds:
        assert 5 * number(world["lighter"]) < 2 * number(world["grams"])
        assert number(world["grams"]) <= 1900
    events = [int(world["event"].split()[-1]) for world in worlds]
    assert all(
        (one > two) == (first["year"] > second["year"])
        for one, first in zip(events, worlds, strict=True)
        for two, second in zip(events, worlds, strict=True)
        if one != two
    )


def mission(worlds: list[World], part: World) -> None:
    """Probes of one programme cost about the same, and a signal takes as long as its way does."""
    assert near([number(world["cost"]) for world in worlds], 1.7)
    assert len({(world["body"], world["minutes"]) for world in worlds}) == 1
    assert worlds[0]["body"] != "the Moon"


def election(worlds: list[World], part: World) -> None:
    """No more votes than voters, no more voters than people; shares in their range; two camps that take turns."""
    for world in worlds:
        assert number(world["spoilt"]) < number(world["votes"]) < number(world["pop"])
        for field, low, high in (("share", 31, 78), ("turnout", 29, 93)):
            assert low <= number(world[field]) <= high
            assert low <= number(world[f"{field}_guess"]) <= high
        assert world["new_party"] != world["old_party"]
        assert int(world["old_year"]) < int(world["year"])
    for one in worlds:
        for two in worlds:
            if int(two["year"]) == int(one["year"]) + 4:
                assert two["old_party"] == one["new_party"]


def disaster(worlds: list[World], part: World) -> None:
    """Nobody is homeless who was not there, and a house holds a family."""
    for world in worlds:
        assert number(world["homeless"]) < number(world["pop"])
        assert 2 < number(world["homeless"]) / number(world["houses"]) < 6
        assert number(world["villagers"]) <= 900
        assert int(world["code"]) < int(world["year"])


def bridge(worlds: list[World], part: World) -> None:
    """No more guests than people, nothing before the war at today's price, and plans before the opening."""
    for world in worlds:
        assert number(world["guests"]) < number(world["pop"])
        assert (number(world["cost"]) < 100) == (int(world["year"]) <= 1970)
        assert int(world["plan_year"]) < int(world["year"])


def final(worlds: list[World], part: World) -> None:
    """A winner has more goals than a loser, visitors are a part of the crowd, and the prize stays what it is."""
    for world in worlds:
        for score in (world["score"], world["semi_score"]):
            won, lost = map(int, score.split("-"))
            assert lost < won < 20
        assert number(world["far_crowd"]) < number(world["crowd"])
        assert int(world["founded"]) + int(world["span"]) < int(world["year"])
        assert 0 < number(world["odds"]) < 100
    assert len({world["prize"] for world in worlds}) == 1


def award(worlds: list[World], part: World) -> None:
    """A prize is worth the same in every year and was founded before it."""
    assert len({world["purse"] for world in worlds}) == 1
    for world in worlds:
        assert int(world["founded"]) + int(world["span"]) < int(world["year"])
        assert NUMBERS[world["votes"].split()[0]] + NUMBERS[world["votes"].split()[-1]] == 5


def film(worlds: list[World], part: World) -> None:
    """Takings are of the order of the budget, and a film is as long as films are."""
    for world in worlds:
        assert 0.5 < number(world["takings"]) / number(world["budget"]) < 7
        assert 80 < number(world["minutes"]) < 180
        assert int(world["founded"]) < int(world["year"])


def discovery(worlds: list[World], part: World) -> None:
    """A trench is as deep as trenches are, it rains in fewer weeks than there are, and finds are old."""
    weeks = {"nine": 9, "ten": 10, "eleven": 11, "twelve": 12}
    for world in worlds:
        assert 2 <= float(world["depth"]) < 7
        assert NUMBERS[world["rain"]] < weeks[world["weeks"]]
        assert number(world["age"]) > 1000
        assert int(world["first_year"]) < int(world["year"])


CHECKS: Mapping[str, Callable[[list[World], World], None]] = {
    check.__name__: check
    for check in (
        results, deal, auction, launch, mission, election, disaster, bridge, final, award, film, discovery,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", LANGUAGE.names)
def test_the_magnitudes_of_a_world_and_of_its_series_go_together(name: str) -> None:
    domain = read_domain(name, news=True)
    for seed in SEEDS:
        for place in range(SERIES):
            rng = seeded("magnitudes", name, seed, place)
            series = domain.worlds.series(rng)
            first, last = domain.years
            year = first + place % (last - first + 1)
            worlds: list[World] = [
                domain.worlds.edition(rng, series, year=year + step) for step in (0, *domain.steps[1:6:2])
            ]
            part = domain.worlds.edition(rng, domain.worlds.sibling(rng, series), year=year)
            for world in worlds:
                early, late = (int(world[key].y) for key in ("early", "pub"))
                assert early <= int(world["date"].y) <= late <= int(world["year"]) + 1
                assert 14_000 <= number(world["pop"]) <= 640_000
            CHECKS[name](worlds, part)
            CHECKS[name]([part], {**part, "revenue": "0", "price": "0"})


def test_names_can_be_read() -> None:
    rng = seeded("names")
    for _ in range(300):
        world = [NEWS_VOCABULARY.draws[draw](rng) for draw in ("place", "coined", "title", "country")]
        made = [*map(str, world), *(NEWS_DRAWS[draw](rng) for draw in ("person", "town", "street", "firm", "paper"))]
        assert not [name for name in made if HARD.search(name)]
        people = NEWS_VOCABULARY.draws["people"](rng, "one", "two", "three").values()
        assert len({person.s for person in people}) == 3
    assert HARD.search("Heskshaw")
    assert HARD.search("A Envoy for Wakelo")
    assert not HARD.search("Three Nights at the Lighthouse")


def test_times_of_the_day_are_when_they_are_said_to_be() -> None:
    rng = seeded("times")
    assert all(NEWS_DRAWS["morning"](rng).endswith("am") for _ in range(50))
    assert all(NEWS_DRAWS["evening"](rng).endswith("pm") for _ in range(50))
    assert {int(NEWS_DRAWS["time"](rng).split(".")[0]) for _ in range(200)} == set(range(1, 13))


def test_amounts_have_three_digits() -> None:
    assert [*map(amount, (8.416, 84.16, 841.6, 999.6, 8416.0))] == [
        "$8.42 million", "$84.2 million", "$842 million", "$1.00 billion", "$8.42 billion",
    ]  # fmt: skip


def test_a_copy_editor_finds_nothing_to_strike_out() -> None:
    assert not grammar.found(8, 900, "news")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("It was the the end.", "a word twice"), ("What lies under the beets?.", "two marks"),
        ("A engineer came.", "a before a vowel"), ("They saw an bridge.", "an before a consonant"),
        ("The a bridge fell.", "two determiners"), ("It is 1 metres long.", "one of many"),
        ("It took 12 year.", "many of one"), ('"It is over, he said.', "a quotation mark alone"),
        ("it is over.", "no capital"), ("It is over", "no stop"), ("It is over .", "a space before a mark"),
        ("The party had spent most of its money into the villages.", "spent into"),
        ("He came with the 22th bus.", "an ordinal"), ("Both sides has won.", "number of the verb"),
        ("They went into.", "a dangling preposition"), ("It cost $3 million dollars.", "a dollar twice"),
    ],
)  # fmt: skip
def test_each_rule_of_the_copy_editor_finds_its_slip(text: str, rule: str) -> None:
    assert rule in {name for name, _ in grammar.slips(text)}


def test_every_form_of_discourse_is_common_and_sentences_do_not_come_again() -> None:
    data = leaks.generated("en", 2, 24, "news")
    shares = leaks.forms(data)
    assert all(shares[form] > 0.08 for form in leaks.LOOKS["en"])
    assert all(0.4 < shares[f"{form} (AUC)"] < 0.6 for form in leaks.LOOKS["en"])
    assert leaks.recurrence(data)["in more than 3"] < 0.01
    beginnings = Counter(text.text[:12] for text in data.texts)
    assert beginnings.most_common(1)[0][1] < 0.05 * len(data.texts)


def test_the_most_frequent_value_is_seldom_the_answer() -> None:
    assert leaks.regex_attack(leaks.generated("en", 3, 40, "news"))[0.2] < 0.4  # 0.18 on 300 questions


@pytest.mark.parametrize("name", LANGUAGE.names)
def test_every_template_of_difficult_data_can_be_filled(name: str) -> None:
    domain = read_domain(name, news=True)
    rng = seeded("filled", name)
    world = domain.worlds.edition(rng, domain.worlds.series(rng), year=domain.years[0])
    varied = LANGUAGE.varied(next(each for each in LANGUAGE.domains if each.name == name))
    known = {*world, *varied.strong, "guess", "event2", "year2", "ev", "told_guess"}

    def keys(parts: tuple[Any, ...]) -> set[str]:
        found = {part.key for part in parts if isinstance(part, Var) and part.key[0] != "~"}
        return found.union(*(keys(option) for part in parts if isinstance(part, Choice) for option in part.options))

    grammar_of_news = load(name, varied.strong)
    assert set().union(*(keys(line) for lines in grammar_of_news.values() for line in lines)) <= known
    assert set(domain.labels) >= set(domain.answers)


def test_what_is_mended_must_be_there() -> None:
    text = "== a\nOne is here.\nTwo are here."
    assert parse(mended(text, ["One is => One was", "Two =>"]))["a"] == (("One was here.",),)
    with pytest.raises(ValueError, match="nothing to mend: Three => Four"):
        mended(text, ["Three => Four"])
