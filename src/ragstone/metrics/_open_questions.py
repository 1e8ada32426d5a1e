"""Whether an answer leaves its question open, read together with the question.

Phrases alone cannot tell a refusal after many side facts from an answer that also names a gap: "the year in which it
was automated is not mentioned" and "the report does not say who paid for it" are worded alike. So the answer is cut
into units, each unit gets a kind, and what they have in common with the question is added up with weights. The weights
were fitted (logistic regression) on the developed half of tests/metrics/labelled, and rounded.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from ragstone.metrics._phrases import phrases
from ragstone.text import words
from ragstone.text.characters import HAN, vocabulary
from ragstone.text.folding import Folded, fold_characters

Kind: TypeAlias = Literal["silent", "unable", "negated", "reported", "offer", "statement"]
"""What a unit does: a text does not say it; the one who answers cannot; a source says that it is unknown; where to ask;
anything else."""

_LONGEST, _LONGEST_UNIT, _MOST_UNITS = 20_000, 400, 300
_SHORT = 25  # characters of a unit that only opens a conclusion
_QUOTED = re.compile(r'"[^"\n]{1,200}"|《[^》\n]{1,60}》')
_HAN = re.compile(f"[{HAN}]")
_WORD = re.compile(r"\w")
_CONCESSION = re.compile(r"\b((?:while|although|though|since|as|even though|whereas) [^,.;]{5,120}),(?= )")
_CUTS = {
    "en": re.compile(
        r"\n|[.!?](?=\s|$|\*|\")|;|,? ?\b(?=(?:but|however|though|although|whereas|while|yet|since|because|as) )"
        r"|, (?=(?:and|so|nor|neither|which)\b)| - | -- |:\s|\|"
    ),
    "zh": re.compile(r"\n|[.!?。;](?![0-9])|,(?![0-9])|(?=但是?|不过|然而|可是)|: ?|\|"),
}
_EDGES = " *-#>,"
_BUT = {"en": re.compile(r"\W*(?:but|however|yet)\b"), "zh": re.compile("但|不过|然而|可是|却|而(?!且)")}
_NUMBERED = re.compile(r"\W*(?:documents?|passages?|sources?|excerpts?|texts?|文档|资料|材料|段落|片段|文献)\s?(\d+)")
_CONDITION = re.compile(r"(?:if|when|unless|in case|where|how|to|because)\b|如果|若|要是|倘若|除非|因为|涉及")
_I = re.compile(r"\bi\b|我")
_ONLY = re.compile(r"\b(?:only|merely|just|solely)\b|只|仅")
_YES_OR_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|can|could|may|has|have|will|should|am)\b"
    "|吗|是否|能不能|会不会|有没有|可不可以|能.{1,8}吗"
)
_ASKS_FOR_A_GAP = re.compile(r"\bnot|n't\b|fail|missing|unknown|outside|error|不|没|未|缺|无")
_ENDINGS = re.compile(r"(?:ing|ed|es|s|e|er|ion|ly|al)$")
_GRAMMAR = vocabulary(
    "a an and any are as at be been by can could did do does for from had has have how i if in is it its many me much"
    " my of on or our should so than that the their there they this to was we were what when where which who whom whose"
    " why will with would you your not no"
    " 的 了 是 在 和 与 及 吗 呢 啊 什么 多少 谁 哪 哪个 哪些 哪里 哪年 几 怎么 怎样 如何 为什么"
    " 是否 有 没有 这 那 这个 那个 我 你 您 他 她 它 吧 请问 里 中 上 下 年 个 为 何 何时 何地"
    " 不 没 能 能不能 会 可以 该 各 分别 一"
)

_BIAS = -1.0
_WEIGHTS: Mapping[str, float] = {
    "i_cannot": 1.8,
    "ends_with_a_gap": 1.5,
    "share_of_gaps": 1.0,
    "negates_only": -0.9,
    "ends_by_negating": -0.2,
    "offers": 1.0,
    "declines_by_phrase": 1.1,
    "gap_after_but": 1.1,
    "gap_is_about_the_question": 0.5,
    "question_has_a_gap": -0.8,
    "reports_that_it_is_unknown": -0.2,
    "begins_with_a_gap": -0.7,
    "begins_with_a_gap_as_reply": -0.9,
    "begins_as_reply": -0.6,
    "begins_with_the_texts": 1.1,
    "yes_or_no_answered": -1.4,
    "first_is_short": -0.7,
    "first_is_about_the_question": -1.3,
    "is_short": -0.9,
    "conclusion_states": -1.6,
    "only_something_else": 1.4,
    "states_after_but": -1.2,
    "later_is_about_the_question": -0.9,
    "states_before_the_gap": 0.3,
    "nothing_but_gaps": 0.6,
}


@dataclass(frozen=True)
class Unit:
    """A part of an answer. `text` is folded and stands at `start` in the folded answer."""

    text: str
    start: int
    kind: Kind

    @property
    def gap(self) -> bool:
        return self.kind in {"silent", "unable", "negated"}


def open_spans(answer: str, question: str, *, by_phrase: bool) -> list[tuple[int, int]] | None:
    """Where an answer leaves its question open, as (start, end); [] if it does not. None if the question has no word
    to compare, so that only phrases can tell. `by_phrase`: what these say."""
    if len(answer) > _LONGEST or not stems(question):
        return None
    read = reading(answer, question, by_phrase=by_phrase)
    if read is None:
        return None if by_phrase else []
    if read.another_text_answers():
        return []
    return read.spans() if read.concludes_with_a_gap() or read.score() > 0 else []


def reading(answer: str, question: str, *, by_phrase: bool) -> "Reading | None":
    """The features of an answer to a question; None if it has no gap."""
    folded = fold_characters(answer)
    language = "zh" if _HAN.search(folded.text) else "en"
    units = _units(folded, language)
    if not any(unit.gap for unit in units):
        return None
    return Reading(folded, units, language, question, by_phrase)


def _units(folded: Folded, language: str) -> list[Unit]:
    """The parts of an answer between signs and words of contrast; what is quoted is masked."""
    text = _QUOTED.sub(lambda quote: f'"{"x" * (len(quote[0]) - 2)}"', folded.text)
    if language == "en":
        text = _CONCESSION.sub(r"\1;", text)
    units: list[Unit] = []
    start = 0
    for cut in [*(match.span() for match in _CUTS[language].finditer(text)), (len(text), len(text))]:
        part = text[start : cut[0]]
        kept = part.strip(_EDGES)[:_LONGEST_UNIT]
        if _WORD.search(kept):
            units.append(Unit(kept, start + part.index(kept), _kind(kept, language)))
        start = cut[1]
        if len(units) == _MOST_UNITS:
            break
    return units


def _kind(text: str, language: str) -> Kind:
    if _finds("offer", language, text):
        return "offer"
    unable = _finds("unable", language, text)
    silent = not unable and _finds("silent", language, text)
    negated = not unable and not silent and _finds("negated", language, text)
    if not unable and (not (silent or negated) or _CONDITION.match(text)):
        return "statement"
    if _finds("reported", language, text) and not _I.search(text):
        return "reported"
    return "unable" if unable else "silent" if silent else "negated"


def _finds(section: str, language: str, text: str) -> bool:
    return phrases(f"open.{section}.{language}").search(text) is not None


@lru_cache(maxsize=1024)
def stems(text: str) -> frozenset[str]:
    """The words of a text that are more than grammar, without endings; Chinese words also by character."""
    found: set[str] = set()
    for word in words(text):
        if word in _GRAMMAR:
            continue
        if word.isascii():
            found.add(_ENDINGS.sub("", word)[:6] if len(word) > 4 else word)
        else:
            found.update((word, *(char for char in word if char not in _GRAMMAR)))
    return frozenset(found)


class Reading:
    """The features of an answer with a gap; each is from 0 to 1."""

    def __init__(self, folded: Folded, units: list[Unit], language: str, question: str, by_phrase: bool) -> None:
        self.folded, self.units, self.language = folded, units, language
        self.asked, self.question = stems(question), fold_characters(question).text
        self.by_phrase = by_phrase
        self.first = units[0]
        self.places = [place for place, unit in enumerate(units) if unit.gap]

    def score(self) -> float:
        """Above 0: it leaves the question open."""
        features = self.features()
        return _BIAS + sum(weight * features[name] for name, weight in _WEIGHTS.items())

    def features(self) -> dict[str, float]:
        """The features by name."""
        return self._of_the_gaps() | self._of_the_beginning() | self._of_the_statements()

    def spans(self) -> list[tuple[int, int]]:
        """Where the gaps stand in the answer."""
        return [self.folded.span(unit.start, unit.start + len(unit.text)) for unit in self.units if unit.gap]

    def _of_the_gaps(self) -> dict[str, float]:
        units, last = self.units, [unit for unit in self.units if unit.kind != "offer"][-1]
        gaps = [unit for unit in units if unit.gap]
        return {
            "i_cannot": any(unit.kind == "unable" and _I.search(unit.text) is not None for unit in gaps),
            "ends_with_a_gap": last.gap,
            "share_of_gaps": len(gaps) / len(units),
            "negates_only": all(unit.kind == "negated" for unit in gaps),
            "ends_by_negating": last.kind == "negated",
            "offers": any(unit.kind == "offer" for unit in units),
            "declines_by_phrase": self.by_phrase,
            "gap_after_but": any(
                unit.gap and (self._after_but(unit) or (place > 0 and self._is_but(units[place - 1])))
                for place, unit in enumerate(units)
            ),
            "gap_is_about_the_question": max(map(self._share, gaps)),
            "question_has_a_gap": _finds("silent", self.language, self.question)
            or _ASKS_FOR_A_GAP.search(self.question) is not None,
            "reports_that_it_is_unknown": any(unit.kind == "reported" for unit in units),
        }

    def _of_the_beginning(self) -> dict[str, float]:
        first, texts = self.first, self._begins("opening")
        reply = _finds("direct", self.language, first.text)
        chinese = self.language == "zh"
        return {
            "begins_with_a_gap": first.gap,
            "begins_with_a_gap_as_reply": first.gap and reply,
            "begins_as_reply": reply and not first.gap,
            "begins_with_the_texts": texts,
            "yes_or_no_answered": reply and _YES_OR_NO.search(self.question) is not None,
            "first_is_short": not first.gap and not texts and len(first.text) < (15 if chinese else 40),
            "first_is_about_the_question": 0.0 if first.gap else self._share(first),
            "is_short": sum(len(unit.text) + 2 for unit in self.units) < (60 if chinese else 120),
        }

    def _of_the_statements(self) -> dict[str, float]:
        units, first_gap, last_gap = self.units, self.places[0], self.places[-1]
        least = 6 if self.language == "zh" else 12
        full = [
            place
            for place, unit in enumerate(units)
            if unit.kind == "statement" and len(unit.text) > least and not _finds("opening", self.language, unit.text)
        ]
        later = [unit for unit in units[last_gap + 1 :] if unit.kind == "statement"]
        return {
            "conclusion_states": any(map(self._concludes, range(len(units)))),
            "only_something_else": any(_ONLY.search(unit.text) is not None for unit in units if not unit.gap),
            "states_after_but": any(
                not unit.gap and self._after_but(unit) and not (self.language == "zh" and self._gap_at(place + 1))
                for place, unit in enumerate(units)
            ),
            "later_is_about_the_question": max(map(self._share, later), default=0.0),
            "states_before_the_gap": min(3, sum(place < first_gap for place in full)) / 3,
            "nothing_but_gaps": first_gap == 0 and not full,
        }

    def _share(self, unit: Unit) -> float:
        """The share of the question's words that a unit has."""
        return len(stems(unit.text) & self.asked) / max(1, len(self.asked))

    def _begins(self, section: str) -> bool:
        return _finds(section, self.language, self.first.text)

    def _after_but(self, unit: Unit) -> bool:
        return _BUT[self.language].match(unit.text) is not None

    def _is_but(self, unit: Unit) -> bool:
        return len(unit.text) < 4 and self._after_but(unit)

    def _gap_at(self, place: int) -> bool:
        return place < len(self.units) and self.units[place].gap

    def another_text_answers(self) -> bool:
        """Whether each gap is that of one numbered text, and another one states what was asked."""
        gaps = {_NUMBERED.match(unit.text) for unit in self.units if unit.gap}
        if None in gaps:
            return False
        numbers = {gap[1] for gap in gaps if gap}
        others = [(unit, _NUMBERED.match(unit.text)) for unit in self.units if unit.kind == "statement"]
        return any(match and match[1] not in numbers and self._share(unit) > 0 for unit, match in others)

    def concludes_with_a_gap(self) -> bool:
        """Whether the last conclusion, which says so ("**Conclusion:** …", "结论：…"), is that it cannot be told."""
        places = [place for place, unit in enumerate(self.units) if _finds("firm", self.language, unit.text)]
        if not places:
            return False
        told = self.units[places[-1] : places[-1] + (2 if len(self.units[places[-1]].text) < _SHORT else 1)]
        return any(unit.kind == "unable" for unit in told)

    def _concludes(self, place: int) -> bool:
        """Whether a conclusion is drawn here that is no gap; a short one ("结论：") goes on in the next unit."""
        unit = self.units[place]
        if unit.gap or not _finds("verdict", self.language, unit.text):
            return False
        return not (len(unit.text) < _SHORT and self._gap_at(place + 1))
