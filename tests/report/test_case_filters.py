"""The list of worst answers: filters without a script, every case reachable, conditions in the reader's language."""

import re
from io import StringIO

import pytest
from tests.report.conftest import Open
from tests.report.synthetic import SmallBenchmark, small_run

from ragstone.report import render
from ragstone.report.junit import write_junit
from ragstone.report.metadata import case_anchor, condition_of

VISIBLE = "() => [...document.querySelectorAll('.hit')].filter(e => e.checkVisibility()).length"


def test_a_chip_shows_only_its_cases_and_needs_no_script(opened: Open) -> None:
    page = opened(render(small_run(120), SmallBenchmark()), width=1280).page
    total = page.locator(".hit").count()
    assert page.evaluate(VISIBLE) == 8
    chip = page.locator(".facet").first.locator("label").nth(1)
    wanted = int(chip.locator("small").inner_text())
    assert 0 < wanted < total
    chip.click()
    assert page.evaluate(VISIBLE) == wanted
    page.locator(".facet").first.locator("label").first.click()
    page.locator("label[for=more-cases]").click()
    assert page.evaluate(VISIBLE) == total


def test_a_link_opens_a_case_that_is_folded_away(opened: Open) -> None:
    page = opened(render(small_run(120), SmallBenchmark()), width=390).page
    last = page.locator(".hit").last
    place = last.locator(".in").get_attribute("id")
    assert not last.is_visible()
    page.evaluate(f"() => {{ location.hash = {place!r} }}")
    assert last.is_visible()


def test_filters_are_limited_to_those_that_the_style_sheet_knows() -> None:
    html = render(small_run(120), SmallBenchmark())
    numbers = {int(number) for number in re.findall(r'id="f\d-(\d+)"', html)}
    assert numbers <= set(range(12))
    for name in set(re.findall(r'id="(f\d-\d+)"', html)):
        assert f"#{name}:checked" in html


@pytest.mark.parametrize(("language", "expected"), [("en", "noise ratio"), ("zh", "噪声比例")])
def test_conditions_have_their_names_in_the_language_of_the_report(language: str, expected: str) -> None:
    parts = dict(condition_of({"noise_ratio": 0.4, "language": "zh", "own": "x", "gold": True}, language))
    assert parts[expected] == "0.4"
    assert parts["own"] == "x"
    assert {"en": "Chinese", "zh": "中文"}[language] in parts.values()
    assert {"en": "yes", "zh": "是"}[language] in parts.values()


def test_junit_names_the_place_of_a_failure_in_the_report() -> None:
    run, stream = small_run(40), StringIO()
    write_junit(run, SmallBenchmark(), stream, "en")
    anchors = set(re.findall(r"in the report: #(case-[\w.-]+)", stream.getvalue()))
    assert anchors
    assert anchors <= {case_anchor(record.case.sample.id) for record in run.records()}
