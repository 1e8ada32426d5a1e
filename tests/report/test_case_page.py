"""The page of a case: all that the file has of it, in both languages, whatever the file holds."""

import re
from itertools import count

import pytest
from msgspec.structs import replace
from tests.golden import golden, markup
from tests.report.cases import GOLD, OTHERS, shown_case, staged_record
from tests.report.conftest import Open
from tests.report.hostile import PAYLOADS, hostile_records
from tests.report.synthetic_judged import hostile_judged, judged_record
from tests.report.test_hostile import check_that_nothing_runs
from tests.report.test_page import text_of

from ragstone.display import Diagnosis
from ragstone.messages import LANGUAGES
from ragstone.report.case_page import LinkedRecord, ShownCase, case_parts
from ragstone.report.page import document
from ragstone.report.passage_path import changes, passage_paths
from ragstone.report.section import Canvas
from ragstone.systems.template import PAPER
from ragstone.types import Passage, Response, Step


def parts(case: ShownCase, language: str = "en") -> dict[str, str]:
    return {name: str(body) for name, _, body in case_parts(Canvas(language), case)}


def page(case: ShownCase, language: str = "en") -> str:
    return document(Canvas(language), case_parts(Canvas(language), case), heading="case", systems=["rag-a"])


def test_the_answer_comes_first_with_the_reason_the_reference_and_every_score() -> None:
    names = list(parts(shown_case()))
    assert names[0] == "answer"
    text = text_of(parts(shown_case())["answer"])
    for told in ("How long does the battery last?", "lamp/7 é", "wrong", "search lost it", "not put in the prompt",
                 "It lasts nine hours.", "eleven hours or 11 h", "answer_match 0 the answer lacks", "f1 0.250",
                 "Earlier turns of the conversation: 2", "Hello?", "Ask me."):  # fmt: skip
        assert told in text


def test_passages_stand_by_stage_and_the_lost_gold_is_shown_at_once() -> None:
    html = parts(shown_case())["passages"]
    text = text_of(html)
    assert "In the prompt: 2" in text
    assert "[1] blog#1 fetched 3 → reranked 1 → prompt 1" in text
    assert "Not in the prompt: 2 right ones among them" in text
    assert "manual#7 right passage fetched 2 → reranked 3" in text
    assert "<details open>" in html


def test_gold_that_no_stage_has_is_named_as_never_fetched() -> None:
    record = staged_record()
    assert record.response is not None
    record = replace(record, response=Response("No idea.", (OTHERS[0],)))
    assert "manual#7 right passage never fetched" in text_of(parts(shown_case(record))["passages"])
    assert [path.passage.id for path in passage_paths(record)] == ["blog#0", "manual#7"]


def test_the_timeline_has_a_bar_for_each_stage_and_the_cost_of_the_tokens() -> None:
    html = parts(shown_case())["course"]
    widths = re.findall(r'<rect x="([\d.]+)" y="1" width="([\d.]+)"', html)
    assert widths == [("0.00", "12.50"), ("12.50", "6.25"), ("18.75", "31.25"), ("50.00", "50.00")]
    text = text_of(html)
    for told in ("rewriting the query 0.50 s", "search 0.25 s", "reranking 1.25 s", "answer and the rest 2.00 s",
                 "the system 2 1,000 500 0.002000", "(prompt/answer[/cached prompt]): 1/2"):  # fmt: skip
        assert told in text


def test_tokens_of_the_judge_are_counted_once_however_many_metrics_rest_on_them() -> None:
    case = ShownCase(judged_record(2), Diagnosis(None, ""), {"price": "1/1"}, {})
    row = re.search(r"the judge (\d+) ([\d,]+) ([\d,]+)", text_of(parts(case)["course"]))
    assert row is not None
    steps = {id(step): step for step in judged_record(2).scores["faithfulness"].evidence["verdicts"]}
    assert int(row[2].replace(",", "")) == sum(step["usage"]["prompt_tokens"] for step in steps.values())


def test_the_prompt_is_made_again_as_the_system_made_it() -> None:
    text = text_of(parts(shown_case())["prompts"])
    assert "Documents: Post 1 speaks of lamps and of nothing else. Post 0 speaks" in text
    assert "Question: How long does the battery last?" in text
    assert "rewriting the query battery life lumen 3" in text


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"kind": "http", "url": "http://x"}, "the system makes it by itself"),
        ({"kind": "recorded"}, "recorded elsewhere"),
        ({"kind": "rag", "reader": {"kind": "extractive"}}, "uses no language model"),
        ({"kind": "reader", "template": {"sha256": "77aa"}}, "does not have its whole template"),
        ({"kind": "reader", "template": ["x"]}, "does not have its whole template"),
        ({"reader": {"reader": 1}}, "the system makes it by itself"),
    ],
)
def test_a_prompt_that_is_not_in_the_file_is_said_to_be_missing(spec: dict[str, object], told: str) -> None:
    case = shown_case()
    assert told in text_of(parts(ShownCase(case.record, case.diagnosis, {}, spec))["prompts"])


def test_the_template_of_the_benchmark_is_used_where_the_system_has_it() -> None:
    record = staged_record()
    spec = {"kind": "reader", "template": dict(PAPER.spec)}
    case = ShownCase(record, Diagnosis(None, ""), {}, spec, PAPER)
    assert "You are an accurate and reliable AI assistant" in text_of(parts(case)["prompts"])


def test_other_answers_to_the_question_are_linked_with_their_verdicts() -> None:
    other = LinkedRecord("k=4", "right", "Eleven hours.", "/case?x=1", "/compare?x=1")
    html = parts(shown_case(conditions=[other], elsewhere=[other]))
    for name in ("conditions", "elsewhere"):
        assert '<a href="/case?x=1"><bdi>k=4</bdi></a>' in html[name]
        assert '<a href="/compare?x=1">compare</a>' in html[name]


def test_a_failed_request_shows_its_error_and_no_answer() -> None:
    record = replace(staged_record(), response=None, error="timed_out: no reply within 120 s")
    text = text_of(page(shown_case(record)))
    for told in ("failed", "timed out: no reply within 120 s", "The system gave no answer, so its prompt is not known"):
        assert told in text


def test_changes_of_passages_name_what_was_kept_moved_new_and_lost() -> None:
    before = replace(staged_record(), response=Response("a", (OTHERS[0], OTHERS[1], OTHERS[2])))
    after = replace(before, response=Response("b", (OTHERS[0], GOLD, Passage("renamed", OTHERS[1].text))))
    found = [(change.kind, change.passage.id, change.before, change.after) for change in changes(before, after)]
    assert found == [
        ("kept", "blog#0", 1, 1), ("new", "manual#7", None, 2), ("moved", "renamed", 2, 3), ("lost", "blog#2", 3, None)
    ]  # fmt: skip


def test_steps_of_another_form_are_no_stages() -> None:
    steps = (Step("fetch", output=[{"id": 1}, "x"]), Step("rerank", output="x"), Step("note", output={"a": [1]}))
    record = replace(staged_record(), response=Response("a", (GOLD,), steps))
    assert [dict(path.ranks) for path in passage_paths(record)] == [{"prompt": 1}]
    assert "note" in parts(shown_case(record))["prompts"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_of_a_case_reads_as_before(language: str) -> None:
    case = shown_case(
        staged_record(language=language), conditions=[LinkedRecord("k=4", "right", "Eleven.", "/a", "/b")]
    )
    golden(f"report/case-{language}", "\n".join(markup(body) for body in parts(case, language).values()))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_judged_case_has_its_claims_quotes_and_raw_replies_on_the_page(language: str) -> None:
    case = ShownCase(judged_record(3), Diagnosis(None, ""), {}, {})
    html = parts(case, language)
    assert 'id="c-a1"' in html["answer"]
    assert 'class="match"' in html["passages"]
    assert html["prompts"].count("<pre") >= 2


@pytest.mark.parametrize("policy", [True, False], ids=["with policy", "without policy"])
def test_nothing_that_a_file_holds_runs_on_the_page(opened: Open, *, policy: bool) -> None:
    records = [*hostile_records(PAYLOADS), *hostile_judged(PAYLOADS).records()]
    numbers = count()
    sections = []
    for record in records:
        text = record.case.query.question
        diagnosis = Diagnosis(False, text, text, text, text)
        other = LinkedRecord(text, "wrong", text)
        case = ShownCase(record, diagnosis, {"price": text}, {"kind": text, text: text}, conditions=[other])
        sections += [(f"p{next(numbers)}", text, body) for _, _, body in case_parts(Canvas("en"), case)]
    html = document(Canvas("en"), sections, heading="hostile", systems=[])
    check_that_nothing_runs(opened, html, policy=policy)


def test_passages_of_any_length_leave_the_page_readable() -> None:
    long = tuple(Passage(f"p{number}", "word " * 40_000) for number in range(100))
    record = replace(staged_record("answer " * 100_000), response=Response("answer " * 100_000, long))
    assert len(page(shown_case(record))) < 1_500_000


@pytest.mark.parametrize(("language", "width"), [("en", 1280), ("zh", 390)])
def test_the_page_of_a_case_fits_a_screen_and_a_phone(opened: Open, language: str, width: int) -> None:
    case = shown_case(staged_record(language=language))
    seen = opened(page(case, language), width=width)
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.quiet()
