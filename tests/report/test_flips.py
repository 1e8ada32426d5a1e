"""Flips as a picture: four cells that lead to their cases, a sentence above them, a matrix for several systems."""

import re

import numpy as np
import pytest
from tests.golden import golden, markup
from tests.report.conftest import Open
from tests.report.hostile import PAYLOADS
from tests.report.test_hostile import check_that_nothing_runs
from tests.report.test_page import text_of
from tests.report.test_side_by_side import columns

from ragstone.analysis.case_index import Outcomes
from ragstone.analysis.flips import CELLS, Flips, flips_of
from ragstone.display import Cell, Row, Table
from ragstone.messages import LANGUAGES
from ragstone.report.comparison import render
from ragstone.report.flips import differences_html, flips_html, flips_verdict, matrix_html
from ragstone.report.page import document
from ragstone.report.section import Canvas


def flips(won: int = 18, lost: int = 7, right: int = 50, wrong: int = 25, unknown: int = 2) -> Flips:
    """So many pairs of each kind."""
    before = [0.0] * won + [1.0] * lost + [1.0] * right + [0.0] * wrong + [np.nan] * unknown
    after = [1.0] * won + [0.0] * lost + [1.0] * right + [0.0] * wrong + [1.0] * unknown
    numbers = np.arange(1.0, len(before) + 1)

    def side(values: list[float]) -> Outcomes:
        known = np.asarray(values)
        return Outcomes(np.arange(len(values)), numbers, numbers, known, {"f1": known / 2})

    return flips_of(side(before), side(after))


def test_the_four_cells_have_their_counts_and_lead_to_their_cases() -> None:
    html = str(flips_html(Canvas("en"), flips(), ("A", "B"), {cell: f"/x?cell={cell}" for cell in CELLS}))
    found = re.findall(r'<td class="(\w+)"><a href="/x\?cell=(\w+)"><b>(\d+)</b> <span>([^<]+)', html)
    assert found == [
        ("both_right", "both_right", "50", "right by both"), ("lost", "lost", "7", "right only by A"),
        ("won", "won", "18", "right only by B"), ("both_wrong", "both_wrong", "25", "wrong by both"),
    ]  # fmt: skip
    assert "Not counted because a verdict is missing: 2." in text_of(html)


def test_an_empty_cell_is_no_link() -> None:
    html = str(flips_html(Canvas("en"), flips(won=0), ("A", "B"), {"won": "/x", "lost": "/y"}))
    assert re.findall(r'<a href="(/\w)"', html) == ["/y"]


@pytest.mark.parametrize(("won", "lost", "told"), [
    (18, 7, "B is better than A: right answers B − A = +11.0 points [+"), (7, 18, "A is better than B"),
    (10, 9, "No difference seen between A and B"),
])  # fmt: skip
def test_the_sentence_says_who_is_better_or_that_nobody_is_seen_to_be(won: int, lost: int, told: str) -> None:
    sentence = flips_verdict(flips(won, lost), ("A", "B"), "en")
    assert sentence.startswith(told)
    assert f"only B answered {won} right, only A {lost}" in sentence


def test_long_names_are_letters_with_a_key() -> None:
    long = ("rag(retriever=bm25, model=local/extractive, k=5)", "b")
    assert flips_verdict(flips(), long, "en").startswith("B is better than A")
    text = text_of(str(flips_html(Canvas("en"), flips(), long)))
    assert "A rag(retriever=bm25, model=local/extractive, k=5) B b" in text


def test_the_matrix_names_the_system_that_is_better_than_most() -> None:
    up, even = flips(30, 2).right, flips(5, 5).right
    assert up is not None
    assert even is not None
    gains = {(0, 1): up, (1, 0): up.turned, (0, 2): even, (2, 0): even.turned, (2, 1): up, (1, 2): up.turned}
    assert "B is better than 2 of the 2 others" in text_of(str(matrix_html(Canvas("en"), ["A", "B", "C"], gains, {})))
    same = {(0, 1): even, (1, 0): even.turned}
    assert "No difference seen between these 2 systems" in text_of(str(matrix_html(Canvas("en"), ["A", "B"], same, {})))


def test_without_a_verdict_nothing_is_compared() -> None:
    none = flips(0, 0, 0, 0, 5)
    assert "nothing to compare" in flips_verdict(none, ("A", "B"), "en")
    assert "无法比较" in flips_verdict(none, ("A", "B"), "zh")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_picture_and_the_matrix_read_as_before(language: str) -> None:
    canvas, found = Canvas(language), flips()
    gain = found.right
    assert gain is not None
    matrix = matrix_html(canvas, ["A", "B"], {(0, 1): gain, (1, 0): gain.turned}, {(0, 1): "/ab", (1, 0): "/ba"})
    parts = [flips_html(canvas, found, ("A", "B")), matrix, differences_html(canvas, found.scores, ("A", "B"))]
    golden(f"report/flips-{language}", "\n".join([flips_verdict(found, ("A", "B"), language), *map(markup, parts)]))


def test_the_report_of_a_comparison_opens_with_the_picture_and_every_sample_is_a_link(opened: Open) -> None:
    one, other = columns()
    table = Table("t", "Flipped", ("Metric", "Sample", "n"), (Row((Cell("f1"), Cell("lamp/7 é"), Cell("1"))),), keys=2)
    html = render("A", "B", ["B is better."], [], [table], {"a": ["x"], "b": ["y"]}, flips=flips(),
                  cases=[("won", one, other), ("lost", other, one)])  # fmt: skip
    seen = opened(html)
    page = seen.page
    assert page.locator("table.flips").bounding_box()["y"] < 800
    page.get_by_role("link", name="7 right only by A").click()
    assert page.url.endswith("#cases-lost")
    page.locator("#t1").get_by_role("link", name="lamp/7 é").click()
    assert page.locator("details:has(:target)").get_attribute("open") is not None
    assert page.locator(":target mark.only").first.is_visible()
    assert seen.quiet(), seen.console


@pytest.mark.parametrize("width", [1280, 390])
def test_the_picture_fits_a_phone(opened: Open, width: int) -> None:
    canvas = Canvas("zh")
    html = flips_html(canvas, flips(), ("rag(retriever=bm25, k=5)", "rag(retriever=hybrid(bm25,local/e5-small), k=5)"))
    seen = opened(document(canvas, [("s", "比较", html)], heading="x", systems=[]), width=width, scheme="dark")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_names_of_systems_never_run(opened: Open) -> None:
    canvas, found = Canvas("en"), flips()
    sections = []
    for number, text in enumerate(PAYLOADS):
        body = flips_html(canvas, found, (text, text)) + canvas.html(
            "<p>{{ x }}</p>", x=flips_verdict(found, (text, text), "en")
        )
        body += matrix_html(canvas, [text, text], {(0, 1): found.right}, {})
        sections.append((f"s{number}", text, body))
    check_that_nothing_runs(opened, document(canvas, sections, heading="x", systems=[]), policy=False)
