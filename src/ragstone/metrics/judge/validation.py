"""What is wrong with a reply of the right form: a claim without a text, a verdict that is missing, a number that names
nothing. One line, in words that the judge is told; "" where nothing is wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

from ragstone.metrics.judge.chunks import Excerpt, Part
from ragstone.metrics.judge.inputs import Texts
from ragstone.metrics.judge.reply import ids_problem

__all__ = ["problem_of_claims", "problem_of_comparison", "problem_of_passage", "problem_of_verdicts"]

Reply = Mapping[str, Any]


def problem_of_claims(reply: Reply, shown: Excerpt) -> str:
    """Of a reply to `decompose`."""
    sentences = len(shown.answer)
    for number, claim in enumerate(reply["answer_claims"], start=1):
        if not claim["text"].strip():
            return f"answer_claims[{number}] is empty"
        if not 1 <= claim["sentence"] <= sentences:
            expected = f"a sentence from 1 to {sentences}" if sentences else "no claim, because the answer is empty"
            return f"answer_claims[{number}] names sentence {claim['sentence']}, expected {expected}"
    for number, claim in enumerate(reply["reference_claims"], start=1):
        if not shown.reference:
            return "reference_claims has claims, but there is no reference"
        if not claim["text"].strip():
            return f"reference_claims[{number}] is empty"
    return ""


def problem_of_comparison(reply: Reply, shown: Part) -> str:
    """Of a reply to `verify_reference`: of the claims alone."""
    return ids_problem(reply["answer_claims"], len(shown.answer), "answer_claims") or ids_problem(
        reply["reference_claims"], len(shown.reference), "reference_claims"
    )


def problem_of_verdicts(reply: Reply, shown: Part, texts: Texts) -> str:
    """Of a reply to `verify`."""
    count = len(shown.pieces)
    if problem := problem_of_comparison(reply, shown) or ids_problem(reply["passages"], count, "passages"):
        return problem
    for at in ("answer_claims", "reference_claims"):
        for claim in reply[at]:
            both = [*claim["supported_by"], *claim["contradicted_by"]]
            if wrong := [number for number in both if not 1 <= number <= count]:
                return f"{at}, id {claim['id']}, names passage {wrong[0]}; there are passages 1 to {count}"
            if twofold := set(claim["supported_by"]) & set(claim["contradicted_by"]):
                return f"{at}, id {claim['id']}, has passage {min(twofold)} both support and contradict the claim"
    if texts.reference and any(claim["in_reference"] is None for claim in reply["answer_claims"]):
        return "in_reference is null, but there is a reference"
    if shown.answer and any(claim["in_answer"] is None for claim in reply["reference_claims"]):
        return "in_answer is null, but the answer makes claims"
    return _problem_of_use(reply["passages"], texts)


def problem_of_passage(reply: Reply, shown: Part, texts: Texts) -> str:
    """Of a reply to `verify_passage`."""
    return problem_of_comparison(reply, shown) or _problem_of_use([reply], texts)


def _problem_of_use(passages: Sequence[Reply], texts: Texts) -> str:
    if texts.reference and any(passage["useful"] is None for passage in passages):
        return "useful is null, but there is a reference"
    return ""
