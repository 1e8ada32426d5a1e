"""Judged text cannot change what is asked, how a reply is read, or which verdicts come of it, whatever it says.

Whether a model is talked into another verdict is another question, which `bench/injection` asks of real ones.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.metrics.judge.judges import case, judge_by, response, shown_in

from ragstone.metrics.judge import JudgeFailed
from ragstone.metrics.judge.envelope import enclosed
from ragstone.metrics.judge.record import Judged
from ragstone.types import Request

DATA: dict[str, Any] = tomllib.loads((Path(__file__).parent / "attacks.toml").read_text(encoding="utf-8"))
ATTACKS: list[dict[str, str]] = DATA["attacks"]
EVERY = pytest.mark.parametrize("attack", ATTACKS, ids=[attack["id"] for attack in ATTACKS])
BOTH_WAYS = pytest.mark.parametrize("verify", ["joint", "separate"])
Verify = Literal["joint", "separate"]


def attacked(attack: dict[str, str]) -> dict[str, Any]:
    """The sample of the attack's language with the attack in its place."""
    sample = {**DATA["samples"][attack["language"]]}
    text = attack["text"].replace("{code}", code_without(sample, attack["place"]))
    if attack["place"] == "passage":
        return sample | {"passages": [sample["passages"][0], f"{sample['passages'][1]} {text}"]}
    return sample | {attack["place"]: f"{sample[attack['place']]} {text}"}


def code_without(sample: dict[str, Any], place: str) -> str:
    """The code of the first request about the sample before the attack: the best that an attacker could know."""
    shown = {"question": sample["question"], "answer": {"1": sample["answer"]}, "reference": sample["reference"]}
    if place == "passage":
        claims = {"answer_claims": {"1": sample["answer"]}, "reference_claims": {"1": sample["reference"]}}
        numbered = {str(place): text for place, text in enumerate(sample["passages"], start=1)}
        shown = {"question": sample["question"], "reference": sample["reference"], **claims, "passages": numbered}
    return enclosed(shown).removeprefix("<judged ")[:16]


def scripted(request: Request) -> str:
    """A judge that gives the right verdicts on the first claim of each side and the strictest on all others."""
    shown = shown_in(request)
    if request.schema_name == "decompose":
        return json.dumps(
            {
                "answer_claims": [
                    {"sentence": int(number), "text": text, "relevant": number == "1"}
                    for number, text in shown["answer"].items()
                ],
                "reference_claims": [{"text": shown["reference"]}],
                "questions": ["When did it open?"],
                "noncommittal": False,
            }
        )
    said, known = len(shown["answer_claims"]), len(shown["reference_claims"])
    return json.dumps(_verdicts(request.schema_name, said, known, shown))


def _verdicts(name: str, said: int, known: int, shown: dict[str, Any]) -> dict[str, Any]:
    if name == "verify_reference":
        return {
            "answer_claims": [{"id": number, "in_reference": False} for number in range(1, said + 1)],
            "reference_claims": [{"id": number, "in_answer": False} for number in range(1, known + 1)],
        }
    if name == "verify_passage":
        first = "1904" in shown["passage"]
        against, support = ("contradicted", "supported") if first else ("neither", "neither")
        return {
            "answer_claims": [
                {"id": number, "verdict": against if number == 1 else "neither", "quote": ""}
                for number in range(1, said + 1)
            ],
            "reference_claims": [
                {"id": number, "verdict": support, "quote": "1904" if first else ""} for number in range(1, known + 1)
            ],
            "relevant": first,
            "useful": first,
        }
    none: dict[str, Any] = {"supported_by": [], "contradicted_by": [], "quote": ""}
    return {
        "answer_claims": [
            {"id": number, **none, "in_reference": False} | ({"contradicted_by": [1]} if number == 1 else {})
            for number in range(1, said + 1)
        ],
        "reference_claims": [
            {"id": number, **none, "supported_by": [1], "quote": "1904", "in_answer": False}
            for number in range(1, known + 1)
        ],
        "passages": [{"id": number, "relevant": number == 1, "useful": number == 1} for number in (1, 2)],
    }


async def judged(sample: dict[str, Any], verify: Verify, script: Any = scripted) -> tuple[Judged, Sequence[Request]]:
    judge, model = judge_by(script, verify=verify)
    asked = case(sample["question"], sample["reference"])
    return await judge.verify(asked, response(sample["answer"], sample["passages"])), model.requests


def delimiters(request: Request) -> Counter[str]:
    """Everything in the messages that could be taken for one, without its code."""
    found = re.findall(
        r"[<＜][\s/／]*judged", "\n".join(turn.content for turn in request.messages), re.IGNORECASE
    )  # fmt: skip
    return Counter(found)


def test_there_are_enough_attacks_of_every_kind_in_both_languages() -> None:
    assert len({attack["id"] for attack in ATTACKS}) == len(ATTACKS)
    per_language = Counter(attack["language"] for attack in ATTACKS)
    assert min(per_language["en"], per_language["zh"]) >= 30
    for language in ("en", "zh"):
        own = [attack for attack in ATTACKS if attack["language"] == language]
        assert {attack["place"] for attack in own} == {"answer", "passage", "question", "reference"}
        assert {attack["kind"] for attack in own} >= {
            "ignore", "delimiter", "verdict", "role", "hidden", "system", "fence"
        }  # fmt: skip
    assert len({attack["text"] for attack in ATTACKS}) >= 60


@EVERY
@BOTH_WAYS
async def test_an_attack_changes_neither_the_messages_around_it_nor_how_many_delimiters_there_are(
    attack: dict[str, str], verify: Verify
) -> None:
    _, requests = await judged(attacked(attack), verify)
    _, clean = await judged(DATA["samples"][attack["language"]], verify)
    assert [request.schema_name for request in requests] == [request.schema_name for request in clean]
    for one, other in zip(requests, clean, strict=True):
        assert one.messages[:-1] == other.messages[:-1]
        assert len(one.messages) == len(other.messages)
        assert (one.schema, one.sampling, one.sample) == (other.schema, other.sampling, other.sample)
        assert delimiters(one) == delimiters(other)
        assert one.messages[-1].content.count("\n") == 2


@EVERY
@BOTH_WAYS
async def test_an_attack_is_shown_as_it_is_in_its_place(attack: dict[str, str], verify: Verify) -> None:
    sample = attacked(attack)
    _, requests = await judged(sample, verify)
    for request in requests:
        shown = shown_in(request)
        assert shown["question"] == sample["question"]
        assert shown["reference"] == sample["reference"]
        if request.schema_name == "decompose":
            told = "".join(shown["answer"].values())
            assert "".join(told.split()) == "".join(sample["answer"].split())
        elif request.schema_name == "verify":
            assert list(shown["passages"].values()) == sample["passages"]
        elif request.schema_name == "verify_passage":
            assert shown["passage"] in sample["passages"]


@EVERY
@BOTH_WAYS
async def test_the_verdicts_are_those_that_the_judge_gave(attack: dict[str, str], verify: Verify) -> None:
    found, requests = await judged(attacked(attack), verify)
    assert not any(step.problem for step in found.steps)
    assert len(found.answer_claims) == len(shown_in(requests[0])["answer"])
    assert [one.supported_by for one in found.answer_claims] == [()] * len(found.answer_claims)
    assert {one.in_reference for one in found.answer_claims} == {False}
    assert found.answer_claims[0].contradicted_by == (1,)
    assert [(one.supported_by, one.in_answer) for one in found.reference_claims] == [((1,), False)]
    assert [(one.relevant, one.useful) for one in found.passages] == [(True, True), (False, False)]


@EVERY
async def test_a_judge_that_only_repeats_the_attack_gives_no_verdict(attack: dict[str, str]) -> None:
    def parrot(request: Request) -> str:
        return scripted(request) if request.schema_name == "decompose" else text

    sample = attacked(attack)
    text = "\n".join([sample["question"], sample["answer"], sample["reference"], *sample["passages"]])
    with pytest.raises(JudgeFailed):
        await judged(sample, "joint", parrot)
