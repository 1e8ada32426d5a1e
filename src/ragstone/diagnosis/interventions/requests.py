"""Whether a wrong answer from the gold alone comes from what the system was told: asked for the missing in the question
itself, it answers rightly, and with as many other words it does not."""

from typing import TYPE_CHECKING

from ragstone.text import detect, sentences, words
from ragstone.text.measures import in_other_form

if TYPE_CHECKING:
    from ragstone.diagnosis.interventions.evidence import Evidence

_MISSING = "missing"
_COPIED = 0.7  # share of the words of the gold in an answer that repeats the documents instead of answering

_EXPLICIT = {
    "en": "Answer in full sentences, with every name, date, number and detail that this question asks for, in the unit"
    " and number format of the documents, and in {language}.",
    "zh": "请用完整的句子作答，给出这个问题所问的每个名称、日期、数字和细节，保持文档中的单位和数字格式，"
    "并用{language}回答。",
}
_NEUTRAL = {
    "en": "This question was sent in by a reader of these documents, who wrote it down on a day of last week in the"
    " office and has read each of them more than once.",
    "zh": "这个问题由这些文档的一位读者提出，他上周在办公室里把它写了下来，并且这些文档他每一篇都读过不止一遍，"
    "对内容很熟悉。",
}
_NAMES = {"en": {"en": "English", "zh": "Chinese"}, "zh": {"en": "英文", "zh": "中文"}}


def explicit_question(question: str, reference: str) -> str:
    """The question with the request for all that an answer may lack, in the language of the reference."""
    language = detect(question)
    return f"{question}\n\n{_EXPLICIT[language].format(language=_NAMES[language][detect(reference)])}"


def neutral_question(question: str) -> str:
    """The question with as many words that ask for nothing."""
    return f"{question}\n\n{_NEUTRAL[detect(question)]}"


def explicit(evidence: "Evidence") -> str | None:
    """What the answer from the gold alone lacks that the system gives when the question asks for it: "detail", the
    "form" of its numbers, or the "language"; "no" if the request changes nothing, or any other words do as well."""
    if evidence.value("alone") != "wrong":
        return "no"
    alone, asked = evidence.response("gold_only"), evidence.response("gold_explicit")
    if alone is not None and alone.finish_reason == "length":
        return "detail"
    outcome = evidence.told("gold_explicit")
    if outcome != "right" or alone is None or asked is None:
        return evidence.told_by("explicit", otherwise="no") if outcome is None else "no"
    if (neutral := evidence.told("gold_neutral")) is None:
        return evidence.told_by("explicit", otherwise="no")
    if neutral in ("right", _MISSING) or _repeats(evidence, asked.answer):
        return "no"
    if evidence.value("reread") == "unit" or in_other_form(asked.answer, alone.answer):
        return "form"
    reference = next((alias for slot in evidence.slots for alias in slot), "")
    spoken = any(map(str.isalpha, alone.answer)) and any(map(str.isalpha, reference))
    return "language" if spoken and detect(alone.answer) != detect(reference) else "detail"


def _repeats(evidence: "Evidence", answer: str) -> bool:
    """Whether an answer repeats several sentences of the documents, which states whatever was asked for."""
    text = " ".join(item.text for item in evidence.gold)
    known = set(words(text))
    return len(sentences(text)) > 3 and len(known & set(words(answer))) > _COPIED * len(known)
