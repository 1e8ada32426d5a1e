"""Answers as people phrase them: the share that the default scoring misses is the published one, or less."""

import pytest
from bench.phrasings import is_missed, read

MISSED = {"en": 47, "zh": 45}
"""In docs/what-the-numbers-mean.md, of 305 each."""


@pytest.mark.parametrize("language", list(MISSED))
def test_no_more_phrasings_are_missed_than_published(language: str) -> None:
    phrasings = list(read(language))
    assert len({(one.reference, one.text) for one in phrasings}) == 305
    missed = [one for one in phrasings if is_missed(one, language)]
    assert len(missed) <= MISSED[language]


@pytest.mark.parametrize(
    ("reference", "text"),
    [("57人", "57名"), ("3.66亿元", "3.66亿人民币"), ("101.92公里", "101.92km"), ("1914年", "1914"), ("鼠", "老鼠"),
     ("H2O", "H₂O"), ("安赫尔瀑布", "天使瀑布"), ("红细胞", "红血球")],
)  # fmt: skip
def test_chinese_units_and_aliases_are_found(reference: str, text: str) -> None:
    assert not any(is_missed(one, "zh") for one in read("zh") if (one.reference, one.text) == (reference, text))
    case = next(iter(read("zh")))._replace(reference=reference, text=f"答案是{text}。")
    assert not is_missed(case, "zh")


@pytest.mark.parametrize(
    ("reference", "text"),
    [("57人", "57岁"), ("3.66亿元", "3.66亿美元"), ("101.92公里", "101.92米"), ("1914年", "1914人"),
     ("红细胞", "白血球"), ("22,983 spectators", "22,983 euros"), ("738 artefacts", "7,738 artefacts"),
     ("World War II", "World War I")],
)  # fmt: skip
def test_other_units_and_names_are_not(reference: str, text: str) -> None:
    case = next(iter(read("en")))._replace(reference=reference, text=text)
    assert is_missed(case, "")
