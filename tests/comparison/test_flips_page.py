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
from ragstone.comparison.comparison_page import FOLDED, render
from ragstone.comparison.flips_page import differences_html, flips_html, flips_todo, flips_verdict, matrix_html
from ragstone.display import Action, Cell, Dot, Row, Summary, Table
from ragstone.messages import LANGUAGES
from ragstone.report.page import document
from ragstone.report.section import Canvas


def flips(won: int = 25, lost: int = 7, right: int = 50, wrong: int = 25, unknown: int = 2) -> Flips:
    """So many pairs of each kind."""
    before = [0.0] * won + [1.0] * lost + [1.0] * right + [0.0] * wrong + [np.nan] * unknown
    after = [1.0] * won + [0.0] * lost + [1.0] * right + [0.0] * wrong + [1.0] * unknown
    numbers = np.arange(1.0, len(before) + 1)

    def side(values: list[float]) -> Outcomes:
        known = np.asarray(values)
        return Outcomes(np.arange(len(values)), numbers, numbers, numbers, known, {"f1": known / 2})

    return flips_of(side(before), side(after))


def test_the_four_cells_have_their_counts_and_lead_to_their_cases() -> None:
    html = str(flips_html(Canvas("en"), flips(), ("A", "B"), {cell: f"/x?cell={cell}" for cell in CELLS}))
    found = re.findall(r'<td class="(\w+)"><a href="/x\?cell=(\w+)"><b>(\d+)</b> <span>([^<]+)', html)
    assert found == [
        ("both_right", "both_right", "50", "right by both"), ("lost", "lost", "7", "right only by A"),
        ("won", "won", "25", "right only by B"), ("both_wrong", "both_wrong", "25", "wrong by both"),
    ]  # fmt: skip
    assert "Not counted because a verdict is missing: 2." in text_of(html)


def test_an_empty_cell_is_no_link() -> None:
    html = str(flips_html(Canvas("en"), flips(won=0), ("A", "B"), {"won": "/x", "lost": "/y"}))
    assert re.findall(r'<a href="(/\w)"', html) == ["/y"]


@pytest.mark.parametrize(("won", "lost", "told", "todo"), [
    (25, 7, "B gives more right answers than A: by 17 points [", "Use B, but first read what only A has right (7):"),
    (7, 25, "A gives more right answers than B: by 17 points [", "Use A, but first read what only B has right (7):"),
    (18, 0, "B gives more right answers than A", "Use B: it is right wherever A is."),
    (10, 9, "The data cannot tell yet whether B or A gives more right answers: 1.1 points [−", "Ask about "),
    (9, 9, "No difference is seen between B and A", "Let price and speed decide"),
])  # fmt: skip
def test_a_comparison_says_who_is_better_or_what_would_decide_and_what_to_do(
    won: int, lost: int, told: str, todo: str
) -> None:
    found = flips(won, lost)
    assert flips_verdict(found, ("A", "B"), "en").startswith(told)
    links = {cell: f"#{cell}" for cell in CELLS}
    (first, _), *_, (both, where) = flips_todo(found, ("A", "B"), "en", links)
    assert first.startswith(todo)
    assert (both, where) == ("Neither is right on 25: these need another change.", [("#both_wrong", "wrong by both")])


@pytest.mark.parametrize("counts", [(1, 0), (0, 1), (0, 0, 1)])
def test_a_single_question_decides_nothing_and_has_no_interval(counts: tuple[int, ...]) -> None:
    single = flips(*counts, *[0] * (4 - len(counts)))
    assert single.right is not None
    said = {language: flips_verdict(single, ("A", "B"), language) for language in LANGUAGES}
    assert said == {
        "en": "One question cannot tell whether A or B gives more right answers.",
        "zh": "只有一个问题，不能判断 A 与 B 谁答对更多。",
    }


def test_names_that_do_not_fit_are_letters_with_a_key() -> None:
    long = ("rag(retriever=bm25, model=qwen-plus-latest, k=5)", "b")
    assert flips_verdict(flips(), long, "en").startswith("B gives more right answers than A")
    text = text_of(str(flips_html(Canvas("en"), flips(), long)))
    assert "A rag(retriever=bm25, model=qwen-plus-latest, k=5) B b" in text
    assert "right only by A" in text_of(str(flips_html(Canvas("en"), flips(), ("diag_retriever", "diag_rewriter"))))


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


@pytest.mark.parametrize(("language", "width"), [("en", 1280), ("zh", 390)])
def test_the_report_of_a_comparison_opens_with_verdict_picture_and_what_to_do(
    opened: Open, language: str, width: int
) -> None:
    one, other = columns()
    table = Table("t", "Scores", ("Metric", "Sample", "n"), (Row((Cell("f1"), Cell("lamp/7 é"), Cell("1"))),), keys=2)
    moved = Table(FOLDED[0], "Moved", ("Metric", "Sample"), (Row((Cell("f1"), Cell("lamp/7 é"))),) * 200)
    dot = Dot("f1", -0.5, -0.8, -0.2, "−0.10 [−0.2, −0.1]", signed=True, tone="missed")
    summary = Summary("", "f1 fell.", dots=(dot,), actions=(Action("f1 is worse."),))
    html = render(("old", "new"), summary, [table, moved], {"a": ["x"], "b": ["y"]}, flips=flips(), language=language,
                  cases=[("won", one, other), ("lost", other, one)])  # fmt: skip
    seen = opened(html, width=width)
    page = seen.page
    tops = [page.locator(what).first.bounding_box()["y"] for what in (".verdict", "table.flips", ".todo li")]
    assert tops == sorted(tops) if width < 400 else max(tops) < 400
    assert tops[2] < 844
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.scrollHeight") < 3_000
    assert {"en": "right only by new 1 of 25", "zh": "25 个中的 1 个"}[language] in text_of(html)
    page.locator("table.flips td.lost a").click()
    assert page.url.endswith("#cases-lost")
    assert page.locator("details:has(:target)").first.get_attribute("open") is not None
    page.locator("#metrics").get_by_role("link", name="lamp/7 é").first.click()
    assert page.locator(":target mark.only").first.is_visible()
    assert page.locator("#metrics path.dot.missed").count() == 1
    assert seen.quiet(), seen.console


def test_a_comparison_without_right_and_wrong_opens_with_its_differences() -> None:
    dots = (Dot("f1", 0.5, 0.2, 0.8, "+0.10 [0.1, 0.2]", signed=True, tone="good"),
            Dot("cost", 0.5, None, None, "+5", lower=True, signed=True))  # fmt: skip
    summary = Summary("", "f1 rose by 0.10.", dots=dots, actions=(Action("Ask about 7 more questions."),))
    html = render(("old", "new"), summary, [], {"a": ["x"], "b": ["y"]})
    assert re.findall(r'class="dot (\w*)"', html) == ["good", ""]
    assert re.findall(r'<path d="M([\d.]+) 6h.01"', html) == ["75.0", "25.0"]  # right is good
    text = text_of(html)
    assert text.index("Comparison: new against old") < text.index("f1 rose by 0.10.") < text.index("lower is better")
    assert text.index("lower is better") < text.index("What to do Ask about 7 more questions.")


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
