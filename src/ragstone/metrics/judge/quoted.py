"""Whether an object in a judge's reply is the judge's own: not one that the judged text holds, not one that the reply
speaks of, and not one that it takes back."""

import re
import unicodedata
from collections.abc import Container, Iterator, Mapping
from itertools import accumulate
from typing import Any

from ragstone.metrics.judge.contradictions import plain

_ESCAPES = re.compile(r"\\u([0-9a-fA-F]{4})|\\[nrtbf]")
_FENCE = re.compile(r"```\w*\s*\Z")
_LEFT_OUT = re.compile(r"[^\w{}\[\]:.+\-]+|_+")  # spaces, quotes, commas, backslashes, what no reader sees
_GOES_ON = re.compile(r"[a-z]|\.?\d")
_STRUCK_OUT = re.compile(
    r"~~|</?(?:del|strike)\b[^>]*>|<s>[^<]*</s>|<!--|-->|\[/?(?:s|del|strike)\]|\\(?:sout|st|cancel|xcancel|bcancel)\b|line-through"
    r"|(?<![:\w])//|/\*|\*/",
    re.IGNORECASE,
)
# A text without characters that no reader sees, and without letters of another width or style.
_SEEN = re.compile(
    "[^\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff"
    "\u1d2c-\u1d6a\u2071-\u209c\u2100-\u214f\u249c-\u24e9\uff21-\uff5a\U0001d400-\U0001d7ff]*"
)
_ABOUT = re.compile(
    r"\b(?:for (?:example|instance)|e\.g\.|hypothetical\w*"
    r"|would (?:be|look|say|read|reply|return|have|write|output|give)"
    r"|inject(?:ed|ion|ions|ing)|manipulat\w+|trick\w*|attack\w*|disregard\w*|ignor(?:e|es|ed|ing)"
    r"|(?:passages?|answer|text|document|context|reference|question|material|source|statement|criterion|it|which|that)"
    r"\s+(?:\S+\s+){0,4}?(?:asks?|asked|asking|tells?|telling|told|wants?|wanted|instruct\w*|demands?|orders?|requests?"
    r"|tries|tried|attempts?|suggests?|quotes?|reads?:|says?:|contains?:|includes?:))\b"
    r"|(?:not|isn't|never) (?:my|the|a) (?:own |final |real |actual )*(?:verdict|answer|judge?ment|reply|output)"
    r"|并非我|不是我|例如|比如|譬如|假如|注入|诱导|操纵|试图|忽略|不予理会|无视"
    r"|(?:段落|文本|原文|答案|回答|材料|文中|文档|参考|其中|问题|里面|资料)[^。\n]{0,30}(?:要求|指示|指令|命令|让我|叫我|写着|写道|声称)",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\b(?:quot\w+|string|copied|forged|verbatim|original|input|schema)\b"
    r"|引文|引用|引述|字符串|抄自|复制|伪造|原文|输入",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:wait|correction|corrected|on (?:second|further|closer) (?:thought|look)|on reflection|mistaken?"
    r"|i (?:was|am|made) (?:an? )?(?:wrong|error)|scratch that|let me (?:revise|reconsider|correct|redo|fix|re-?check)"
    r"|revis(?:e|ed|ing|ion)|reconsider\w*|oops|a sample|rather than (?:that|this)"
    r"|(?:verdict|score|grade|above|it|this|that) (?:should|must|ought to|has to) (?:\w+ )?(?:be|read|have)"
    r"|(?:not|isn't|is not) (?:my|the) (?:own |final |actual )*(?:verdict|answer|judge?ment|reply|output)"
    r"|(?:take|took|taking) (?:\w+ ){0,3}back|retract\w*|withdr[ae]w\w*|strike (?:that|this|it)|never ?mind|actually"
    r"|(?:the )?opposite|on the contrary|quite the contrary|(?:i|i'd) (?:\w+ )?disagree|overrul\w*|void"
    r"|(?:that|this|it|which|above|verdict)(?: is| was|'s| are) (?:\w+ )?"
    r"(?:wrong|incorrect|false|not (?:true|right|correct))"
    r"|(?:example|template|placeholder|draft)s?)\b"
    r"|等等|等一下|更正|纠正|修正|不对|写错|搞错|弄错|有误|应为|应该(?:是|为|改)|应改|改为|重新|收回|撤回|作废|推翻|相反|其实|事实上|不同意|不正确|错了|错的|示例|样例|草稿|模板",
    re.IGNORECASE,
)


def occurs_in(value: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    """Whether everything that the object says stands in the judged text as it says it ("verdict": "stated"), in
    whichever order, width, case, quotes, escapes and spaces."""
    text = " ".join(_texts(shown))
    if ":" not in text and "：" not in text:
        return False
    leaves = list(_leaves(value))
    folded = _ESCAPES.sub(_unescaped, text).casefold()
    keys = {max(re.findall(r"[^\W_]+", key) or [""], key=len).casefold() for key, _ in leaves}
    if _SEEN.fullmatch(folded) and not all(key in folded for key in keys):  # most texts, in a tenth of the time
        return False
    parts = _parts(folded)
    judged, ends = "".join(parts), {*accumulate(map(len, parts))}
    said = ("".join(_parts(f"{key}:{_text_of(item)}")) for key, item in leaves)
    return bool(leaves) and all(_stands(text, judged, ends) for text in said)


def _stands(said: str, judged: str, ends: Container[int]) -> bool:
    """Whether this stands there and ends there: "verdict:other" does not stand in "verdict:otherwise"."""
    place = judged.find(said)
    while place >= 0:
        if (end := place + len(said)) in ends or not _GOES_ON.match(judged, end):
            return True
        place = judged.find(said, place + 1)
    return False


def spoken_of(text: str, start: int, end: int) -> bool:
    """Whether the sentence around an object is about somebody else's words: an example, an instruction in the text."""
    before = _FENCE.sub("\n", text[:start])
    line = before.rstrip().rpartition("\n")[2]
    introduced = "\n" not in before[len(before.rstrip()) :] or line.endswith((":", "："))
    return bool((introduced and _ABOUT.search(line)) or _ABOUT.search(text[end:].partition("\n")[0]))


def spoken_of_by(key: str) -> bool:
    """Whether a key says that its object is a draft, an example or a quotation."""
    words = re.sub(r"[\W_]+|(?<=[a-z])(?=[A-Z])", " ", key)
    return bool(_ABOUT.search(words) or _TAKEN_BACK.search(words) or _QUOTED.search(words))


def marks_quotations(prose: str) -> bool:
    """Whether what a reply says beside its objects calls one of them somebody else's."""
    words = prose.replace("_", " ")
    return bool(_ABOUT.search(words) or _QUOTED.search(words))


def taken_back(after: str) -> bool:
    """Whether what follows an object, or is written within it, says that it does not hold."""
    return _TAKEN_BACK.search(plain(after)) is not None


def struck_out(beside: str) -> bool:
    """Whether a reply has the marks of what is deleted or commented out: ~~…~~, <del>, an HTML comment."""
    return _STRUCK_OUT.search(beside) is not None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not str(key).isdigit():
                yield f"{key} "
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else " "


def _parts(text: str) -> list[str]:
    """The text without what makes no difference, parted where that stood."""
    return _LEFT_OUT.split(unicodedata.normalize("NFKC", text).casefold())


def _leaves(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The keys with what is no object of its own; what is left out says nothing."""
    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from _leaves(item)
        elif isinstance(item, list) and item and all(isinstance(one, Mapping) for one in item):
            for one in item:
                yield from _leaves(one)
        elif item is not None:
            yield key, item


def _text_of(value: Any) -> str:
    return f"[{''.join(map(_text_of, value))}]" if isinstance(value, list) else str(value)
