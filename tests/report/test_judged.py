"""The section on judged metrics: what a reader learns of judge, coverage, claims and passages, of runs of any kind."""

import html as html_module
import json
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.report.conftest import Open
from tests.report.hostile import PAYLOADS
from tests.report.synthetic import META, MemoryRun, SmallBenchmark, small_run
from tests.report.synthetic_judged import (
    JUDGED_META,
    JudgedBenchmark,
    hostile_judged,
    judged_record,
    judged_run,
    matrix_steps,
    rubric_evidence,
    step,
)

from ragstone.messages import messages
from ragstone.metrics.judge import MatrixJudge
from ragstone.metrics.judge.envelope import opened as unwrapped
from ragstone.metrics.judge.prompts import Prompts
from ragstone.metrics.judge.record import PassageVerdict, evidence, merged, requests_of
from ragstone.metrics.rubric import read_rubric, rubric_metric
from ragstone.models.scripted import Scripted
from ragstone.report import render
from ragstone.report.judged import JudgedDigest, JudgedReader, goodness
from ragstone.report.sanitize import readable
from ragstone.report.sections._judged_case import quote_spans
from ragstone.report.sections.judged import CASE_BYTES, CASES
from ragstone.types import Case, Passage, Query, Record, Request, Response, Run, Sample, Score

EXAMPLES = Path(__file__).parents[2] / "examples" / "rubrics"


def text_of(html: str) -> str:
    body = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html_module.unescape(re.sub(r"<[^>]+>", " ", body)))


def section_of(run: MemoryRun, *, language: str = "en", cases_shown: int = 200) -> str:
    """The judged section alone."""
    html = render(run, JudgedBenchmark(), language=language, cases_shown=cases_shown)
    heading = "裁判模型的判断" if language == "zh" else "What the judge found"
    found = re.search(rf'<section id="s\d+"[^>]*>\s*<h2[^>]*>{heading}</h2>(.*?)</section>', html, re.DOTALL)
    return found[1] if found else ""


def one(record: Record, **meta: Any) -> MemoryRun:
    return MemoryRun(lambda: [record], {**JUDGED_META, **meta}, {record.system_id: {}})


def case_of(section: str) -> str:
    """The first of the worst samples."""
    return section.split('<details class="case judged">')[1]


# --- coverage and identity ------------------------------------------------------------------------------------------


def test_a_run_without_judged_metrics_has_no_judge_section() -> None:
    assert "What the judge found" not in render(small_run(8), SmallBenchmark())


def test_every_judged_metric_says_how_many_were_scored_and_why_others_were_not() -> None:
    text = text_of(section_of(judged_run(60)))
    assert "faithfulness Samples in each tenth from 0 to 1: 5, 4, 4, 5, 4, 4, 5, 4, 4, 9. 0.498 48 / 60 12 0" in text
    assert "12 × The judge's reply to 'verify' could not be used: passages is not a list" in text
    assert re.search(r"context_precision – – 0 / 60 0 60 60 × there are no passages", text)
    assert "rubric.delayed_order" in text
    assert "answer_match" not in text.partition("Scores and coverage")[2]


def test_the_judge_its_protocol_its_prompts_and_its_caveat_are_shown() -> None:
    text = text_of(section_of(judged_run(4)))
    for told in (
        "Judge openai/gpt-4o-mini", "as named by its provider gpt-4o-mini-2031-05-01", "matrix; passages judged toge",
        "Embedder local/e5-small", "decompose/en@0123456789ab", "rubric.delayed_order 826fa20ec1e6",
    ):  # fmt: skip
        assert told in text, told
    caveat = "The agreement of the judge, openai/gpt-4o-mini, with people has not been measured on these data."
    assert caveat in text_of(render(judged_run(4), JudgedBenchmark()))
    small = {"question": {"judge": {"model": "local/smollm2", "verify": "separate"}}}
    assert "a tiny model that agrees with people no better than chance" in text_of(
        render(judged_run(4, meta=small), JudgedBenchmark())
    )
    text = text_of(section_of(judged_run(4, meta=small)))
    assert "matrix; a request for each passage (separate)" in text


def test_a_metric_where_lower_is_better_is_labelled_and_its_worst_score_is_its_highest() -> None:
    def record(name: str, value: float) -> Record:
        evidence = {
            "rubric": {"title": "Rude", "better": "lower"},
            "elements": [],
            "order": [],
            "verdicts": [step("x")],
        }
        case = Case(name, Sample(name, f"{name}?"), {}, Query(f"{name}?"))
        return Record("s", case, Response("a"), scores={"rubric.rude": Score.of(value, evidence=evidence)})

    run = MemoryRun(lambda: [record("mild", 0.1), record("harsh", 0.9), record("fine", 0.0)], {}, {"s": {}})
    section = section_of(run)
    assert "rubric.rude lower is better" in text_of(section)
    assert section.index("harsh?") < section.index("mild?")
    assert "fine?" not in section
    assert goodness("ragchecker.hallucination", Score.of(0.25)) == 0.75
    assert goodness("refusal", Score.of(1.0)) is None


def test_repeats_of_the_judge_count_in_the_scores_and_show_each_answer_once() -> None:
    def repeated() -> Iterator[Record]:
        for index in range(4):
            record = judged_record(index)
            yield record
            again = msgspec.structs.replace(record.case, id=f"{record.case.id}/r1", condition={"judge_repeat": 1})
            yield msgspec.structs.replace(record, case=again)

    section = section_of(MemoryRun(repeated, JUDGED_META, {"shop-bot": {}}))
    assert "/ 8" in text_of(section)
    assert "/r1" not in section


# --- a sample -------------------------------------------------------------------------------------------------------


def test_claims_are_shown_side_by_side_with_verdicts_and_links_to_sentences_and_passages() -> None:
    case = case_of(section_of(one(judged_record(2))))
    text = text_of(case)
    for told in (
        "1-s", "A1 Returns are free for everybody sentence 1 ✗ contradicted by [2] not in the reference",
        "does not help to answer", "A2 The money is paid back within 14 days sentence 2 ✓ supported by [1]",
        "R1 Returns are free for members ✓ supported by [2] in the answer",
        "R2 Others pay 4.90 for a return ✓ supported by [2] missing from the answer",
        "words from elsewhere unsupported quote", "[1] kb:17 Delivery relevant",
        "helps to reach the reference answer ✓ supports R1 R2 ✗ contradicts A1", "[3] kb:99 not relevant",
    ):  # fmt: skip
        assert told in (text if told != "1-s" else case), told
    for link in ('<a href="#j1-a1">A1</a>', '<a href="#j1-s2">sentence 2</a>', '<a href="#j1-p2">[2]</a>'):
        assert link in case
    assert '<mark class="match" title="quoted as evidence">Refunds are paid within 14 days</mark>' in case
    assert '<mark class="wrong" title="quoted against a claim">everybody else pays 4.90</mark>' in case


def test_raw_replies_are_kept_behind_a_fold_with_model_prompt_and_problem() -> None:
    record = judged_record(1)
    low = msgspec.structs.replace(record, scores={**record.scores, "groundedness": Score.of(
        0.0, evidence={"verdicts": matrix_steps("zh")})})  # fmt: skip
    case = case_of(section_of(one(low)))
    replies = case.split('<details class="figures replies">')[1]
    assert "Replies of the judge (requests: 4)" in replies
    assert "verify/zh@0123456789ab" in replies
    assert "unusable: passages is not a list" in text_of(replies)
    assert "I cannot do that." in replies
    assert "1,234 tokens in, 321 out" in replies
    assert "passages 不是 列表" in text_of(case_of(section_of(one(low), language="zh")))


def test_requests_that_several_metrics_rest_on_are_shown_once() -> None:
    assert [one.name for one in requests_of(judged_record(2))] == ["decompose", "verify"]


def test_a_rubric_shows_what_is_there_missing_and_out_of_order() -> None:
    case = case_of(section_of(one(judged_record(0))))
    text = text_of(case)
    for told in (
        "Rubric: A delayed order 0.500", "calms the customer soothe present 1", "says what to do next_step missing 1",
        "gives the date expected present 1 on Friday quote not found in the answer",
        "gives the reason reason unknown, not counted",
        "In order: 0 of 2 pairs. “says where the order is” comes before “calms the customer”.",
        "Pairs without a known order, because a quote is not in the answer: 1.",
        "2 on a scale from 1 to 5 a stock phrase",
        "The judge: It informs, but <b>says</b> nothing of what to do.",
    ):  # fmt: skip
        assert told in text, told
    assert '<mark class="match" title="quoted as evidence">Returns are </mark>' in case


def test_claims_of_passages_judged_one_by_one_are_put_together() -> None:
    decompose = matrix_steps()[0]
    steps = [
        decompose,
        step("verify:passage:1", answer_claims=[{"id": 1, "supported_by": [], "contradicted_by": [1], "quote": "a"}],
             passages=[{"id": 1, "relevant": False, "useful": None}]),
        step("verify:passage:1", answer_claims=[{"id": 1, "supported_by": [1], "contradicted_by": [], "quote": "b"}],
             passages=[{"id": 1, "relevant": True, "useful": None}]),
        step("verify:passage:2", answer_claims=[{"id": 1, "supported_by": [2], "contradicted_by": [], "quote": "c"}]),
        step("verify:reference", answer_claims=[{"id": 1, "in_reference": False}, {"id": 2, "in_reference": True}]),
    ]  # fmt: skip
    score = Score.of(0.5, evidence={"verdicts": steps})
    record = msgspec.structs.replace(judged_record(0), scores={"faithfulness": score})
    matrix = merged(requests_of(record))
    first, second = matrix.answer_claims
    assert (first.supported_by, first.contradicted_by, first.shared, first.verified) == ((1, 2), (), False, True)
    assert (second.supported_by, second.shared, second.verified) == ((), True, False)
    assert matrix.passages == (PassageVerdict(1, True),)
    spans, lost = quote_spans(matrix, ["x b", "x c"])
    assert {place: [(span.start, span.end) for span in found] for place, found in spans.items()} == {
        1: [(2, 3)],
        2: [(2, 3)],
    }
    assert lost == {"a"}


@pytest.mark.parametrize(
    ("language", "told"),
    [("en", ("only the passages together support it", "alternative reference 2")),
     ("zh", ("需几个段落共同支持", "参考答案的第 2 种写法"))],
)  # fmt: skip
def test_support_by_several_passages_and_alternative_references_are_named(language: str, told: tuple[str, str]) -> None:
    steps = [
        step("decompose", answer_claims=[{"id": 1, "text": "a"}], sentences=["a"],
             reference_claims=[{"id": 1, "text": "r", "alternative": 1}, {"id": 2, "text": "s", "alternative": 2}]),
        step("verify", answer_claims=[{"id": 1, "supported_by": [1, 2], "together": True}]),
    ]  # fmt: skip
    score = Score.of(0.5, evidence={"verdicts": steps})
    record = msgspec.structs.replace(judged_record(0), scores={"faithfulness": score})
    (claim,) = merged(requests_of(record)).answer_claims
    assert (claim.supported_by, claim.together) == ((1, 2), True)
    text = text_of(section_of(one(record), language=language))
    assert all(words in text for words in told)


async def test_what_the_real_judge_and_rubrics_leave_behind_is_understood() -> None:
    """The evidence is made by the judge itself, so that its form and the report's reading cannot drift apart."""
    decomposed = {
        "answer_claims": [{"sentence": 1, "text": "Returns are free", "relevant": True}],
        "reference_claims": [{"text": "Returns cost 4.90"}], "questions": ["Is it free?"], "noncommittal": False,
    }  # fmt: skip
    verified = {
        "answer_claims": [
            {"id": 1, "supported_by": [1], "contradicted_by": [2], "in_reference": False, "quote": "for free"}
        ],
        "reference_claims": [
            {"id": 1, "supported_by": [2], "contradicted_by": [], "in_answer": False, "quote": "nowhere"}
        ],
        "passages": [{"id": 1, "relevant": True, "useful": False}, {"id": 2, "relevant": True, "useful": True}],
    }  # fmt: skip
    rubric = read_rubric(EXAMPLES / "delayed_order.toml")
    verdicts = [{"id": n, "status": "missing", "quote": ""} for n in range(2, 6)]
    rated = {"elements": [{"id": 1, "status": "present", "quote": "returns are free"}, *verdicts], "reason": "Short.",
             "score": 1}  # fmt: skip

    def script(request: Request) -> str:
        *_, material = [turn for turn in request.messages if turn.content.startswith("<judged ")]
        shown = unwrapped(material.content)
        return json.dumps(rated if "criterion" in shown else verified if "passages" in shown else decomposed)

    model = Scripted(script)
    judge = MatrixJudge(model)
    query = Query("Is a return free?", language="en")
    case = Case("c", Sample("s", query.question, (("Returns cost 4.90.",),)), {}, query)
    response = Response("Returns are free.", (Passage("p1", "Send it back for free."), Passage("p2", "It costs 4.90.")))
    judged = await judge.verify(case, response)
    rubric_score = await rubric_metric(rubric)(model, Prompts.load()).score(case, response)
    scores = {
        "faithfulness": Score.of(0.0, evidence=evidence(judged.steps, {"what": "answer_claims"})),
        "rubric.delayed_order": rubric_score,
    }
    text = text_of(case_of(section_of(one(Record("s", case, response, scores=scores)))))
    for told in (
        "A1 Returns are free sentence 1 ✓ supported by [1] ✗ contradicted by [2] not in the reference",
        "R1 Returns cost 4.90 ✓ supported by [2] missing from the answer nowhere unsupported quote",
        "[1] p1 relevant does not help to reach the reference answer ✓ supports A1", "Rubric: A delayed order",
        "calms the customer: an apology, or understanding for the wait soothe present 2 returns are free",
        "In order: 0 of", "1 on a scale from 1 to 5", "The judge: Short.",
    ):  # fmt: skip
        assert told in text, told


def test_an_answer_that_was_not_split_is_shown_in_full() -> None:
    score = Score.of(0.0, evidence={"reply": "no", "verdicts": [{"verdict": "no", "reply": "no", "model": "m"}]})
    record = msgspec.structs.replace(judged_record(0), scores={"rgb.judge.rejection": score})
    case = case_of(section_of(one(record)))
    assert "Claims of the answer" not in case
    assert "Returns are free for everybody. You get your money in 14 days." in text_of(case.split("<h4>Answer</h4>")[1])
    assert "Replies of the judge (requests: 1)" in case


def test_a_run_whose_judged_scores_are_all_at_their_best_says_so() -> None:
    record = msgspec.structs.replace(
        judged_record(0), scores={"faithfulness": Score.of(1.0, evidence={"verdicts": matrix_steps()})}
    )
    section = section_of(one(record))
    assert "All judged scores are at their best." in section
    assert '<details class="case judged">' not in section


def test_chinese_is_chinese() -> None:
    section = section_of(judged_run(12), language="zh")
    text = text_of(section)
    for told in ("得分与覆盖率", "各段落一并评判", "答案的论断", "参考答案的论断", "与之矛盾 [2]",
                 "引文无据", "裁判模型的说明：", "顺序：2 对中有 0 对正确"):  # fmt: skip
        assert told in text, told
    said = messages("ragstone.report.sections.judged", "en")
    words = {*said.values()} - {said["times"]}
    for english in (word for word in words if "{" not in word and len(word) > 12):
        assert english not in text, english


def judged_digest(run: Run, *, shown: int) -> JudgedDigest:
    reader = JudgedReader(shown)
    for record in run.records(texts=False):
        reader.add(record)
    return reader.digest()


def test_the_numbers_of_shown_and_of_all_samples_are_stated() -> None:
    section = section_of(judged_run(400))
    assert section.count('<details class="case judged">') == CASES
    below = judged_digest(judged_run(400), shown=CASES).below
    assert f"{CASES} of {below} samples with a judged score below the best" in text_of(section)
    assert section_of(judged_run(400), cases_shown=5).count('<details class="case judged">') == 5
    few = section_of(judged_run(3))
    assert re.search(r"All samples with a judged score below the best \(\d\), the worst first", few)


def test_every_system_has_its_turn_and_the_worst_come_first() -> None:
    found = judged_digest(judged_run(200, ["a", "b", "c"]), shown=12)
    assert [system for system, _ in found.worst] == ["a", "b", "c"] * 4
    assert len(set(found.worst)) == 12


def test_samples_of_any_length_stay_within_the_bound() -> None:
    def long(index: int) -> Record:
        claims = [{"id": n, "text": "claim " * 500, "sentence": n, "relevant": True} for n in range(1, 400)]
        verdicts = [
            {"id": n, "supported_by": [1], "contradicted_by": [], "quote": "filler " * 60} for n in range(1, 400)
        ]
        steps = [
            step("decompose", sentences=["word " * 2_000] * 400, answer_claims=claims, reference_claims=claims),
            step("verify", reply="r" * 200_000, answer_claims=verdicts, reference_claims=verdicts),
        ]
        record = judged_record(index, padding=30_000)
        return msgspec.structs.replace(record, scores={"faithfulness": Score.of(0.0, evidence={"verdicts": steps})})

    run = MemoryRun(lambda: (long(index) for index in range(6)), JUDGED_META, {"shop-bot": {}})
    section = section_of(run)
    assert 1 <= section.count('<details class="case judged">') <= 6
    assert len(section.encode()) < CASE_BYTES + 250_000
    assert "… and 369 more claims" in section
    assert "… and 360 more sentences" in section


@pytest.mark.slow
def test_ten_thousand_cases_stay_below_two_megabytes_in_flat_memory() -> None:
    systems = [f"openai/model-{number}" for number in range(2)]
    peaks = []
    for count in (500, 5_000):
        run = judged_run(count, systems, padding=100)
        tracemalloc.start()
        html = render(run, JudgedBenchmark(), cases_shown=2_000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(html.encode()) < 2_000_000
    assert peaks[1] < 1.5 * peaks[0] + 5_000_000


def test_endless_reasons_models_and_metrics_take_bounded_memory() -> None:
    def many() -> Iterator[Record]:
        for number in range(1_500):
            verdicts = [step("x") | {"model": f"model {number}", "prompt": f"prompt {number}"}]
            case = Case(f"{number}", Sample("s", "q"), {}, Query("q"))
            scores = {
                "faithfulness": Score.failed(f"reason {number}", evidence={"verdicts": verdicts}),
                f"metric {number}": Score.of(0.5, evidence={"verdicts": verdicts}),
            }
            yield Record("s", case, Response("a"), scores=scores)

    found = judged_digest(MemoryRun(many, {}, {"s": {}}), shown=10)
    assert len(found.metrics) <= 120
    assert len(found.models) <= 41
    assert len(found.prompts) <= 41
    reasons = found.metrics["faithfulness"]["s"].reasons
    assert len(reasons) <= 41
    assert sum(reasons.values()) == 1_500


def test_the_same_run_gives_the_same_bytes() -> None:
    assert section_of(judged_run(40)) == section_of(judged_run(40))


# --- strangers' texts -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile_html() -> str:
    return render(hostile_judged(), JudgedBenchmark(), cases_shown=len(PAYLOADS))


def test_evidence_of_any_form_is_read_without_an_error() -> None:
    values: list[Any] = [None, 1, 1.5, True, "x", [], [1], [None], {}, {"a": 1}, {"value": True, "min": 1, "max": 2}]
    odd: list[Any] = [*values, {"verdicts": {}}, {"verdicts": values}]
    for value in values:
        held = {"step": "decompose", "usage": value, "reply": value, "sentences": value, "answer_claims": value}
        odd += [{"verdicts": [held]}, {"rubric": {}, "elements": value, "order": value, "verdicts": [{"step": value}]}]
        for key in ("elements", "order", "scale", "reason"):
            odd.append({**rubric_evidence("some answer of ours"), key: value})
    for held in odd:
        record = msgspec.structs.replace(
            judged_record(2), scores={"faithfulness": Score(0.1, "scored", "", held), "odd": Score(float("inf"))}
        )
        assert "</html>" in render(one(record), JudgedBenchmark())


@pytest.mark.parametrize("policy", [True, False], ids=["with policy", "without policy"])
def test_no_payload_in_evidence_runs_or_fetches_anything(opened: Open, hostile_html: str, *, policy: bool) -> None:
    seen = opened(hostile_html, policy=policy)
    page = seen.page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.mouse.move(400, 400)
    page.keyboard.press("Tab")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("window.owned") is None
    assert seen.quiet(), (seen.console, seen.dialogs, seen.requests)
    assert page.locator("details.judged").count() >= 5
    assert (
        page.locator(
            "script, iframe, object, embed, img, form, base, video, input:not([id^=f][type=radio], #more-cases)"
        ).count()
        == 0
    )
    attributes = "[...document.querySelectorAll('*')].flatMap(element => [...element.attributes])"
    assert page.evaluate(f"{attributes}.filter(a => /^on|^style$/.test(a.name)).length") == 0
    assert page.evaluate(f"{attributes}.filter(a => a.name == 'href' && !/^(#|data:,$)/.test(a.value)).length") == 0
    ids = page.evaluate("[...document.querySelectorAll('.judged [id]')].map(e => e.id)")
    assert all(re.fullmatch(r"j\d+-[sarp]\d+|case-[\w.-]+", found) for found in ids)


def test_payloads_in_evidence_stay_readable_as_text(opened: Open) -> None:
    evil = PAYLOADS[2]
    page = opened(render(hostile_judged([evil]), JudgedBenchmark())).page
    shown = re.sub(r"\s", "", page.evaluate("document.querySelector('table.coverage').closest('section').textContent"))
    for name in (
        "claim", "wanted", "sentence", "title", "asked", "element", "status", "quote", "reason", "anchor", "heading",
        "failure", "sum", "question", "answer", "reference", "raw", "step", "model", "prompt", "problem", "judge",
        "text", "lost", "embedder", "protocol",
    ):  # fmt: skip
        assert re.sub(r"\s", "", f"{name} {readable(evil)}")[:45] in shown, name  # names are cut where they get long


@pytest.mark.parametrize("width", [1280, 390])
def test_neither_tame_nor_hostile_evidence_makes_the_page_wider_than_the_window(
    opened: Open, hostile_html: str, width: int
) -> None:
    for html in (hostile_html, render(judged_run(30), JudgedBenchmark(), language="zh")):
        page = opened(html, width=width, scheme="dark").page
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


# --- in a browser ---------------------------------------------------------------------------------------------------


def test_every_id_is_unique_and_every_link_leads_somewhere(opened: Open) -> None:
    seen = opened(render(judged_run(30), JudgedBenchmark()))
    ids = seen.page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    wanted = seen.page.evaluate("[...document.querySelectorAll('.judged a')].map(a => a.getAttribute('href').slice(1))")
    assert len(wanted) > 100
    assert set(wanted) <= set(ids)
    assert seen.quiet()


def test_a_claim_is_reached_by_keyboard_alone_and_marked_when_it_is(opened: Open) -> None:
    page = opened(render(judged_run(6), JudgedBenchmark()), scripts=False).page
    case = page.locator("details.judged").first
    summary = case.locator("summary").first
    summary.focus()
    page.keyboard.press("Enter")
    link = case.locator(".sentences a").first
    assert link.is_visible()
    link.focus()
    page.keyboard.press("Enter")
    target = page.locator(":target")
    assert target.get_attribute("id") == (link.get_attribute("href") or "").removeprefix("#")
    assert target.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"


def test_information_in_colour_is_also_in_words(opened: Open) -> None:
    page = opened(render(judged_run(6), JudgedBenchmark())).page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    for tone, word in (("good", "supported by"), ("bad", "contradicted by")):
        texts = page.locator(f".claims li.{tone}").all_inner_texts()
        assert texts
        assert all(word in text for text in texts)
    assert page.locator("svg.histogram[role=img] title").count() == page.locator("svg.histogram").count() > 0


def test_the_section_prints_on_a4(opened: Open) -> None:
    page = opened(render(judged_run(12), JudgedBenchmark()), width=688).page  # 182 mm
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 688
    assert page.pdf(format="A4")[:5] == b"%PDF-"


def test_there_is_one_list_of_worst_cases_and_the_judged_ones_come_first() -> None:
    records = [judged_record(0), *small_run(8).records()]
    html = render(MemoryRun(lambda: records, META, {"shop-bot": {}, **small_run(8).systems}), SmallBenchmark())
    titles = re.findall(r"<h2[^>]*>([^<]+)</h2>", html)
    assert titles.index("What the judge found") == titles.index("The worst answers") - 1
    anchors = re.findall(r'<div class="in" id="(case-[^"]+)"', html)
    assert len(anchors) == len({*anchors})
    alone = render(MemoryRun(lambda: [judged_record(0)], META, {"shop-bot": {}}), SmallBenchmark())
    assert "The worst answers" not in alone
    assert alone.count('<details class="case') == 1
