"""The file of a criterion: what it may say, and every mistake in it, a line each."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ragstone.errors import DataError
from ragstone.metrics.rubric import (
    READY,
    Anchor,
    Element,
    Rubric,
    Scale,
    Text,
    mistakes_in,
    parse_rubric,
    read_rubric,
    ready_rubric,
    rubric_text,
)

EXAMPLES = Path(__file__).parents[2] / "examples" / "rubrics"

WHOLE = """
name = "parcels"
version = 3
title.en = "Parcels"
title.zh = "包裹"
question.en = "Does it help?"
question.zh = "有帮助吗？"
better = "higher"
needs = ["reference", "contexts"]
weight = 2.5
order = ["sorry", ["state", "date"], "next"]
order_weight = 2

[scale]
min = 1
max = 5
weight = 3
[scale.anchors]
5.en = "very"
5.zh = "很有"
1.en = "not"
1.zh = "没有"

[[elements]]
id = "sorry"
text.en = "apologises"
text.zh = "致歉"

[[elements]]
id = "state"
weight = 0
if_known = true
text.en = "says where it is"
text.zh = "说明在哪里"

[[elements]]
id = "date"
text.en = "says when"
text.zh = "说明何时到"

[[elements]]
id = "next"
text.en = "says what next"
text.zh = "说明接下来"
"""


def parsed(text: str) -> Rubric:
    rubric, mistakes = parse_rubric(text)
    assert mistakes == []
    assert rubric is not None
    return rubric


def test_a_file_says_all_of_a_criterion() -> None:
    rubric = parsed(WHOLE)
    assert (rubric.name, rubric.version, rubric.title) == ("parcels", 3, Text("Parcels", "包裹"))
    assert (rubric.question, rubric.better) == (Text("Does it help?", "有帮助吗？"), "higher")
    assert (rubric.needs, rubric.weight, rubric.order_weight) == (("contexts", "reference"), 2.5, 2.0)
    assert rubric.scale == Scale(1, 5, (Anchor(1, Text("not", "没有")), Anchor(5, Text("very", "很有"))), 3.0)
    assert rubric.elements[1] == Element("state", Text("says where it is", "说明在哪里"), 0.0, if_known=True)
    assert rubric.order == (("sorry",), ("state", "date"), ("next",))
    assert rubric.pairs == (
        ("sorry", "state"), ("sorry", "date"), ("sorry", "next"), ("state", "next"), ("date", "next")
    )  # fmt: skip
    assert rubric.languages == ("en", "zh")


def test_a_short_file_in_one_language_is_enough() -> None:
    rubric = parsed(
        'name = "礼貌"\nquestion = "答案有礼貌吗？"\n[scale]\nmin = 0\nmax = 1\nanchors = {0 = "没有", 1 = "有"}'
    )
    assert rubric.languages == ("zh",)
    assert rubric.scale == Scale(0, 1, (Anchor(0, Text(zh="没有")), Anchor(1, Text(zh="有"))))
    told = parsed('name = "a"\nlanguage = "zh"\nquestion = "OK?"\n[[elements]]\nid = "b"\ntext = "VIP"')
    assert (told.question, told.elements[0].text) == (Text(zh="OK?"), Text(zh="VIP"))
    # A text of names alone is in the language of the question.
    assert (
        parsed('name = "a"\nquestion = "合适吗？"\n[[elements]]\nid = "b"\ntext = "VIP"').elements[0].text.zh == "VIP"
    )


def test_a_text_is_given_in_the_other_language_where_it_is_only_there() -> None:
    assert (Text("a", "甲").to("zh"), Text("a").to("zh"), Text(zh="甲").to("en"), Text().to("en")) == (
        "甲",
        "a",
        "甲",
        "",
    )


SMALL = 'name = "a"\nquestion = "ok?"\n'
ELEMENT = '[[elements]]\nid = "x"\ntext = "has x"\n'
SCALE = '[scale]\nmin = 1\nmax = 3\n[scale.anchors]\n1 = "bad"\n3 = "good"\n'
BOTH = 'name = "a"\nquestion.en = "ok?"\nquestion.zh = "好吗？"\n'
WRONG = [
    ("name = [", ["not TOML"]),
    ("", ["name: is missing.", "question: is missing."]),
    (SMALL, ["neither a [scale] nor [[elements]]"]),
    (f'name = "a b"\nquestion = "ok?"\n{ELEMENT}', ["name: 'a b' is no name"]),
    (f'name = "overall"\nquestion = "ok?"\n{ELEMENT}', ["name: 'overall' stands for all rubrics together"]),
    (f'name = 3\nquestion = " "\n{ELEMENT}', ["name: 3 is no name", "question: is empty."]),
    (f"{SMALL}wieght = 2\n{ELEMENT}", ["wieght: there is no such key. Did you mean 'weight'?"]),
    (f"{SMALL}xyz = 2\n{ELEMENT}", ["xyz: there is no such key. There are name, version,"]),
    (f"{SMALL}{ELEMENT}know = true\n", ["elements[1].know: there is no such key."]),
    (f"{SMALL}{ELEMENT}{ELEMENT}", ["elements[2].id: 'x' is the id of elements[1] already."]),
    (f"{SMALL}[[elements]]\nid = 'x'\n", ["elements[1].text: is missing."]),
    (f"{SMALL}[[elements]]\ntext = 'x'\nid = '1'\n", ["elements[1].id: '1' is no name"]),
    (f"{SMALL}{ELEMENT}weight = -1\n", ["elements[1].weight: is a number from 0 to 1000, not -1."]),
    (f"{SMALL}{ELEMENT}weight = true\n", ["elements[1].weight: is a number"]),
    (f"{SMALL}{ELEMENT}weight = nan\n", ["elements[1].weight: is a number"]),
    (f"{SMALL}{ELEMENT}weight = 0\n", ["every weight is 0"]),
    (f"{SMALL}{ELEMENT}if_known = 'yes'\n", ["elements[1].if_known: is true or false, not 'yes'."]),
    (f"{SMALL}elements = 'x'\n", ["elements: are written as [[elements]]"]),
    (SMALL + "".join(f"[[elements]]\nid = 'x{n}'\ntext = 'x'\n" for n in range(41)), ["elements: are 41; one"]),
    (f"{SMALL}better = 'more'\n{ELEMENT}", ["better: is higher or lower or neither, not 'more'."]),
    (f"{SMALL}needs = ['context']\n{ELEMENT}", ["needs: holds 'context'; there are contexts and reference."]),
    (f"{SMALL}needs = 'contexts'\n{ELEMENT}", ["needs: is a list of contexts and reference."]),
    (f"{SMALL}version = 0\n{ELEMENT}", ["version: is a whole number from 1 to 999, not 0."]),
    (f"{SMALL}order = ['x', 'z']\n{ELEMENT}", ["order: names 'z', but no element has this id."]),
    (f"{SMALL}order = ['x', 'x']\n{ELEMENT}", ["order: names 'x' twice."]),
    (f"{SMALL}order = ['x']\n{ELEMENT}", ["order: needs two places at least"]),
    (f"{SMALL}order = ['x', []]\n{ELEMENT}", ["order: needs two places at least"]),
    (f"{SMALL}order = ['x', 3]\n{ELEMENT}", ["order: holds 3, which is no element id."]),
    (f"{SMALL}order = 'x'\n{ELEMENT}", ["order: is a list of element ids"]),
    (f"{SMALL}scale = 5\n", ["scale: is a table"]),
    (f"{SMALL}[scale]\nmin = 1\n", ["scale.max: is missing.", "scale.anchors: says what the numbers mean"]),
    (f"{SMALL}{SCALE.replace('max = 3', 'max = 5')}", ["scale.anchors: do not cover the scale: 5 has no text."]),
    (f"{SMALL}{SCALE.replace('min = 1', 'min = 2')}", ["anchors.1: is outside", "cover the scale: 2 has no text."]),
    (f"{SMALL}{SCALE.replace('max = 3', 'max = 1')}", ["scale.max: must be larger than min (min 1, max 1)."]),
    (f"{SMALL}{SCALE.replace('max = 3', 'max = 900')}", ["scale.max: is more than 100 steps above min"]),
    (f"{SMALL}{SCALE.replace('min = 1', 'min = 1.0')}", ["scale.min: is a whole number"]),
    (f"{SMALL}{SCALE}good = 'x'\n", ["scale.anchors.good: is no whole number."]),
    (f"{SMALL}{SCALE}2 = ''\n", ["scale.anchors.2: is empty."]),
    (f"{BOTH}{ELEMENT}", ["elements[1].text: is one text, but the question is in en and zh. Write text.en and"]),
    (f"{BOTH}[[elements]]\nid = 'x'\ntext.en = 'x'\n", ["[1].text.zh: is missing; the question is in en and zh"]),
    (f"{BOTH}[[elements]]\nid = 'x'\ntext = {{en = 'x', zh = ' '}}\n", ["text.zh: is a text with something in it."]),
    (f"{SMALL}[[elements]]\nid = 'x'\ntext = {{en = 'x', zh = '甲'}}\n", ["text.zh: is more than the question has"]),
    (f"{SMALL}[[elements]]\nid = 'x'\ntext.de = 'x'\n", ["text.de: there is no such key.", "text.en: is missing"]),
    (f"{SMALL}[[elements]]\nid = 'x'\ntext = {{}}\n", ["elements[1].text: is missing."]),
    (f"{SMALL}[[elements]]\nid = 'x'\ntext = 7\n", ["elements[1].text: is a text, or text.en and text.zh; not 7."]),
    (f"{SMALL}language = 'de'\n{ELEMENT}", ["language: is en or zh, not 'de'."]),
    (f"language = 'zh'\nname = 'a'\nquestion.en = 'ok?'\n{ELEMENT}", ["language: is zh, but the question is not"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "told"), WRONG, ids=range(len(WRONG)))
def test_every_mistake_is_one_line_that_names_its_place(text: str, told: list[str]) -> None:
    rubric, mistakes = parse_rubric(text)
    assert rubric is None
    assert len(mistakes) == len(told), mistakes
    for line, part in zip(mistakes, told, strict=True):
        assert part in line
        assert "\n" not in line
        assert len(line) < 250


def test_no_value_of_another_type_breaks_the_reading() -> None:
    held = tomllib.loads(WHOLE)
    odd = ["1", "true", '"text"', "[]", "[[1]]", "{}", "{a = {b = 1}}", "1979-05-27", "inf", '[["sorry"], {a = 1}]']
    for key in held:
        kept = {name: value for name, value in held.items() if name != key}
        for value in odd:
            if isinstance(kept.get("scale"), dict) and key != "scale":
                text = f'{key} = {value}\n[scale]\nmin = 1\nmax = 2\nanchors = {{1 = "a", 2 = "b"}}'
            else:
                text = (
                    f'name = "a"\nquestion = "b"\n{key} = {value}'
                    if key not in {"name", "question"}
                    else f"{key} = {value}"
                )
            rubric, mistakes = parse_rubric(text)
            assert (rubric is None) == bool(mistakes)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes('name = "报销"'.encode("gb18030"))
    assert mistakes_in(path)[1] == ["is not UTF-8 (byte 8). Save it as UTF-8."]
    assert "cannot be read" in mistakes_in(tmp_path / "none.toml")[1][0]
    path.write_text("\ufeff" + WHOLE, encoding="utf-8")
    assert read_rubric(path) == parsed(WHOLE)


def test_the_first_mistake_of_a_file_is_an_error_that_counts_the_others(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f"nme = 1\n{ELEMENT}")
    with pytest.raises(
        DataError, match=r"a.toml: nme: there is no such key.*\(2 more: `ragstone rubrics check "
    ) as error:
        read_rubric(path)
    assert "\n" not in str(error.value)


CHANGES: list[dict[str, Any]] = [
    {"question": Text("Else?", "有帮助吗？")},
    {"better": "lower"},
    {"needs": ()},
    {"scale": None},
    {"order": (("sorry",), ("next",))},
    {"order_weight": 1.0},
    {"elements": parsed(WHOLE).elements[:3]},
    {"elements": (replace(parsed(WHOLE).elements[0], weight=2.0), *parsed(WHOLE).elements[1:])},
]


@pytest.mark.parametrize("change", CHANGES)
def test_the_hash_changes_with_all_that_a_score_depends_on(change: dict[str, Any]) -> None:
    assert replace(parsed(WHOLE), **change).hash != parsed(WHOLE).hash


def test_the_hash_is_that_of_the_criterion_not_of_the_file() -> None:
    rubric = parsed(WHOLE)
    assert parsed("# a comment\n" + WHOLE.replace("weight = 3", "weight = 3.0")).hash == rubric.hash
    assert replace(rubric, title=Text("x", "y"), weight=9.0, version=4).hash == rubric.hash


@pytest.mark.parametrize("name", READY)
def test_a_ready_rubric_is_in_both_languages_and_says_who_it_is(name: str) -> None:
    rubric = ready_rubric(name)
    assert rubric.name == name
    assert rubric.languages == rubric.title.languages == ("en", "zh")
    assert rubric.better == ("lower" if name in {"bias", "toxicity"} else "higher")
    assert rubric_text(name).startswith("# ")
    assert rubric.scale is not None
    assert [anchor.value for anchor in rubric.scale.anchors][0::2] in ([1, 5], [1, 3, 5])


def test_the_criteria_that_the_issue_names_are_there() -> None:
    assert set(READY) == {
        "process_actionability", "policy_compliance", "empathy", "problem_solving_completeness", "user_sentiment",
        "bias", "toxicity",
    }  # fmt: skip


def test_the_two_cases_of_the_seed_are_examples() -> None:
    expenses, delayed = (read_rubric(EXAMPLES / f"{name}.toml") for name in ("expenses", "delayed_order"))
    assert [element.id for element in expenses.elements] == ["link", "approval", "submit", "deadline"]
    assert "二级主管" in expenses.elements[1].text.zh
    assert [element.id for element in delayed.elements if element.if_known] == ["reason"]
    assert delayed.order == (("soothe",), ("status", "expected", "reason"), ("next_step",))
    assert "退款或投诉" in delayed.elements[-1].text.zh
    assert expenses.languages == delayed.languages == ("en", "zh")


def test_no_text_of_ours_speaks_the_other_language() -> None:
    rubrics = [ready_rubric(name) for name in READY] + [read_rubric(path) for path in sorted(EXAMPLES.glob("*.toml"))]
    for rubric in rubrics:
        anchors = rubric.scale.anchors if rubric.scale else ()
        parts = [*(anchor.text for anchor in anchors), *(element.text for element in rubric.elements)]
        for text in (rubric.title, rubric.question, *parts):
            assert text.en.isascii(), text
            assert not any(map(str.isascii, filter(str.isalpha, text.zh))), text


def elements(*lines: str, head: str = "") -> str:
    """A rubric with these elements."""
    parts = [f"[[elements]]\ntext = 'It says so.'\n{line}" for line in lines]
    return "name = 'mine'\nquestion = 'Is it so?'\n" + head + "\n" + "\n".join(parts)


def test_an_element_may_be_required_and_of_several_one_may_do() -> None:
    text = elements("id = 'a'\nrequired = true", "id = 'b'", "id = 'c'", head="any_of = [['b', 'c']]")
    rubric, mistakes = parse_rubric(text)
    assert mistakes == []
    assert rubric is not None
    assert [element.required for element in rubric.elements] == [True, False, False]
    assert rubric.any_of == (("b", "c"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (elements("id = 'a'\nrequired = 'yes'"), "elements[1].required: is true or false, not 'yes'."),
        (elements("id = 'a'\nrequired = true", head="better = 'lower'"), "required only where better is 'higher'"),
        (elements("id = 'a'", "id = 'b'", head="any_of = ['a', 'b']"), "each with two element ids at least"),
        (elements("id = 'a'", "id = 'b'", head="any_of = [['a', 'z']]"), "any_of: names 'z', but no element"),
        (elements("id = 'a'", "id = 'b'", head="any_of = [['a', 'b'], ['b', 'a']]"), "any_of: names 'b' twice."),
        (elements("id = 'a'", head="any_of = 'a'"), "any_of: is a list of lists of element ids."),
    ],
)
def test_mistakes_in_what_is_required_are_told(text: str, message: str) -> None:
    rubric, mistakes = parse_rubric(text)
    assert rubric is None
    assert any(message in mistake for mistake in mistakes), mistakes
