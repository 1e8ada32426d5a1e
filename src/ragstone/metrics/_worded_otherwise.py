"""References that an answer states in other words: yes and no, a value in another unit, a person by the surname, and a
phrase whose words stand in another order.

Each rule asks for the whole reference; nothing is inferred. Where a reference names keys with their values ("North
Tower 92 m; South Tower 88 m"), each value must stand with its key.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from ragstone.metrics._chosen import LONGEST
from ragstone.metrics._keyed_values import bindings
from ragstone.metrics._open_questions import stems
from ragstone.metrics._phrases import phrases
from ragstone.text import find_answer
from ragstone.text.characters import HAN
from ragstone.text.folding import fold, fold_characters
from ragstone.text.measures import FACTORS, measures_in
from ragstone.text.notation import beside_quantities, clock_times, find_value, names_unit

Spans: TypeAlias = list[tuple[int, int]]
_YES = frozenset(("yes", "true", "是", "是的", "能", "可以", "会", "有", "对"))
_NO = frozenset(("no", "false", "否", "不", "不是", "不能", "不可以", "不会", "没有", "不对"))
_SENTENCE = re.compile(r"[\n。！？!?；;]|\.(?=\s|$)")
_CLAUSE = re.compile(r"[\n。！？!?；;，]|\.(?=\s|$)|,(?=\s)")
_NAME = re.compile(r"[A-Z]\w*\.?(?:[ -](?:[A-Z]\w*\.?|de|van|von|da|di|del|der|la|le|bin|al))*(?: [A-Z]\w+)")
_FIRST_NAME = re.compile(r"(?:^|\s)[A-Z](?:\w+|\.)[ -]$|-$")
_WHO = re.compile(r"\b(?:who|whom|whose|which \w+|name)\b", re.IGNORECASE)
_CLOCK = re.compile(
    r"(?:[上下]午|晚上?|早上?|凌晨|中午|傍晚)?\s?\d{1,2}(?:[:点时]\d{0,2}分?|(?=\s?[ap]))\s?(?:[ap]\.?m\.?)?"
)
_MOST_STEMS, _MOST_SENTENCES = 12, 200
_BRITISH = tuple(
    (re.compile(british), american)
    for british, american in (
        ("ae|oe", "e"), ("our", "or"), ("is(?=e|ing|ation)", "iz"), ("tre$", "ter"), ("gue$", "g"), ("ll", "l"),
        ("grey", "gray"), ("^dough(?=nut)", "do"), ("plough", "plow"), ("ence$", "ense"),
    )
)  # fmt: skip
_KEYED = re.compile(
    r"\s*(?P<key>[^\d:：$€£¥]*?[^\d:：\s$€£¥]|(?:1\d|20)\d\d年?(?=[\s:：]|(?<=年)))\s*[:：]?\s*"
    r"(?P<value>[$€£¥]?\s?\d.*|(?<=[:：]).+?|(?<=[:：] ).+?)\s*"
)
_VALUED = re.compile(rf"\s*(?P<value>\d[\d.,]*)\s*(?P<key>[a-z]{{3,}}|[{HAN}])\s*")
_COUNTED = re.compile(rf"\d[\d.,]*(?: ?[a-zA-Z]+| ?[{HAN}])")
_PARTS = re.compile(r"[,，;；、]\s*|\s+and\s+|(?<=[\d个枚球金银铜])(?=\d)")


def otherwise(alias: str, answer: str, question: str) -> Spans:
    """Where an answer states `alias` in other words."""
    if len(answer) > LONGEST:
        return []
    if polarity := yes_or_no(alias):
        return _polar(polarity, answer, question)
    return (
        _rewritten(alias, answer)
        or _spelled(alias, answer)
        or _measured(alias, answer, question)
        or _named(alias, answer, question)
        or _phrased(alias, answer)
    )


def yes_or_no(alias: str) -> str:
    """ "yes" or "no" for a reference that is nothing else, else ""."""
    word = fold_characters(alias.strip(" .。!！")).text
    return "yes" if word in _YES else "no" if word in _NO else ""


def _polar(polarity: str, answer: str, question: str) -> Spans:
    """The sentence that answers a question of yes or no, if it does so this way: the first word, or the conclusion."""
    said = _said(answer, question)
    return [(0, len(answer))] if said == polarity else []


def _said(answer: str, question: str) -> str:
    """What an answer to a question of yes or no says: by the conclusion, its first word, or whether it negates what
    was asked."""
    text = fold_characters(answer).text
    language = "zh" if re.search(f"[{HAN}]", text) else "en"
    units = [unit.strip(" *#>-") for unit in _CLAUSE.split(text.replace("**", "")) if re.search(r"\w", unit)]
    units = units[:_MOST_SENTENCES]
    if not units:
        return ""
    no, yes = phrases(f"polarity.no.{language}"), phrases(f"polarity.yes.{language}")
    negates = phrases(f"polarity.negates.{language}")
    verdicts = [place for place, unit in enumerate(units) if phrases(f"open.verdict.{language}").search(unit)]
    if verdicts:
        unit = units[verdicts[-1]]
        unit = f"{unit} {units[verdicts[-1] + 1]}" if len(unit) < 12 and verdicts[-1] + 1 < len(units) else unit
        unit = re.sub(r"^[\w\s;]{2,16}: ?", "", unit)
        return "no" if negates.search(unit) else "yes"
    if no.match(units[0]):
        return "no"
    if yes.match(units[0]):
        return "yes"
    asked = stems(question)
    units = [unit for unit in units if "是否" not in unit and "whether" not in unit] or units
    best = max(units, key=lambda unit: (len(stems(unit) & asked), -units.index(unit)))
    if not stems(best) & asked:
        return ""
    return "no" if negates.search(best) else "yes"


# Frequencies, rates, limits and days, in one form each; the text is folded, its numerals are digits.
_UNIT_OF_TIME = "(?=(?:day|week|month|year|hour|person|night)\\b)"
_FORMS = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        (r"\btwice\b", "2 times"),
        (r"\bthrice\b", "3 times"),
        (r"\bonce\b(?= (?:a|per|each|every|daily|weekly))", "1 times"),
        (r"(?<!\btimes )(?<!\btime )\b(?:annually|yearly)\b", "1 times per year"),
        (r"\b(?:annually|yearly)\b", "per year"),
        (r"\bdaily\b", "per day"),
        (r"\bweekly\b", "per week"),
        (r"\bmonthly\b", "per month"),
        (rf"(?:\b(?:for )?(?:a|an|each|every)|/) ?{_UNIT_OF_TIME}", "per "),
        (r"\b(?:at most|no more than|not more than|a maximum of|maximum of|not exceeding)(?= \S)", "up to"),
        (r"\b(?:no less than|not less than|a minimum of|minimum of)(?= \S)", "at least"),
        (r"\bbetween (\d[\d.,]*) and (?=\d)", r"\1 to "),
        (r"\bbusiness days?\b", "working days"),
        (r"\bworld war (?:two|2|ii)\b|\bwwii\b|\bsecond world war\b", "world war ii"),
        (r"\bworld war (?:one|1|i)\b|\bwwi\b|\bfirst world war\b", "world war i"),
        (r"(?:每日|每天|一天|一日|1天|1日)(?=\d)", "每天"),
        (r"(?:每月|每个月|1个月)(?=\d)", "每月"),
        (r"(?:每年|一年|1年)(?=\d)", "每年"),
        (r"(?:礼拜|星期|周)[天日]", "星期日"),
        (r"(?:礼拜|周)(?=[一二三四五六1-6])", "星期"),
        (r"半(?:个)?小时", "30分钟"),
        (r"一刻钟", "15分钟"),
        (r"(?:至多|最多|不超过|不多于|上限为?)(?=\d)", "最多"),
        (r"(?:低于|小于|少于|不到|不足)(\d[\d.]*\s?[^\s,。]{1,8}?)(?=$|[,。])", r"\1以下"),
        (r"([\d.]+)\s?元/(?:㎡|平方米|平米|m2)", r"每平方米\1元"),
        (r"每平米", "每平方米"),
        (r"(?<![斤\d])两(?=[瓣把个名次天人张条])", "2"),
    )
)
_DIGITS = re.compile(r"\+?\d[\d ()-]{5,}\d")


def _rewritten(alias: str, answer: str) -> Spans:
    """A frequency, rate, limit or day in another form, and a number of a telephone with other gaps."""
    if _DIGITS.fullmatch(alias.strip()):
        digits = re.sub(r"\D", "", alias)
        return [match.span() for match in _DIGITS.finditer(answer) if re.sub(r"\D", "", match[0]) == digits]
    own, text = _form(fold(alias).text), fold(answer).text
    if own == fold(alias).text and not any(pattern.search(text) for pattern, _ in _FORMS):
        return []
    return [(0, len(answer))] if find_answer(own, _form(text)) else []


def _form(text: str) -> str:
    for pattern, form in _FORMS:
        text = pattern.sub(form, text)
    return text


@lru_cache(maxsize=4096)
def _american(text: str) -> str:
    words = []
    for word in text.split():
        for pattern, other in _BRITISH:
            word = pattern.sub(other, word)  # noqa: PLW2901
        words.append(word)
    return " ".join(words)


def _spelled(alias: str, answer: str) -> Spans:
    """The alias in British or American spelling."""
    if not alias.islower() or not re.search("[a-z]{4}", alias) or re.search(r"\d", alias):
        return []
    text = fold_characters(answer).text
    american = _american(fold_characters(alias).text)
    bare = re.sub(r"^(?:as|to|the|an?|of|in|on|at) (?:an? |the )?", "", american)
    return [(0, len(answer))] if len(bare) > 3 and find_answer(bare, _american(re.sub(r"[^\w\s-]", " ", text))) else []


def _measured(alias: str, answer: str, question: str = "") -> Spans:
    """The same time or quantity with a known unit in another notation; where the question asks for this unit, in it."""
    folded = fold(alias).text
    timed = bool(clock_times(alias))
    if len(alias) > 40 or not (timed or any(map(str.isdigit, folded))):
        return []
    known = [measure for measure in measures_in(folded) if measure.unit in FACTORS]
    if not (known or timed or _CLOCK.fullmatch(folded.strip())) or beside_quantities(alias).strip(" .,"):
        return []
    asked = names_unit(question, {measure.unit for measure in known})
    text, found = find_value(alias, answer, same_unit=asked)
    return found if text == answer else [(0, len(answer))] if found else []


def _named(alias: str, answer: str, question: str) -> Spans:
    """A person without the middle name, with initials in place of names or the reverse, with the names in the other
    order, or by the surname alone where nobody's first name stands before it."""
    if not _NAME.fullmatch(alias.strip()) or not 2 <= len(alias.split()) <= 5:
        return []
    *given, last = [part.strip(".") for part in re.split(r"[ .]+", alias.strip()) if part.strip(".")]
    if not given or len(last) == 1:
        return []
    first, surname = re.escape(given[0]), re.escape(last)
    forms = [
        rf"\b{'[ .]+'.join(map(_given, given))}[ .]+{surname}\b",
        rf"\b{first}(?: [A-Z]\.?)? {surname}\b",
    ]
    if len(given) == 1 and len(last) > 2 and len(given[0]) > 2:
        forms.append(rf"\b{surname} {first}\b")
    for form in forms:
        if found := [match.span() for match in re.finditer(form, answer)]:
            return found
    if not _WHO.search(question) or len(last) < 4:
        return []
    return [
        match.span()
        for match in re.finditer(rf"\b{surname}\b(?! [A-Z])", answer)
        if not _FIRST_NAME.search(answer[max(0, match.start() - 30) : match.start()])
    ]


def _given(name: str) -> str:
    """The pattern of a first name, or of its initial."""
    return rf"{name}(?:\w+|\.)?" if len(name) == 1 else rf"(?:{re.escape(name)}|{re.escape(name[0])}\.)"


def _phrased(alias: str, answer: str) -> Spans:
    """A phrase all of whose words one sentence of the answer has, in any order."""
    sought = _content(alias)
    if not 2 <= len(sought) <= _MOST_STEMS or not _is_phrase(alias):
        return []
    start = 0
    found: Spans = []
    # A number belongs to the words of its own clause.
    cuts = _CLAUSE if re.search(r"\d", fold(alias).text) else _SENTENCE
    for end in [*(match.end() for match in cuts.finditer(answer)), len(answer)][:_MOST_SENTENCES]:
        sentence = answer[start:end]
        if len(sentence) < 600 and sought <= _content(sentence) and _has_quantities(alias, sentence):
            found.append((start, end))
        start = end
    return found


def _has_quantities(alias: str, sentence: str) -> bool:
    """Whether each number of an alias stands in a sentence with the word that it counts."""
    return all(find_answer(counted[0], sentence) for counted in _COUNTED.finditer(alias))


def _is_phrase(alias: str) -> bool:
    """Whether an alias is made of words that may stand in another order, and no name or quantity."""
    if re.search(f"[{HAN}]", alias):
        return len(re.findall(f"[{HAN}]", alias)) >= (7 if re.search(r"\d", fold(alias).text) else 4)
    words = re.findall(r"[^\W\d]{3,}", alias)
    return bool(sum(word[0].islower() for word in words) >= (3 if re.search(r"\d", alias) else 2))


def _content(text: str) -> frozenset[str]:
    """The stems of a text in American spelling, numerals as digits, Chinese by character."""
    words = stems(_american(fold(text).text))
    return frozenset(word for word in words if word.isascii() or len(word) == 1)


def keyed(slots: Sequence[Sequence[str]], answer: str) -> list[Spans] | None:
    """For references of keys with their values ("CEO: Nora Feld"; or several in one: "Lyon 3, Porto 5"), where the
    answer states each value with its key; [] if one stands with another key, None if the references are of another form
    or it cannot be told."""
    if len(answer) > LONGEST:
        return None
    parts = [part for slot in slots for part in (_PARTS.split(slot[0]) if len(slots) == 1 else slot[:1])]
    one = len(slots) == 1
    form = _VALUED if one and all(map(_VALUED.fullmatch, parts)) else _KEYED
    pairs = [match.group("key", "value") for part in parts if (match := form.fullmatch(part))]
    if len(pairs) < 2 or len(pairs) != len(parts):
        return None
    keys = [key.strip() for key, _ in pairs]
    spans = {value: find_answer(value, answer) or _measured(value, answer) for _, value in pairs}
    if len(set(keys)) < len(keys) or not all(spans.values()):
        return None
    words = [_key_in(key, keys, answer) for key in keys]
    if not all(words):
        return None
    bound = bindings(answer, words, spans)
    told: list[Spans] = []
    for (_, value), word in zip(pairs, words, strict=True):
        of_value = [mention for mention in bound if mention.mention.value == value]
        own = [(mention.mention.start, mention.mention.end) for mention in of_value if mention.key == word]
        if not own and all(mention.key for mention in of_value):
            return []
        told.append(own)
    if not all(told):
        return None
    return told if not one else [[span for spans_of in told for span in spans_of]]


def _key_in(key: str, keys: Sequence[str], answer: str) -> str:
    """How an answer spells a key: whole, or by the words that only it has."""
    low = answer.lower()
    if key.lower() in low:
        return key
    others = {word for other in keys if other != key for word in other.lower().split()}
    own = [word for word in key.split() if word.lower() not in others and len(word) > 2]
    return next(
        (
            word
            for word in own
            if re.search(rf"\b{re.escape(word[:-2] if len(word) > 5 else word)}", answer, re.IGNORECASE)
        ),
        "",
    )
