"""What models and files wrote is shown and never obeyed: in a real Chromium, with and without the page's policy."""

import re

import pytest
from tests.report.conftest import Open
from tests.report.hostile import BATTERY, PAYLOADS, hostile_run
from tests.report.synthetic import META, MemoryRun, SmallBenchmark

from ragstone.report import render
from ragstone.report.sanitize import readable
from ragstone.types import Case, Passage, Query, Record, Response, Sample, Score


@pytest.fixture(scope="module")
def hostile_html() -> str:
    run, benchmark = hostile_run()
    return render(run, benchmark, cases_shown=len(PAYLOADS))


@pytest.mark.parametrize("policy", [True, False], ids=["with policy", "without policy"])
def test_no_payload_in_any_field_runs_or_fetches_anything(opened: Open, hostile_html: str, *, policy: bool) -> None:
    assert len(PAYLOADS) >= 30
    check_that_nothing_runs(opened, hostile_html, policy=policy)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [True, False], ids=["with policy", "without policy"])
def test_no_payload_of_the_whole_battery_runs_or_fetches_anything(opened: Open, *, policy: bool) -> None:
    assert len(set(BATTERY)) == len(BATTERY)
    run, benchmark = hostile_run(BATTERY)
    check_that_nothing_runs(opened, render(run, benchmark, cases_shown=2 * len(BATTERY)), policy=policy)


def check_that_nothing_runs(opened: Open, html: str, *, policy: bool) -> None:
    seen = opened(html, policy=policy)
    page = seen.page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.mouse.move(400, 400)
    page.keyboard.press("Tab")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("window.owned") is None
    assert "owned" not in page.evaluate("document.title.replace(/document.title='owned';window.owned=1/g, '')")
    assert seen.quiet(), (seen.console, seen.dialogs, seen.requests)
    assert (
        page.locator(
            "script, iframe, object, embed, img, form, base, video, input:not([id^=f][type=radio], #more-cases)"
        ).count()
        == 0
    )
    attributes = "[...document.querySelectorAll('*')].flatMap(element => [...element.attributes])"
    assert page.evaluate(f"{attributes}.filter(a => /^on|^style$/.test(a.name)).length") == 0
    assert page.evaluate(f"{attributes}.filter(a => a.name == 'href' && !/^(#|data:,$)/.test(a.value)).length") == 0


@pytest.mark.parametrize(
    "field",
    [
        "question", "answer", "passage", "text", "reasoning", "reason", "label", "model", "metric", "value", "message",
        "notice", "system",
    ],
)  # fmt: skip
def test_every_payload_stays_readable_as_text(opened: Open, hostile_html: str, field: str) -> None:
    shown = re.sub(r"\s", "", opened(hostile_html).page.evaluate("document.body.textContent"))
    lost = []
    for payload in PAYLOADS:
        # Names are cut where they get long, so the beginning counts.
        wanted = re.sub(r"\s", "", f"{field} {readable(payload)}")[: 60 if field in ("passage", "metric") else 120]
        if wanted not in shown:
            lost.append(payload)
    assert lost == []


def test_a_hostile_page_does_not_grow_wider_than_the_window(opened: Open, hostile_html: str) -> None:
    for width in (1280, 390):
        page = opened(hostile_html, width=width).page
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_lone_surrogates_and_nul_leave_a_file_that_is_utf8(hostile_html: str) -> None:
    assert hostile_html.encode("utf-8").decode("utf-8") == hostile_html
    assert "\x00" not in hostile_html
    assert "⟨U+D800⟩" in hostile_html
    assert "␀" in hostile_html


def test_characters_that_reorder_text_are_shown_and_not_obeyed(hostile_html: str) -> None:
    assert "\u202e" not in hostile_html
    assert "safe⟨U+202E⟩gnp.exe" in hostile_html


def test_an_answer_of_ten_million_characters_is_cut_and_says_so(opened: Open) -> None:
    answer = "<b>long</b> " * 850_000
    case = Case(
        "c", Sample("s", "q?", (("x",),)), {"ability": "noise", "language": "en"}, Query("q?", (Passage("p", answer),))
    )
    record = Record("s", case, Response(answer, reasoning=answer), scores={"answer_match": Score.of(0)})
    html = render(MemoryRun(lambda: [record], META, {"s": {}}), SmallBenchmark())
    assert len(html) < 200_000
    text = opened(html).page.evaluate("document.body.textContent")
    assert "<b>long</b>" in text
    assert re.search(r"… 10,19\d,\d{3} characters left out …", text)


def test_the_payload_that_would_run_is_a_real_one(opened: Open) -> None:
    """The test's own control: unescaped and without a policy, the payloads do run."""
    seen = opened(f'<meta http-equiv="Content-Security-Policy" content="x">{PAYLOADS[0]}', policy=False)
    assert seen.page.evaluate("window.owned") == 1
