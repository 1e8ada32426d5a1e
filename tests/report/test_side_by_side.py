"""Answers side by side: what differs is marked, in words, passages and scores."""

import re

import pytest
from msgspec.structs import replace
from tests.golden import golden, markup
from tests.report.cases import GOLD, OTHERS, staged_record
from tests.report.conftest import Open
from tests.report.hostile import PAYLOADS, hostile_records
from tests.report.test_hostile import check_that_nothing_runs
from tests.report.test_page import text_of

from ragstone.display import Diagnosis
from ragstone.messages import LANGUAGES
from ragstone.report.page import document
from ragstone.report.section import Canvas
from ragstone.report.side_by_side import MOST, Column, side_by_side
from ragstone.types import Record, Response, Score

RIGHT, WRONG = Diagnosis(True, "all"), Diagnosis(False, "all", "x", "misread", "It says nine.")


def columns() -> list[Column]:
    first = staged_record()
    response = Response("It lasts eleven hours.", (OTHERS[0], GOLD))
    second = replace(
        first, system_id="rag-b", response=response, scores={"f1": Score.of(0.75), "answer_match": Score.of(1)}
    )
    return [Column("rag-a", first, WRONG, "/case?a"), Column("rag-b", second, RIGHT)]


def test_words_passages_and_scores_that_differ_are_marked() -> None:
    html = str(side_by_side(Canvas("en"), columns()))
    assert re.findall(r'<mark class="only" title="[^"]*">([^<]*)</mark>', html) == ["nine", "eleven"]
    text = text_of(html)
    for told in ("rag-a wrong misread", "rag-b right", "blog#0 was at rank 2", "manual#7 right passage new",
                 "blog#1 lost, was at rank 1", "f1 0.250 0.750 +0.500", "Passages in the prompt: 2"):  # fmt: skip
        assert told in text
    assert '<a href="/case?a"><bdi>rag-a</bdi></a>' in html


def test_of_several_answers_the_first_marks_what_no_other_has() -> None:
    def column(name: str, answer: str) -> Column:
        record = replace(staged_record(answer), system_id=name)
        return Column(name, record, RIGHT)

    many = [column("a", "red and green"), column("b", "blue and green"), column("c", "blue or green")]
    html = str(side_by_side(Canvas("en"), [*many, *many, *many]))
    marked = re.findall(r'<mark class="only" title="[^"]*">([^<]*)</mark>', html)
    assert marked == ["blue", "blue or", "blue", "blue or"]  # a copy of the first shares everything with it
    assert html.count('<section class="side"') == MOST
    assert (
        re.findall(r'<mark class="only" title="[^"]*">([^<]*)</mark>', str(side_by_side(Canvas("en"), many)))[0]
        == "red"
    )


def test_equal_answers_are_said_to_be_equal() -> None:
    one = columns()[0]
    assert "The answers have the same words." in text_of(str(side_by_side(Canvas("en"), [one, one])))
    assert "同" in str(side_by_side(Canvas("zh"), [one, one]))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_side_by_side_reads_as_before(language: str) -> None:
    golden(f"report/side-by-side-{language}", markup(str(side_by_side(Canvas(language), columns()))))


def hostile_pairs() -> list[list[Record]]:
    records = list(hostile_records(PAYLOADS))
    return [[one, other] for one, other in zip(records, reversed(records), strict=True)]


def test_nothing_that_a_file_holds_runs_side_by_side(opened: Open) -> None:
    sections = []
    for number, pair in enumerate(hostile_pairs()):
        texts = [record.case.query.question for record in pair]
        sides = [
            Column(text, record, Diagnosis(False, text, text, text, text))
            for text, record in zip(texts, pair, strict=True)
        ]
        sections.append((f"p{number}", texts[0], side_by_side(Canvas("en"), sides)))
    check_that_nothing_runs(opened, document(Canvas("en"), sections, heading="hostile", systems=[]), policy=False)


@pytest.mark.parametrize("width", [1280, 390])
def test_columns_stand_beside_each_other_or_below_on_a_phone(opened: Open, width: int) -> None:
    body = side_by_side(Canvas("zh"), columns())
    seen = opened(document(Canvas("zh"), [("s", "对照", body)], heading="x", systems=[]), width=width)
    boxes = [side.bounding_box() for side in seen.page.locator("section.side").all()]
    assert (boxes[0]["y"] == boxes[1]["y"]) == (width == 1280)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
