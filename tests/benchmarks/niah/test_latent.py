"""Latent associations: nothing in a needle but knowledge of the world leads to its question."""

import random
import re
import tomllib
from collections import Counter
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.benchmarks.factory import make

from ragstone.benchmarks.niah.benchmark import expand_query
from ragstone.benchmarks.niah.latent import LATENT
from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.datasets.haystack import haystack
from ragstone.metrics.needle import NeedleFound
from ragstone.types import Case, Query, Response, Sample

TEXTS: dict[str, Any] = tomllib.loads((files("ragstone.benchmarks.niah") / "latent.toml").read_text(encoding="utf-8"))
KINDS = {kind.name: kind for kind in LATENT.kinds}
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])
FUNCTION_WORDS = {"a", "an", "the", "of", "in", "to", "is", "has", "been", "who", "one", "for", "by", "all"}
questions = st.tuples(st.sampled_from(["en", "zh"]), st.sampled_from(sorted(KINDS)), st.integers(0, 10**6))


def asked(language: str, kind: str, seed: int) -> NeedleQuestion:
    maker: Any = KINDS[kind].make
    return maker(language, random.Random(seed), frozenset(), 4000)  # type: ignore[no-any-return]


def features(text: str, language: str) -> set[str]:
    """The beginnings of content words, or the pairs of Chinese characters."""
    if language == "zh":
        return {"".join(pair) for part in re.findall(r"[\u4e00-\u9fff]+", text) for pair in pairwise(part)}
    return {word[:4] for word in re.findall(r"[^\W\d_]+", text.lower()) if word not in FUNCTION_WORDS}


@LANGUAGES
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_needle_shares_a_word_with_its_question_or_with_that_of_another(kind: str, language: str) -> None:
    made = [asked(language, kind, seed) for seed in range(300)]
    names = "|".join(TEXTS[language]["names"])
    assert len({one.question for one in made}) >= 10
    assert len({re.sub(names, "", one.needles[0]) for one in made}) >= (10 if kind.startswith("trade") else 30)
    for one in made:
        for text in (*one.needles, *one.distractors):
            assert not features(re.sub(names, "", text), language) & features(one.question, language)


@given(questions)
def test_one_person_is_the_answer_and_naming_the_others_costs(given: tuple[str, str, int]) -> None:
    language, _, _ = given
    question = asked(*given)
    ((name,),) = question.answers
    people = [person for person in TEXTS[language]["names"] if any(person in text for text in question.texts)]
    keys = [*question.keys, *(key for _, key in question.others)]
    assert len(people) == len(set(keys)) == 4
    assert [sum(name in text for text in (*question.needles, *question.distractors))] == [1]
    assert question.question.count(question.keys[0]) == 1
    meta = {"keys": list(question.keys), "others": [list(pair) for pair in question.others]}
    sample = Sample("s", question.question, question.answers, language=language, meta=meta)
    case = Case("c", sample, {}, Query(question.question, (), language=language))
    for answer, value in (
        (name, 1.0), (f"{question.keys[0]}: {name}", 1.0), (", ".join(people), 0.25), (question.others[0][0], 0.0),
    ):  # fmt: skip
        assert NeedleFound().score(case, Response(answer)).value == value


@LANGUAGES
def test_the_haystack_names_no_place_no_trade_and_nobody_of_them(language: str) -> None:
    texts, stack = TEXTS[language], haystack(language)  # type: ignore[arg-type]
    text = "\n".join((*stack.texts, *stack.more))
    things = [thing for row in texts["landmarks"] for thing in row] + [trade for _, trade in texts["trades"]]
    names = [re.sub(r"^(an?|the) ", "", thing) for thing in things] + texts["names"]
    edge = r"\b" if language == "en" else ""
    assert not re.findall(rf"{edge}(?:{'|'.join(map(re.escape, names))}){edge}", text, re.IGNORECASE)
    assert len(texts["landmarks"]) >= 10 <= len(texts["trades"])
    assert len(set(names)) == len(names)


@LANGUAGES
def test_inverted_needles_name_the_person_after_the_association(language: str) -> None:
    for seed in range(100):
        for what in ("city", "country", "trade"):
            for kind, late in ((what, False), (f"{what}_inverted", True)):
                question = asked(language, kind, seed)
                (needle,), ((name,),) = question.needles, question.answers
                assert (needle.index(name) > len(needle) / 4) is late


@LANGUAGES
def test_needles_stand_at_their_depths_once_and_in_no_control(language: str) -> None:
    made = make("niah", suite="latent", lengths="4k", depths="0,25,75,100", data_languages=[language])
    counted = Counter[str]()
    for case in made.cases():
        text = (expand_query(case.query, made.haystacks).passages or ())[0].text
        people = [name for name in TEXTS[language]["names"] if name in text]
        if case.condition["ability"] == "control":
            assert not people
            continue
        ((name,),) = case.sample.references
        counted[str(case.condition["needle"])] += 1
        assert len(people) == 4
        assert text.count(name) == 1
        assert text.index(name) / len(text) == pytest.approx(float(case.condition["depth"]) / 100, abs=0.06)
    assert counted == dict.fromkeys(KINDS, 4)
