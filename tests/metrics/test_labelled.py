"""Refusals and matches on labelled answers: what was found wrong, and the goals on the half nobody develops on."""

import time

import pytest
from bench.labelled import HALVES, LANGUAGES, Labelled, errors, figures, read

from ragstone.metrics._clauses import clauses
from ragstone.metrics._phrases import phrases
from ragstone.metrics.refusal import _kind, refusal_spans

GOALS = {"refusals": (0.95, 0.95), "matches": (0.97, 0.93)}
# Answers that were judged wrongly when they were reported.
DECLINES = [
    "Unfortunately, none of the documents mention the winner.",
    "I was not able to find the name of the director.",
    "The context lacks information on the release date.",
    "这超出了文档的范围。",
    "暂无答案",
    "知识库中没有相关内容。",
    "尚不能确定。",
]
ANSWERS = ["没有，双方打平了。", "该公司因信息不足被罚款。"]
STATED = [
    ("8小时", "8个小时"),
    ("100元", "￥100"),
    ("40.98亿元", "40.98亿"),
    ("1830克", "1830g"),
    ("壹佰贰拾叁", "123"),
    ("二比一", "2:1"),
    ("三点五", "3.5"),
    ("$100", "100 dollars"),
    ("5 km", "5 kilometers"),
    ("105", "one hundred and five"),
    ("first", "1st"),
    ("World War II", "World War 2"),
    ("U.S.", "United States"),
    ("3.66亿元", "3.66亿人民币"),
    ("101.92公里", "101.92km"),
    ("1914年", "1914"),
    ("H₂O", "H2O"),
]
NOT_STATED = [
    ("5", "−5"),
    ("5", "5G"),
    ("3", "3-5"),
    ("云澜7", "云澜7 Pro"),
    ("40.98亿元", "40.98亿美元"),
    ("1914年", "1914人"),
    ("8小时", "18小时"),
]


@pytest.mark.parametrize("answer", DECLINES)
def test_a_refusal_that_was_missed_is_found(answer: str) -> None:
    assert refusal_spans(answer)


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_that_was_taken_for_a_refusal_is_none(answer: str) -> None:
    assert refusal_spans(answer) == []


@pytest.mark.parametrize(
    ("reference", "answer"),
    [("13891人", "13891名观众"), *STATED, *((answer, reference) for reference, answer in STATED)],
)
def test_a_match_that_was_missed_is_found(reference: str, answer: str) -> None:
    assert Labelled(reference, f"({answer})", True, True).judged()


@pytest.mark.parametrize(("reference", "answer"), NOT_STATED)
def test_a_wrong_match_is_none(reference: str, answer: str) -> None:
    assert not Labelled(reference, answer, False, True).judged()


@pytest.mark.parametrize("kind", GOALS)
def test_the_tables_hold_enough_of_both_labels_and_both_languages_in_both_halves(kind: str) -> None:
    tables = {(language, half): read(kind, language, half) for language in LANGUAGES for half in HALVES}
    assert sum(map(len, tables.values())) >= 300
    for rows in tables.values():
        assert len(rows) >= 100
        assert 0.4 <= sum(row.holds for row in rows) / len(rows) <= 0.65
    developed = {(row.reference, row.answer) for language in LANGUAGES for row in tables[language, "developed"]}
    assert not any((row.reference, row.answer) in developed for code in LANGUAGES for row in tables[code, "measured"])


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", GOALS)
def test_precision_and_recall_reach_the_goals(kind: str, language: str, half: str) -> None:
    found, (precision, recall) = figures(read(kind, language, half)), GOALS[kind]
    assert found.precision >= precision, found
    assert found.recall >= recall, found


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_look_at_an_answer_overlooks_no_refusal(language: str) -> None:
    answers = [row.answer for half in HALVES for row in read("refusals", language, half)]
    for clause in (clause for answer in answers for clause in clauses(answer)):
        if _kind(clause)[0] in {"whole", "gap"}:
            assert phrases("refusal.hint").search(clause.text), clause.text


def test_figures_count_false_alarms_against_precision_and_misses_against_recall() -> None:
    rows = [
        Labelled("", "I don't know.", True, True),
        Labelled("", "I don't know.", False, True),
        Labelled("", "Norway.", True, True),
        Labelled("", "Norway.", False, True),
        Labelled("", "Norway.", True, False),
    ]
    found = figures(rows)
    assert (found.n, found.holding, found.precision, found.recall) == (4, 2, 0.5, 0.5)
    assert errors(rows) == rows[1:3]


@pytest.mark.parametrize(
    "unit",
    [
        "The documents do not say, but 5 km is 3-5. ",
        "文档没有提到《谁？》，但全长5公里，共3至5天。",
        "5 ",
        "one hundred and ",
    ],
)
def test_the_time_of_a_long_answer_grows_with_its_length_and_not_its_square(unit: str) -> None:
    def seconds(size: int) -> float:
        row = Labelled("12 km", unit * (size // len(unit)), False, True)
        begin = time.process_time()
        row.judged()
        return time.process_time() - begin

    seconds(1000)
    assert seconds(400_000) < 9 * seconds(100_000) + 0.05  # a square would be 16 times as long
