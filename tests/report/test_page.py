"""The report as a whole: what a person reads, in a browser, on paper, in both languages, of small runs and large."""

import re
import tracemalloc
from collections.abc import Iterator

import msgspec
import pytest
from tests.report.conftest import Open
from tests.report.synthetic import META, SYSTEMS, MemoryRun, SmallBenchmark, records, small_run, spec

from ragstone.errors import UnknownName
from ragstone.report import render
from ragstone.report.section import SECTIONS, Section
from ragstone.types import Record


def text_of(html: str) -> str:
    body = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def test_a_reader_finds_the_systems_and_the_configuration() -> None:
    text = text_of(render(small_run(40), SmallBenchmark()))
    for told in (
        "rgb, version 1", "fictional", "9f2c9f2c", "balanced", "default", "paper", "temperature 0.2, max_tokens 256",
        "CC BY-NC-SA 4.0",
        "Chen, Lin, Han, Sun", "smollm2-2031-05", "smollm2 is a language model with 135 million parameters",
        "extractive is not a language model", "2 of 80 requests failed", "420 in, 12 out",
    ):  # fmt: skip
        assert told in text


def test_tables_carry_intervals_and_counts_and_mark_what_was_published() -> None:
    text = text_of(render(small_run(), SmallBenchmark()))
    assert "extractive English 92.00 88.5–95.0 297/300" in text
    assert "ChatGPT published English 96.33 94.67 94.00 90.00 76.00" in text


def test_failures_are_counted_by_cause_and_errors_by_kind_with_examples() -> None:
    text = text_of(render(small_run(200), SmallBenchmark()))
    assert "took a misleading passage" in text
    assert re.search(r"timed out 2 zh:0/rejection/zh/0\.2 no complete reply within 120 s \(case 13\)", text)


def test_a_worst_answer_shows_question_answer_reason_expected_and_labelled_passages() -> None:
    html = render(small_run(8), SmallBenchmark())
    case = html.split('<details class="case"')[1]
    text = text_of(case)
    for told in ("Who won the Lantern Prize in 2031?", "Expected", "The documents state the answer; the model refused.",
                 "positive:0 contains the answer plain", "negative:1 does not contain the answer rumour",
                 "answer_match 0",
                 "noise ratio 0.0"):  # fmt: skip
        assert told in text
    assert re.search(r'<mark class="refusal" title="refusal">I cannot answer', case)
    assert '<mark class="match" title="answer">' in case


def test_the_numbers_of_shown_and_of_all_wrong_answers_are_stated() -> None:
    run = small_run(400)
    html = render(run, SmallBenchmark(), cases_shown=30)
    wrong = sum(r.response is not None and r.scores["answer_match"].value == 0 for r in run.records())
    assert f"30 of {wrong} wrong answers are shown" in text_of(html)
    assert html.count('<details class="case"') == 30
    assert f"All wrong answers ({wrong})" in text_of(render(run, SmallBenchmark(), cases_shown=1000))


def test_a_run_without_wrong_answers_or_records_is_a_report_too() -> None:
    for run in (small_run(0), MemoryRun(list, {}, {})):
        assert "No answer counts as right or wrong" in text_of(render(run, SmallBenchmark()))


def test_how_to_reproduce_has_the_command_the_versions_and_the_hashes() -> None:
    text = text_of(render(small_run(), SmallBenchmark()))
    assert "ragstone bench rgb --model local/extractive" in text
    assert "versions.python 3.11.9" in text
    assert "template.sha256 77aa" in text


def test_the_same_run_gives_the_same_bytes_whatever_the_clock_says() -> None:
    def clocked(seconds: float) -> MemoryRun:
        def timed() -> Iterator[Record]:
            for record in records(60):
                response = record.response and msgspec.structs.replace(record.response, seconds=seconds)
                yield msgspec.structs.replace(record, response=response)

        meta = {
            **META,
            "created": f"2031-01-01T00:00:{seconds:02.0f}",
            "versions": {"ragstone": "1", "started_at": seconds},
        }
        return MemoryRun(timed, meta, {name: spec(name) for name in SYSTEMS})

    assert render(clocked(1.0), SmallBenchmark()) == render(clocked(59.0), SmallBenchmark())


def test_a_model_that_judges_unmeasured_is_named_as_such() -> None:
    meta = {**META, "options": {"judge": "local/smollm2"}}
    assert "a tiny model that agrees with people no better than chance" in text_of(
        render(small_run(meta=meta), SmallBenchmark())
    )
    meta = {**META, "options": {"judge": "openai/gpt-4o"}}
    assert "openai/gpt-4o, with people has not been measured on these data" in text_of(
        render(small_run(meta=meta), SmallBenchmark())
    )


def test_chinese_is_chinese_and_leaves_names_alone() -> None:
    html = render(small_run(40), SmallBenchmark(), language="zh")
    assert '<html lang="zh-CN">' in html
    text = text_of(html)
    for told in (
        "被测系统与配置",
        "总览",
        "曲线",
        "表格",
        "失败与原因",
        "最差的回答",
        "如何复现",
        "local/smollm2",
        "能答而拒答",
    ):
        assert told in text
    for english in ("At a glance", "Expected", "Passages given", "wrong answers"):
        assert english not in text


def test_every_section_has_its_title_in_both_languages() -> None:
    for _, section in SECTIONS:
        assert set(section.title) == {"en", "zh"}


def test_another_language_is_refused_by_name() -> None:
    with pytest.raises(UnknownName, match="No language named 'de'"):
        render(small_run(), SmallBenchmark(), language="de")


def test_a_section_from_elsewhere_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = dict(SECTIONS)
    ours["mine"] = Section(15, {"en": "Mine"}, lambda view: f"<b>{len(view.run.systems)}</b>")
    monkeypatch.setitem(SECTIONS.__dict__, "_plugins", ours)
    html = render(small_run(), SmallBenchmark(), language="zh")
    assert re.search(r'<h2 id="s\d+-h">Mine</h2>', html)
    assert "&lt;b&gt;2&lt;/b&gt;" in html


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_quiet_and_fits_the_window(opened: Open, language: str, width: int) -> None:
    seen = opened(render(small_run(80), SmallBenchmark(), language=language), width=width, scheme="dark")
    page = seen.page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("[...document.styleSheets].length") == 1
    assert seen.quiet(), (seen.console, seen.requests)


def test_it_works_without_javascript_and_prints(opened: Open) -> None:
    seen = opened(render(small_run(80), SmallBenchmark()), scripts=False)
    page = seen.page
    case = page.locator("details.case").first
    assert not case.locator("h4").first.is_visible()
    case.locator("summary").first.click()
    assert case.locator("h4").first.is_visible()
    page.locator("nav a").last.click()
    assert page.url.endswith(f"#{page.locator('section').last.get_attribute('id')}")
    assert page.pdf(format="A4")[:5] == b"%PDF-"
    assert seen.quiet()


def test_tables_fit_the_width_of_a4_paper(opened: Open) -> None:
    page = opened(render(small_run(80), SmallBenchmark()), width=688, scheme="dark").page  # 182 mm
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 688
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_light_and_dark_follow_the_reader(opened: Open) -> None:
    html = render(small_run(), SmallBenchmark())
    colours = {
        scheme: opened(html, scheme=scheme).page.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('svg.chart text')).fill]"
        )
        for scheme in ("light", "dark")
    }
    assert colours["light"][0] != colours["dark"][0]
    assert colours["light"][1] != colours["dark"][1]


def test_every_id_is_unique_and_every_reference_resolves(opened: Open) -> None:
    page = opened(render(small_run(40), SmallBenchmark())).page
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    attributes = page.evaluate(
        "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).map(a => [a.name, a.value])"
    )
    wanted = {value[1:] for name, value in attributes if name == "href" and value.startswith("#")}
    wanted |= {value[5:-1] for name, value in attributes if name == "clip-path"}
    wanted |= {part for name, value in attributes if name == "aria-labelledby" for part in value.split()}
    assert wanted <= set(ids)
    assert len(wanted) > 10


@pytest.mark.slow
def test_ten_thousand_cases_of_five_systems_stay_below_two_megabytes_in_flat_memory() -> None:
    systems = [f"openai/model-{number}" for number in range(5)]
    few, many = small_run(500, systems, padding=400), small_run(10_000, systems, padding=400)
    peaks = []
    for run in (few, many):
        tracemalloc.start()
        html = render(run, SmallBenchmark(), cases_shown=2_000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(html.encode()) < 2_000_000
    assert peaks[1] < 1.5 * peaks[0] + 5_000_000
    assert re.search(r"[\d,]+ of [\d,]+ wrong answers are shown", text_of(html))
