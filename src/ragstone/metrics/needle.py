"""Whether the needles are in an answer, and whether an answer says that there is none: by rule.

A needle that is a number is stated however its digits are grouped (3118205; 3,118,205; 3 118 205; 3.118.205;
3'118'205; full width) and as a Chinese numeral (三百一十一万八千二百零五, 三一一八二〇五, 311万8205); a longer number
that contains its digits does not state it. Any other needle is stated where `find_answer` finds one of its aliases.

A number that the answer names counts even where the answer doubts or denies it: to find the needle is what is asked.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import ClassVar, Literal

from ragstone.metrics._keyed_values import bindings
from ragstone.metrics._references import NO_REFERENCE, filled
from ragstone.metrics.refusal import refusal_spans
from ragstone.text import estimate_tokens, find_answer
from ragstone.types import Case, Need, Response, Score

_GROUPING = r"[,.'’`_·  \s\-]"  # between groups of three digits
_HAN_DIGITS = str.maketrans(
    "零〇○一壹二贰两三叁四肆五伍六陆七柒八捌九玖", "000" + "11" + "222" + "33" + "44" + "55" + "66" + "77" + "88" + "99"
)
_HAN_RUN = re.compile("[零〇○一壹二贰两三叁四肆五伍六陆七柒八捌九玖]+")
_WAN = re.compile(r"(?<![\d.,])(\d+)\s?万\s?(\d{4})?(?!\d)")
_SHORT, _LONGEST = 64, 8_000  # tokens of a short answer, characters of any other that has a form
_SEVEN_DIGITS = re.compile(rf"(?<!\d)\d(?:{_GROUPING}?\d{{3}}){{2}}(?!\d)")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NUMBERED = re.compile(r"(?<!\S)\d+\s*[.)、．]\s*\S")
_LEAD_IN = re.compile(r"^[^:：\n]*[:：]")
_SEPARATED = re.compile(r"[,，、;；\n]|\band\b")
_UNANSWERABLE = re.compile(r"unanswerable|无法回答|無法回答|不可回答|无法作答", re.IGNORECASE)


def number_spans(number: str, text: str) -> list[tuple[int, int]]:
    """Where a whole number (its digits) is stated in a text, in characters of the text; [] where it is not."""
    wide = "".join(
        unicodedata.normalize("NFKC", char) if "０" <= char <= "９" or char in "，．" else char for char in text
    )
    head = len(number) % 3 or 3
    groups = [number[:head], *(number[at : at + 3] for at in range(head, len(number), 3))]
    body = "|".join({re.escape(number), f"{_GROUPING}".join(map(re.escape, groups))})
    before, after = r"(?<!\d)(?<!\d[.,'’_])", r"(?!\d)(?![.,'’_]\d)"
    spans = [match.span() for match in re.finditer(f"{before}(?:{body}){after}", wide)]
    spans += [run.span() for run in _HAN_RUN.finditer(wide) if run[0].translate(_HAN_DIGITS) == number]
    value = int(number)
    spans += [match.span() for match in _WAN.finditer(wide) if int(match[1]) * 10_000 + int(match[2] or 0) == value]
    spans += find_answer(number, text)
    return sorted(dict.fromkeys(spans))


@dataclass(frozen=True)
class NeedleFound:
    """`needle.found`: the share of the needles that the answer states, by rule.

    Formula: needles stated / needles (the slots of the sample's references; any alias of a slot states it). Where the
    context has other values of the same form (`meta["keys"]`, `meta["others"]` of the sample): values that stand with
    their own key / (values asked for + others that the answer names). Where one key is asked for, a value needs none
    with it, but may not stand with another; where several are, each value needs its key, or the answer names no key and
    gives the values in the order of the question (`form` only). So a list of all values is worth no more than a guess.
    Where a task says what form its values have (`meta["form"]`): every other "number" or "uuid" of the answer is such
    another value; of a "list" needles / (needles or items of the list, whichever are more); of a "short" answer only
    the first 64 tokens count, of any other the first 8,000 characters.
    Range: 0 to 1, higher is better.
    Needs: the answer, the reference.
    Evidence: {"spans": for each needle, where it is stated}, and where keys count "keys": for each needle, the keys
    that it stands with ("": none), and "extra": the others that the answer names.
    Source: Dhinakaran 2024, "The Needle in a Haystack Test" (a random number, found by rule); the keys are ragstone's.

    | case | result |
    |---|---|
    | the answer declines | 0, unless it states the needle all the same |
    | the answer is empty | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable: a control has no needle |
    """

    name: ClassVar[str] = "needle.found"
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})

    def score(self, case: Case, response: Response, /) -> Score:
        slots = filled(case.sample)
        if not slots:
            return Score.not_applicable(NO_REFERENCE)
        meta, language = case.sample.meta, case.query.language or case.sample.language
        form = str(meta.get("form") or "")
        answer = _beginning(response.answer, form)
        spans = [[list(span) for alias in slot for span in _spans(alias, answer, language)] for slot in slots]
        keys = meta.get("keys") or []
        if len(keys) != len(slots):
            asked = max(len(spans), _items(answer)) if form == "list" else len(spans)
            return Score.of(sum(map(bool, spans)) / asked, evidence={"spans": spans})
        others = [(str(value), str(key)) for value, key in meta.get("others") or []]
        values, names = [slot[0] for slot in slots], [str(key) for key in keys]
        return _by_keys(answer, values, names, others, spans, language, form)


def _spans(alias: str, answer: str, language: str) -> list[tuple[int, int]]:
    """Where an answer states an alias."""
    number = alias.isdecimal() and alias.isascii()
    return number_spans(alias, answer) if number else find_answer(alias, answer, language)


def _beginning(answer: str, form: str) -> str:
    """What counts of an answer, where its task says a form."""
    if form != "short":
        return answer[:_LONGEST] if form else answer
    tokens = estimate_tokens(answer)
    return answer if tokens <= _SHORT else answer[: len(answer) * _SHORT // tokens]


def _items(answer: str) -> int:
    """How many items an answer lists: numbered, separated, or else its words."""
    if len(numbered := _NUMBERED.findall(answer)) > 1:
        return len(numbered)
    listed = _LEAD_IN.sub("", answer, count=1)
    items = [item for item in _SEPARATED.split(listed) if item.strip()]
    return len(items) if len(items) > 1 else len(answer.split())


def _of_form(form: str, answer: str) -> dict[str, list[tuple[int, int]]]:
    """Where an answer states values of this form."""
    spans: dict[str, list[tuple[int, int]]] = {}
    pattern = {"uuid": _UUID, "number": _SEVEN_DIGITS}.get(form)
    for match in pattern.finditer(answer) if pattern else ():
        value = match[0].lower() if form == "uuid" else re.sub(r"\D", "", match[0])
        spans.setdefault(value, []).append(match.span())
    return spans


def _by_keys(
    answer: str, values: list[str], keys: list[str], others: list[tuple[str, str]], spans: list[list[list[int]]],
    language: str, form: str,
) -> Score:  # fmt: skip
    """The score where a value must stand with its own key."""
    known = list(dict.fromkeys([*keys, *(key for _, key in others if key)]))
    spans_of = {value: _spans(value, answer, language) for value in dict.fromkeys([*values, *(v for v, _ in others)])}
    more = {value: at for value, at in _of_form(form, answer).items() if value not in spans_of and value not in known}
    spans_of |= more
    with_keys: dict[str, set[str]] = {value: set() for value in spans_of}
    alone = len(set(keys)) == 1
    bound = bindings(answer, known, spans_of)
    if form and not alone and not any(key for _, key, _ in bound):
        named = list(dict.fromkeys(mention.value for mention, _, _ in bound))
        with_keys |= {value: {key} for value, key in zip(named, keys, strict=False)}
        bound = []
    for mention, key, carried in bound:
        with_keys[mention.value].add("" if alone and carried else key)
    bare = {""} if alone else set()
    right = [
        bool(with_keys[value]) and with_keys[value] <= {key, *bare} for value, key in zip(values, keys, strict=True)
    ]
    extra = [*(value for value, _ in others if spans_of[value]), *more]
    evidence = {"spans": spans, "keys": [sorted(with_keys[value]) for value in values], "extra": extra}
    return Score.of(sum(right) / (len(values) + len(extra)), evidence=evidence)


@dataclass(frozen=True)
class NeedleRefused:
    """`needle.refused`: 1.0 if the answer says that the context does not hold what was asked, else 0.0.

    Formula: 1 if the answer has the word UNANSWERABLE (无法回答) or declines by the phrases of `refusal`, else 0.
    Range: 0 or 1, neither is better: right in a control, a false alarm where there is a needle.
    Needs: the answer.
    Evidence: {"spans": where it says so}.
    Source: Dhinakaran 2024, "The Needle in a Haystack Test" (the control without a needle).

    | case | result |
    |---|---|
    | the answer declines | 1 |
    | the answer is empty | 0: it says nothing |
    | no passages | scored; none are needed |
    | no reference | scored; none is needed |
    """

    name: ClassVar[str] = "needle.refused"
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER})
    better: ClassVar[Literal["higher", "lower", "neither"]] = "neither"

    def score(self, case: Case, response: Response, /) -> Score:
        spans = [list(match.span()) for match in _UNANSWERABLE.finditer(response.answer)]
        spans += [list(span) for span in refusal_spans(response.answer)]
        return Score.of(float(bool(spans)), evidence={"spans": sorted(spans)})


PLUGINS = {"needle.found": NeedleFound(), "needle.refused": NeedleRefused()}
