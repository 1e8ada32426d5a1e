"""Ancestral traces: what the facts say is solved here by a second reader, from the texts alone."""

import random
import re
import tomllib
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.benchmarks.factory import make

from ragstone.benchmarks.niah.ancestral import ANCESTRAL
from ragstone.benchmarks.niah.benchmark import expand_query
from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.datasets.haystack import haystack
from ragstone.metrics.needle import NeedleFound
from ragstone.types import Case, Passage, Query, Response, Sample

SOURCE = files("ragstone.benchmarks.niah") / "ancestral.toml"
TEXTS: dict[str, Any] = tomllib.loads(SOURCE.read_text(encoding="utf-8"))
NAMES = {language: [*texts["women"], *texts["men"]] for language, texts in TEXTS.items()}
KINDS = {kind.name: kind for kind in ANCESTRAL.kinds}
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])
questions = st.tuples(st.sampled_from(["en", "zh"]), st.sampled_from(sorted(KINDS)), st.integers(0, 10**6))


def asked(language: str, kind: str, seed: int) -> NeedleQuestion:
    maker: Any = KINDS[kind].make
    return maker(language, random.Random(seed), frozenset(), 4000)  # type: ignore[no-any-return]


def passage_of(query: Query) -> Passage:
    assert query.passages
    return query.passages[0]


def parents_in(facts: tuple[str, ...], language: str) -> dict[str, tuple[str, bool]]:
    """Child → parent, and whether that is a man, read from sentences."""
    texts, found = TEXTS[language], {}
    name = "|".join(NAMES[language])
    for fact in facts:
        for template in texts["facts"]:
            pattern = re.escape(template).replace(r"\{", "{").replace(r"\}", "}").format(
                parent=f"(?P<parent>{name})", child=f"(?P<child>{name})",
                parent_word=f"(?P<parent_word>{'|'.join(texts['parents'])})",
                child_word=f"(?P<child_word>{'|'.join(texts['children'])})",
            )  # fmt: skip
            if match := re.fullmatch(pattern, fact):
                words = match.groupdict()
                is_man = words["parent"] in texts["men"]
                assert words.get("parent_word") in (None, texts["parents"][is_man])
                assert words.get("child_word") in (None, texts["children"][words["child"] in texts["men"]])
                assert words["child"] not in found
                found[words["child"]] = (words["parent"], is_man)
                break
        else:
            raise AssertionError(fact)
    return found


def line_of(person: str, parents: dict[str, tuple[str, bool]]) -> list[str]:
    line = [person]
    while line[-1] in parents:
        line.append(parents[line[-1]][0])
    return line


@given(questions)
def test_the_facts_lead_to_the_answer_and_to_no_other(given: tuple[str, str, int]) -> None:
    language, kind, _ = given
    question = asked(*given)
    facts = int(kind.rpartition("_")[2])
    parents = parents_in((*question.needles, *question.distractors), language)
    named = [name for name in NAMES[language] if name in question.question]
    assert len(question.needles) == facts
    assert len(question.distractors) == 3 * facts
    assert len({person for child, (parent, _) in parents.items() for person in (child, parent)}) == 4 * (facts + 1)
    ((answer, *_),) = question.answers
    if kind.startswith("eldest"):
        (person,) = named
        assert line_of(person, parents)[-1] == answer
        assert len(line_of(person, parents)) == facts + 1
        assert set(parents_in(question.needles, language)) == set(line_of(person, parents)[:-1])
        assert sum(answer in fact for fact in (*question.needles, *question.distractors)) == 1
    else:
        first, second = sorted(named, key=lambda name: -len(line_of(name, parents)))
        assert line_of(first, parents).index(second) == int(answer) >= 2
        assert set(parents_in(question.wanted, language)) == set(line_of(first, parents)[: int(answer)])
    assert answer not in question.question
    assert set(question.wanted) <= set(question.needles)


@given(questions)
def test_only_the_right_answer_alone_is_right(given: tuple[str, str, int]) -> None:
    language, _, _ = given
    question = asked(*given)
    meta = {"keys": list(question.keys), "others": [list(pair) for pair in question.others]}
    sample = Sample("s", question.question, question.answers, language=language, meta=meta)
    case = Case("c", sample, {}, Query(question.question, (), language=language))

    def score(answer: str) -> float:
        value = NeedleFound().score(case, Response(answer)).value
        assert value is not None
        return value

    ((answer, *_),) = question.answers
    others = [value for value, _ in question.others]
    assert score(answer) == score(f"{answer}.") == 1.0
    assert score(", ".join([answer, *others])) <= 1 / 5
    assert all(score(other) == 0 for other in others)


@LANGUAGES
def test_names_are_in_no_other_name_and_not_in_the_haystack(language: str) -> None:
    stack = haystack(language)  # type: ignore[arg-type]
    text = "\n".join((*stack.texts, *stack.more))
    names = NAMES[language]
    assert len(set(names)) == 60
    assert not [(one, other) for one in names for other in names if one != other and one in other]
    edge = r"\b" if language == "en" else ""
    assert not re.search(rf"{edge}({'|'.join(names)}){edge}", text)


@LANGUAGES
def test_every_fact_stands_once_in_its_context_in_no_order_and_none_in_a_control(language: str) -> None:
    made = make("niah", suite="ancestral", lengths="3k", depths="0:100:4", data_languages=[language])
    orders = set()
    for case in made.cases():
        recipe = passage_of(case.query).meta["recipe"]
        text = passage_of(expand_query(case.query, made.haystacks)).text
        facts = int(str(case.condition["needle"]).rpartition("_")[2])
        if case.condition["ability"] == "control":
            assert not any(name in text for name in NAMES[language])
            continue
        assert len(recipe["needles"]) == 4 * facts == case.condition["needles"]
        assert all(text.count(fact) == 1 for fact in recipe["needles"])
        parents = parents_in(tuple(recipe["needles"]), language)
        ranks = [len(line_of(name, parents)) for name in parents]
        orders.add(ranks == sorted(ranks))
    assert False in orders


@LANGUAGES
def test_no_place_of_an_answer_is_likelier_than_another(language: str) -> None:
    """Where the fact with the answer stands among all facts: a third of the samples or so in each third."""
    made = make(
        "niah", suite="ancestral", needles=["eldest_5"], lengths="3k", depths="0:100:60", data_languages=[language],
        control="none", repeat=2,
    )  # fmt: skip
    places = []
    for case in made.cases():
        recipe = passage_of(case.query).meta["recipe"]
        ((answer,),) = case.sample.references
        (place,) = (at for at, fact in enumerate(recipe["needles"]) if answer in fact)
        places.append(place / len(recipe["needles"]))
    thirds = [sum(third / 3 <= place < (third + 1) / 3 for place in places) for third in range(3)]
    assert len(places) == 120
    assert sum((count - 40) ** 2 / 40 for count in thirds) < 13.8  # χ² with 2 degrees of freedom at p = 0.001
