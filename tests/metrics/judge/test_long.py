"""Long texts are shown in parts and their verdicts merged; a passage at a time gives the same as all together."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.metrics.judge.judges import careful, case, judge_by, reply_to, response, shown_in

from ragstone.metrics.judge import Judged, JudgeFailed
from ragstone.metrics.judge.chunks import CLAIMS
from ragstone.metrics.judge.split import groups, pieces, sentences_of
from ragstone.text import estimate_tokens
from ragstone.types import Completion, Request

FACTS = [f"Mill {number} opened in {1700 + number}" for number in range(200)]


def text_of(facts: list[str], more: str = "") -> str:
    return " ".join(f"{fact}{more}." for fact in facts)


def verdicts(judged: Judged) -> list[Any]:
    """Everything but how it was asked for and which words were quoted."""
    claims = [(one.id, one.text, one.supported_by, one.contradicted_by) for one in judged.answer_claims]
    known = [(one.id, one.text, one.supported_by, one.contradicted_by) for one in judged.reference_claims]
    other = [one.in_reference for one in judged.answer_claims] + [one.in_answer for one in judged.reference_claims]
    return [claims, known, other, judged.passages, judged.questions, judged.noncommittal, judged.sentences]


# --- cutting ---------------------------------------------------------------------------------------------------------


@given(st.text(alphabet="ab. \n。字！", max_size=300), st.integers(3, 60))
def test_pieces_are_the_text_and_fit(text: str, budget: int) -> None:
    parts = pieces(text, budget, "")
    assert "".join(parts) == text
    assert len(parts) == 1 or all(estimate_tokens(part) <= budget + 3 for part in parts)


@given(st.text(alphabet="ab. \n。字！", max_size=300), st.integers(3, 60))
def test_sentences_are_the_text_and_fit(text: str, budget: int) -> None:
    parts = sentences_of(text, "", budget)
    assert "".join(parts) == text
    assert all(estimate_tokens(part) <= budget + 3 for part in parts)


def test_a_passage_is_cut_between_sentences() -> None:
    text = "磨坊于一九〇二年开业。" * 40 + text_of(FACTS[:40])
    parts = pieces(text, 100, "zh")
    assert len(parts) > 5
    assert all(part.rstrip()[-1] in "。." for part in parts)


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(5, 60))
def test_groups_keep_the_order_and_fit_unless_one_alone_does_not(sizes: list[int], budget: int) -> None:
    found = list(groups(sizes, budget, lambda size: size))
    assert [size for group in found for size in group] == sizes
    assert all(sum(group) <= budget or len(group) == 1 for group in found)


# --- the judge -------------------------------------------------------------------------------------------------------


async def judged_by(budget: int, asked: Any, given_response: Any, **options: Any) -> tuple[Judged, list[Request]]:
    judge, model = judge_by(budget=budget, **options)
    return await judge.verify(asked, given_response), model.requests


async def test_passages_beyond_the_budget_are_verified_in_groups_with_the_same_verdicts() -> None:
    passages = [text_of(FACTS[place : place + 6]) + " The mill is red." * (place % 4) for place in range(0, 24, 2)]
    asked, given_response = case(reference=text_of(FACTS[3:9])), response(text_of(FACTS[:8]), passages)
    whole, few = await judged_by(6000, asked, given_response)
    parted, many = await judged_by(200, asked, given_response)
    assert len(few) == 2
    assert len(many) > 4
    assert verdicts(parted) == verdicts(whole)
    shown = [text for request in many[1:] for text in shown_in(request)["passages"].values()]
    assert shown == passages
    assert all(sum(map(estimate_tokens, shown_in(request)["passages"].values())) <= 200 for request in many[1:])
    assert all(next(iter(shown_in(request)["passages"])) == "1" for request in many[1:])


async def test_each_step_names_passages_by_their_own_places() -> None:
    passages = [text_of(FACTS[place : place + 6]) for place in range(0, 24, 6)]
    parted, _ = await judged_by(150, case(), response(text_of([FACTS[0], FACTS[20]]), passages))
    verify = [step for step in parted.steps if step.name == "verify"]
    assert [[one.id for one in step.passages] for step in verify] == [[1, 2], [3, 4]]
    assert verify[1].answer_claims[1].supported_by == (4,)


async def test_the_pieces_of_a_long_passage_are_one_passage() -> None:
    long = text_of(FACTS[:60]) + f" not: {FACTS[70]}. " + "The mill is red. " + text_of(FACTS[80:140])
    answer = text_of([FACTS[2], FACTS[59], FACTS[70], FACTS[100], FACTS[150]])
    asked, given_response = case(reference=text_of([FACTS[100]])), response(answer, ["Nothing.", long])
    parted, requests = await judged_by(300, asked, given_response)
    assert len(requests) > 5
    assert [one.supported_by for one in parted.answer_claims] == [(2,), (2,), (), (2,), ()]
    assert [one.contradicted_by for one in parted.answer_claims] == [(), (), (2,), (), ()]
    assert [(one.id, one.relevant, one.useful) for one in parted.passages] == [(1, False, False), (2, True, True)]
    assert parted.answer_claims[3].quote == FACTS[100]
    shown = "".join(
        text for request in requests[1:] for text in shown_in(request)["passages"].values() if text != "Nothing."
    )
    assert shown == long  # nothing is left out


async def test_a_passage_of_which_one_piece_supports_and_another_contradicts_supports() -> None:
    long = text_of([FACTS[0]]) + " It rains." * 200 + f" not: {FACTS[0]}."
    parted, _ = await judged_by(300, case(), response(text_of([FACTS[0]]), [long]))
    assert (parted.answer_claims[0].supported_by, parted.answer_claims[0].contradicted_by) == ((1,), ())


async def test_a_long_answer_and_a_long_reference_are_taken_apart_in_groups_of_sentences() -> None:
    answer, reference = text_of(FACTS[:50]), text_of(FACTS[40:70])
    parted, requests = await judged_by(200, case(reference=reference), response(answer, ["The mill is red."]))
    decomposed = [request for request in requests if request.schema_name == "decompose"]
    assert len(decomposed) > 2
    assert [one.text for one in parted.answer_claims] == FACTS[:50]
    assert [one.id for one in parted.answer_claims] == list(range(1, 51))
    assert [one.text for one in parted.reference_claims] == FACTS[40:70]
    assert [parted.sentences[one.sentence - 1] for one in parted.answer_claims] == [f"{fact}." for fact in FACTS[:50]]
    assert [one.in_reference for one in parted.answer_claims] == [False] * 40 + [True] * 10
    assert [one.in_answer for one in parted.reference_claims] == [True] * 10 + [False] * 20
    assert len(parted.questions) == 3


async def test_an_answer_of_which_a_part_commits_is_not_noncommittal() -> None:
    judge, _ = judge_by(budget=100)
    half = await judge.decompose(case(), response("Sorry, no. " * 60 + text_of(FACTS[:3])))
    assert half.noncommittal is False
    none = await judge.decompose(case(), response("Sorry, no. " * 60))
    assert none.noncommittal is True


async def test_a_sentence_without_end_is_shown_in_stretches() -> None:
    judge, model = judge_by(budget=100)
    judged = await judge.decompose(case(), response("la " * 500))
    assert len(model.requests) > 4
    assert "".join(judged.sentences).replace(" ", "") == "la" * 500


async def test_more_claims_than_fit_into_a_reply_are_verified_in_groups_and_then_compared() -> None:
    answer, reference = text_of(FACTS[: CLAIMS + 5]), text_of(FACTS[CLAIMS : CLAIMS + 10])
    passages = [text_of(FACTS[10:20]) + " The mill is red.", text_of(FACTS[CLAIMS : CLAIMS + 2])]
    asked, given_response = case(reference=reference), response(answer, passages)
    parted, requests = await judged_by(6000, asked, given_response)
    assert sorted(request.schema_name for request in requests) == [
        "decompose", "verify", "verify", "verify", "verify_reference"
    ]  # fmt: skip
    assert all(
        len(shown_in(request)["answer_claims"]) + len(shown_in(request)["reference_claims"]) <= CLAIMS
        for request in requests
        if request.schema_name == "verify"
    )
    assert [one.supported_by for one in parted.answer_claims] == (
        [()] * 10 + [(1,)] * 10 + [()] * (CLAIMS - 20) + [(2,)] * 2 + [()] * 3
    )
    assert [one.in_reference for one in parted.answer_claims] == [False] * CLAIMS + [True] * 5
    assert [one.in_answer for one in parted.reference_claims] == [True] * 5 + [False] * 5
    assert [one.supported_by for one in parted.reference_claims] == [(2,)] * 2 + [()] * 8
    assert [(one.relevant, one.useful) for one in parted.passages] == [(True, False), (False, True)]
    apart, _ = await judged_by(6000, asked, given_response, verify="separate")
    assert verdicts(apart) == verdicts(parted)
    assert [one.id for step in parted.steps if step.name == "verify" for one in step.answer_claims] == (
        list(range(1, CLAIMS + 6))
    )


async def test_a_group_that_fails_fails_the_sample_with_the_steps_of_all() -> None:
    passages = [text_of(FACTS[place : place + 6]) for place in range(0, 24, 6)]

    def script(request: Request) -> Any:
        if request.schema_name == "verify" and FACTS[12] in shown_in(request)["passages"]["1"]:
            return Completion(careful(request), finish_reason="length")
        return careful(request)

    judge, model = judge_by(script, budget=150)
    with pytest.raises(JudgeFailed, match="cut off") as caught:
        await judge.verify(case(), response(text_of(FACTS[:2]), passages))
    assert len(model.requests) == 4
    assert [bool(step.problem) for step in caught.value.steps] == [False, False, True, True]
    assert [step.name for step in caught.value.steps] == ["decompose", "verify", "verify", "verify"]


# --- one passage a request -------------------------------------------------------------------------------------------


async def test_separately_each_passage_is_a_request_and_all_are_asked_at_once() -> None:
    under_way, most = 0, 0

    async def script(request: Request) -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return careful(request)

    passages = [text_of(FACTS[place : place + 2]) for place in range(5)]
    asked, given_response = case(reference=text_of(FACTS[:2])), response(text_of(FACTS[1:3]), passages)
    judge, model = judge_by(script, verify="separate")
    judged = await judge.verify(asked, given_response)
    names = [request.schema_name for request in model.requests]
    assert names == ["decompose", "verify_reference", *["verify_passage"] * 5]
    assert most == 6
    assert [shown_in(request)["passage"] for request in model.requests[2:]] == passages
    assert "passages" not in shown_in(model.requests[2])
    assert [step.name for step in judged.steps] == ["decompose", "verify:reference", *["verify:passage"] * 5]
    assert [one.id for step in judged.steps[2:] for one in step.passages] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("spoiled", ["answer_claims", "reference_claims"])
async def test_separately_too_a_missing_verdict_is_asked_again_and_then_fails(spoiled: str) -> None:
    def script(request: Request) -> str:
        reply = reply_to(request)
        return json.dumps(reply | {spoiled: []} if request.schema_name == "verify_passage" else reply)

    judge, _ = judge_by(script, verify="separate")
    with pytest.raises(JudgeFailed, match=f"{spoiled} lacks the verdict on 1, 2"):
        await judge.verify(case(reference=text_of(FACTS[:2])), response(text_of(FACTS[1:3]), ["One."]))


SENTENCE = st.sampled_from([*FACTS[:6], *(f"not: {fact}" for fact in FACTS[:6]), "The mill is red", "It rains"])
TEXT = st.lists(SENTENCE, min_size=1, max_size=5).map(lambda found: text_of(list(dict.fromkeys(found))))
ANSWERS = st.lists(st.sampled_from([*FACTS[:6], "Sorry, no"]), max_size=5).map(text_of)


@given(answer=ANSWERS, reference=st.none() | TEXT, passages=st.lists(TEXT, max_size=5))
@settings(max_examples=examples(60), deadline=None)
def test_separate_and_joint_verdicts_of_a_consistent_judge_are_the_same(
    answer: str, reference: str | None, passages: list[str]
) -> None:
    async def both() -> tuple[Judged, Judged, Judged]:
        asked, given_response = case(reference=reference), response(answer, passages)
        joint, _ = await judged_by(6000, asked, given_response)
        apart, _ = await judged_by(6000, asked, given_response, verify="separate")
        small, _ = await judged_by(100, asked, given_response)
        return joint, apart, small

    joint, apart, small = asyncio.run(both())
    assert verdicts(apart) == verdicts(joint)
    assert verdicts(small) == verdicts(joint)
    assert [one.quote for one in apart.answer_claims] == [one.quote for one in joint.answer_claims]
