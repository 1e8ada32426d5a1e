"""What is predicted for `--dry-run` is within a fifth of what is then sent and written, by the same count."""

import functools
import json
import random
import re
from typing import Any

import pytest
from tests.metrics.judge.judges import case, judge_by, reply_to, response, shown_in

from ragstone.datasets.fictional import fictional_rgb
from ragstone.text import estimate_tokens, sentences
from ragstone.types import Case, Completion, Request, Response, Usage

BOTH = frozenset({"decompose", "verify"})


@functools.cache
def samples(language: str, count: int = 30) -> list[tuple[Case, Response]]:
    """Questions about invented news with answers of one to eight sentences, some without a reference, with no passage
    to eight; the same each time."""
    rng = random.Random(7)
    found = []
    for row in fictional_rgb(language, size=count, difficulty="easy"):
        pool = [*row["positive"], *row["negative"]]
        told = sentences("\n".join(row["positive"]))
        at = rng.randrange(max(len(told) - 8, 1))
        answer = "".join(told[at : at + rng.randint(1, 8)]) if rng.random() < 0.9 else "1902."
        start = rng.randrange(max(len(told) - 3, 1))
        reference = "".join(told[start : start + rng.randint(1, 3)]) if rng.random() < 0.7 else None
        passages = rng.sample(pool, rng.randint(0, min(8, len(pool))))
        found.append((case(row["query"], reference), response(answer, passages)))
    return found


def talkative(request: Request) -> Completion:
    """A judge that makes a claim of each clause that is one, names its subject, and gives quotes."""
    shown = shown_in(request)
    if request.schema_name == "decompose":
        claims: list[dict[str, Any]] = [
            {"sentence": int(number), "text": text, "relevant": True}
            for number, sentence in shown["answer"].items()
            for text in clauses(sentence)
        ]
        known = [{"text": text} for text in clauses(shown["reference"] or "")]
        questions = [re.sub("[.。]$", "?", claim["text"]) for claim in claims[:2]]
        reply: Any = {
            "answer_claims": claims, "reference_claims": known, "questions": questions, "noncommittal": False
        }  # fmt: skip
    else:
        reply = reply_to(request)
        for claim in [*reply["answer_claims"], *reply["reference_claims"]]:
            if "quote" in claim and claim["id"] % 3:
                words = claim["quote"].split(" ")
                claim["quote"] = " ".join(words[:9]) if len(words) > 1 else claim["quote"][:14]
    text = json.dumps(reply, ensure_ascii=False)
    asked = sum(estimate_tokens(turn.content) for turn in request.messages)
    return Completion(text, usage=Usage(asked, estimate_tokens(text), 0, 1))


def clauses(text: str) -> list[str]:
    parts: list[str] = []
    for part in re.split(r"(?<=[,;:.，；。：!?！？])(?!\d)\s*", text):
        if parts and (estimate_tokens(parts[-1]) < 9 or estimate_tokens(part) < 5):
            parts[-1] += part
        elif part:
            parts.append(part)
    subject = re.sub(r"\d.*", "", text[: 12 if text.isascii() else 5])
    return [f"{subject} {part}" if number else part for number, part in enumerate(parts)]


async def told_and_spent(language: str, **options: Any) -> list[tuple[Usage, Usage]]:
    found = []
    for asked, given in samples(language):
        judge, _ = judge_by(talkative, **options)
        judged = await judge.verify(asked, given)
        spent = Usage()
        for step in judged.steps:
            spent += step.usage or Usage()
        found.append((judge.estimate(asked, given, steps=BOTH), spent))
    return found


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("verify", ["joint", "separate"])
@pytest.mark.parametrize("budget", [6000, 400])
async def test_requests_and_tokens_are_within_a_fifth_of_a_sample_and_closer_over_all(
    language: str, verify: Any, budget: int
) -> None:
    told, spent = Usage(), Usage()
    for one, other in await told_and_spent(language, verify=verify, budget=budget):
        assert one.requests == other.requests
        assert one.prompt_tokens == pytest.approx(other.prompt_tokens, rel=0.2)
        told, spent = told + one, spent + other
    assert told.prompt_tokens == pytest.approx(spent.prompt_tokens, rel=0.12)
    assert told.completion_tokens == pytest.approx(spent.completion_tokens, rel=0.2)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_an_endpoint_that_counts_schemas_is_within_a_fifth_too(language: str) -> None:
    told, spent = Usage(), 0
    for asked, given in samples(language):
        judge, model = judge_by(talkative)
        await judge.verify(asked, given)
        told += judge.estimate(asked, given, steps=BOTH)
        for request in model.requests:
            spent += sum(estimate_tokens(turn.content) for turn in request.messages)
            spent += estimate_tokens(json.dumps(request.schema))
    assert told.prompt_tokens == pytest.approx(spent, rel=0.2)


def test_what_is_not_asked_costs_nothing() -> None:
    judge, model = judge_by()
    asked, given = samples("en")[0]
    assert judge.estimate(asked, given, steps=frozenset()) == Usage()
    assert judge.estimate(asked, given, steps=frozenset({"similarities"})).requests == 1
    assert judge.estimate(case(), response(""), steps=BOTH) == Usage()
    assert model.requests == []


async def test_two_requests_for_five_passages_of_120_words_take_at_most_3_800_tokens() -> None:
    words = "the mill by the river opened in the spring of 1902 after a long debate about the water and the wheel"
    passage = (words + ". ").capitalize() * 6
    answer = "".join(f"The mill by the river opened in the spring of {year}. " for year in range(1902, 1906))
    asked, given = case(reference=answer), response(answer, [passage] * 5)
    judge, model = judge_by(talkative)
    await judge.verify(asked, given)
    assert len(model.requests) == 2
    assert len(passage.split()) >= 120
    assert sum(estimate_tokens(turn.content) for one in model.requests for turn in one.messages) <= 3_800
