"""What Chinese news promises beside what all fictional data do: easy data stay as they were, characters that everybody
reads, sentences that hold what they name, forms that vary."""

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ragstone.datasets.fictional import fictional_rgb
from ragstone.datasets.fictional.parts import seeded
from ragstone.datasets.fictional.zh import LANGUAGE, names
from ragstone.datasets.fictional.zh.domains import ASK_POOLS, FORM_POOLS, POOLS, ChineseDomain

LEVEL_ONE = frozenset(Path(__file__).with_name("level_one.txt").read_text(encoding="utf-8"))
"""The 3,500 characters of the first level of the Table of General Standard Chinese Characters (State Council, 2013)."""
HAN = re.compile("[\u4e00-\u9fff]")
DOMAINS: tuple[ChineseDomain, ...] = tuple(LANGUAGE.varied(domain) for domain in LANGUAGE.domains)
# How a part of a page shows its form.
FORMS = {
    "interview": re.compile(r"^《.+》：.*？\n.+：", re.MULTILINE),
    "table": re.compile(r"^[^｜\n]+｜[^｜\n]+｜", re.MULTILINE),
    "list": re.compile(r"^(?:·|[一二三四]、|（[一二三四]）)", re.MULTILINE),
    "notice": re.compile(r"　\d+月\d+日$|公告如下|特此公告|说明如下|现说明|声明", re.MULTILINE),
    "record": re.compile(r"^(?:\d{4}年)?\d+月\d+日　", re.MULTILINE),
}


@cache
def rows(difficulty: str, seed: int = 3, size: int = 40) -> list[dict[str, Any]]:
    return list(fictional_rgb("zh", seed=seed, size=size, difficulty=difficulty))


def passages(row: dict[str, Any]) -> list[str]:
    return [*row["positive"], *row["negative"]]


@pytest.mark.parametrize("difficulty", ["news", "adversarial"])
def test_all_characters_are_common_ones(difficulty: str) -> None:
    texts = [text for row in rows(difficulty, size=15) for text in (row["query"], *passages(row))]
    assert {character for text in texts for character in HAN.findall(text)} <= LEVEL_ONE


def test_all_words_that_names_are_made_of_are_common() -> None:
    for name, words in names.NEWS.words.items():
        assert set(HAN.findall("".join(words))) <= LEVEL_ONE, name


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.file)
def test_every_field_of_a_sentence_has_a_value_and_no_pool_is_empty(domain: ChineseDomain) -> None:
    rng = seeded("fields", domain.file)
    world = domain.worlds.edition(rng, domain.worlds.series(rng), _years=0, _other=False)
    known = {*world, "报", "记者", "甲", "乙"}
    pools = [getattr(domain, name) for name in (*POOLS, *FORM_POOLS)]
    pools += [getattr(asked, name) for asked in domain.question_types for name in ASK_POOLS]
    for pool in pools:
        assert pool.patterns
        for pattern in pool.patterns:
            for field in pattern.fields:
                assert field in known or re.fullmatch(r"~\d+-\d+", field) or field[1:] in names.NEWS.draws, field


def test_every_form_is_one_passage_in_twelve_or_more() -> None:
    texts = [text for row in rows("news") for text in passages(row)]
    shares = {form: sum(bool(look.search(text)) for text in texts) / len(texts) for form, look in FORMS.items()}
    assert min(shares.values()) > 0.08, shares


def test_sentences_hardly_ever_come_again() -> None:
    counts = Counter(
        sentence for row in rows("news") for text in passages(row) for sentence in re.findall(r"[^。！？\n]{6,}", text)
    )
    assert sum(count for count in counts.values() if count > 3) < 0.01 * counts.total()
