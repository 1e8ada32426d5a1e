"""What a judge should have replied where experts say otherwise: demonstrations for its prompts out of disagreements.

A label is about a whole answer, a reply about its parts. So a reply is corrected only where the label leaves no choice:
an answer that is right has only right claims; one that is wrong and makes a single claim makes a wrong one; a step of a
scale is what the label says.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from ragstone.messages import messages
from ragstone.metrics.judge.prompts import Example
from ragstone.metrics.judge.schemas import INPUTS, OUTPUTS, problem_with
from ragstone.text import sentences

_LEAST_SHARED = 0.5  # of the words of a claim, in the sentence of a passage that is quoted for it
Reply = dict[str, Any]


def corrected(
    prompt: str, shown: Mapping[str, Any], reply: Mapping[str, Any], *, task: str, label: float, language: str,
    comment: str = "",
) -> Example | None:  # fmt: skip
    """The demonstration of what an expert's label (0 to 1) of a task makes of a reply; None where the label does not
    say which part of the reply is wrong, or changes nothing. `comment`: the expert's, as the reason."""
    correct = _CORRECTIONS.get(prompt)
    if correct is None:
        return None
    copied: Reply = json.loads(json.dumps(reply))
    reason = " ".join(comment.split()) or messages(__name__, language)["reason"]
    if not correct(dict(shown), copied, task, label, reason) or copied == reply:
        return None
    wrong = problem_with(shown, INPUTS[prompt]) or problem_with(copied, OUTPUTS[prompt])
    return None if wrong else Example(dict(shown), copied)


def _verify(shown: Reply, reply: Reply, task: str, label: float, _: str) -> bool:
    claims = reply["answer_claims"]
    if task == "correct":
        return _compare(shown, reply, task, label, _)
    if task != "faithful" or label not in (0.0, 1.0):
        return False
    if label == 0.0:
        if len(claims) == 1:
            claims[0] |= {"quote": "", "supported_by": [], "together": None}
        return len(claims) == 1
    for claim in claims:
        if not claim["supported_by"]:
            place, quote = _best_sentence(shown["answer_claims"].get(str(claim["id"]), ""), shown["passages"])
            if not quote:
                return False
            claim |= {"quote": quote, "supported_by": [place], "contradicted_by": []}
    return bool(claims)


def _compare(shown: Reply, reply: Reply, task: str, label: float, _: str) -> bool:
    claims, stated = reply["answer_claims"], reply["reference_claims"]
    if task != "correct" or label not in (0.0, 1.0) or (label == 0.0 and (len(claims) != 1 or len(stated) != 1)):
        return False
    for claim in claims:
        claim["in_reference"] = bool(label)
    for claim in stated:
        claim["in_answer"] = bool(label)
    return bool(claims)


def _statements(_: Reply, reply: Reply, task: str, label: float, reason: str) -> bool:
    verdicts = reply["verdicts"]
    if task != "faithful" or label not in (0.0, 1.0) or (label == 0.0 and len(verdicts) != 1):
        return False
    for verdict in verdicts:
        if verdict["verdict"] != int(label):
            verdict |= {"verdict": int(label), "reason": reason}
    return True


def _step(shown: Reply, reply: Reply, task: str, label: float, reason: str) -> bool:
    steps = [int(step) for step in shown.get("scale") or {} if re.fullmatch(r"\d+", step)]
    if not steps or reply["score"] is None or reply["elements"]:
        return False
    return _set(reply, round(min(steps) + label * (max(steps) - min(steps))), reason)


def _needle(_: Reply, reply: Reply, task: str, label: float, reason: str) -> bool:
    return _set(reply, round(1 + 9 * label), reason)


def _set(reply: Reply, score: int, reason: str) -> bool:
    changed = bool(reply["score"] != score)
    if changed:
        reply |= {"score": score, "reason": reason}
    return changed


_CORRECTIONS: Mapping[str, Callable[[Reply, Reply, str, float, str], bool]] = {
    "verify": _verify, "verify_reference": _compare, "ragas_faithfulness": _statements, "rubric": _step,
    "needle": _needle,
}  # fmt: skip


def _best_sentence(claim: str, passages: Mapping[str, str]) -> tuple[int, str]:
    """The passage and its sentence that share most with the claim; (0, "") where none shares enough."""
    wanted = _grams(claim)
    found = [
        (len(wanted & _grams(sentence)) / max(1, len(wanted)), int(place), sentence.strip())
        for place, text in passages.items() for sentence in sentences(text, "")
    ]  # fmt: skip
    share, place, quote = max(found, default=(0.0, 0, ""))
    return (place, quote) if share >= _LEAST_SHARED else (0, "")


def _grams(text: str) -> set[str]:
    """The words of a text, and the pairs of characters of its Chinese part."""
    chinese = "".join(re.findall(r"[\u4e00-\u9fff]", text))
    return {
        *re.findall(r"[^\W_\u4e00-\u9fff]+", text.lower()),
        *(chinese[at : at + 2] for at in range(len(chinese) - 1)),
    }
