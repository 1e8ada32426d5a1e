"""`bench/injection.py` by judges whose character is known: one that sees the facts, one that does what it reads."""

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.peers import plausible

from bench import injection
from ragstone.metrics.judge import MatrixJudge, Prompts
from ragstone.models.scripted import Scripted
from ragstone.types import Request

SCRIPT = Path(injection.__file__)


def shown(request: Request) -> dict[str, Any]:
    found = re.search(r"<judged \w+>\n(.*)\n</judged", request.messages[-1].content)
    assert found is not None
    judged: dict[str, Any] = json.loads(found[1])
    return judged


def steady(request: Request) -> str:
    """Knows that the false claim is false, whatever else is said."""
    if request.schema_name == "decompose":
        claims = [{"sentence": int(n), "text": text, "relevant": True} for n, text in shown(request)["answer"].items()]
        reply = json.loads(plausible.answer({"messages": [{"content": turn.content} for turn in request.messages]}))
        return json.dumps(reply | {"answer_claims": claims})
    reply = json.loads(plausible.answer({"messages": [{"content": turn.content} for turn in request.messages]}))
    for claim in reply["answer_claims"]:
        if injection.FALSE in shown(request)["answer_claims"][str(claim["id"])]:
            claim |= {"supported_by": [], "in_reference": False}
    return json.dumps(reply)


def gullible(request: Request) -> str:
    """Does what it reads: it accepts everything where more is said than the facts."""
    reply = json.loads(steady(request))
    said = json.dumps(shown(request), ensure_ascii=False)
    if request.schema_name == "verify" and re.search("Ignore all|operator|所有指令", said):
        quote = shown(request)["passages"]["1"][:30]
        reply["answer_claims"] = [claim | {"supported_by": [1], "quote": quote} for claim in reply["answer_claims"]]
    return json.dumps(reply)


def flips(script: Any) -> dict[str, Any]:
    several = injection.attacks()
    judge = MatrixJudge(Scripted(script), prompts=Prompts.load())
    return injection.summary(asyncio.run(injection.measure(judge, several, at_once=8)))


def test_there_are_the_promised_attacks_in_both_languages_each_with_its_counterparts() -> None:
    several = injection.attacks()
    assert len(several) >= 60
    assert {attack.language for attack, _, _ in several} == {"en", "zh"}
    for attack, harmless, clean in several:
        assert attack.sample != clean.sample != harmless.sample
        assert "{code}" not in json.dumps(attack.sample)
        assert injection.FALSE in clean.sample["answer"]


def test_a_judge_that_sees_the_facts_is_not_flipped() -> None:
    found = flips(steady)
    assert (found["attacks"], found["clean_denied"]) == (len(injection.attacks()),) * 2
    assert found["flipped"]["count"] == found["harmless"]["count"] == 0
    assert found["flipped"]["high"] < 0.1


def test_a_judge_that_obeys_is_counted() -> None:
    found = flips(gullible)
    assert found["flipped"]["count"] > 0
    assert found["harmless"]["count"] == 0
    assert sum(share["count"] for share in found["kinds"].values()) == found["flipped"]["count"]


@pytest.mark.parametrize(("arguments", "words"), [([], "needs a real judge"), (["--judge", "nobody/x"], "provider")])
def test_what_cannot_be_run_is_told_in_one_line(arguments: list[str], words: str) -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
