"""Why an answer of MIRAGE is wrong, or counts as right although it should not."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.benchmarks.mirage.handmade import GOLD, NOISE, found_by, record

from ragstone.benchmarks.mirage.diagnosis import CAUSES, explain
from ragstone.types import Passage, Record, Response

FAR = Passage("p9", "Grace Hopper lives in Arlington near the river.", relevant=False)


def wrong(setting: str = "mixed", **more: Any) -> Record:
    return record(setting, "q1", more.pop("right", False), **more)


def ended(one: Record, reason: str) -> Record:
    assert one.response is not None
    return replace(one, response=replace(one.response, finish_reason=reason))


def hops(one: Record, number: int) -> Record:
    sample = replace(one.case.sample, meta={**one.case.sample.meta, "hops": number})
    return replace(one, case=replace(one.case, sample=sample))


@pytest.mark.parametrize(
    ("one", "cause"),
    [
        (wrong("base", answer="It is Bob."), "not_known"),
        (wrong("base", answer="I do not know.", refused=True), "declined"),
        (wrong("oracle", answer="It is cold today."), "ignored"),
        (wrong("mixed", answer="I cannot tell.", refused=True), "refused"),
        (wrong("mixed", answer="Bob, in a red house."), "distracted"),
        (wrong("retrieved", given=(NOISE, FAR), answer="A red house."), "not_retrieved"),
        (wrong("retrieved", given=(NOISE,), answer="I cannot tell.", refused=True), "refused_missing"),
        (hops(wrong("retrieved", given=(GOLD, NOISE), answer="It is cold."), 2), "partly_retrieved"),
        (ended(wrong("mixed", answer="Let us think about"), "length"), "cut_off"),
        (wrong("mixed", answer="  "), "empty"),
        (wrong("mixed", right=True, default=False, answer="A parade.", aliases=("Ada",)), "other_form"),
        (wrong("base", right=True, default=False, asked="Is Ada or Bob older?", answer="Is Ada or Bob older?"), "echo"),
    ],
)
def test_each_wrong_answer_has_its_cause_and_is_told_in_both_languages(one: Record, cause: str) -> None:
    english, chinese = explain(one), explain(one, language="zh")
    assert (english.right, english.cause, english.weight) == (False, cause, CAUSES[cause])
    assert (chinese.right, chinese.cause, chinese.weight) == (False, cause, CAUSES[cause])
    assert english.reason
    assert "{" not in english.reason + chinese.reason
    assert english.label != chinese.label


def test_the_noise_that_was_followed_is_named_and_highlighted() -> None:
    found = explain(wrong("mixed", answer="Bob, in a red house."))
    assert "chunk 2" in found.reason
    assert {("answer", "wrong"), ("p2", "wrong"), ("p1", "match")} <= {(one.field, one.kind) for one in found.spans}


def test_a_right_answer_shows_what_the_metric_found_and_where_the_chunk_has_it() -> None:
    evidence = {"slots": [[{"alias": "Ada", "start": 6, "end": 9}]]}
    found = explain(record("oracle", "q1", True, evidence=evidence))
    assert (found.right, found.cause, found.weight, found.reason) == (True, "", 0.0, "")
    assert [(one.field, one.start, one.end) for one in found.spans] == [("answer", 6, 9), ("p1", 14, 17)]


def test_a_right_answer_that_owes_nothing_to_the_chunks_says_so() -> None:
    assert "none of the 1 chunks" in explain(record("retrieved", "q1", True, given=(NOISE,))).reason
    assert "already" in explain(record("base", "q1", True, asked="Who is Ada?")).reason


def test_the_official_rule_can_decide() -> None:
    one = record("mixed", "q1", True, default=False, answer="A parade.")
    assert explain(one).cause == "other_form"
    assert explain(one, scoring="official").right is True
    other = record("mixed", "q1", False, default=True, answer="Adá it is.")
    assert explain(other, scoring="official").cause == "other_wording"
    assert explain(other).right is True


def test_what_was_not_answered_or_not_scored_is_neither_right_nor_wrong() -> None:
    failed = explain(record("mixed", "q1", None, error="timed_out: no answer in 60 s"))
    assert (failed.right, failed.cause) == (None, "timed_out")
    unscored = explain(record("mixed", "q1", None))
    assert (unscored.right, unscored.cause) == (None, "unscored")


def test_retrieval_alone_tells_where_the_chunk_is() -> None:
    assert "rank 4 of 5" in explain(found_by("bm25", "q1", "00010", 1)).reason
    assert "None of the 5" in explain(found_by("bm25", "q1", "00000", 1)).reason


def test_passages_that_the_system_found_itself_are_looked_at() -> None:
    one = wrong("retrieved", given=(), answer="Bob, in a red house.")
    case = replace(one.case, query=replace(one.case.query, passages=None))
    found = explain(replace(one, case=case, response=Response("Bob, in a red house.", (NOISE, GOLD))))
    assert found.cause == "distracted"
    assert "chunk 1" in found.reason


def test_groups_are_settings_the_probe_and_harder_negatives() -> None:
    names = [explain(wrong(setting)).group for setting in ("base", "oracle", "mixed", "retrieved")]
    assert len(set(names)) == 4
    assert explain(wrong("base", probe="fictional")).group not in names
    assert explain(wrong("retrieved", retriever="negatives(bm25)")).group not in names


def test_a_very_long_alias_is_cut_in_the_reason() -> None:
    alias = "a" * 5000
    found = explain(record("base", "q1", True, default=False, aliases=(alias,), answer=alias))
    assert len(found.reason) < 300
