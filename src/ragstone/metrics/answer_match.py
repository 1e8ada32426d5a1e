"""Whether an answer states what the references ask for.

An alias is found as `find_answer` finds it, a range of numbers with any sign between them, as a value whose labels say
the rest of it (`labelled_values`), or in other words (`otherwise`). A mention that is denied does not count ("it was
not X", "rather than X", 并非X), one in another role than the answer does not (`chosen`), and neither does anything in
an answer that declines to answer.

Labelled values stand apart from the words that say what they are: in a row of a table ("Annual leave | 25", below the
header "Days"), after a label ("Room: 214"), or alone, where the question has said the rest. A value states a reference
if the whole cell is a part of it, and each other word of the reference stands in what labels the cell: its header, the
first cell of its row, the cell beside it. The question may say the rest where the cell has no header, and its label has
no word that is not the question's: "Sick leave | 25 days" is not about annual leave.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

from ragstone.metrics._chosen import LONGEST, Text, chosen
from ragstone.metrics._clauses import clauses
from ragstone.metrics._paraphrase import may_paraphrase
from ragstone.metrics._phrases import phrases
from ragstone.metrics._worded_otherwise import keyed, otherwise, yes_or_no
from ragstone.metrics.answerable import refusal_expected, refusal_score
from ragstone.metrics.reference_core import beyond_question, is_bare, opposed
from ragstone.metrics.refusal import declines_whole, refusal_spans
from ragstone.text import find_answer, words
from ragstone.text.folding import fold, fold_characters
from ragstone.types import Case, Need, Response, Score

UNSURE = "the answer may say the reference in other words"

_NEAR = 120
_RANGE = re.compile(r"(?<![\d-])(\d[\d.,:]*)\s*(?:-|–|—|~|～|\bto\b|至|到)\s*(?=\d)")
_JOINS = ("-", " to ", "至", "到", "~")
# "to the bursar" is stated by "the bursar", not by "from the bursar". With numbers "by" and "from" are limits.
_CASE_WORD = re.compile(r"(?:to|with|in|on|at|of|for|via|through|by(?!\D*\d)|from(?!\D*\d))\s+(?=\S{2})", re.IGNORECASE)
_ANY_CASE_WORD = re.compile(
    r"\b(?:to|with|in|on|at|of|for|via|through|by|from|under|over|above|below|behind|before|after|without|beside|near|"
    r"between|against|since|until|till|outside|inside|except|besides|towards?|than)\s+(?:(?:the|an?|its|his|her|their)\s+)?$",
    re.IGNORECASE,
)
_ANY_PLACE = re.compile(
    r"(?:under|over|above|below|behind|before|after|without|beside|near|between|outside|inside)\s+(?=\S{2})",
    re.IGNORECASE,
)
_RULE = re.compile(r"[\s|:\-–—=]*-[\s|:\-–—=]*")
_HEAD = re.compile(r"[^,;(\[，；（【、]+")  # what follows explains the value
_EDGES = re.compile(r"^[\s*_`>\"“]+(?:[-•]\s+)?|[\s*_`\"”.。]+$")
_LABEL = re.compile(r"^\s*(?:[-*•]\s+)?([^:：|]{0,59}[^:：|\s\d])\s*[:：](?!//)\s*(\S.*)$")  # 9:40 has no label
_PART = re.compile(r"[;；\n]|[,，](?=[^,，:：;；]{1,40}[:：])")
_SIGNS = re.compile(r"[$€£¥%‰°]")
_SMALL = frozenset(("the", "a", "an", "of", "in", "per", "for", "at", "on", "to", "is", "are", "was", "were", "be",
                    "it", "by", "as", "的", "为", "是", "在", "每", "有"))  # fmt: skip
_MARKED = re.compile(r"[|\t:：]")
_MOST_LINES = 400
_SHORTEST_NOUN = 3  # letters
_WEEKDAYS = frozenset(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
_SLACK = 10  # characters by which a value may be longer than what states it


def is_denied(answer: str, start: int, end: int) -> bool:
    """Whether the mention at answer[start:end] is denied where it stands. Only its own clause is looked at."""
    before = fold_characters(answer[max(0, start - _NEAR) : start]).text
    after = fold_characters(answer[end : end + _NEAR]).text
    for language in ("en", "zh"):
        clause = before[_end_of_last(phrases(f"denied.cut.{language}"), before) :]
        if phrases(f"denied.before.{language}").search(clause) or phrases(f"denied.after.{language}").search(after):
            return True
    return False


def _end_of_last(cut: re.Pattern[str], text: str) -> int:
    return max((match.end() for match in cut.finditer(text)), default=0)


@dataclass(frozen=True)
class AnswerMatch:
    """`answer_match`: 1.0 if the answer states an alias of every reference slot, else 0.0, or unsure.

    Formula: 1 if of each slot at least one alias is stated, else 0. An alias is found as `find_answer` finds it, or in
    a cell or after a label that says the rest of it; a refusal states nothing (a gap in the documents that is not of
    what was asked is none), and a denied mention does not count unless the alias is stated elsewhere too. Where only
    phrases and sentences are missing, and the answer has words of them and no other quantities in their place, or a
    word in its other number (bicycles), it may say the same: unsure, without a value. `strict` counts these as 0, as
    the benchmarks do.
    Range: 0 or 1, higher is better.
    Needs: the answer, the reference.
    Evidence: {"slots": [[{"alias", "start", "end"}, …], …]}, for each slot the counted mentions, each stretch of the
    answer once; "denied" lists the others in the same form, and "refusal" is true where the answer declines.
    Source: ragstone's counterpart of the match of Chen et al. 2024 (`rgb.official`), which takes any substring.

    | case | result |
    |---|---|
    | only a refusal is correct | 1 where the answer declines, else 0 |
    | the answer declines | 0 |
    | the answer is empty | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable |
    """

    name: str = "answer_match"
    version: int = 8
    strict: bool = False
    needs: frozenset[Need] = frozenset({Need.ANSWER, Need.REFERENCES})
    scores_refusals: ClassVar[bool] = True

    def score(self, case: Case, response: Response, /) -> Score:
        slots = case.sample.references
        # RGB's rejections have a reference that no passage gives, and a metric of their own.
        if "ability" not in case.condition and refusal_expected(case):
            return refusal_score(bool(refusal_spans(response.answer)))
        if not any(alias.strip() for slot in slots for alias in slot):
            return Score.not_applicable("the sample has no reference answers")
        answer, question = response.answer, case.sample.question
        evidence: dict[str, Any] = {"slots": [[] for _ in slots]}
        gaps = refusal_spans(answer)
        if gaps and _declines(answer, gaps, question):
            evidence["refusal"] = True
            return Score.of(0.0, evidence=evidence)
        denied: list[dict[str, Any]] = []
        bound = keyed(slots, answer)
        if bound is not None:
            if not bound:
                return Score.of(0.0, evidence=evidence)
            evidence["slots"] = [
                [{"alias": slot[0], "start": start, "end": end} for start, end in spans]
                for slot, spans in zip(slots, bound, strict=True)
            ]
            return Score.of(1.0, evidence=evidence)
        text = Text(answer, question)
        for slot, counted in zip(slots, evidence["slots"], strict=True):
            used: set[tuple[int, int]] = set()
            for alias in slot:
                found = _mentions(alias, answer, question)
                found = [span for span in found if not any(span[0] < last and first < span[1] for first, last in gaps)]
                given = {span for span in found if not is_denied(answer, *span)}
                if not yes_or_no(alias):
                    given = set(chosen(sorted(given), text, alias, alone=len(slots) == 1))
                for start, end in found:
                    if (start, end) in used:
                        continue
                    used.add((start, end))
                    mention = {"alias": alias, "start": start, "end": end}
                    (counted if (start, end) in given else denied).append(mention)
        if denied:
            evidence["denied"] = denied
        elif not self.strict and answer.strip() and self._unsure(slots, evidence["slots"], answer, question):
            return Score.unsure(UNSURE, evidence=evidence)
        return Score.of(all(evidence["slots"]), evidence=evidence)

    @staticmethod
    def _unsure(slots: Sequence[Sequence[str]], found: Sequence[object], answer: str, question: str) -> bool:
        """Whether only slots are missing of which the answer may say each alias in other words."""
        missing = [slot for slot, counted in zip(slots, found, strict=True) if not counted]
        return bool(missing) and all(
            _in_other_number(alias, answer)
            or (may_paraphrase(alias, question, answer) and not (_elsewhere(alias, answer) or opposed(alias, answer)))
            for slot in missing for alias in slot if alias.strip()
        )  # fmt: skip


def _mentions(alias: str, answer: str, question: str) -> list[tuple[int, int]]:
    """Where an answer states an alias, in order."""
    spellings = [alias, *(_RANGE.sub(rf"\1{sign}", alias) for sign in _JOINS)] if _RANGE.search(alias) else [alias]
    if yes_or_no(alias):
        return otherwise(alias, answer, question)
    found = {span for spelling in spellings for span in find_answer(spelling, answer)}
    return (
        sorted(found)
        or _on_weekdays(alias, answer)
        or labelled_values(alias, answer, question)
        or _without_case_word(alias, answer)
        or ([] if _other_case_word(alias, answer) else _in_other_words(alias, answer, question))
    )


def _on_weekdays(alias: str, answer: str) -> list[tuple[int, int]]:
    """Where an answer states a weekday in its other number: on Wednesdays."""
    day = alias.strip().lower().removesuffix("s")
    return find_answer(day if alias.strip().lower() != day else f"{day}s", answer) if day in _WEEKDAYS else []


def _in_other_number(alias: str, answer: str) -> bool:
    """Whether an answer may state a word in the plural for the singular, or the other way round: bicycle, bicycles. It
    may be another word, too: custom and customs. A capital in both may be a name's: Roberts is not Robert."""
    noun = alias.strip()
    if len(noun) < _SHORTEST_NOUN or not (noun.isascii() and noun.isalpha()) or not fold(noun).text.isalpha():
        return False
    forms = (form for form in _other_numbers(noun) if len(form) >= _SHORTEST_NOUN)
    found = (span for form in forms for span in find_answer(form, answer))
    return any(
        (noun.islower() or answer[start:end].islower()) and not is_denied(answer, start, end) for start, end in found
    )


def _other_numbers(noun: str) -> Iterator[str]:
    if noun.endswith("ies"):
        yield f"{noun[:-3]}y"
    elif noun.endswith("y") and noun[-2] not in "aeiou":
        yield f"{noun[:-1]}ies"
    yield f"{noun}{'es' if noun.endswith(('s', 'x', 'z', 'ch', 'sh')) else 's'}"
    if noun.endswith("s") and not noun.endswith("ss"):
        yield noun[:-1]
    if noun.endswith(("ses", "xes", "zes", "ches", "shes")):
        yield noun[:-2]


def _in_other_words(alias: str, answer: str, question: str) -> list[tuple[int, int]]:
    return otherwise(alias, answer, question) or _beyond_question(alias, answer, question)


def _beyond_question(alias: str, answer: str, question: str) -> list[tuple[int, int]]:
    """Where an answer states what an alias says beyond its question: of "no more than 47 kg" a bare 47 kg, of "the
    kilns are loaded by Ines Harrow" the name. A number alone would be any count, and is not looked for."""
    if len(answer) > LONGEST or opposed(alias, answer):
        return []
    if is_bare(alias, answer, question):
        return [(0, len(answer))]
    found = beyond_question(alias, question)
    return find_answer(found, answer) if found and not fold(found).text.isdecimal() else []


def _other_case_word(alias: str, answer: str) -> bool:
    """Whether an answer states what follows the preposition of an alias after another one."""
    case_word = _CASE_WORD.match(alias)
    return case_word is not None and bool(find_answer(alias[case_word.end() :], answer))


def _elsewhere(alias: str, answer: str) -> bool:
    """Whether an answer states what follows the preposition of an alias after another one."""
    place = _ANY_PLACE.match(alias)
    return _other_case_word(alias, answer) or (place is not None and bool(find_answer(alias[place.end() :], answer)))


def found_spans(alias: str, answer: str, question: str) -> list[tuple[int, int]]:
    """The mentions of an alias that are not denied; none of a yes or no, which stands for the whole answer."""
    spans = [] if yes_or_no(alias) else _mentions(alias, answer, question)
    return [span for span in spans if not is_denied(answer, *span)]


def _without_case_word(alias: str, answer: str) -> list[tuple[int, int]]:
    """Where an answer states what follows the preposition that an alias begins with, and none of its own before it."""
    case_word = _CASE_WORD.match(alias)
    if case_word is None:
        return []
    found = find_answer(alias[case_word.end() :], answer)
    return [(start, end) for start, end in found if not _ANY_CASE_WORD.search(answer[max(0, start - _NEAR) : start])]


def _declines(answer: str, gaps: list[tuple[int, int]], question: str) -> bool:
    """Whether an answer declines to answer this question: as a whole, or by a gap that is not expressly one of
    something else ("this document does not cover contractors")."""
    if declines_whole(answer):
        return True
    asked = set(words(question))
    for clause in clauses(answer):
        start, end = clause.span(0, len(clause.text))
        for first, last in gaps:
            if start <= first < end:
                about = set(words(f"{answer[start:first]} {answer[last:end].partition(',')[0].partition('，')[0]}"))
                if not about or about & asked:
                    return True
    return False


PLUGINS = {"answer_match": AnswerMatch()}


class _Value(NamedTuple):
    """A value: text[start:end], the text that labels it, and its header ("" without one)."""

    start: int
    end: int
    label: str
    header: str = ""


def labelled_values(alias: str, answer: str, question: str) -> list[tuple[int, int]]:
    """Where a value and its labels state `alias` together."""
    if len(answer) > len(alias) + 2 * _SLACK and not _MARKED.search(answer):
        return []
    return [(value.start, value.end) for value in _values(answer) if _states(alias, answer, value, question)]


def _states(alias: str, answer: str, value: _Value, question: str) -> bool:
    text = answer[value.start : value.end].replace("/", " per ")
    if len(text) > len(alias) + _SLACK:
        return False
    spans = find_answer(text, alias)
    if not spans:
        return False
    start, end = spans[0]
    rest = f"{alias[:start]} {alias[end:]}"
    labels = f"{value.label} {value.header}"
    if set(_SIGNS.findall(fold_characters(rest).text)) - set(_SIGNS.findall(fold_characters(labels).text)):
        return False
    asked, known = _stems(question), _stems(labels)
    lacking = {word for word in _stems(rest) - known if word.isascii() or word not in labels}
    if not _stems(text) - asked or any(any(map(str.isdigit, word)) for word in lacking):
        return False
    if not lacking:
        return True
    return not value.header and lacking <= asked and _stems(value.label) <= asked | _stems(alias)


def _stems(text: str) -> set[str]:
    """The words of a text that are more than grammar, a plural as its singular."""
    return {word.removesuffix("s") if word.isascii() and len(word) > 3 else word for word in words(text)} - _SMALL


def _values(answer: str) -> Iterator[_Value]:
    """The cells of rows, what follows a label, and an answer that is nothing else."""
    at, header = 0, []
    lines = answer.splitlines(keepends=True)[:_MOST_LINES]
    for number, line in enumerate(lines):
        cells = _cells(line, at)
        if len(cells) > 1:
            ruled = number + 1 < len(lines) and _RULE.fullmatch(lines[number + 1].strip()) is not None
            if ruled:
                header = [answer[start:end] for start, end in cells]
            elif _RULE.fullmatch(line.strip()) is None:
                yield from _row(answer, cells, header)
        else:
            header = []
            yield from _labelled(answer, at, at + len(line))
        at += len(line)
    if 0 < len(answer.strip()) <= max(map(len, lines), default=0):
        yield from _value(answer, 0, len(answer), "")


def _cells(line: str, at: int) -> list[tuple[int, int]]:
    """Where the cells of a row stand; one where it is no row."""
    sign = "|" if "|" in line else "\t"
    spans, start = [], at
    for cell in line.rstrip("\n").split(sign):
        if cell.strip():
            spans.append((start, start + len(cell)))
        start += len(cell) + 1
    return spans


def _row(answer: str, cells: list[tuple[int, int]], header: list[str]) -> Iterator[_Value]:
    first = answer[slice(*cells[0])]
    headed = len(header) == len(cells)
    for number, (start, end) in enumerate(cells[1:], 1):
        beside = answer[slice(*cells[number + 1])] if number + 1 < len(cells) else ""
        if headed or len(cells) > 2:
            bare = not any(map(str.isalpha, answer[start:end]))  # the question may not say its unit: 25 | hours
            unit = beside if not headed and len(_stems(beside)) == 1 else ""
            yield from _value(answer, start, end, f"{first} {unit}", header[number] if headed else " " * bare)
        else:
            yield from _value(answer, start, end, first)


def _labelled(answer: str, start: int, end: int) -> Iterator[_Value]:
    """The values of "label: value; label: value"."""
    cuts = [start, *(start + match.end() for match in _PART.finditer(answer[start:end])), end]
    for first, last in pairwise(cuts):
        if match := _LABEL.match(answer[first:last].rstrip(";；,，\n ")):
            yield from _value(answer, first + match.start(2), first + match.end(2), match[1])


def _value(answer: str, start: int, end: int, label: str, header: str = "") -> Iterator[_Value]:
    """The value without marks around it and without what explains it."""
    text = answer[start:end]
    left = _EDGES.match(text)
    begin = start + (left.end() if left else 0)
    head = _HEAD.match(answer[begin:end])
    if head and (kept := _EDGES.sub("", head.group())):
        at = begin + head.group().index(kept)
        yield _Value(at, at + len(kept), label, header)
