"""The official rules of RGB, to the count."""

import pytest

from ragstone.metrics.rgb_official import RgbOfficial, official_counts, official_labels
from ragstone.types import Case, Query, Response, Sample


@pytest.mark.parametrize(
    ("prediction", "slots", "chinese", "expected"),
    [
        ("Ada Lovelace", [["Ada Lovelace"]], False, ([1], 0)),
        ("it was ADA LOVELACE.", "Ada Lovelace", False, ([1], 0)),
        ("one and two", ["one", ["zwei", "two"], "three"], False, ([1, 1, 0], 0)),
        ("It is a party", ["art"], False, ([1], 0)),  # a substring is enough: a flaw, kept
        ("It was not Ada", ["Ada"], False, ([1], 0)),
        ("Ada, but insufficient information", ["Ada"], False, ([-1], 0)),
        ("Insufficient Information", ["Ada"], False, ([0], 0)),  # case-sensitive
        ("There are factual errors in the provided documents. Ada", ["Ada"], False, ([1], 1)),
        ("insufficient information and factual errors", ["Ada"], False, ([-1], 1)),
        ("Factual Errors", ["Ada"], False, ([0], 0)),
        ("信 息 不 足", [["12人"]], True, ([-1], 0)),
        ("信 息 不 足", [["12人"]], False, ([0], 0)),
        ("共 12 人", [["12人"]], True, ([1], 0)),
        ("共\u300012\u3000人", [["12人"]], True, ([0], 0)),  # only U+0020 is removed
        ("存在事实性错误，12人", [["12人"], ["13人"]], True, ([1, 0], 1)),
        ("New York", [["New York"]], True, ([0], 0)),  # the reference keeps its space: a flaw, kept
        ("anything", [[""]], False, ([1], 0)),
        ("anything", [], False, ([], 0)),
    ],
)
def test_labels_are_those_of_the_official_program(
    prediction: str, slots: str | list[str | list[str]], chinese: bool, expected: tuple[list[int], int]
) -> None:
    assert official_labels(prediction, slots, chinese=chinese) == expected


@pytest.mark.parametrize(
    ("labels", "noise_ratio", "counts"),
    [
        ([1], 0, True),
        ([1, 1], 0.8, True),
        ([1, 0], 0, False),
        ([-1], 0, False),
        ([-1], 0.8, False),
        ([-1], 1, True),
        ([-1], 1.0, True),
        ([1], 1, True),  # a lucky guess counts as a rejection: a flaw, kept
        ([0], 1, False),
        ([], 1, False),
    ],
)
def test_a_row_counts_as_in_the_official_program(labels: list[int], noise_ratio: float, counts: bool) -> None:
    assert official_counts(labels, noise_ratio) is counts


def test_the_metric_takes_the_noise_ratio_and_the_data_set_from_the_condition() -> None:
    sample = Sample(id="zh:0", question="多少人？", references=(("12人",),))
    case = Case("a", sample, {"noise_ratio": 1, "dataset": "zh_refine", "language": "zh"}, Query("多少人？"))
    score = RgbOfficial().score(case, Response("文档信 息不足，因此我无法基于提供的文档回答该问题。"))
    assert score.value == 1.0
    assert score.evidence == {"label": [-1], "factlabel": 0}
    assert RgbOfficial().score(case, Response("一共 12 人")).evidence == {"label": [1], "factlabel": 0}
    english = Case("a", sample, {"noise_ratio": 0, "dataset": "en"}, Query("多少人？"))
    assert RgbOfficial().score(english, Response("一共 12 人")).value == 0.0
