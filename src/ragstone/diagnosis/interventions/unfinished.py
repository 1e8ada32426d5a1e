"""Where an answer stops within what the right passages state: after the first words of the value, as a model that was
told to be brief stops, or in the middle of a sentence, as an output stops at its limit."""

import re
from collections.abc import Sequence
from itertools import chain
from typing import Literal, TypeAlias

from ragstone.analysis.gold_passages import evidence_of
from ragstone.analysis.statements import letters, letters_begun
from ragstone.text import sentences
from ragstone.text.folding import fold_characters
from ragstone.types import Passage

Stop: TypeAlias = Literal["value", "sentence", ""]

_FEWEST = 2  # letters that are no accident
_OTHER_PART = re.compile(r"\s*(?:[,;，；、(（]|\b(?:and|or|for|of|per|in|on|at|to|from)\b|[和与及或每])")
_EDGES = " \n\t.…。!！\"'“”"


def stops_within(answer: str, gold: Sequence[Passage], slots: Sequence[Sequence[str]]) -> Stop:
    """ "sentence" if an answer ends with the beginning of a sentence of the gold, before the end of the value that the
    sentence states; "value" if it is nothing but the first part of a value, cut within it and not between the parts of
    a list; "" for neither."""
    known = [one for item in gold for one in evidence_of(item, slots)]
    for one in known:
        texts = [one.text] if one.value else sentences(one.text)
        for text in texts:
            whole, value = letters(text), letters(one.value)
            if 0 < letters_begun(whole, answer) < (whole.find(value) + len(value) if value else len(whole)):
                return "sentence"
    said = fold_characters(answer.strip(_EDGES)).text
    values = chain((alias for slot in slots for alias in slot), (one.value for one in known))
    return "value" if any(_begins(said, fold_characters(value).text) for value in values) else ""


def _begins(said: str, value: str) -> bool:
    """Whether a text is the first part of a value, which goes on after it in the same part, behind small words."""
    place = value.find(said) if len(letters(said)) >= _FEWEST else -1
    if place < 0 or (place and said[0].isalnum() and value[place - 1].isascii() and value[place - 1].isalnum()):
        return False
    rest = value[place + len(said) :]
    return bool(letters(rest)) and not _OTHER_PART.match(rest)
