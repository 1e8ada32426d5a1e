"""Decompositions that cannot be right are doubted, asked for once more, recorded and counted."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.metrics.judge.judges import careful, case, judge_by, response, shown_in

from ragstone.metrics.judge.chunks import excerpts
from ragstone.metrics.judge.doubts import doubt_of_claims
from ragstone.metrics.judge.inputs import Texts
from ragstone.metrics.judge.record import evidence, steps_of
from ragstone.types import Request, Score

LABELLED = Path(__file__).parents[1] / "labelled" / "decompositions.jsonl"


def doubt(answer: str, claims: list[str], *, question: str = "", language: str = "en") -> str:
    texts = Texts(question, answer, (), (), language, 0)
    reply = {"answer_claims": [{"text": claim} for claim in claims], "reference_claims": []}
    return doubt_of_claims(reply, excerpts(texts, 6_000)[0], texts)


def test_45_of_60_bad_decompositions_are_doubted_and_4_of_60_good_ones() -> None:
    """A figure of development: at the first run, which nobody had prepared, 37 bad and 15 good ones were doubted.
    Claims that are invented of the answer's own words, and repeats in other words, are beyond a comparison of words."""
    found: Counter[tuple[bool, bool]] = Counter()
    for line in LABELLED.read_text("utf-8").splitlines():
        row = json.loads(line)
        said = doubt(row["answer"], row["claims"], question=row["question"], language=row["language"])
        found[row["good"], bool(said)] += 1
    assert found == {(True, True): 4, (True, False): 56, (False, True): 45, (False, False): 15}


ANSWERS = {
    "en": ("The mill opened in 1902.", "Ada Brook designed its wheel.", "Repairs cost 4,000 crowns in 1950.",
           "Visitors may enter on Sundays."),
    "zh": ("磨坊于1902年开业。", "水轮由林若溪设计。", "1950年的维修花费了四千元。", "游客周日可以入内参观。"),
}  # fmt: skip


@pytest.mark.parametrize("language", ANSWERS)
def test_each_claim_that_is_dropped_invented_repeated_or_miscounted_is_doubted(language: str) -> None:
    sentences = ANSWERS[language]
    answer, claims = " ".join(sentences), list(sentences)
    assert doubt(answer, claims, language=language) == ""
    for at, claim in enumerate(claims):
        assert f"sentence {at + 1}" in doubt(answer, [*claims[:at], *claims[at + 1 :]], language=language)
        assert f"items {at + 1} and 5" in doubt(answer, [*claims, claim], language=language)
    wrong = [claim.replace("1902", "1920") for claim in claims]
    assert "item 1, has 1920" in doubt(answer, wrong, language=language)
    invented = {"en": "The owner sells organic bread there.", "zh": "老板还出售有机面包。"}[language]
    assert "item 5, is in no sentence" in doubt(answer, [*claims, invented], language=language)


def dropping(sentence: str, times: int) -> Any:
    """A careful judge whose first decompositions lack the claim of one sentence."""
    left = [times]

    def reply(request: Request) -> Any:
        completion = careful(request)
        if request.schema_name == "decompose" and left[0]:
            left[0] -= 1
            said = json.loads(completion)
            said["answer_claims"] = [claim for claim in said["answer_claims"] if claim["text"] not in sentence]
            return json.dumps(said, ensure_ascii=False)
        return completion

    return reply


@pytest.mark.parametrize("language", ANSWERS)
@pytest.mark.parametrize("at", range(4))
async def test_a_dropped_claim_never_raises_faithfulness_unseen(language: str, at: int) -> None:
    sentences = ANSWERS[language]
    answer = " ".join(sentences)
    passages = [" ".join(sentences[:at] + sentences[at + 1 :])]  # all but the claim that is dropped is supported
    judge, model = judge_by(dropping(sentences[at], 1))
    judged = await judge.verify(case("?", language=language), response(answer, passages))
    assert [step.name for step in judged.steps] == ["decompose", "decompose", "verify"]
    assert f"sentence {at + 1}" in judged.steps[0].problem
    assert f"sentence {at + 1}" in judged.steps[0].doubt
    assert judged.steps[1].doubt == ""
    assert len(judged.answer_claims) == 4
    assert len(model.requests) == 3
    stubborn, model = judge_by(dropping(sentences[at], 9))
    judged = await stubborn.verify(case("?", language=language), response(answer, passages))
    assert len(judged.answer_claims) == 3
    assert f"sentence {at + 1}" in judged.steps[1].doubt
    assert judged.steps[1].problem == ""
    (*_, kept, _) = steps_of(Score.of(1.0, evidence=evidence(judged.steps)))
    assert kept.doubt == judged.steps[1].doubt
    assert shown_in(model.requests[1])["answer"]["1"].startswith(sentences[0][:3])


@pytest.mark.parametrize(
    ("answer", "claims", "language"),
    [
        ("Hello! The mill opened in 1902. Let me know if you need more.", ["The mill opened in 1902."], "en"),
        ("您好！磨坊于1902年开业。如果还有其他问题，欢迎随时咨询。", ["磨坊于1902年开业。"], "zh"),
        ("The road has six lanes and opens at 3 pm [2].", ["The road has 6 lanes.", "The road opens at 15:00."], "en"),
        ("大桥为双向六车道，下午三点开放[2]。", ["大桥为双向6车道。", "大桥15:00开放。"], "zh"),
        (
            "**Rules**\nDogs stay outside. The documents do not say whether cats may enter.",
            ["Dogs stay outside."],
            "en",
        ),
        ("Plan A costs $25. Plan B costs $25.", ["Plan A costs $25.", "Plan B costs $25."], "en"),
    ],
)
def test_what_makes_no_claim_and_other_notations_are_no_doubt(answer: str, claims: list[str], language: str) -> None:
    assert doubt(answer, claims, language=language) == ""
