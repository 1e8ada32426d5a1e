"""The query that a system says it searched for: it is blamed only if it is another one than the question, and if it,
and not a later step, ranked the gold too low."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.diagnosis.interventions.evidence import examined

from ragstone.diagnosis.interventions.causes import cause_of
from ragstone.responses.stages import stage_step
from ragstone.types import NO_ANSWER, Passage, Query, Response, Sample, Step

WORLDS = {
    "en": ("How much does the Belka pump weigh?", "317 kg", "The Belka pump weighs 317 kg.", "Hall {n} is blue."),
    "zh": ("贝卡泵有多重？", "317公斤", "贝卡泵重317公斤。", "第{n}号车间刷成了蓝色。"),
}  # fmt: skip
LANGUAGES = pytest.mark.parametrize("language", WORLDS)


def cause(language: str, queries: Sequence[str], gold_at: int, prompt: Sequence[int]) -> str:
    """The cause where these queries find the gold at a rank, counted from 0, and a reranker leaves these ranks; the
    question as asked finds it first."""
    question, reference, text, other = WORLDS[language]
    gold = Passage("gold", text)
    others = [Passage(f"other{n}", other.format(n=n)) for n in range(9)]
    sample = Sample(
        "q", question, ((reference,),), (Passage("gold", text, relevant=True),), language, {"in_index": "yes"}
    )

    def ask(query: Query) -> Response:
        if query.retrieve_only:
            found = (gold, *others)[: query.k]
            return Response("", found, (stage_step("fetch", found),), finish_reason=NO_ANSWER)
        fetched = [*others[:gold_at], gold, *others[gold_at:]][:10] if gold_at >= 0 else others
        passages = tuple(fetched[rank] for rank in prompt) if query.passages is None else query.passages
        steps: list[Any] = [Step("rewrite", output=list(queries))] if queries else []
        steps += [stage_step("fetch", fetched), stage_step("rerank", passages)]
        right = any(reference in item.text for item in passages)
        own = tuple(steps) if query.passages is None else ()
        return Response(reference if right else "450", tuple(passages), own)

    return cause_of(examined(sample, ask, "repeat passages retrieve")).name


@LANGUAGES
def test_a_query_that_is_the_question_is_no_rewriting_and_what_dropped_the_gold_is_named(language: str) -> None:
    question = WORLDS[language][0]
    for queries in ([question], [f" {question.upper()} "], [question, "weight"], []):
        assert cause(language, queries, 0, range(6, 10)) == "reranking"
    assert cause(language, [question], -1, range(4)) == "filtered"  # the same query finds it when asked alone
    assert cause(language, ["weight"], -1, range(4)) == "rewriting"


@LANGUAGES
def test_a_rewritten_query_that_ranked_the_gold_high_enough_is_not_what_lost_it(language: str) -> None:
    assert cause(language, ["weight"], 0, range(6, 10)) == "reranking"
    assert cause(language, ["weight"], 7, range(4)) == "rewriting"
