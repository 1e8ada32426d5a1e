"""The words of a trend and of its page, in both languages, word for word."""

import re

import pytest
from tests.comparison.trends import night, nights, records, trend
from tests.golden import golden

from ragstone.comparison.trend import TrendResult
from ragstone.comparison.trend_page import render
from ragstone.comparison.trend_verdict import verdict_kind
from ragstone.report.section import Canvas

_TAGS = re.compile(r"<(style|svg).*?</\1>|<[^>]+>", re.DOTALL)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_words_of_the_page(language: str) -> None:
    sides = [*nights(9, at=5, fall=0.4, questions=20, seconds=2.0)]
    sides.append(night(9, records([1.0] * 3), planned=20))
    sides.append(night(10, records([1.0] * 20, first=10), system={"kind": "ours", "k": 3}))
    found = trend(sides)
    assert verdict_kind(found) == "regression"
    result = TrendResult(found, language)
    canvas = Canvas(language)
    page = render(canvas, result.parts(canvas), ["app"])
    lines = [" ".join(line.split()) for line in _TAGS.sub("\n", page.partition("<body>")[2]).splitlines()]
    golden(f"trend/page-{language}", "\n".join(line for line in lines if line))
