"""The citations in an answer, by rule: which passages each of its sentences refers to.

A citation is a number, or several, in brackets: [1], [1,2], [1-3], [1][2], 【1】, ［1］, [^1], 【1†source】; a word for
a source with a number in brackets of any kind: [Source 1], [citation:1], (Document 2), (来源1), （见资料1、2）; or a
number in <sup>…</sup>. A number alone in round brackets and a year are none. Numbers count the passages from 1.
"""

import re
from collections.abc import Sequence

from ragstone.metrics.judge.record import AnswerClaim

# One character for one, so that capitals and places stay.
_WIDTH = str.maketrans("［］（）＜＞，：；～＃–—０１２３４５６７８９", "[]()<>,:;~#--0123456789")
_WORD = (
    r"(?:citations?|cites?|sources?|src|doc(?:ument)?s?|passages?|contexts?|chunks?|references?|refs?|results?"
    r"|web\s?pages?|ids?|notes?|来源|來源|文档|文檔|文件|文献|文獻|资料|資料|参考(?:资料|文献|来源)?|參考|段落|片段|引用|出处"
    r"|检索结果|网页|注)"
)
_JOIN = r"[\s:#_.-]*"
_LEAD = (
    rf"(?:(?:see|from|cf\.?|per|according to|见|見|参见|详见|根据|据)\s*)?(?:the\s)?{_WORD}\s?(?:no\.?|第|编号)?{_JOIN}"
)
_NUMBER = r"(?:0|[1-9]\d{0,2})(?!\d)"
_NUMBERS = rf"{_NUMBER}(?:\s?(?:[,;、&~-]|and|和|与|及|至|到)\s?(?:{_WORD}{_JOIN})?{_NUMBER})*"
_TAIL = r"(?:\s?号|†[^\]】]{0,80})?\s?"
_CITATION = re.compile(
    rf"[\[【〔]\s?\^?(?:{_LEAD})?(?P<square>{_NUMBERS}){_TAIL}[\]】〕]"
    rf"|[(]\s?{_LEAD}(?P<round>{_NUMBERS}){_TAIL}[)]"
    rf"|<sup>\s?[\[(]?(?P<raised>{_NUMBERS})[\])]?\s?</sup>",
    re.IGNORECASE,
)
_RANGE = re.compile(rf"(?P<first>{_NUMBER})(?:\s?(?:[~-]|至|到)\s?(?P<last>{_NUMBER}))?")
_WIDEST = 100  # passages that one range may span
# "[1]: https://…" names the source of a citation and cites nothing; nor do the lines below such a heading.
_DEFINITION = re.compile(r"\s*[\[【]\^?\d{1,3}[\]】]\s?:")
_HEADING = re.compile(
    rf"[\s#*]*(?:{_WORD}|参考来源|引用来源|资料来源|bibliography|works cited)[\s*]*:?[\s*]*", re.IGNORECASE
)
# What makes a leading citation the subject of its own sentence: "[1] says…".
_SUBJECT = re.compile(
    r"\s*(?:[a-z]|[,、和与及]|[中里也都还则]{0,2}(?:指出|提到|提及|显示|表明|说明|认为|记载|介绍|称|说|写道|给出))"
)
_BETWEEN = " \t\r\n,;、。.*"


def cited(sentences: Sequence[str]) -> list[list[int]]:
    """For each sentence of an answer the passages that it cites, as numbers in order, each once.

    A citation at the beginning of a sentence belongs to the sentence before it where that has none of its own or the
    citation stands alone, unless it is the subject ("[2] says"): writers cite after the full stop, where sentences are
    cut. Lines such as "[1]: https://…", and what follows a heading such as "Sources:", cite nothing.
    """
    citations: list[list[int]] = []
    listing = False
    for sentence in sentences:
        text = sentence.translate(_WIDTH)
        listing = listing or (bool(citations) and _HEADING.fullmatch(text) is not None)
        if listing or _DEFINITION.match(text):
            citations.append([])
            continue
        matches = list(_CITATION.finditer(text))
        leading, end = 0, 0
        while leading < len(matches) and not text[end : matches[leading].start()].strip(_BETWEEN):
            end = matches[leading].end()
            leading += 1
        alone = not text[end:].strip(_BETWEEN)
        if leading and citations and (alone or (not citations[-1] and not _SUBJECT.match(text[end:]))):
            citations[-1] = _once([*citations[-1], *_numbers(matches[:leading])])
            matches = matches[leading:]
        citations.append(_once(_numbers(matches)))
    return citations


def backing(claim: AnswerClaim, citations: Sequence[Sequence[int]]) -> set[int]:
    """The passages that a claim's sentence cites and that support it. Where it takes several together, all of them have
    to be cited."""
    cites = citations[claim.sentence - 1] if 1 <= claim.sentence <= len(citations) else ()
    support = set(claim.supported_by)
    backed = support.intersection(cites)
    return set() if claim.together and backed != support else backed


def _once(numbers: Sequence[int]) -> list[int]:
    return list(dict.fromkeys(numbers))


def _numbers(matches: Sequence[re.Match[str]]) -> list[int]:
    """The numbers that citations name, ranges written out."""
    numbers: list[int] = []
    for match in matches:
        for bounds in _RANGE.finditer(match["square"] or match["round"] or match["raised"]):
            first, last = int(bounds["first"]), int(bounds["last"] or bounds["first"])
            spans = first <= last <= first + _WIDEST
            numbers += range(first, last + 1) if spans else (first, last)
    return numbers
