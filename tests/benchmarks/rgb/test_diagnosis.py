"""Findings: the cause of each wrong answer, in both languages, with the text that shows it."""

from typing import Any

import pytest
from tests.benchmarks.rgb.handmade import record

from ragstone.benchmarks.rgb.diagnosis import CAUSES, explain
from ragstone.display import Diagnosis
from ragstone.types import Passage, Record

RUMOUR = Passage("negative:0", "Insiders expect Bo Kern to take the prize.", relevant=False, meta={"kind": "rumour"})
YEAR = Passage("negative:1", "In 2019 the prize went to Cy Dahl.", relevant=False, meta={"kind": "other_year"})
PLAIN = Passage("positive:0", "The prize went to Ada Lind this week.", relevant=True, meta={"kind": "plain"})
FAR = Passage(
    "positive:1", "The prize has a long history. At the end, Ada Lind took it.", relevant=True, meta={"kind": "far"}
)
BARE = Passage("negative:2", "Some say that Bo Kern has it.", relevant=False)
ALTERED = Passage("wrong:0", "Bo Kern won the prize in Oslo.", relevant=False)
ADA = (("Ada Lind",),)


def wrong(ability: str, answer: str, **more: Any) -> Record:
    more.setdefault("references", ADA)
    more.setdefault("question", "Who won the prize?")
    more.setdefault("rejected", False)
    return record(ability, answer=answer, right=more.pop("right", False), **more)


def cause(one: Record, scoring: str = "default") -> str:
    return explain(one, "en", scoring).cause


def marked(one: Record, finding: Diagnosis) -> set[tuple[str, str, str]]:
    """(field, kind, text) of every span."""
    texts = {passage.id: passage.text for passage in one.case.query.passages or ()}
    assert one.response is not None
    texts["answer"] = one.response.answer
    return {(span.field, span.kind, texts[span.field][span.start : span.end]) for span in finding.spans}


def test_a_right_answer_has_its_match_highlighted_and_no_cause() -> None:
    evidence = {"answer_match": {"slots": [[{"alias": "Ada Lind", "start": 7, "end": 15}]]}}
    one = wrong("noise", "It was Ada Lind.", right=True, evidence=evidence, given=(PLAIN,))
    found = explain(one)
    assert (found.right, found.cause, found.group, found.weight) == (True, "", "Noise robustness, English", 0.0)
    assert marked(one, found) == {("answer", "match", "Ada Lind")}
    assert "Ada Lind" in found.reason


def test_a_right_refusal_has_its_phrase_highlighted() -> None:
    one = wrong("rejection", "I cannot tell.", rejected=True, evidence={"refusal": {"spans": [[0, 13]]}})
    found = explain(one)
    assert (found.right, found.group) == (True, "Negative rejection, English")
    assert marked(one, found) == {("answer", "refusal", "I cannot tell")}


@pytest.mark.parametrize(
    ("error", "name", "label"),
    [
        ("timed_out: no reply in 120 s", "timed_out", "request failed: timed out"),
        ("content_blocked: data_inspection_failed", "blocked", "blocked by content inspection"),
        ("something broke", "error", "request failed: error"),
    ],
)
def test_a_failed_request_is_neither_right_nor_wrong(error: str, name: str, label: str) -> None:
    found = explain(record("noise", error=error))
    assert (found.right, found.cause, found.label) == (None, name, label)
    assert error.partition(": ")[2] in found.reason


def test_an_answer_that_was_not_scored_says_why() -> None:
    found = explain(record("noise"))
    assert (found.right, found.cause) == (None, "unscored")
    assert "not been computed" in found.reason


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (wrong("noise", " \n", given=(PLAIN,)), "empty"),
        (wrong("noise", "The prize went", finish_reason="length", given=(PLAIN,)), "cut_off"),
        (wrong("noise", "", finish_reason="content_filter", given=(PLAIN,)), "blocked"),
        (wrong("noise", "I cannot tell.", rejected=True, given=(PLAIN, RUMOUR)), "refused"),
        (wrong("noise", "Bo Kern won.", given=(PLAIN, RUMOUR)), "wrong_passage_rumour"),
        (wrong("noise", "It was Cy Dahl.", given=(RUMOUR, YEAR, PLAIN)), "wrong_passage_other_year"),
        (wrong("noise", "Bo Kern", given=(PLAIN, BARE)), "wrong_passage"),
        (wrong("noise", "Eve Fox won.", given=(FAR, RUMOUR)), "far_missed"),
        (wrong("noise", "Eve Fox won.", given=(PLAIN, FAR, RUMOUR)), "no_match"),
        (wrong("noise", "It has a long history.", given=(PLAIN, FAR, RUMOUR)), "wrong_detail"),
        (wrong("noise", "It has a long history.", given=(FAR, RUMOUR)), "far_missed"),
        (wrong("noise", "It was not Ada Lind.", label=[1], given=(PLAIN,)), "not_stated"),
        (wrong("rejection", "Bo Kern won.", given=(RUMOUR, YEAR)), "misled_rumour"),
        (wrong("rejection", "Cy Dahl", given=(RUMOUR, YEAR)), "misled_other_year"),
        (wrong("rejection", "Bo Kern", given=(BARE,)), "misled"),
        (wrong("rejection", "Eve Fox.", given=(RUMOUR, YEAR)), "unsupported"),
        (wrong("rejection", "Ada Lind.", right=True, given=(RUMOUR, YEAR)), "guessed"),
        (wrong("counterfactual", "I do not know.", closed=True, rejected=True), "declined"),
        (wrong("counterfactual", "Eve Fox.", closed=True), "not_known"),
        (wrong("counterfactual", "Bo Kern.", meta={"fake": ["Bo Kern"]}), "followed_false"),
        (
            wrong("counterfactual", "An error: Bo Kern.", meta={"fake": ["Bo Kern"]}, detected=True),
            "detected_but_followed",
        ),
        (
            wrong("counterfactual", "The documents err.", meta={"fake": ["Bo Kern"]}, detected=True),
            "detected_not_corrected",
        ),
        (wrong("counterfactual", "I cannot say.", meta={"fake": ["Bo Kern"]}, rejected=True), "refused_false"),
        (wrong("counterfactual", "Eve Fox.", meta={"fake": ["Bo Kern"]}), "no_match"),
        (wrong("counterfactual", "In Oslo.", meta={"fake": ["Bo Kern"]}, given=(ALTERED,)), "altered_detail"),
    ],
)
def test_each_wrong_answer_has_its_cause_and_is_told_in_both_languages(one: Record, expected: str) -> None:
    english, chinese = explain(one, "en"), explain(one, "zh")
    assert (english.right, english.cause) == (False, expected)
    assert (chinese.right, chinese.cause, chinese.weight) == (False, expected, english.weight)
    assert chinese.spans == english.spans
    for found in (english, chinese):
        assert found.label
        assert found.reason
        assert "{" not in found.label + found.reason
    assert english.label != chinese.label


PARTS = (("Ada Lind",), ("3 May",))
WON = Passage("positive:0:0", "Ada Lind won the prize.", relevant=True, meta={"kind": "plain"})
WHEN = Passage(
    "positive:1:0", "The ceremony took place on 3 May in spring rain.", relevant=True, meta={"kind": "plain"}
)
OTHER_DAY = Passage("negative:0", "The gala opens on 9 June in Oslo.", relevant=False, meta={"kind": "other_category"})


def parts(answer: str, *, first: bool, **more: Any) -> Record:
    hit = [{"alias": "Ada Lind", "start": answer.find("Ada"), "end": answer.find("Ada") + 8}]
    evidence = {"answer_match": {"slots": [hit if first else [], []]}}
    more.setdefault("given", (WON, WHEN, OTHER_DAY))
    return wrong(
        "integration", answer, references=PARTS, evidence=evidence, question="Who won the prize, and when?", **more
    )


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (parts("Ada Lind won it.", first=True), "ignored"),
        (parts("Ada Lind won it, and Ada Lind was there.", first=True), "merged"),
        (parts("Both were Ada Lind.", first=True), "merged"),
        (parts("Ada Lind won it on 9 June in Oslo.", first=True), "wrong_passage_other_category"),
        (parts("Eve Fox.", first=False), "no_match"),
        (parts("9 June, Oslo", first=False), "wrong_passage_other_category"),
    ],
)
def test_partial_answers_to_two_part_questions(one: Record, expected: str) -> None:
    found = explain(one)
    assert found.cause == expected
    assert found.group == "Information integration, English"


def test_a_part_that_was_left_out_is_named_and_shown_where_it_stands() -> None:
    one = parts("Ada Lind won it.", first=True)
    found = explain(one)
    assert found.reason == "“Ada Lind” is given; “3 May” is missing."
    assert marked(one, found) == {("answer", "match", "Ada Lind"), ("positive:1:0", "match", "3 May")}


def test_only_the_parts_that_a_document_states_are_said_to_stand_in_it() -> None:
    one = parts("In spring rain.", first=False)
    assert explain(one).cause == "wrong_detail"
    assert "“3 May”" in explain(one).reason
    assert "“Ada Lind”" not in explain(one).reason


def test_official_parts_come_from_the_official_label() -> None:
    one = parts("Ada Lind won it.", first=True, label=[1, 0])
    assert cause(one, "official") == "ignored"


def test_where_the_scorings_differ_that_is_the_cause() -> None:
    folded = wrong("noise", "Ａda Lind", right=True, label=[0])
    assert (cause(folded), cause(folded, "official")) == ("", "other_form")
    reworded = wrong("rejection", "No text says it.", rejected=True, label=[0])
    assert (cause(reworded), cause(reworded, "official")) == ("", "other_wording_refusal")
    lucky = wrong("rejection", "Ada Lind", right=True, label=[1], given=(RUMOUR,))
    assert cause(lucky) == "guessed"
    assert explain(lucky, "en", "official").right is True
    assert "official program" not in explain(lucky, "en", "official").reason


def test_the_passage_that_misled_is_named_and_highlighted() -> None:
    one = wrong("rejection", "Bo Kern won.", given=(YEAR, RUMOUR))
    found = explain(one)
    assert "comes from passage 1 without the answer, a rumour" in found.reason
    assert "rumour" in found.reason
    assert found.label == "answered from a rumour from before the event"
    assert marked(one, found) == {("answer", "wrong", "Bo Kern"), ("negative:0", "wrong", "Bo Kern")}


def test_a_wrong_passage_is_shown_beside_the_one_with_the_answer() -> None:
    one = wrong("noise", "Bo Kern won.", given=(PLAIN, RUMOUR))
    assert marked(one, explain(one)) == {
        ("answer", "wrong", "Bo Kern"), ("negative:0", "wrong", "Bo Kern"), ("positive:0", "match", "Ada Lind"),
    }  # fmt: skip


def test_the_false_answer_is_shown_in_the_answer_and_in_the_documents() -> None:
    altered = Passage("wrong:0", "The prize went to Bo Kern.", relevant=False)
    one = wrong("counterfactual", "Bo Kern.", meta={"fake": ["Bo Kern"]}, given=(altered,))
    found = explain(one)
    assert "Ada Lind" in found.reason
    assert marked(one, found) == {("answer", "wrong", "Bo Kern"), ("wrong:0", "wrong", "Bo Kern")}


def test_what_every_passage_says_decides_nothing() -> None:
    every = "The prize was given in Oslo. "
    given = (
        Passage("negative:0", every + "Rain fell.", relevant=False, meta={"kind": "related"}),
        Passage("negative:1", every + "Bo Kern hopes.", relevant=False, meta={"kind": "rumour"}),
    )
    assert cause(wrong("rejection", "Bo Kern, in Oslo", given=given)) == "misled_rumour"


def test_a_relevant_passage_with_the_same_words_did_not_mislead() -> None:
    same = Passage("negative:0", PLAIN.text, relevant=False, meta={"kind": "related"})
    assert cause(wrong("noise", "It went this week", given=(same, PLAIN))) == "wrong_detail"


def test_what_was_taken_from_the_right_document_is_shown_beside_the_answer() -> None:
    one = wrong("noise", "This week.", given=(PLAIN, RUMOUR))
    assert marked(one, explain(one)) == {
        ("answer", "wrong", "week"), ("positive:0", "wrong", "week"), ("positive:0", "match", "Ada Lind"),
    }  # fmt: skip


def test_chinese_answers_are_explained_too() -> None:
    rumour = Passage("negative:0", "知情人士称王海可能获奖。", relevant=False, meta={"kind": "rumour"})
    positive = Passage("positive:0", "本届大奖由李明获得。", relevant=True, meta={"kind": "plain"})
    one = record(
        "noise", language="zh", right=False, rejected=False, question="谁获得了大奖？", answer="王海。",
        references=(("李明",),), given=(positive, rumour),
    )  # fmt: skip
    found = explain(one, "zh")
    assert (found.cause, found.group) == ("wrong_passage_rumour", "噪声鲁棒性，中文")
    assert ("positive:0", "match", "李明") in marked(one, found)
    assert ("answer", "wrong", "王海") in marked(one, found)
    assert "“李明”" in found.reason


def test_believing_what_is_false_is_worse_than_saying_too_little() -> None:
    followed = explain(wrong("counterfactual", "Bo Kern.", meta={"fake": ["Bo Kern"]})).weight
    refused = explain(wrong("noise", "I cannot tell.", rejected=True, given=(PLAIN,))).weight
    cut = explain(wrong("noise", "The", finish_reason="length")).weight
    assert followed > refused > cut > 0


def test_to_fail_with_less_noise_is_worse() -> None:
    weights = [explain(wrong("noise", "Eve Fox.", ratio=ratio, given=(PLAIN,))).weight for ratio in (0.0, 0.4, 0.8)]
    assert weights == sorted(weights, reverse=True)
    assert len(set(weights)) == 3


def test_spans_never_overlap_and_lie_within_their_text() -> None:
    one = wrong("counterfactual", "An error: Bo Kern, Bo Kern.", meta={"fake": ["Bo Kern", "Kern"]}, detected=True)
    spans = explain(one).spans
    assert [(span.start, span.end) for span in spans] == [(10, 17), (19, 26)]


def test_a_long_message_is_cut_in_a_reason() -> None:
    found = explain(record("noise", error="bad_reply: " + "x" * 100_000))
    assert len(found.reason) < 300


def test_every_cause_has_a_weight_within_0_and_1() -> None:
    assert all(0 < weight <= 1 for weight in CAUSES.values())
