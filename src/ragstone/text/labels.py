"""Where a text labels its sources, steps and items: [1], (Document 3), 根据文档1，… These numbers are no values."""

import re

_WORDS = (
    "documents?|docs?|passages?|sources?|excerpts?|extracts?|texts?|articles?|references?|refs?|sections?|steps?|pages?|"
    "chapters?|items?|points?|figures?|fig|tables?|paragraphs?|lines?|no|p"
)
_ZH = "文档|文件|资料|材料|段落|文章|文献|来源|片段|参考资料|引用|出处|步骤|第|条目|要点|表|图"
_NUMBERS = r"\d{1,3}(?:\s?(?:,|、|，|和|与|及|and|&|-|–|至|到)\s?\d{1,3}(?![\d.%]))*"
_LABELS = re.compile(
    rf"\[\s?(?:(?:{_WORDS}|{_ZH})\.?\s?)?{_NUMBERS}\s?\]"
    rf"|【\s?(?:(?:{_WORDS}|{_ZH})\.?\s?)?{_NUMBERS}\s?】"
    rf"|\b(?:{_WORDS})\.?\s?\[?\(?#?{_NUMBERS}\b(?![.,]?\d)\]?\)?"
    rf"|(?:文档|资料|材料|段落|文献|来源|片段|参考资料|引用|步骤)\s?[\[【(（]?{_NUMBERS}(?![\d.%])[\]】)）]?"
    r"|第\s?\d{1,3}\s?(?:步|条|段|页|章|节|篇|份文档|个文档|点|项)(?![\d])"
    r"|(?m:^[ \t>*_#-]*(?:\(|（)?\d{1,2}(?:[.)）](?!\d)|、|:(?=\s)|：)(?=\s|\S))"
    r"|[①-⑳]",
    re.IGNORECASE,
)


def label_spans(text: str) -> list[tuple[int, int]]:
    """Where the labels of sources, steps and items stand, in order."""
    return [match.span() for match in _LABELS.finditer(text)]


def without_labels(text: str) -> str:
    """The text with a blank for each character of its labels."""
    return _LABELS.sub(lambda match: " " * len(match[0]), text)
