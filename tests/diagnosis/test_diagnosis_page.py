"""What a reader of a diagnosis sees: the verdict, the waterfall, three fixes, the stages, and cases in pairs."""

import json
import re
import runpy
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.diagnosis.planted import Planted, documents, questions
from tests.report.conftest import Open
from tests.report.hostile import PAYLOADS
from tests.report.test_hostile import check_that_nothing_runs
from tests.report.test_page import text_of

from ragstone.api import read_run
from ragstone.comparison.compare import compare, opened_sides
from ragstone.comparison.compare_tables import benchmark_tables
from ragstone.comparison.compare_verdict import write_comparison
from ragstone.diagnosis.diagnose import DiagnosisResult, diagnose
from ragstone.diagnosis.interventions.causes import cause_of
from ragstone.diagnosis.interventions.diagnosed import Diagnosed, diagnosed, questions_of
from ragstone.diagnosis.interventions.evidence import Evidence
from ragstone.report.metadata import condition_name
from ragstone.report.opening_text import opening_text
from ragstone.report.section import Canvas, question_html
from ragstone.types import NO_ANSWER, Query, Record, Response, Run

FAULTS: Mapping[str, range] = {
    "rewriter": range(0, 24, 4), "reranker": range(2, 24, 12), "confused": range(3, 24, 12), "memory": range(6, 24, 24),
}  # fmt: skip
WRONG = {number for concerned in FAULTS.values() for number in concerned}


@dataclass
class Mixed(Planted):
    """The planted system with several faults, each at questions of its own."""

    def has(self, fault: str, number: int | None) -> bool:
        return fault in FAULTS and number in FAULTS[fault]


def labelled() -> list[dict[str, object]]:
    texts = {item.id: item.text for item in documents()}
    return [
        {**row, "reference_contexts": [texts[row["document"]]], "reference_context_ids": [row["document"]]}
        if "document" in row else row
        for row in questions()
    ]  # fmt: skip


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> DiagnosisResult:
    folder = tmp_path_factory.mktemp("diagnosis")
    corpus = folder / "documents.jsonl"
    corpus.write_text("\n".join(json.dumps({"id": item.id, "text": item.text}) for item in documents()))
    return diagnose(labelled(), Mixed(), corpus=corpus, run=folder / "d.run")


def page_of(result: DiagnosisResult, folder: Path, language: str = "en") -> str:
    return result.write_report(folder / "d.html", language=language).read_text("utf-8")


def test_the_page_opens_with_the_verdict_the_waterfall_and_three_fixes(mixed: DiagnosisResult, tmp_path: Path) -> None:
    html = page_of(mixed, tmp_path)
    main = html.split("<main")[1]
    order = ['class="verdict"', 'class="fall"', 'class="todo"', "The right passages by stage", 'class="case"',
             'id="made"']  # fmt: skip
    places = [main.index(part, main.index('class="verdict"')) for part in order]
    assert places == sorted(places)
    text = text_of(main)
    right = 26 - len(WRONG)
    assert f"planted answers {100 * right / 26:.0f}% [" in text
    assert f"of 26 questions rightly. Search loses most: 6 of {len(WRONG)} failures." in text
    todo = main.split('class="todo"')[1].split("</ol>")[0]
    assert todo.count("<li>") == 3
    first = text_of(todo.split("</li>")[0])
    for item in todo.split("</li>")[:3]:  # each advice leads to its own cases
        (cause,) = re.findall(r'href="#([^"]+)"', item)
        assert 'class="case"' in main.split(f'<h3 id="{cause}"')[1].split("<h3")[0]
    assert re.search(
        r"Search for the question as asked.*\+31 points \[\d+, \d+\], tried on the 8 of 26 questions that it", first
    )


def test_the_bars_of_the_waterfall_float_from_one_level_to_the_next_and_end_at_the_whole(
    mixed: DiagnosisResult,
) -> None:
    with mixed.open() as run:
        (summary,) = run.summaries().values()
    assert [bar.kind for bar in summary.bars[:5]] == ["level", *["gain"] * 4]
    assert summary.bars[0].start == 0
    assert [bar.start for bar in summary.bars[1:]] == pytest.approx([bar.end for bar in summary.bars[:-1]])
    assert summary.bars[-1].end == pytest.approx(1)
    assert {bar.group for bar in summary.bars} == {"", "search", "prompt", "alone", "memory"}


def test_every_link_of_the_page_leads_somewhere_and_each_id_is_there_once(
    mixed: DiagnosisResult, tmp_path: Path
) -> None:
    html = page_of(mixed, tmp_path)
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    links = set(re.findall(r'href="#([^"]+)"', html))
    assert links <= set(ids)
    assert {"search", "cause-rewriting", "case-q04", "made"} <= links


def test_a_case_shows_the_answer_as_is_beside_the_one_that_rights_it(mixed: DiagnosisResult, tmp_path: Path) -> None:
    html = page_of(mixed, tmp_path)
    cases = {case.split('id="case-')[1].split('"')[0]: case for case in html.split('<details class="case">')[1:]}
    assert set(cases) == {f"q{number:02d}" for number in WRONG}
    rewritten = text_of(cases["q04"])
    assert "as is ✗ refused The documents do not contain the answer." in rewritten
    assert re.search(r"right passages added to its own ✓ right It weighs 338 kg\.", rewritten)
    assert "Right passages that the prompt lacked doc04 not fetched" in rewritten
    assert "Rewritten query How much does it weigh?" in rewritten
    assert "Fetched with the question as asked yes" in rewritten
    assert "right passages only ✓ right" in text_of(cases["q03"])
    assert "memory over document" in text_of(cases["q06"])
    assert "closed book ✗ wrong It weighs 632 kg." in text_of(cases["q06"])


def test_the_records_of_a_run_are_diagnosed_once_for_a_whole_page(
    mixed: DiagnosisResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def once(run: Run, system: str, **more: Any) -> list[Diagnosed]:
        read.append(system)
        return diagnosed(run, system, **more)

    monkeypatch.setattr("ragstone.diagnosis.interventions.benchmark.diagnosed", once)
    page_of(mixed, tmp_path)
    assert read == ["planted"]


def test_given_passages_keep_their_ids(mixed: DiagnosisResult, tmp_path: Path) -> None:
    case = page_of(mixed, tmp_path).split('id="case-q03"')[1].split("</details>")[0]
    alone = text_of(case.split("right passages only")[1])
    assert "doc03 holds the answer" in alone


def test_how_it_was_made_is_folded_at_the_end_and_no_hash_is_above_it(mixed: DiagnosisResult, tmp_path: Path) -> None:
    before, made = page_of(mixed, tmp_path).split("<body>")[1].split('<details class="made">')
    assert not re.search(r"[0-9a-f]{40}", before)
    assert re.search(r"[0-9a-f]{64}", made)
    assert "Systems and configuration" in made


def test_unknown_causes_come_first_with_what_is_missing(tmp_path: Path) -> None:
    rows = [{**row, "document": ""} for row in questions()[:4]]
    result = diagnose(rows, Planted(frozenset({"always_refuses"})), run=tmp_path / "u.run")
    with result.open() as run:
        (summary,) = run.summaries().values()
        (chinese,) = run.summaries(language="zh").values()
    assert "The cause of 1 of 1 failures is unknown: the right passages are not labelled; add" in summary.verdict
    assert "1 个错误中有 1 个原因未知：没有标注正确段落" in chinese.verdict
    (action, *_), (chinese_action, *_) = summary.actions, chinese.actions  # says what to do, not the verdict again
    assert action.text == "Find the cause of 1 failures: label the right passages, or add --corpus and --judge."
    assert chinese_action.text == "查明 1 个错误的原因：请标注正确段落，或加 --corpus 和 --judge。"
    assert [bar.text for bar in summary.bars if bar.kind == "unmeasured"] == [
        "not measured"
    ] * 5  # 0 would be a finding
    html = page_of(result, tmp_path)
    assert '<ul class="chips"></ul>' not in html  # no heading without evidence below it
    text = text_of(html)
    assert "Unknown 1 question The right passages are not labelled; add a column gold_ids, or" in text


def test_an_answer_that_was_not_asked_for_yet_is_what_is_missing(mixed: DiagnosisResult) -> None:
    with mixed.open() as run:
        records = next(questions_of(run.run, "planted"))
    evidence = Evidence({"as_is": records["as_is"]}, frozenset({"passages", "k", "retrieve", "repeat"}))
    item = Diagnosed(evidence, cause_of(evidence), "")
    assert (item.cause.name, item.missing) == ("unknown", "missing_answer")


def test_few_cases_of_many_are_shown_from_every_cause_and_the_page_says_so(
    mixed: DiagnosisResult, tmp_path: Path
) -> None:
    with read_run(mixed.run) as run:
        html = run.write_report(tmp_path / "few.html", cases_shown=5).read_text("utf-8")
    assert html.count('<details class="case">') == 5
    assert f"5 of {len(WRONG)} questions" in text_of(html)
    for cause in ("rewriting", "reranking", "noise", "memory"):
        assert '<details class="case">' in html.split(f'id="cause-{cause}"')[1].split("<h3")[0]


def test_the_terminal_says_the_same(mixed: DiagnosisResult) -> None:
    with mixed.open() as run:
        (summary,) = run.summaries().values()
        (chinese,) = run.summaries(language="zh").values()
    text = opening_text({"": summary}, width=100)
    assert " ".join(text.split("\n\n")[0].split()) == summary.verdict
    for bar in summary.bars:
        (line,) = [line for line in text.splitlines() if line.startswith(bar.label)]
        assert bar.text in line
    assert [len(line) <= 100 for line in text.splitlines()].count(False) == 0
    columns = [line.index("▓") for line in text.splitlines() if line.startswith("if") and "▓" in line]
    assert columns == sorted(columns)
    assert len(columns) == 3
    assert all(f"{number}. " in text for number in (1, 2, 3))
    assert "怎么办" in opening_text({"": chinese}, language="zh")


@pytest.fixture(scope="module")
def fixed(mixed: DiagnosisResult) -> DiagnosisResult:
    """The same system with nothing broken, asked the same."""
    folder = mixed.run.parent
    return diagnose(labelled(), Planted(), corpus=folder / "documents.jsonl", run=folder / "fixed.run")


def test_a_comparison_shows_the_causes_before_and_after(
    mixed: DiagnosisResult, fixed: DiagnosisResult, tmp_path: Path
) -> None:
    with opened_sides(mixed.run, fixed.run, None, None) as sides:
        (table,) = benchmark_tables(sides)
    assert table.columns == ("Before", "After: right", "all")
    texts = [[cell.text for cell in row.cells] for row in table.rows]
    right = str(26 - len(WRONG))
    assert texts[0] == ["right", right, right]
    assert ["rewriting the query", "6", "6"] in texts
    assert texts[-1] == ["all", "26", "26"]
    with opened_sides(fixed.run, mixed.run, None, None) as sides:
        (back,) = benchmark_tables(sides, language="zh")
    assert back.columns[:3] == ("之前", "之后：正确", "之后：查询改写")
    assert [cell.text for cell in back.rows[0].cells][:3] == ["正确", right, "6"]
    report = tmp_path / "compare.html"
    write_comparison(compare(mixed.run, fixed.run), report, more=[table])
    assert "Causes before and after" in text_of(report.read_text("utf-8"))


@pytest.mark.parametrize(("language", "cause"), [("en", "rewriting the query"), ("zh", "查询改写")])
def test_all_answers_to_one_question_show_its_cause(mixed: DiagnosisResult, language: str, cause: str) -> None:
    canvas = Canvas(language)
    with read_run(mixed.run) as run:
        first = next(item for item in diagnosed(run.run, next(iter(run.run.systems)), takes=frozenset({"passages"}))
                     if item.cause.name == "rewriting")  # fmt: skip
        html = str(question_html(canvas, run.benchmark, list(first.evidence.records.values())))
        alone = [record for name, record in first.evidence.records.items() if name != "as_is"]
        assert question_html(canvas, run.benchmark, alone) == ""
        name = condition_name("intervention", "as_is", language, run.benchmark)
        other = condition_name("odd", 3, language, run.benchmark)
    assert f"<b>{cause}</b>" in html
    assert html.count("<details open") + html.count('<details class="case" open') == 1
    assert name in text_of(html)
    assert other == "odd 3"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_screen_has_verdict_picture_and_fixes_on_a_desk_and_nothing_is_clipped_on_a_phone(
    mixed: DiagnosisResult, opened: Open, tmp_path: Path, language: str, scheme: str
) -> None:
    html = page_of(mixed, tmp_path, language)
    page = opened(html, width=1280, scheme=scheme).page
    bottom = "selector => document.querySelector(selector).getBoundingClientRect().bottom"
    for selector in (".verdict", ".fall", ".todo"):
        assert page.evaluate(bottom, selector) < 800, selector
    phone = opened(html, width=390, scheme=scheme).page
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    assert phone.evaluate(bottom, ".fall") < 844
    inside = "[...document.querySelectorAll('.fall *, .todo *')].every(e => e.getBoundingClientRect().right <= 391)"
    assert phone.evaluate(inside)


def test_a_link_to_a_case_opens_it(mixed: DiagnosisResult, opened: Open, tmp_path: Path) -> None:
    page = opened(page_of(mixed, tmp_path)).page
    assert not page.locator("#case-q04").is_visible()
    page.evaluate("location.hash = '#case-q04'")
    page.locator("#case-q04").wait_for(state="visible", timeout=5_000)


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> DiagnosisResult:
    """80 questions, most of them answered wrongly: the example's application with its faulty retriever."""
    handbook = Path(__file__).parents[2] / "examples" / "handbook"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDBOOK_FAULT", "retriever")
        app = runpy.run_path(str(handbook / "app.py"))
    return diagnose(
        handbook / "questions.csv", app["ask"], retriever=app["search"], corpus=handbook / "docs",
        run=tmp_path_factory.mktemp("lost") / "d.run",
    )  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_80_questions_print_on_six_pages_and_what_the_reader_opened_is_printed_in_full(
    lost: DiagnosisResult, opened: Open, tmp_path: Path, language: str
) -> None:
    html = page_of(lost, tmp_path, language)
    assert html.count('<details class="case">') >= 60
    page = opened(html).page
    page.emulate_media(media="print")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) <= 6
    first = page.locator("details.case").first
    assert first.locator("summary .q").is_visible()
    assert not first.locator("h4").first.is_visible()
    first.evaluate("details => details.open = true")
    assert first.locator("h4").first.is_visible()
    assert not page.locator("details.case").nth(1).locator("h4").first.is_visible()


class Hostile:
    """A system whose answers and passages are payloads."""

    id = PAYLOADS[0]
    accepts = frozenset({"passages"})
    spec: Mapping[str, object] = {}

    async def answer(self, query: Query, /) -> Response:
        number = int(re.findall(r"\d+", f"0 {query.question}")[-1])
        return Response(PAYLOADS[number], query.passages or (documents()[number % 20],), finish_reason=NO_ANSWER)


def test_ids_answers_and_names_of_a_diagnosis_are_shown_and_never_obeyed(opened: Open, tmp_path: Path) -> None:
    rows = [
        {"id": payload, "question": f"{payload} {n}", "reference": "338", "reference_contexts": [payload + " 338"]}
        for n, payload in enumerate(PAYLOADS[:20])
    ]
    with ThreadPoolExecutor() as pool:  # a synchronous Playwright holds the event loop of this thread open
        result = pool.submit(diagnose, rows, Hostile(), run=tmp_path / "h.run").result()
    check_that_nothing_runs(opened, page_of(result, tmp_path), policy=False)


@pytest.mark.parametrize(("language", "words"), [("en", "not measured"), ("zh", "未测量")])
def test_what_nobody_measured_is_a_hatched_bar_with_these_words_on_page_terminal_and_in_tables(
    language: str, words: str, tmp_path: Path
) -> None:
    plain = Planted(frozenset({"lost"}), concerned=range(4), accepts=frozenset())
    result = diagnose(labelled(), plain, run=tmp_path / "d.run")
    bars = page_of(result, tmp_path, language).split('<ol class="fall">')[1].split("</ol>")[0].split("<li ")[1:]
    (search,) = [bar for bar in bars if 'href="#search"' in bar]
    assert search.startswith('class="unmeasured"')
    assert '<path d="M' in search.partition("<rect")[2]
    assert 'class="hatch"' in search
    assert f"<b>{words}</b>" in search
    with result.open() as run:
        shown = opening_text(run.summaries(language=language), language=language)
    assert re.search(rf"{words} +╱╱", shown)
    tables = {table.id: table for table in result.tables(language=language)}
    gain = tables["diagnosis-fixes"].rows[0].cells[2]
    assert (gain.value, gain.text) == (None, words)
    assert "passages" in gain.note
    steps = [row.cells[2] for row in tables["diagnosis-waterfall"].rows[1:5]]
    assert [cell.value for cell in steps][1] is None


def test_the_page_of_a_case_names_the_cause_that_the_diagnosis_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked right before a question is a case of another question; its page has to know it, too."""
    handbook = tmp_path / "handbook"  # a module of its own: the fault is read when it is loaded
    shutil.copytree(Path(__file__).parents[2] / "examples" / "handbook", handbook)
    monkeypatch.setenv("HANDBOOK_FAULT", "rewriter")
    result = diagnose(
        handbook / "questions.csv", f"{handbook / 'app.py'}:ask", corpus=handbook / "docs", limit=20,
        run=tmp_path / "d.run",
    )  # fmt: skip
    with read_run(result.run) as run:
        (system,) = run.run.systems
        items = run.benchmark.diagnosed(run.run, system)  # type: ignore[attr-defined]
        assert any("before_1" in item.evidence.records for item in items)
        shown: dict[str, list[Record]] = {}
        for record in run.run.records():
            shown.setdefault(record.case.sample.id, []).append(record)
        for item in items:
            html = str(question_html(Canvas("en"), run.benchmark, shown[item.evidence.sample.id], run.run))
            assert "an answer is missing" not in html
            assert ("<b>unknown</b>" in html) == (item.cause.name == "unknown")
