"""What the rules for refusals, detected errors and negated answers share: the names of the documents, and clauses."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ragstone.text import Folded, sentences
from ragstone.text.characters import is_han
from ragstone.text.folding import fold_characters

__all__ = ["DOCS_EN", "DOCS_ZH", "Clause", "clauses"]

# What an answer calls the passages it was given. Texts are folded, so lower case and half width throughout.
_NOUNS_EN = (
    r"(?:documents?|docs?|passages?|contexts?|texts?|articles?|sources?|excerpts?|snippets?|materials?|references?|reports?|"
    r"search results?|information|data|content)"
)
_ADJECTIVES_EN = (
    r"(?:(?:provided|given|available|supplied|above|supporting|retrieved|external|current|existing|aforementioned|"
    r"following|attached|reference|context|textual|five|two|three|four|\d+) ){0,3}"
)
DOCS_EN = (
    r"(?:(?:any|all|none|each|either|neither|both|most|some) of )?"
    r"(?:the|these|this|those|that|my|your|any|all|each|no|neither|both)"
    rf" {_ADJECTIVES_EN}{_NOUNS_EN}"
    r"(?: (?:\[?\d+\]?|provided|given|above|supplied|available|presented|you (?:gave|provided|shared)(?: me)?"
    r"|i (?:have|was given)|at hand|themselves|itself|alone))?"
)
DOCS_ZH = (
    "(?:文档|文本|文章|资料|材料|段落|上下文|文献|文中|原文|文件|片段|报道|检索结果|搜索结果|参考信息|提供的信息|给定的信息"
    "|给出的信息|已知信息|现有信息|上述信息|以上信息|所给信息)"
)

_CONTRAST = re.compile(
    r"(?P<en>(?:[,;:-] ?|\b)(?:but|however|nevertheless|nonetheless|yet(?= (?:the|it|they|i|we)\b)|although|though|even though|while|whereas)\b,?"
    r"|; |, and (?=(?:the|these|this|they|it|i|no|none)\b))"
    r"|(?P<zh>但是|但(?!丁)|不过|然而|可是|虽然|尽管|虽(?!说)|[,;](?![0-9]))"
)
_CONCESSIONS = ("although", "though", "even though", "while", "whereas", "虽然", "尽管", "虽")


@dataclass(frozen=True)
class Clause:
    """A clause of an answer. `text` is folded; `contrast`: it begins with but, however, 但…"""

    text: str
    contrast: bool
    sentence: Folded
    begin: int
    base: int

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where text[start:end] stands in the original answer."""
        first, last = self.sentence.span(self.begin + start, self.begin + end)
        return self.base + first, self.base + last


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a text in order, cut at sentence ends, at words of contrast and, in Chinese, at commas."""
    base = 0
    for sentence in sentences(text):
        folded = fold_characters(sentence)
        for start, end, contrast in _cut(folded.text, any(is_han(char) for char in sentence)):
            if folded.text[start:end].strip():
                yield Clause(folded.text[start:end], contrast, folded, start, base)
        base += len(sentence)


def _cut(text: str, chinese: bool) -> Iterator[tuple[int, int, bool]]:
    """(start, end, whether it begins with a contrast) for each clause of one folded sentence."""
    start, contrast, concession = 0, False, False
    for cut in _CONTRAST.finditer(text):
        if (cut["zh"] is not None and not chinese) or cut.start() < start:
            continue
        if text[start : cut.start()].strip():
            yield from _conceded(text, start, cut.start(), contrast, concession)
            contrast = concession = False
        mark = cut.group().strip(" ,;:-")
        concession = mark in _CONCESSIONS
        contrast = contrast if not mark else not concession and mark != "and"
        start = cut.end()
    yield from _conceded(text, start, len(text), contrast, concession)


def _conceded(text: str, start: int, end: int, contrast: bool, concession: bool) -> Iterator[tuple[int, int, bool]]:
    """In "although A, B" the clause B takes back A: cut at that comma."""
    comma = text.find(", ", start, end) if concession else -1
    if comma < 0:
        yield start, end, contrast
    else:
        yield start, comma, contrast
        yield comma + 2, end, True
