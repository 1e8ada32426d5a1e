"""What the application around the model does to an answer: a guard or an instruction replaces it by a fixed message; an
answer cache returns an older answer, or another question's; the history of an earlier question leaks into this one.

A cache is seen where the answer stays the same whatever the system is given, or comes without the model; it is shown by
the same question in other words around it, which its key does not match, and which is answered rightly, or from the
passages that it lacked while it had the answer and the passages of another question. A leak is shown
by asking the question right after another one, and after yet another, with no other question in between: its answer is
the other one's, each time.
"""

import re

from ragstone.analysis.statements import letters
from ragstone.diagnosis.interventions.conditions import ORDERED
from ragstone.diagnosis.interventions.observations import MISSING, Observations
from ragstone.diagnosis.interventions.question import asked_model
from ragstone.diagnosis.interventions.substitutes import is_withheld, mask_in, message_of
from ragstone.metrics.refusal import refusal_spans
from ragstone.retrieval.markdown import headings_of
from ragstone.systems.probes import is_probe_reply
from ragstone.text import find_answer, words
from ragstone.text.content_words import content_words
from ragstone.types import Passage, Response

_STAGES = ("rewrite", "fetch", "rerank", "prompt")
_ABOUT_DOCUMENTS = 0.5  # share of the words of an answer that the passages have
# A message that says that something is missing from the documents is a refusal of the model, not of a guard.
_FIGURE = re.compile(r"\d")
_LACKING = re.compile(
    r"\b(?:documents?|context|passages?|information|sources?|mention\w*|know|find|found|state[sd]?|contain\w*|provided?)\b"
    r"|文档|资料|材料|信息|上下文|段落|提到|提及|知道|找到|文中"
)
_OTHERWISE = ("again", "gold_only", "closed_book", "counterfactual")
"""What an answer stays the same under that is made of nothing that was given."""


def guarded(observed: Observations) -> str | None:
    """Whether a mask stands in the answer in place of a value, or a fixed message replaces the answer from the gold: it
    says itself that a reply was withheld; or many questions get it, and the model's own reply is recorded and right, or
    another question about the same passages, or another answer in them, is let through."""
    response = observed.response("gold_only") or (observed.first if observed.value("prompted") == "yes" else None)
    answers = [one.answer for one in (response, observed.first) if one is not None]
    if any(_is_withheld(observed, answer) for answer in answers) or (
        answers and all(_is_masked(observed, answer) for answer in answers)
    ):
        return "yes"
    if response is None or message_of(response) not in observed.shared.fixed or _FIGURE.search(response.answer):
        return "no"  # a message with a figure claims an answer
    if any(_replies_rightly(observed, name) for name in ("gold_only", "as_is")):
        return "yes"
    if _LACKING.search(message_of(response)):
        return "no"
    opened = observed.response("gold_open")
    if opened is None and observed.open_conditions("guarded"):
        return None
    if opened is not None and _is_about(observed, opened):
        return "yes"
    other = observed.response("counterfactual")
    if other is None:
        return observed.told_by("guarded", otherwise="no")
    return "yes" if find_answer(observed.question.stand_in, other.answer) else "no"


def _is_masked(observed: Observations, answer: str) -> bool:
    known = [observed.sample.question, *(item.text for item in observed.gold)]
    known += [alias for slot in observed.slots for alias in slot]
    return bool(mask_in(answer, known))


def _is_withheld(observed: Observations, answer: str) -> bool:
    return is_withheld(answer, [observed.sample.question, *(item.text for item in observed.gold)])


def _replies_rightly(observed: Observations, condition: str) -> bool:
    """Whether a recorded step of an answer that is no search states the reference: what the model said."""
    response = observed.response(condition)
    said = [step.output for step in response.steps if step.name not in _STAGES] if response is not None else []
    return any(
        isinstance(text, str) and all(any(find_answer(alias, text) for alias in slot) for slot in observed.slots)
        for text in said
    )


def _is_about(observed: Observations, response: Response) -> bool:
    """Whether an answer tells what the gold says."""
    if message_of(response) in observed.shared.fixed or refusal_spans(response.answer):
        return False
    said, known = set(words(response.answer)), {word for item in observed.gold for word in words(item.text)}
    return bool(said) and len(said & known) >= _ABOUT_DOCUMENTS * len(said)


def stock(observed: Observations) -> str:
    """Whether the answer, from the gold alone where that was asked, is one that other questions with other references
    got word for word, and says nothing: no number, nothing that a reference says, no word of the gold that the question
    has not. No refusal. Or it is a title or heading of a passage, as those of many questions are."""
    responses = [one for name in ("as_is", "gold_only") if (one := observed.response(name)) is not None]
    if observed.shared.headings and responses and all(is_heading(observed, one.answer) for one in responses):
        return "yes"
    for response in responses:
        if message_of(response) not in observed.shared.stock or refusal_spans(response.answer):
            return "no"
        if _is_withheld(observed, response.answer):
            return "no"
        known = content_words(" ".join(f"{item.title} {item.text}" for item in observed.gold), "")
        if (content_words(response.answer, "") - content_words(observed.sample.question, "")) & known:
            return "no"
    return "yes" if responses else "no"


def is_heading(observed: Observations, answer: str) -> bool:
    """Whether an answer is nothing but the title or a heading of a passage that was given for it, or of the gold."""
    said = letters(answer)
    first = observed.first
    texts = [*observed.gold, *(() if first is None else first.passages)]
    return bool(said) and any(said == letters(found) for item in texts for found in _headings_of(item))


def _headings_of(passage: Passage) -> list[str]:
    return [passage.title, *(heading for _, _, heading in headings_of(passage.text))]


def stuck(observed: Observations) -> str | None:
    """Whether the answer comes without the model, unlike those to other questions, is the answer to another question
    (which it rights, or which has the same passages, too), or stays the same to the letter from other passages and from
    none."""
    first = observed.first
    if first is None or observed.value("as_is") not in ("wrong", "refused"):
        return "no"
    if observed.shared.prompts and not asked_model(first):
        return "yes"
    if observed.withdrawn.get("gold_only") == "no_prompt" or hash(message_of(first)) in observed.shared.repeated:
        return "yes"
    if _is_of_another(observed, first):
        return "yes"
    if observed.gold and "gold_only" not in observed.records and not observed.can("gold_only"):
        return MISSING
    answers = {name: one.answer for name in _OTHERWISE if (one := observed.response(name)) is not None}
    if any(answer != first.answer for answer in answers.values()):
        return "no"
    told = "gold_only" in answers or not observed.gold
    return observed.told_by("stuck", otherwise="yes" if told and answers.keys() - {"again", "gold_only"} else MISSING)


def _is_of_another(observed: Observations, response: Response) -> bool:
    """Whether another question with another reference got this answer from these passages, to the letter."""
    return reply_of(response) in observed.shared.replies


def reply_of(response: Response) -> int | None:
    """An answer with its passages, hashed; None for one without passages."""
    return hash((message_of(response), *(item.text for item in response.passages))) if response.passages else None


def reworded(observed: Observations) -> str | None:
    """Whether the question is answered rightly with either of two frames of other words around it; "own" if it has its
    gold passages with each, and as is the answer and the passages of another question without them."""
    own = False
    for name in ("reworded", "reworded_2"):
        outcome = observed.told(name)
        if outcome is None or outcome == MISSING:
            return observed.told_by("reworded") if outcome is None else MISSING
        if outcome != "right":
            if not _has_its_own(observed, name):
                return "wrong"
            own = True
    return "own" if own else "right"


def _has_its_own(observed: Observations, condition: str) -> bool:
    first, response = observed.first, observed.response(condition)
    return (
        first is not None and response is not None and _is_of_another(observed, first)
        and observed.has_gold(first.passages) == "no" and observed.has_gold(response.passages) == "yes"
    )  # fmt: skip


def probed(observed: Observations) -> str:
    """Whether the answer is what a probe invented, so that the system has kept it."""
    first = observed.first
    return "yes" if first is not None and observed.value("as_is") == "unscored" and is_probe_reply(first) else "no"


def carried(observed: Observations) -> str | None:
    """Whether the answer is that of the question asked before, whichever that is. Only an answer that another question
    got, too, makes it worth asking."""
    outcome, together = observed.value("as_is"), observed.shared
    said = [message_of(one) for name in ("as_is", "again") if (one := observed.response(name)) is not None]
    shared = any(hash(one) in together.repeated or (outcome == "wrong" and one in together.fixed) for one in said)
    if not shared or outcome not in ("wrong", "refused"):
        return "no"
    answers = [one.answer for name in ORDERED if (one := observed.response(name)) is not None]
    if len(answers) < len(ORDERED):
        return observed.told_by("carried")
    before, after, other_before, other_after = answers
    return "yes" if before == after != other_after == other_before else "no"


def unburdened(observed: Observations) -> str | None:
    """Whether the question is answered rightly without the history that its row has."""
    outcome = observed.told("no_history")
    return observed.told_by("unburdened") if outcome is None else outcome if outcome in ("right", MISSING) else "wrong"
