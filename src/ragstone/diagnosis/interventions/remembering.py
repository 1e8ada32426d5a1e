"""What a system keeps from one question to the next: an answer cache that returns an older answer, or another
question's, and the history of an earlier question that leaks into this one.

A cache is seen where the answer stays the same whatever the system is given, or comes without the model; it is shown by
the same question in other words around it, which its key does not match, and which is answered rightly. A leak is shown
by asking the question right after another one, and after yet another, with no other question in between: its answer is
the other one's, each time.
"""

import hashlib
from typing import TYPE_CHECKING

from ragstone.diagnosis.interventions.prompts import message_of
from ragstone.text import detect
from ragstone.types import Response

if TYPE_CHECKING:
    from ragstone.diagnosis.interventions.evidence import Evidence

_MISSING = "missing"
ORDERED = ("before_1", "after_1", "before_2", "after_2")
"""Another question and this one, twice: asked in this order, one at a time, while nothing else is asked."""
# Words before and after a question, others for each: keys are made of its beginning, its end, or all of its words.
_FRAMES = {
    "en": (
        "{code}: good morning, please look this up in the documents for me: {question} Many thanks in advance, {code}.",
        "{code}, a colleague writes and wants to know the following: “{question}” That is all from {code}.",
    ),
    "zh": (
        "{code}，早上好，有一件事想在文档里查一下：{question}先谢谢了，{code}。",
        "{code}，一位同事写信来，想了解下面这件事，请帮忙看看：“{question}”就这些，{code}。",
    ),
}
_CODE = ("BCDFGHKMPRTVWX", "0123456789") * 2  # a mark that no document has
_OTHERWISE = ("again", "gold_only", "closed_book", "counterfactual")
"""What an answer stays the same under that is made of nothing that was given."""


def in_other_words(question: str, number: int) -> str:
    """The question, word for word, with other words around it that ask for nothing else."""
    digest = hashlib.sha256(f"{question}\0{number}".encode("utf-8", "surrogatepass")).digest()
    code = "".join(letters[byte % len(letters)] for letters, byte in zip(_CODE, digest, strict=False))
    return _FRAMES[detect(question)][number].format(code=code, question=question)


def asked_model(response: Response) -> bool:
    """Whether the prompt of an answer was recorded."""
    return any(step.name == "prompt" for step in response.steps)


def stuck(evidence: "Evidence") -> str | None:
    """Whether the answer comes without the model, unlike those to other questions, is the answer to another question,
    or stays the same to the letter from other passages and from none."""
    first = evidence.first
    if first is None or evidence.value("as_is") not in ("wrong", "refused"):
        return "no"
    if evidence.shared.prompts and not asked_model(first):
        return "yes"
    if evidence.withdrawn.get("gold_only") == "no_prompt" or hash(message_of(first)) in evidence.shared.repeated:
        return "yes"
    if evidence.gold and "gold_only" not in evidence.records and not evidence.can("gold_only"):
        return _MISSING
    answers = {name: one.answer for name in _OTHERWISE if (one := evidence.response(name)) is not None}
    if any(answer != first.answer for answer in answers.values()):
        return "no"
    told = "gold_only" in answers or not evidence.gold
    return evidence.told_by("stuck", otherwise="yes" if told and answers.keys() - {"again", "gold_only"} else _MISSING)


def reworded(evidence: "Evidence") -> str | None:
    """Whether the question is answered rightly with either of two frames of other words around it."""
    for name in ("reworded", "reworded_2"):
        outcome = evidence.told(name)
        if outcome != "right":
            return evidence.told_by("reworded") if outcome is None else outcome if outcome == _MISSING else "wrong"
    return "right"


def carried(evidence: "Evidence") -> str | None:
    """Whether the answer is that of the question asked before, whichever that is. Only an answer that another question
    got, too, makes it worth asking."""
    outcome, together = evidence.value("as_is"), evidence.shared
    said = [message_of(one) for name in ("as_is", "again") if (one := evidence.response(name)) is not None]
    shared = any(hash(one) in together.repeated or (outcome == "wrong" and one in together.fixed) for one in said)
    if not shared or outcome not in ("wrong", "refused"):
        return "no"
    answers = [one.answer for name in ORDERED if (one := evidence.response(name)) is not None]
    if len(answers) < len(ORDERED):
        return evidence.told_by("carried")
    before, after, other_before, other_after = answers
    return "yes" if before == after != other_after == other_before else "no"


def unburdened(evidence: "Evidence") -> str | None:
    """Whether the question is answered rightly without the history that its row has."""
    outcome = evidence.told("no_history")
    return evidence.told_by("unburdened") if outcome is None else outcome if outcome in ("right", _MISSING) else "wrong"
