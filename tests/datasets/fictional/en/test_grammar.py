"""The little language of news: articles, possessives, names and dates as a newspaper has them; no template that the
worlds cannot fill."""

import itertools
import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest

from ragstone.datasets.fictional import fictional_rgb
from ragstone.datasets.fictional.en import LANGUAGE
from ragstone.datasets.fictional.en.domain import EnglishDomain, aliases
from ragstone.datasets.fictional.en.grammar import Choice, Ref, Var, load, parse
from ragstone.datasets.fictional.en.names import day, money, ordinal
from ragstone.datasets.fictional.en.story import Day, Person, Story, spelt
from ragstone.datasets.fictional.parts import Unmet, seeded

ALL = LANGUAGE.domains
WORLDS = resources.files("ragstone.datasets.fictional.en") / "worlds"
ADA = Person("Ada Vells", "Vells", "she", "her", "her")


def tell(template: str, asked: str = "", avoid: tuple[str, ...] = (), **world: Any) -> str:
    story = Story(parse(f"== s\n{template}"), world, seeded("t"), {}, field=asked, avoid=avoid)
    return story.passage("s", 0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("hour", "An hour"), ("union", "A union"), ("uninvited guest", "An uninvited guest"), ("orange", "An orange"),
        ("useful thing", "A useful thing"), ("European", "A European"), ("8 per cent share", "An 8 per cent share"),
        ("one-off", "A one-off"), ("FBI man", "An FBI man"), ("bridge", "A bridge"),
        ("marble hall", "A marble hall"), ("alarm", "An alarm"), ("11-7 win", "An 11-7 win"),
        ("10-8 win", "A 10-8 win"),
    ],
)  # fmt: skip
def test_the_article_follows_the_sound(value: str, expected: str) -> None:
    assert tell("{a:x}", x=value) == expected


def test_a_possessive_of_a_name_in_s_has_no_second_s() -> None:
    assert tell("{s:team} win, {s:town} joy", team="Rovers", town="Velmere") == "Rovers' win, Velmere's joy"
    assert tell("{s:who} day", who=ADA) == "Ada Vells' day"


def test_a_sentence_begins_with_a_capital_even_in_quotes() -> None:
    assert tell('"{x} of gold."', x="a cup") == '"A cup of gold."'


def test_a_person_is_named_in_full_once_and_introduced_once() -> None:
    story = Story(
        parse("== a\n{w}, the coach, left.\n== b\nThen {w}, the coach, came back, and {w.he} spoke."),
        {"w": ADA}, seeded("t"), {},
    )  # fmt: skip
    assert story.passage("a b", 0) == "Ada Vells, the coach, left. Then Vells came back, and she spoke."


def test_the_introduction_of_the_one_asked_about_stays() -> None:
    assert tell("{w} left. {w}, the coach, won.", asked="w", w=ADA) == "Ada Vells left. Vells, the coach, won."


def test_a_passage_keeps_to_one_style_of_dates() -> None:
    when = Day("9 May", "May 9", "9 May 2003", "May 9, 2003", "May 2003", "May", "Friday", "2003")
    assert tell("{d.long}, {d.day}", d=when) in {"9 May 2003, 9 May", "May 9, 2003, May 9"}


def test_what_must_not_be_said_is_never_said() -> None:
    assert {tell("[{x}|nobody] won", x="Vell", avoid=("vell",)) for _ in range(5)} == {"Nobody won"}
    with pytest.raises(Unmet):
        tell("{x} won", x="Vell", avoid=("vell",))


@pytest.mark.parametrize("text", ["a line", "== s\n[a|b", "== s\na]", "== s\na|b", "== s\n{a"])
def test_a_broken_grammar_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"line \d|without its"):
        parse(text)


def variables(parts: tuple[Any, ...]) -> Iterator[Var | Ref]:
    for part in parts:
        if isinstance(part, Choice):
            for option in part.options:
                yield from variables(option)
        elif isinstance(part, Var | Ref):
            yield part


@pytest.mark.parametrize("domain", ALL, ids=lambda domain: domain.name)
def test_every_template_can_be_filled(domain: EnglishDomain) -> None:
    rng = seeded("worlds", domain.name)
    series = domain.worlds.series(rng)
    world = {**domain.worlds.edition(rng, series, year=2000), "guess": "x", "event2": "x", "year2": "x"}
    grammar = load(domain.name)
    for section, lines in grammar.items():
        for part in (part for line in lines for part in variables(line)):
            if isinstance(part, Ref):
                assert part.name in grammar
                continue
            assert part.key in world, (section, part)
            if part.attr and part.key != "guess":
                names = {"long", *Day._fields, "day"} if isinstance(world[part.key], Day) else set(Person._fields)
                assert part.attr in names, (section, part)


@pytest.mark.parametrize("domain", ALL, ids=lambda domain: domain.name)
def test_every_question_has_its_sections(domain: EnglishDomain) -> None:
    grammar = load(domain.name)
    for asked in domain.answers:
        for section, least in {"q": 3, "lead": 5, "answer": 5, "card": 3, "rumour": 4, "head": 3}.items():
            assert len(grammar[f"{section}.{asked}"]) >= least, (section, asked)
    assert all(f"q2.{one}+{two}" in grammar for one, two in domain.pairs)
    assert all(f"q2.{form}.{asked}" in grammar for form in ("years", "cats") for asked in domain.serial)


@pytest.mark.parametrize("domain", ALL, ids=lambda domain: domain.name)
def test_a_question_names_its_event_and_a_positive_does_too(domain: EnglishDomain) -> None:
    rng = seeded("names", domain.name)
    series = domain.worlds.series(rng)
    world = domain.worlds.edition(rng, series, year=2001)
    event, grammar = str(world["event"]), load(domain.name)
    for asked in domain.answers:
        for section in (f"q.{asked}", f"lead.{asked}", "open"):
            for _ in range(12):
                story = Story(grammar, {**world, "guess": "x"}, rng, {}, field=asked)
                text = spelt(story.draw(section))
                assert event in text, (section, text)


SLIP = re.compile(r"\b([Tt]he|a|an|of|in|to|and) \1\b|  | [.,;:]|[{}<>\[\]|\x00-\x1f]|\.\.|,,")
ARTICLE = re.compile(r"(?<![\w-])([Aa]n?) ([a-z]+|\d+)")
# Words whose first letter misleads about their first sound.
CONSONANTS = ("one", "uni", "use", "eur")
VOWELS = ("hour", "heir", "honest", "honour")


def wrong_article(article: str, word: str) -> bool:
    if word.isdecimal():
        return (article.lower() == "an") != (word[0] == "8" or word in {"11", "18"})
    vowel = (word[0] in "aeiou" and not word.startswith(CONSONANTS)) or word.startswith((*VOWELS, "unin", "unim"))
    return (article.lower() == "an") != vowel


@pytest.mark.parametrize("name", ["en", "en_int"])
def test_texts_have_no_slips_of_grammar(name: str) -> None:
    for row in fictional_rgb(name, seed=8, size=200, difficulty="easy"):
        groups = row["positive"] if name == "en_int" else [row["positive"]]
        for text in (row["query"], *itertools.chain(*groups), *row["negative"]):
            assert not (found := SLIP.search(text)), (found.group(), text)
            wrong = [found for found in ARTICLE.findall(text) if wrong_article(*found)]
            assert not wrong, (wrong, text)


def test_the_domains_are_those_of_the_files() -> None:
    assert {f"{name}.toml" for name in (*LANGUAGE.names, "common")} == {file.name for file in WORLDS.iterdir()}


def test_aliases_are_the_usual_spellings() -> None:
    assert aliases("person", ADA) == ("Ada Vells", "Vells")
    assert aliases("money", "$18.7 billion") == ("$18.7 billion", "18.7 billion", "18.7bn")
    assert aliases("percent", "61.4%") == ("61.4 per cent", "61.4 percent", "61.4%")
    assert aliases("thing", "a bronze mirror") == ("bronze mirror",)
    assert aliases("number", "12,400") == ("12,400", "12400")
    assert aliases("price", "$749") == ("$749", "749 dollars")


def test_amounts_and_ordinals_read_as_in_a_report() -> None:
    assert [money(8.4), money(840), money(18700)] == ["$8.4 million", "$840 million", "$18.7 billion"]
    assert [ordinal(2), ordinal(11), ordinal(22)] == ["second", "11th", "22nd"]


def test_days_are_spelt_without_the_locale() -> None:
    import datetime as dt

    assert day(dt.date(2004, 2, 29)).weekday == "Sunday"
    assert day(dt.date(2004, 2, 29)).mdy == "February 29, 2004"
