"""What is wrong with a reply of the right form: a claim without a text, a verdict that is missing, a number that names
nothing. One line, in words that the judge is told; "" where nothing is wrong."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragstone.metrics.judge.chunks import Excerpt, Part
from ragstone.metrics.judge.inputs import Texts
from ragstone.metrics.judge.problems import problem
from ragstone.metrics.judge.reply import ids_problem
from ragstone.text.quotes import find_quote

Reply = Mapping[str, Any]


def problem_of_claims(reply: Reply, shown: Excerpt) -> str:
    """Of a reply to `decompose`. A claim may name no sentence: only citations need to know it."""
    if reply["answer_claims"] and not shown.answer:
        return problem("no_answer")
    if reply["reference_claims"] and not shown.reference:
        return problem("no_reference")
    for side in ("answer_claims", "reference_claims"):
        for number, claim in enumerate(reply[side], start=1):
            if not claim["text"].strip():
                return problem("blank", at=f"{side}[{number}]")
    return ""


def problem_of_comparison(reply: Reply, shown: Part) -> str:
    """Of a reply to `verify_reference`: of the claims alone."""
    return ids_problem(reply["answer_claims"], len(shown.answer), "answer_claims") or ids_problem(
        reply["reference_claims"], len(shown.reference), "reference_claims"
    )


def problem_of_verdicts(reply: Reply, shown: Part, texts: Texts) -> str:
    """Of a reply to `verify`."""
    count = len(shown.pieces)
    if found := problem_of_comparison(reply, shown) or ids_problem(reply["passages"], count, "passages"):
        return found
    for at in ("answer_claims", "reference_claims"):
        for claim in reply[at]:
            both = [*claim["supported_by"], *claim["contradicted_by"]]
            if wrong := [number for number in both if not 1 <= number <= count]:
                return problem("passage_outside", at=at, id=claim["id"], place=wrong[0], count=count)
            if twofold := set(claim["supported_by"]) & set(claim["contradicted_by"]):
                return problem("both", at=at, id=claim["id"], place=min(twofold))
    if texts.reference and any(claim["in_reference"] is None for claim in reply["answer_claims"]):
        return problem("null_in_reference")
    if shown.answer and any(claim["in_answer"] is None for claim in reply["reference_claims"]):
        return problem("null_in_answer")
    return _problem_of_use(reply["passages"], texts)


def problem_of_passage(reply: Reply, shown: Part, texts: Texts) -> str:
    """Of a reply to `verify_passage`."""
    return problem_of_comparison(reply, shown) or _problem_of_use([reply], texts)


def _problem_of_use(passages: Sequence[Reply], texts: Texts) -> str:
    if texts.reference and any(passage["useful"] is None for passage in passages):
        return problem("null_useful")
    return ""


def problem_of_quotes(reply: Reply, shown: Part) -> str:
    """Of a usable reply to `verify` or `verify_passage`: the first quote that is in no passage said to support, or is
    empty although one is."""
    texts = [piece.text for piece in shown.pieces]
    for at in ("answer_claims", "reference_claims"):
        for claim in reply[at]:
            places = claim["supported_by"] if "supported_by" in claim else [1] * (claim["verdict"] == "supported")
            if places and not stands(claim["quote"], [texts[place - 1] for place in places]):
                return problem("quote", at=at, id=claim["id"], quote=repr(claim["quote"][:80]))
    return ""


def stands(quote: str, texts: Iterable[str]) -> bool:
    """Whether a quote is from one of the texts, in whichever width, case, script or punctuation it is written. Where
    nothing is quoted, nothing stands."""
    return bool(quote.strip()) and any(find_quote(quote, text) is not None for text in texts)
