"""Texts that stand in place of an answer: an error message, a message that a reply was withheld, a mask."""

import re
from collections.abc import Iterable

from ragstone.metrics._phrases import phrases
from ragstone.text.folding import fold_characters
from ragstone.text.quotes import find_quote
from ragstone.types import NO_ANSWER, Record, Response

LONGEST_MESSAGE = 400
"""Characters of a message in place of an answer; a longer one says more."""

_MASK = re.compile(
    r"[\[<({【［](?:[*＊xX#•.…_-]{2,}|(?:redacted|removed|masked|hidden|private|pii|secret|person|name|email|phone|number|"
    r"date|address|location|organi[sz]ation|org)(?:[_ -]?\d+)?|已?(?:脱敏|屏蔽|隐藏|隐去|遮蔽|打码|匿名化?))[\]>)}】］]"
    r"|[█▇▉■▓▒]{2,}|[*＊]{3,}|[×✕]{2,}|(?<!\w)[xX]{3,}(?!\w)|某某",
    re.IGNORECASE,
)
_NOTHING = ("none", "null", "nan", "undefined", "nil")


def message_of(response: Response) -> str:
    """An answer as it is compared with other answers."""
    return " ".join(response.answer.split()).lower()


def mask_in(answer: str, known: Iterable[str]) -> str:
    """The mask that stands in an answer in place of a value or name; "" for none, or one that these texts have."""
    found = _MASK.search(answer)
    return found[0] if found is not None and not any(found[0] in text for text in known) else ""


def is_error_message(record: Record) -> bool:
    """Whether the answer of a record is empty, repeats the question (what a framework hands back whose last step said
    nothing), or is a message that something failed. What the question or a passage says, too, is no message."""
    response = record.response
    if response is None or response.finish_reason == NO_ANSWER:
        return False
    answer = response.answer.strip()
    if mask_in(answer, (record.case.sample.question,)):
        return False
    if not any(map(str.isalnum, answer)) or answer.strip("\"'` .").lower() in _NOTHING:
        return True
    if answer == record.case.sample.question.strip():
        return True
    folded = fold_characters(answer).text
    if len(folded) > LONGEST_MESSAGE:
        return False
    found = next((match for language in ("en", "zh") if (match := phrases(f"failure.{language}").search(folded))), None)
    if found is None:
        return False
    sample = record.case.sample
    known = [sample.question, *(item.text for item in (*sample.passages, *response.passages))]
    return not any(find_quote(found.group(), text) for text in known)


def is_withheld(answer: str, known: Iterable[str]) -> bool:
    """Whether an answer is a message that a reply was withheld. What these texts say is no message."""
    folded = fold_characters(answer).text
    if len(folded) > LONGEST_MESSAGE:
        return False
    found = next((match for one in ("en", "zh") if (match := phrases(f"withheld.{one}").search(folded))), None)
    return found is not None and not any(find_quote(found.group(), text) for text in known)
