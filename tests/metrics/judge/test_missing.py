"""What is asked and what comes of it where a part of the sample is missing; languages, quotes, cosines."""

import re
from typing import Any

import pytest
from tests.metrics.judge.judges import (
    ANSWER,
    BARE,
    CASE,
    GIVEN,
    PASSAGES,
    REFERENCE,
    Embedder,
    case,
    changed,
    claim,
    in_turn,
    judge_by,
    response,
    shown_in,
    spoiling,
)

from ragstone.errors import RateLimited, UsageError
from ragstone.messages import messages
from ragstone.metrics.judge import JudgeFailed, Prompts, problems
from ragstone.metrics.judge.claims import Similarities
from ragstone.metrics.judge.record import Judged


@pytest.mark.parametrize("answer", ["", " \n"])
async def test_an_empty_answer_makes_no_claim_and_answers_nothing(answer: str) -> None:
    judge, model = judge_by()
    judged = await judge.verify(CASE, response(answer, PASSAGES))
    assert (judged.answer_claims, judged.sentences, judged.questions) == ((), (), ())
    assert judged.noncommittal is True
    assert [one.in_answer for one in judged.reference_claims] == [None, None]
    assert [one.supported_by for one in judged.reference_claims] == [(1,), (2,)]
    assert shown_in(model.requests[0])["answer"] == {}


async def test_nothing_is_asked_about_claims_where_there_is_neither_answer_nor_reference() -> None:
    judge, model = judge_by()
    assert await judge.decompose(BARE, response("")) == Judged(noncommittal=True)
    assert await judge.verify(BARE, response("")) == Judged(noncommittal=True)
    assert model.requests == []
    judged = await judge.verify(BARE, response("", PASSAGES))
    assert [request.schema_name for request in model.requests] == ["verify"]
    assert [one.relevant for one in judged.passages] == [True, False, False]


async def test_a_judge_that_finds_claims_in_an_empty_answer_is_not_believed() -> None:
    spoil = changed(answer_claims=[{"sentence": 1, "text": "The mill opened.", "relevant": True}])
    judge, model = judge_by(spoiling("decompose", spoil, times=1))
    judged = await judge.decompose(CASE, response(""))
    assert judged.answer_claims == ()
    assert "the answer is empty" in model.requests[1].messages[-1].content


async def test_questions_of_an_empty_answer_are_none() -> None:
    judge, _ = judge_by(spoiling("decompose", changed(questions=["When?"], noncommittal=False), times=1))
    judged = await judge.decompose(CASE, response(""))
    assert (judged.questions, judged.noncommittal) == ((), True)


async def test_a_refusal_makes_no_claim_and_the_passages_are_judged_all_the_same() -> None:
    judge, _ = judge_by()
    judged = await judge.verify(CASE, response("Sorry, the documents do not say.", PASSAGES))
    assert (judged.answer_claims, judged.noncommittal) == ((), True)
    assert [one.in_answer for one in judged.reference_claims] == [None, None]
    assert [one.useful for one in judged.passages] == [True, True, False]


async def test_without_passages_claims_and_reference_are_compared() -> None:
    judge, model = judge_by()
    judged = await judge.verify(CASE, response(ANSWER))
    assert [request.schema_name for request in model.requests] == ["decompose", "verify_reference"]
    assert [one.in_reference for one in judged.answer_claims] == [True, False, False]
    assert [one.in_answer for one in judged.reference_claims] == [True, False]
    assert judged.passages == ()
    assert all(not one.supported_by for one in judged.answer_claims)
    assert [step.name for step in judged.steps] == ["decompose", "verify:reference"]


async def test_without_a_reference_what_only_it_can_decide_is_none() -> None:
    judge, model = judge_by()
    judged = await judge.verify(BARE, GIVEN)
    assert shown_in(model.requests[0])["reference"] is None
    assert judged.reference_claims == ()
    assert [one.in_reference for one in judged.answer_claims] == [None] * 3
    assert [one.useful for one in judged.passages] == [None] * 3
    assert [one.supported_by for one in judged.answer_claims] == [(1,), (), ()]


async def test_a_judge_that_compares_with_a_reference_that_is_not_there_is_not_heard() -> None:
    def eager(reply: dict[str, Any]) -> dict[str, Any]:
        return claim(in_reference=True)(claim(0, "passages", useful=True)(reply))

    judge, _ = judge_by(spoiling("verify", eager, times=1))
    judged = await judge.verify(BARE, GIVEN)
    assert judged.answer_claims[0].in_reference is None
    assert judged.passages[0].useful is None


async def test_reference_claims_without_a_reference_are_a_problem() -> None:
    spoil = changed(reference_claims=[{"text": "The mill opened."}])
    judge, model = judge_by(spoiling("decompose", spoil, times=1))
    assert (await judge.decompose(BARE, GIVEN)).reference_claims == ()
    assert "there is no reference" in model.requests[1].messages[-1].content


async def test_without_passages_and_reference_only_claims_are_made() -> None:
    judge, model = judge_by()
    judged = await judge.verify(BARE, response(ANSWER))
    assert [request.schema_name for request in model.requests] == ["decompose"]
    assert [one.in_reference for one in judged.answer_claims] == [None] * 3


async def test_a_reference_of_which_no_claim_is_made_is_compared_all_the_same() -> None:
    judge, model = judge_by(verify="separate")
    judged = await judge.verify(case(reference="Sorry, nobody knows."), GIVEN)
    assert judged.reference_claims == ()
    assert [one.in_reference for one in judged.answer_claims] == [False] * 3
    assert [request.schema_name for request in model.requests].count("verify_reference") == 1


ZH_ANSWER = "磨坊于1902年开业。由阿达建造！抱歉，其余不详。"


@pytest.mark.parametrize(
    ("language", "question", "answer", "prompt"),
    [
        ("", "磨坊是哪一年开业的？", "1902年。", "zh"),
        ("", "When did it open?", "In 1902.", "en"),
        ("zh", "When did it open?", "In 1902.", "zh"),
        ("zh-Hans", "When did it open?", "In 1902.", "zh"),
        ("en", "磨坊是哪一年开业的？", "1902年。", "en"),
        ("", "1902?", "是的，磨坊于1902年开业。", "zh"),
        ("", "磨坊是哪一年开业的？", "It opened in the year 1902, they say.", "zh"),
        ("", "?", "1902.", "en"),
    ],
)
async def test_the_prompt_is_in_the_language_of_the_sample(
    language: str, question: str, answer: str, prompt: str
) -> None:
    judge, model = judge_by()
    await judge.decompose(case(question, language=language), response(answer))
    assert model.requests[0].messages[0].content == Prompts.load().get("decompose", prompt).instruction


async def test_the_language_of_the_judge_comes_first() -> None:
    judge, model = judge_by(language="zh")
    await judge.decompose(case(language="en"), GIVEN)
    assert model.requests[0].messages[0].content == Prompts.load().get("decompose", "zh").instruction


async def test_a_chinese_answer_is_shown_in_its_sentences() -> None:
    judge, model = judge_by()
    judged = await judge.decompose(case("磨坊是谁建的？"), response(ZH_ANSWER))
    assert judged.sentences == ("磨坊于1902年开业。", "由阿达建造！", "抱歉，其余不详。")
    assert list(shown_in(model.requests[0])["answer"]) == ["1", "2", "3"]


QUOTES = {
    "The mill opened in 1902": True,
    "the  MILL opened\nin １９０２": True,
    "“The mill opened in 1902…”": True,
    "The mill … in 1902": True,
    "The mill closed in 1902": False,
    "Ferries are slow": False,  # of a passage that does not support
    "…": False,
}


@pytest.mark.parametrize(("quote", "found"), QUOTES.items(), ids=QUOTES)
async def test_a_quote_that_is_in_no_supporting_passage_is_asked_for_once_more_and_then_flagged(
    quote: str, found: bool
) -> None:
    judge, model = judge_by(spoiling("verify", claim(quote=quote), times=1))
    first = await judge.verify(CASE, GIVEN)
    assert len(model.requests) == (2 if found else 3)
    assert first.answer_claims[0].unsupported_quote is False
    if not found:
        assert f"id 1: the quote {quote!r} is in no passage" in model.requests[2].messages[-1].content
    judge, model = judge_by(spoiling("verify", claim(quote=quote), times=2))
    judged = await judge.verify(CASE, GIVEN)
    assert judged.answer_claims[0].quote == quote
    assert judged.answer_claims[0].supported_by == (1,)
    assert [one.unsupported_quote for one in judged.answer_claims] == [not found, False, False]
    assert judged.steps[-1].answer_claims[0].quote_found is found
    assert len(model.requests) == (2 if found else 3)


@pytest.mark.parametrize("second", ["prose", RateLimited("slow down")])
async def test_a_reply_with_a_quote_from_nowhere_stands_where_the_second_cannot_be_used(second: Any) -> None:
    spoil = claim(quote="Ferries are slow")
    replies = [spoil, lambda reply: second]
    judge, _ = judge_by(in_turn("verify", replies))
    judged = await judge.verify(CASE, GIVEN)
    assert judged.answer_claims[0].unsupported_quote
    assert [(one.name, bool(one.problem)) for one in judged.steps] == [
        ("decompose", False), ("verify", True), ("verify", False)
    ]  # fmt: skip


async def test_a_passage_judged_alone_has_its_quote_checked_too() -> None:
    spoil = claim(quote="Ferries are slow")
    judge, _ = judge_by(spoiling("verify_passage", spoil, times=2), verify="separate")
    judged = await judge.verify(CASE, GIVEN)
    assert judged.answer_claims[0].unsupported_quote


async def test_the_judge_is_told_in_the_language_of_its_prompt() -> None:
    judge, model = judge_by(spoiling("verify", claim(quote="Ferries are slow"), times=1), language="zh")
    await judge.verify(CASE, GIVEN)
    told = model.requests[-1].messages[-1].content
    assert "answer_claims 的编号 1：引文 'Ferries are slow' 不在任何支持该论断的段落中" in told
    judge, model = judge_by(spoiling("decompose", lambda reply: "Sure!", times=1), language="zh")
    await judge.verify(CASE, GIVEN)
    assert "其中没有 JSON 对象：'Sure!'" in model.requests[1].messages[-1].content


def test_each_problem_is_written_in_both_languages() -> None:
    english, chinese = (messages(problems.__name__, language) for language in ("en", "zh"))
    assert len(english) > 30
    for key, text in english.items():
        if key not in ("kind_null", "or"):
            assert re.search("[\u4e00-\u9fff]", chinese[key]), key
            assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", chinese[key])), key


@pytest.mark.parametrize("sentence", [None, 0, 9])
async def test_a_claim_need_not_name_its_sentence(sentence: int | None) -> None:
    judge, model = judge_by(spoiling("decompose", claim(sentence=sentence), times=9))
    judged = await judge.verify(CASE, GIVEN)
    assert [one.sentence for one in judged.answer_claims] == [0, 2, 3]
    assert len(model.requests) == 2

    def without(reply: dict[str, Any]) -> dict[str, Any]:
        claims = [{key: item for key, item in one.items() if key != "sentence"} for one in reply["answer_claims"]]
        return reply | {"answer_claims": claims}

    judge, model = judge_by(spoiling("decompose", without, times=9))
    assert [one.sentence for one in (await judge.decompose(CASE, GIVEN)).answer_claims] == [0, 0, 0]


async def test_a_number_in_quotation_marks_is_read_as_the_number() -> None:
    def spelled(reply: dict[str, Any]) -> dict[str, Any]:
        return claim(id="1", supported_by=["1"])(claim(0, "passages", id="1")(reply))

    judge, model = judge_by(spoiling("verify", spelled, times=9))
    assert (await judge.verify(CASE, GIVEN)).answer_claims == (await judge_by()[0].verify(CASE, GIVEN)).answer_claims
    assert len(model.requests) == 2


async def test_words_without_support_are_no_quote() -> None:
    judge, _ = judge_by(spoiling("verify", claim(2, quote="Ferries are slow"), times=1))
    judged = await judge.verify(CASE, GIVEN)
    assert judged.answer_claims[2].quote == ""
    assert judged.steps[1].answer_claims[2].quote_found is False


async def test_one_embedding_request_gives_every_cosine() -> None:
    embedder = Embedder()
    judge, _ = judge_by(embedder=embedder)
    found = await judge.similarities(CASE, GIVEN)
    questions = ["What about The mill opened in 1902?", "What about Ada built it?"]
    assert embedder.asked == [[CASE.query.question, *questions, ANSWER, REFERENCE]]
    assert len(found.questions) == 2
    assert all(0.9 < cosine <= 1.0 for cosine in found.questions)
    assert found.answer is not None


async def test_cosines_of_what_is_missing_are_missing() -> None:
    embedder = Embedder()
    judge, _ = judge_by(embedder=embedder)
    assert (await judge.similarities(BARE, GIVEN)).answer is None
    assert await judge.similarities(CASE, response("")) == Similarities()
    assert await judge.similarities(BARE, response("Sorry.")) == Similarities()
    assert len(embedder.asked) == 1


async def test_an_embedder_that_fails_fails_the_sample_with_its_kind() -> None:
    class Failing(Embedder):
        async def embed(self, texts: Any, /, *, kind: str) -> Any:
            raise RateLimited("too many")

    judge, _ = judge_by(embedder=Failing())
    with pytest.raises(JudgeFailed, match="The embedder: rate_limited: too many"):
        await judge.similarities(CASE, GIVEN)


async def test_without_an_embedder_cosines_are_a_mistake_of_the_user() -> None:
    judge, _ = judge_by()
    with pytest.raises(UsageError, match="--embedder"):
        await judge.similarities(CASE, GIVEN)
