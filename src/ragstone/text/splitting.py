"""Rule-based sentence splitting for English, Chinese and mixed text. Joining the sentences restores the text."""

import re
from bisect import bisect_left

from ragstone.text.characters import HAN, vocabulary

# Marks that can only close, so that they may follow a blank; and all closing marks.
_ONLY_CLOSERS = "”’」』）】》〉］〕｣»"
_CLOSERS = _ONLY_CLOSERS + ")\\]\"'"
# Text in title marks is a single name, whatever its punctuation: 《谁是英雄？》.
_TITLE = re.compile(r"《[^《》\r\n]{1,100}》|〈[^〈〉\r\n]{1,100}〉")
# A citation after a full stop belongs to the sentence it closes: "Paris is large.[1] It grows.[2]"
_CITATION = r"\[\^?\d{1,3}(?:\s?[,-]\s?\d{1,3})*\]"
_BOUNDARY = re.compile(
    rf"""
    (?=[\n\r。！？；｡…⋯.!?])(?:  # a cheap test first, for speed
    (?P<line>[\n\r]\s*)
    | (?P<chinese>[。！？；｡]+(?:[。！？；｡!?…{_CLOSERS}]|[^\S\r\n]+(?=[{_ONLY_CLOSERS}]))*\s*)
    | (?P<ellipsis>[…⋯]+|\.{{2,}}|(?:\.\s){{2,}}\.)(?P<after_ellipsis>[{_CLOSERS}]*\s*)
    | (?P<mark>[!?]+|\.)(?P<after_mark>(?:[{_CLOSERS}]|{_CITATION})*\s*)
    )""",
    re.VERBOSE,
)
_MARKS = re.compile(r"[。！？；｡!?]")
# Always followed by a name.
_TITLES = vocabulary(
    "mr mrs ms mx dr prof rev gen lt col maj capt cmdr sgt cpl adm gov sen rep pres hon messrs supt amb vs v"
    " e.g i.e eg ie cf viz approx ca mme mlle"
)
# Abbreviations only before a number.
_NUMBERED = vocabulary(
    "no nos vol vols fig figs p pp pg art sec ch chap para ver op jan feb mar apr jun jul aug sep sept oct nov dec"
    " mon tue wed thu fri sat sun"
)
# May end a sentence: it does if the next word often starts one.
_MAYBE = vocabulary(
    "inc co corp ltd llc plc etc jr sr bros dept assn univ ave blvd rd st ste mt ft est al ph.d calif fla tex conn ariz"
    " minn mich lb oz"
)
_STARTERS = vocabulary(
    "The This That These Those It Its He She They We You I His Her Their Our My In On At By For From With After Before"
    " As If When While But And So Yet However Also There Here A An What Who Why How Not No Some Many Most Since During"
    " Under According Despite Although Meanwhile Both Each Every All Now Then Today Later"
)
_MARKER = re.compile(r"\s*[(\[（]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)]?\s*")
_WORD_BEFORE = re.compile(r"[A-Za-z](?:[A-Za-z.]*[A-Za-z])?$")
_NEXT_WORD = re.compile(rf"[\s{_CLOSERS}(（\[“‘「『《]*([A-Za-z]*)")
_OPENS_OR_HAN = re.compile(rf"[{HAN}“‘「『《（【〈]")
# A brand such as iPhone or eBay may start a sentence in lower case.
_BRAND = re.compile(r"[a-z]{1,2}[A-Z]")
_BULLETS = "-–—"
_CONTINUES = "，,、；;：:—–-。！？!?…)）”’」』》"


def sentences(text: str, language: str = "") -> list[str]:
    """The sentences of `text`, each with the white space that follows it: `"".join(sentences(text)) == text`.

    A line break always ends a sentence. So do 。！？； in Chinese, with closing quotes and brackets, unless a comma
    continues the sentence after the quote; nothing between 《 and 》 ends one. A citation such as [1] right after a
    full stop, question or exclamation mark belongs to the sentence before it. A full stop ends one unless it belongs
    to an abbreviation, an initial, a decimal or a list marker, or a lower-case letter follows; an ellipsis does only if
    a new sentence starts after it. All rules apply to any text, so `language` makes no difference and mixed text needs
    no special case.
    """
    parts: list[str] = []
    start = 0
    titles = [title.span() for title in _TITLE.finditer(text)] if "《" in text or "〈" in text else []
    for boundary in _BOUNDARY.finditer(text):
        end = boundary.end()
        if boundary.start() < start or end == len(text) or (titles and _in_title(text, boundary, titles)):
            continue
        if boundary["line"] is not None:
            ends = bool(text[start : boundary.start()].strip())
        elif boundary["chinese"] is not None:
            ends = _ends_chinese(text, boundary)
        elif boundary["ellipsis"] is not None:
            ends = _ends_with_dots(text, boundary)
        else:
            ends = _ends_with_mark(text, start, boundary)
        if ends:
            parts.append(text[start:end])
            start = end
    if start < len(text):
        parts.append(text[start:])
    return parts


def _in_title(text: str, boundary: re.Match[str], titles: list[tuple[int, int]]) -> bool:
    """Whether the boundary is inside title marks and no sentence end follows them, as in 《谁？》。"""
    place = bisect_left(titles, boundary.start(), key=lambda title: title[1])
    if place == len(titles) or boundary.start() < titles[place][0]:
        return False
    return _MARKS.search(text, titles[place][1], max(boundary.end(), titles[place][1])) is None


def _ends_chinese(text: str, boundary: re.Match[str]) -> bool:
    follows = text[boundary.end()]
    return follows not in "，、：—" or boundary.group().endswith(("\n", " "))


def _ends_with_dots(text: str, boundary: re.Match[str]) -> bool:
    after, follows = boundary["after_ellipsis"], text[boundary.end()]
    # In Chinese, an ellipsis without a closing quote or space after it is a pause: 他说……不知道。
    return bool(after) and not follows.islower() and follows not in _CONTINUES and follows != "."


def _ends_with_mark(text: str, start: int, boundary: re.Match[str]) -> bool:
    mark, after, follows = boundary["mark"], boundary["after_mark"], text[boundary.end()]
    if not after.endswith((" ", "\n", "\t", "\r", "\u3000", "\xa0")) and not after[-1:].isspace():
        # Without a space, only Chinese text starts a new sentence, as in "OK?他说".
        if not _OPENS_OR_HAN.match(follows):
            return False
        if mark != ".":
            return True
    if follows in _CONTINUES:
        return follows in _BULLETS and "\n" in after  # the next item of a list
    ahead = _NEXT_WORD.match(text, boundary.end())
    word = ahead.group(1) if ahead else ""
    if word[:1].islower() and not _BRAND.match(word):
        return False
    return mark != "." or not _is_abbreviation(text, start, boundary.start(), word, follows)


def _is_abbreviation(text: str, start: int, dot: int, next_word: str, follows: str) -> bool:
    """Whether the full stop at `dot` belongs to the abbreviation before it and does not end the sentence."""
    ending = text[max(start, dot - 7) : dot]
    if len(ending) == 7 and ending.isalpha() and ending.islower():
        return False  # a long word: the usual case
    if _MARKER.fullmatch(text, start, dot):
        return True
    before = _WORD_BEFORE.search(text, max(start, dot - 24), dot)
    if before is None:
        return False
    word = before.group()
    lowered = word.lower()
    if lowered in _TITLES:
        return True
    if lowered in _NUMBERED:
        return follows.isdigit()
    # In "在U.S.工作" no sentence ends; with a space before the Chinese, one does.
    begins = next_word in _STARTERS or (text[dot + 1 : dot + 2].isspace() and bool(_OPENS_OR_HAN.match(follows)))
    if lowered in _MAYBE or (len(word) == 1 and word.isupper()) or re.fullmatch(r"(?:[A-Za-z]\.)+[A-Za-z]", word):
        return not begins
    return False
