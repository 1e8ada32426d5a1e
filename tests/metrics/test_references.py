"""Alternative references: all reach the judge, the best one counts, and the evidence says which."""

import json
from typing import Any

import pytest
from tests.evaluation.judging import Embedder, scripted_judge, verdict
from tests.metrics.matrices import made, resolve

from ragstone.metrics._references import alternatives
from ragstone.metrics.judge import MatrixJudge
from ragstone.metrics.judge.envelope import opened
from ragstone.metrics.judge.prompts import Prompts
from ragstone.metrics.ragas_answer_correctness import RagasAnswerCorrectness
from ragstone.metrics.umbrela import Umbrela
from ragstone.models.scripted import Scripted
from ragstone.types import Case, Passage, Query, Response, Sample, Score, Turn

FIRST, SECOND = "The tower opened in 1902.", "It was finished by Ada."
PASSAGES = (Passage("a", "It was finished by Ada."), Passage("b", "Rain fell."))


def sample(*slots: tuple[str, ...]) -> Sample:
    return Sample("s", "Who built it?", slots)


@pytest.mark.parametrize(
    ("slots", "expected"),
    [
        ((), ()),
        ((("a",),), ("a",)),
        ((("a", "B", "A ", " "),), ("A", "B")),
        ((("a", "b"), ("c", "d")), ("a c", "a d", "b c", "b d")),
        ((tuple("abcde"), ("x", "y")), ("a x", "b y", "c y", "d y", "e y")),
    ],
)
def test_alternatives_are_whole_answers_and_every_alias_is_in_one(slots: Any, expected: tuple[str, ...]) -> None:
    assert alternatives(sample(*slots)) == expected


async def scored(name: str, answer: str, *aliases: str, embedder: Any = None) -> tuple[Score, Scripted]:
    model = scripted_judge()
    case = Case("c", sample(aliases), {}, Query("Who built it?"))
    judge = MatrixJudge(model, embedder=embedder or Embedder())
    return await resolve(made(name, judge).score(case, Response(answer, PASSAGES))), model


@pytest.mark.parametrize("aliases", [(FIRST, SECOND), (SECOND, FIRST), (FIRST, "Snow fell.", SECOND)])
async def test_an_answer_that_is_any_alias_word_for_word_is_right(aliases: tuple[str, ...]) -> None:
    for name in ("answer_correctness", "ragchecker.f1", "ragchecker.recall", "context_recall"):
        score, _ = await scored(name, SECOND, *aliases)
        assert score.value == pytest.approx(1.0), name
        assert score.evidence["reference"] == SECOND


async def test_every_alias_reaches_the_judge_by_one_small_request_more() -> None:
    _, model = await scored("answer_correctness", SECOND, FIRST, SECOND)
    shown = [opened(request.messages[-1].content) for request in model.requests]
    assert [one["reference"] for one in shown[:2]] == [FIRST, SECOND]
    assert shown[1]["answer"] == {}
    assert all(text in shown[2]["reference"] for text in (FIRST, SECOND))
    assert len(shown) == 3
    _, alone = await scored("answer_correctness", SECOND, SECOND)
    assert len(alone.requests) == 2
    assert opened(alone.requests[1].messages[-1].content)["reference"] == SECOND


async def test_the_cosine_is_that_of_the_alias_that_counts() -> None:
    score, _ = await scored("answer_correctness", SECOND, FIRST, SECOND)
    assert score.evidence["cosine"] == pytest.approx(1.0)
    neither, _ = await scored("answer_correctness", "Rain fell.", FIRST, SECOND)
    assert neither.evidence["f1"] == 0.0


async def test_measures_that_sum_to_1_still_do_with_several_aliases() -> None:
    answer = "It was finished by Ada. Rain fell. Snow fell."
    names = ("precision", "noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant", "hallucination")
    values = [(await scored(f"ragchecker.{name}", answer, FIRST, SECOND))[0].value for name in names]
    assert sum(value or 0.0 for value in values) == pytest.approx(1.0)


async def test_ragas_style_metrics_take_the_best_alias_too() -> None:
    model = scripted_judge()
    metric = RagasAnswerCorrectness(model, Prompts.load(), Embedder())
    case = Case("c", sample((FIRST, SECOND)), {}, Query("Who built it?"))
    score = await metric.score(case, Response(SECOND, PASSAGES))
    assert score.value == pytest.approx(1.0)
    assert score.evidence["reference"] == SECOND
    assert metric.estimate(case, Response(SECOND, PASSAGES)).requests == 6


# --- the conversation before the question ---------------------------------------------------------------------------

HISTORY = (Turn("user", "Tell me of the tower."), Turn("assistant", "It is in Halden."))


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_history_of_a_conversation_reaches_the_judge(language: str) -> None:
    model, embedder = scripted_judge(), Embedder()
    judge = MatrixJudge(model, embedder=embedder, language=language)
    case = Case("c", sample((SECOND,)), {}, Query("Who built it?", history=HISTORY))
    for name in ("faithfulness", "answer_relevancy"):
        await resolve(made(name, judge).score(case, Response(SECOND, PASSAGES)))
    assert len(model.requests) == 2
    for request in model.requests:
        shown = opened(request.messages[-1].content)["question"]
        assert shown.endswith("Who built it?")
        assert all(turn.content in shown for turn in HISTORY)
        assert ("用户：" in shown) is (language == "zh")
    without = Case("c", case.sample, {}, Query("Who built it?"))
    await resolve(made("faithfulness", judge).score(without, Response(SECOND, PASSAGES)))
    assert opened(model.requests[-1].messages[-1].content)["question"] == "Who built it?"


async def test_an_invented_question_is_compared_with_the_question_alone() -> None:
    class Noting(Embedder):
        async def embed(self, texts: Any, /, *, kind: str = "query") -> Any:
            seen.extend(texts)
            return await super().embed(texts, kind=kind)

    seen: list[str] = []
    judge = MatrixJudge(scripted_judge(), embedder=Noting())
    case = Case("c", sample((SECOND,)), {}, Query("Who built it?", history=HISTORY))
    await resolve(made("answer_relevancy", judge).score(case, Response(SECOND, PASSAGES)))
    assert seen[0] == "Who built it?"


# --- passages that support a claim together -------------------------------------------------------------------------


def jointly(request: Any) -> str:
    """The judge of the other tests, which finds every claim supported by the first two passages together."""
    said = json.loads(verdict(request))
    for claim in said["answer_claims"] if request.schema_name == "verify" else ():
        claim |= {"supported_by": [1, 2], "together": True, "quote": "Ada built it."}
    return json.dumps(said)


@pytest.mark.parametrize(
    ("answer", "cited"), [("Ada was born in Oslo [1][2].", 1.0), ("Ada was born in Oslo [1].", 0.0)]
)
async def test_a_claim_that_rests_on_two_passages_together_is_supported_by_both(answer: str, cited: float) -> None:
    judge = MatrixJudge(Scripted(jointly))
    case = Case("c", sample(), {}, Query("Where was Ada born?"))
    given = Response(answer, (Passage("a", "Ada built it."), Passage("b", "Its builder was born in Oslo.")))
    judged = await judge.verify(case, given)
    (claim,) = judged.answer_claims
    assert (claim.supported_by, claim.together) == ((1, 2), True)
    for name, value in (("faithfulness", 1.0), ("citation_recall", cited), ("citation_precision", cited)):
        assert (await resolve(made(name, judge).score(case, given))).value == value


async def test_grades_of_an_empty_retrieval_are_0_and_need_no_judge() -> None:
    model = scripted_judge()
    metric = Umbrela(model, Prompts.load())
    case = Case("c", sample(), {}, Query("Who built it?"))
    assert (await metric.score(case, Response("A.", empty_retrieval=True))).value == 0.0
    assert (await metric.score(case, Response("A."))).status == "not_applicable"
    assert model.requests == []
