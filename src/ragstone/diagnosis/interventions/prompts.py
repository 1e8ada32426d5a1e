"""What happens to an answer around the model: a guard, or an instruction, replaces it by a fixed message."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ragstone.analysis.statements import letters
from ragstone.metrics._phrases import phrases
from ragstone.metrics.refusal import refusal_spans
from ragstone.retrieval.markdown import headings_of
from ragstone.text import detect, find_answer, words
from ragstone.text.content_words import content_words
from ragstone.text.folding import fold_characters
from ragstone.text.quoting import find_quote
from ragstone.types import Passage, Response

if TYPE_CHECKING:
    from ragstone.diagnosis.interventions.evidence import Evidence

LONGEST_MESSAGE = 400
"""Characters of a message in place of an answer; a longer one says more."""

_MISSING = "missing"
_FILLERS = {"en": "Page {n} is blank.", "zh": "第{n}页空白。"}
_OPEN = {"en": "What do these documents say?", "zh": "这些文档讲了什么？"}
_STAGES = ("rewrite", "fetch", "rerank", "prompt")
_ABOUT_DOCUMENTS = 0.5  # share of the words of an answer that the passages have
# A message that says that something is missing from the documents is a refusal of the model, not of a guard.
_FIGURE = re.compile(r"\d")
_MASK = re.compile(
    r"[\[<({【［](?:[*＊xX#•.…_-]{2,}|(?:redacted|removed|masked|hidden|private|pii|secret|person|name|email|phone|number|"
    r"date|address|location|organi[sz]ation|org)(?:[_ -]?\d+)?|已?(?:脱敏|屏蔽|隐藏|隐去|遮蔽|打码|匿名化?))[\]>)}】］]"
    r"|[█▇▉■▓▒]{2,}|[*＊]{3,}|[×✕]{2,}|(?<!\w)[xX]{3,}(?!\w)|某某",
    re.IGNORECASE,
)
_LACKING = re.compile(
    r"\b(?:documents?|context|passages?|information|sources?|mention\w*|know|find|found|state[sd]?|contain\w*|provided?)\b"
    r"|文档|资料|材料|信息|上下文|段落|提到|提及|知道|找到|文中"
)


def fillers(like: str, lengths: Sequence[int]) -> list[Passage]:
    """Passages that say nothing, in the language of a text, each at least this long."""
    text = _FILLERS[detect(like)]
    return [
        Passage(f"filler{number}", " ".join([text.format(n=number)] * max(1, length // len(text))))
        for number, length in enumerate(lengths, 1)
    ]


def open_question(question: str) -> str:
    """What to ask about the documents in place of the question, in its language."""
    return _OPEN[detect(question)]


def guarded(evidence: "Evidence") -> str | None:
    """Whether a mask stands in the answer in place of a value, or a fixed message replaces the answer from the gold: it
    says itself that a reply was withheld; or many questions get it, and the model's own reply is recorded and right, or
    another question about the same passages, or another answer in them, is let through."""
    response = evidence.response("gold_only") or (evidence.first if evidence.value("prompted") == "yes" else None)
    answers = [one.answer for one in (response, evidence.first) if one is not None]
    if any(_is_withheld(evidence, answer) for answer in answers) or (
        answers and all(_is_masked(evidence, answer) for answer in answers)
    ):
        return "yes"
    if response is None or message_of(response) not in evidence.shared.fixed or _FIGURE.search(response.answer):
        return "no"  # a message with a figure claims an answer
    if any(_replies_rightly(evidence, name) for name in ("gold_only", "as_is")):
        return "yes"
    if _LACKING.search(message_of(response)):
        return "no"
    opened = evidence.response("gold_open")
    if opened is None and evidence.open_conditions("guarded"):
        return None
    if opened is not None and _is_about(evidence, opened):
        return "yes"
    other = evidence.response("counterfactual")
    if other is None:
        return evidence.told_by("guarded", otherwise="no")
    return "yes" if find_answer(evidence.question.stand_in, other.answer) else "no"


def mask_in(answer: str, known: Iterable[str]) -> str:
    """The mask that stands in an answer in place of a value or name; "" for none, or one that these texts have."""
    found = _MASK.search(answer)
    return found[0] if found is not None and not any(found[0] in text for text in known) else ""


def _is_masked(evidence: "Evidence", answer: str) -> bool:
    known = [evidence.sample.question, *(item.text for item in evidence.gold)]
    known += [alias for slot in evidence.slots for alias in slot]
    return bool(mask_in(answer, known))


def _is_withheld(evidence: "Evidence", answer: str) -> bool:
    """Whether an answer is a message that a reply was withheld. What the question or the gold says is no message."""
    folded = fold_characters(answer).text
    if len(folded) > LONGEST_MESSAGE:
        return False
    found = next((match for one in ("en", "zh") if (match := phrases(f"withheld.{one}").search(folded))), None)
    known = [evidence.sample.question, *(item.text for item in evidence.gold)]
    return found is not None and not any(find_quote(found.group(), text) for text in known)


def stock(evidence: "Evidence") -> str:
    """Whether the answer, from the gold alone where that was asked, is one that other questions with other references
    got word for word, and says nothing: no number, nothing that a reference says, no word of the gold that the question
    has not. No refusal. Or it is a title or heading of a passage, as those of many questions are."""
    responses = [one for name in ("as_is", "gold_only") if (one := evidence.response(name)) is not None]
    if evidence.shared.headings and responses and all(is_heading(evidence, one.answer) for one in responses):
        return "yes"
    for response in responses:
        if message_of(response) not in evidence.shared.stock or refusal_spans(response.answer):
            return "no"
        if _is_withheld(evidence, response.answer):
            return "no"
        known = content_words(" ".join(f"{item.title} {item.text}" for item in evidence.gold), "")
        if (content_words(response.answer, "") - content_words(evidence.sample.question, "")) & known:
            return "no"
    return "yes" if responses else "no"


def is_heading(evidence: "Evidence", answer: str) -> bool:
    """Whether an answer is nothing but the title or a heading of a passage that was given for it, or of the gold."""
    said = letters(answer)
    first = evidence.first
    texts = [*evidence.gold, *(() if first is None else first.passages)]
    return bool(said) and any(said == letters(found) for item in texts for found in _headings_of(item))


def _headings_of(passage: Passage) -> list[str]:
    return [passage.title, *(heading for _, _, heading in headings_of(passage.text))]


def message_of(response: Response) -> str:
    """An answer as it is compared with other answers."""
    return " ".join(response.answer.split()).lower()


def _replies_rightly(evidence: "Evidence", condition: str) -> bool:
    """Whether a recorded step of an answer that is no search states the reference: what the model said."""
    response = evidence.response(condition)
    said = [step.output for step in response.steps if step.name not in _STAGES] if response is not None else []
    return any(
        isinstance(text, str) and all(any(find_answer(alias, text) for alias in slot) for slot in evidence.slots)
        for text in said
    )


def _is_about(evidence: "Evidence", response: Response) -> bool:
    """Whether an answer tells what the gold says."""
    if message_of(response) in evidence.shared.fixed or refusal_spans(response.answer):
        return False
    said, known = set(words(response.answer)), {word for item in evidence.gold for word in words(item.text)}
    return bool(said) and len(said & known) >= _ABOUT_DOCUMENTS * len(said)
