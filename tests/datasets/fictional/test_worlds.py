"""The tables that worlds are drawn from: order, memory, what an expression may say; and the notes of facts."""

import random
from typing import Any

import pytest

from ragstone.datasets.fictional import facts
from ragstone.datasets.fictional.en import LANGUAGE as EN
from ragstone.datasets.fictional.worlds import Vocabulary, WorldFile
from ragstone.datasets.fictional.zh import LANGUAGE as ZH

VOCABULARY = Vocabulary({"letter": lambda rng: "abcdefgh"[int(rng.random() * 8)]}, {"upper": str.upper})


def world_file(**tables: Any) -> WorldFile:
    return WorldFile({"series": {}, "sibling": {}, "edition": {}, **tables}, VOCABULARY)


def drawn(edition: dict[str, Any], seed: int = 1, **given: Any) -> dict[str, Any]:
    file = world_file(edition=edition, constants={"rows": [["x", 1], ["y", 2]]}, parts={"pair": "{letter()}{letter()}"})
    rng = random.Random(seed)
    return file.edition(rng, file.series(rng), **given)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{year + 2 * 3}", "2006"), ("{-year // 7 % 5}", str(-2000 // 7 % 5)), ("in {year - 1}.", "in 1999."),
        ("{'old' if year == 1999 else 'new'}", "new"), ("{upper('a') + 'b'}", "Ab"), ("{fixed(year / 3, 2)}", "666.67"),
        ("{rows[1][0]}", "y"), ("{year > 1 and 'yes'}", "yes"), ("{'' or 'no'}", "no"), ("plain", "plain"),
    ],
)  # fmt: skip
def test_an_expression_is_evaluated_in_its_text(template: str, expected: str) -> None:
    assert drawn({"value": template}, year=2000)["value"] == expected


def test_a_list_gives_one_of_its_templates_and_several_names_the_parts_of_a_row() -> None:
    worlds = [drawn({"name number": "{pick(rows)}", "text": ["{name}!", "{number}?"]}, seed) for seed in range(30)]
    assert {(world["name"], world["number"]) for world in worlds} == {("x", "1"), ("y", "2")}
    assert {world["text"] for world in worlds} == {"x!", "y!", "1?", "2?"}


def test_lines_are_drawn_in_their_order_and_hidden_names_stay_out() -> None:
    rng = random.Random(5)
    first, second = VOCABULARY.draws["letter"](rng), VOCABULARY.draws["letter"](rng)
    assert drawn({"_one": "{letter()}", "two": "{letter()}", "both": "{_one}{two}"}, 5) == {
        "two": second, "both": first + second,
    }  # fmt: skip
    assert drawn({"both": "{pair()}"}, 5) == {"both": first + second}


def test_what_was_remembered_comes_again_in_every_edition() -> None:
    file = world_file(
        edition={"winner": "{yearly('winner', year, random())}", "holder": "{yearly('winner', year - 1, random())}",
                 "_town": "{once('town', town())}", "name": "{river}"},
        town={"river": "{random()}", "year": "no"},
    )  # fmt: skip
    rng = random.Random(3)
    series = file.series(rng)
    last, this = (file.edition(rng, series, year=year) for year in (1999, 2000))
    assert this["holder"] == last["winner"] != this["winner"]
    assert this["river"] == this["name"] == last["river"]
    assert this["year"] == "2000"  # a table adds only what is not there
    other = file.edition(rng, file.sibling(rng, series), year=2000)
    assert other["river"] == this["river"]
    assert other["winner"] != this["winner"]


@pytest.mark.parametrize("template", ["{1 +}", "{[1]}", "{unknown()}", "{lambda: 1}", "{a.b()}", "{upper(*a)}"])
def test_what_is_no_expression_of_a_world_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match=r"world file|not an expression"):
        world_file(edition={"value": template})


@pytest.mark.parametrize("worlds", [domain.worlds for domain in (*EN.domains, *ZH.domains)])  # type: ignore[attr-defined]
def test_a_series_has_many_editions_and_the_same_seed_the_same_ones(worlds: WorldFile) -> None:
    def worlds_of(seed: int) -> list[dict[str, Any]]:
        rng = random.Random(seed)
        series = worlds.series(rng)
        return [worlds.edition(rng, series, year=2000 + years, _years=years, _other=False) for years in (-2, 0, 1)]

    assert worlds_of(4) == worlds_of(4) != worlds_of(5)
    assert all(not isinstance(value, int | float) for world in worlds_of(4) for value in world.values())


def test_a_line_of_facts_without_a_place_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    sections = {"首都": ["* {A}", "? 哪里？ | 甲/乙 | 丙 | 都/城", "+ 甲。", "- 无。"]}
    monkeypatch.setattr(facts, "read_sections", lambda code, name: sections)
    (notes,) = facts.read_facts("zh", ["x"])
    assert (notes.answer, notes.fake, notes.subject) == (("甲", "乙"), "丙", "都/城")
    assert notes.sentences == {"*": ["{A}"], "~": [], "+": ["甲。"], "-": ["无。"]}
    sections["首都"].insert(0, "+ 甲。")
    with pytest.raises(ValueError, match=r"首都: no place for '\+ 甲。'"):
        list(facts.read_facts("zh", ["x"]))
