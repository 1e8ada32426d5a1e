"""Which of the values that an answer mentions it gives as the answer.

An answer often mentions a value in another role: "the bill was introduced on 12 May and passed on 3 November". Where
the question asks for one value, what stands with a mention and what stands elsewhere is added up with weights, which
were fitted (logistic regression) on the developed half of tests/metrics/labelled, on our own right answers and on
sentences of RGB's passages that state the reference (bench/chosen.py), and rounded. A number that labels a source or an
item of a list ("[3]") is never a value.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from ragstone.metrics._open_questions import stems
from ragstone.metrics._phrases import phrases
from ragstone.text.characters import HAN
from ragstone.text.folding import fold_characters
from ragstone.text.labels import label_spans, without_labels

Span: TypeAlias = tuple[int, int]
_SENTENCE = re.compile(r"\n|[.!?](?=\s|$|\*|\")|。|！|？|!|；|;|…|\|\s*\n")
_CLAUSE = re.compile(
    r"\n|[.!?](?=\s|$|\*|\")|[。！？!；;…，]|,(?=\s)|——|—|\s-\s|\s–\s|、"
    r"|\b(?:but|while|whereas|although|though|and|then|which|not the)\b|但是?|而(?!且)|不过|却|则|才"
)
_VALUE = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+\b")
_DATE = re.compile(r"\b(?:1\d|20)\d\d\b|\d年|\d月")
_COLON = re.compile(r"[:：]\s*\**$")
_MOST, _SHORT_VERDICT, _MOST_MENTIONS = 200, 18, 50
LONGEST = 20_000
"""Characters of an answer beyond which its mentions are not weighed, and other words are not looked for."""


@dataclass(frozen=True)
class Text:
    """An answer with its question."""

    answer: str
    question: str

    @cached_property
    def labels(self) -> list[Span]:
        return label_spans(self.answer)

    @cached_property
    def asked(self) -> frozenset[str]:
        return stems(self.question)

    @cached_property
    def clauses(self) -> list[Span]:
        return _cut(self.answer, _CLAUSE)

    @cached_property
    def sentences(self) -> list[Span]:
        return _cut(self.answer, _SENTENCE)

    @cached_property
    def without_labels(self) -> str:
        return without_labels(self.answer)

    def folded(self, span: Span) -> str:
        """A part of the answer, folded."""
        return fold_characters(self.answer[span[0] : span[1]]).text

    def stems(self, span: Span) -> frozenset[str]:
        """The stems of a part of the answer."""
        return stems(self.answer[span[0] : span[1]])

    @cached_property
    def language(self) -> str:
        return "zh" if re.search(f"[{HAN}]", self.answer) else "en"


def _cut(text: str, cuts: re.Pattern[str]) -> list[Span]:
    spans: list[Span] = []
    start = 0
    for match in cuts.finditer(text):
        if text[start : match.start()].strip():
            spans.append((start, match.start()))
        # A word of contrast belongs to what follows it.
        start = match.start() if match[0].strip(" \n").isalpha() else match.end()
    if text[start:].strip():
        spans.append((start, len(text)))
    return spans[:_MOST]


_BIAS = -0.3
_WEIGHTS: Mapping[str, float] = {
    "fits": 1.5,
    "sentence_fits": 0.9,
    "later_fits": -1.7,
    "earlier_fits_better": -1.2,
    "later_rival_fits_better": -0.4,
    "earlier_rival": 1.0,
    "more_is_said_after": -0.4,
    "more_is_said_before": 0.8,
    "one_clause": 2.4,
    "clauses": 0.8,
    "in_first_clause": 0.6,
    "in_last_sentence": 1.1,
    "one_is_set_aside": -1.7,
    "all_are_set_aside": -1.5,
    "one_of_several": -1.5,
    "concludes_otherwise": -1.6,
    "in_bold": 0.8,
    "after_a_colon": 0.8,
    "but_after": -0.8,
}
_BUT = re.compile(
    r"\b(?:but|however|actually|although|though|whereas|while|instead|rather|in fact|not)\b|n't\b"
    "|但|不过|却|而|其实|实际|真正|才|不|没"
)


def chosen(mentions: Sequence[Span], text: Text, alias: str, *, alone: bool) -> list[Span]:
    """Those of the mentions that the answer gives as its answer; `alone`: only one value is asked for."""
    if len(text.answer) > LONGEST:
        return list(mentions)
    kept = [span for span in mentions if not _is_label(span, text, alias) and not _is_longer(span, text, alias)]
    if not kept or not alone or not text.asked:
        return kept
    return kept if Choice(kept, text, alias).score() > 0 else []


class Choice:
    """The mentions of a value in an answer, and what speaks for and against them; each feature is from 0 to 1."""

    def __init__(self, mentions: Sequence[Span], text: Text, alias: str) -> None:
        self.mentions, self.text, self.alias = mentions[:_MOST_MENTIONS], text, alias
        named = stems(alias)
        self.asked = frozenset(word for word in text.asked - named if len(word) > 1 or word.isascii())
        self.own = {_around(span, text.clauses) for span in self.mentions}
        others = [clause for clause in text.clauses if not _meets(clause, self.own)]
        first = min(start for start, _ in self.own)
        self.before = [clause for clause in others if clause[0] < first]
        self.after = [clause for clause in others if clause[0] > first]

    def score(self) -> float:
        """Above 0: it is given as the answer."""
        features = self.features()
        return _BIAS + sum(weight * features[name] for name, weight in _WEIGHTS.items())

    def features(self) -> dict[str, float]:
        """The features by name."""
        text, fit = self.text, max(map(self._fit, self.own))
        asides = [_is_set_aside(span, text) for span in self.mentions]
        later = [self._fit(clause) for clause in self.after]
        answer = text.answer
        return {
            "fits": fit,
            "sentence_fits": max(map(self._fit, {_around(span, text.sentences) for span in self.mentions})),
            "later_fits": max(later, default=0.0),
            "earlier_fits_better": max(0.0, max(map(self._fit, self.before), default=0.0) - fit),
            "later_rival_fits_better": max(
                (max(0.0, self._fit(clause) - fit) for clause in self.after if self._rival(clause)), default=0.0
            ),
            "earlier_rival": any(map(self._rival, self.before)),
            "more_is_said_after": min(3, sum(map(self._says_more, self.after))) / 3,
            "more_is_said_before": min(3, sum(map(self._says_more, self.before))) / 3,
            "one_clause": len(text.clauses) == 1,
            "clauses": min(len(text.clauses), 12) / 12,
            "in_first_clause": any(start < text.clauses[0][1] for start, _ in self.mentions),
            "in_last_sentence": any(start >= text.sentences[-1][0] for start, _ in self.mentions),
            "one_is_set_aside": any(asides),
            "all_are_set_aside": all(asides),
            "one_of_several": any(_is_one_of_several(span, text) for span in self.mentions),
            "concludes_otherwise": _concludes_otherwise(self.mentions, text),
            "in_bold": any("**" in answer[max(0, start - 3) : start] for start, _ in self.mentions),
            "after_a_colon": any(_COLON.search(answer[max(0, start - 9) : start]) for start, _ in self.mentions),
            "but_after": _BUT.search(fold_characters(answer[max(end for _, end in self.mentions) :]).text) is not None,
        }

    def _fit(self, span: Span) -> float:
        """The share of the question's words in a part of the answer."""
        return len(self.text.stems(span) & self.asked) / max(1, len(self.asked))

    def _says_more(self, clause: Span) -> bool:
        return len(self.text.stems(clause) - self.text.asked) > 1

    def _rival(self, clause: Span) -> bool:
        """Whether a clause has another value of this kind."""
        words = self.text.without_labels[clause[0] : clause[1]]
        kind = _kind(self.alias)
        return kind.search(words) is not None if kind else _name_in(words, self.text, self.alias)


def _meets(clause: Span, spans: Iterable[Span]) -> bool:
    return any(clause[0] < end and start < clause[1] for start, end in spans)


def _is_label(span: Span, text: Text, alias: str) -> bool:
    return alias.strip().isdecimal() and any(start <= span[0] and span[1] <= end for start, end in text.labels)


def _around(span: Span, spans: Sequence[Span]) -> Span:
    """The clause or sentence that a mention stands in."""
    starts = [one for one in spans if one[0] < span[1] and span[0] < one[1]]
    return (min(start for start, _ in starts), max(end for _, end in starts)) if starts else span


def _is_set_aside(span: Span, text: Text) -> bool:
    """Whether its clause says that it is not the case, which the question does not ask for."""
    start, end = _around(span, text.clauses)
    before = fold_characters(text.answer[start : span[0]]).text
    after = fold_characters(text.answer[span[1] : end]).text
    question = fold_characters(text.question).text
    aside_before, aside_after = phrases(f"aside.before.{text.language}"), phrases(f"aside.after.{text.language}")
    if not aside_before.search(before) and not aside_after.search(after):
        return False
    return phrases(f"aside.asked.{text.language}").search(question) is None


_VERSION = re.compile(r"\bversion\b|\bv\d|版", re.IGNORECASE)
_SURNAMED = re.compile(rf"[{HAN}]{{2,3}}")
_PARTICLES = frozenset("的了等吧啦呢也都和与、说做写画唱演")


def _is_longer(span: Span, text: Text, alias: str) -> bool:
    """Whether the mention is part of another number of a version (4.10), or of a longer name (李明华)."""
    if _VERSION.search(alias) and re.search(r"\d\.\d", alias):
        return re.findall(r"[\d.]*\d", text.answer[span[0] : span[1]]) != re.findall(r"[\d.]*\d", alias)
    if not _SURNAMED.fullmatch(alias) or not re.search("谁|叫什么|姓名|名字", text.question):
        return False
    after = text.answer[span[1] : span[1] + 2]
    named = text.answer[max(0, span[0] - 1) : span[0]] in "是叫为由：:"
    return (
        named
        and len(alias) == 2
        and re.fullmatch(rf"[{HAN}](?:[。，,；;\s].*)?", after, re.DOTALL) is not None
        and after[0] not in _PARTICLES
    )


def _is_one_of_several(span: Span, text: Text) -> bool:
    """Whether a sentence only says that it may be this or something else."""
    start, end = _around(span, text.sentences)
    sentence = fold_characters(text.answer[start:end]).text
    several = phrases(f"chosen.several.{text.language}")
    return (
        several.search(sentence) is not None
        and phrases(f"chosen.either.{text.language}").search(fold_characters(text.question).text) is None
    )


def _concludes_otherwise(mentions: Sequence[Span], text: Text) -> bool:
    """Whether the conclusion names none of the mentions, but something else."""
    spans, verdict = text.sentences, phrases(f"chosen.verdict.{text.language}")
    opens = [place for place, span in enumerate(spans) if verdict.search(text.folded(span))]
    if len(spans) < 2 or not opens:
        return False
    start, end = spans[opens[-1]]
    if end - start < _SHORT_VERDICT and opens[-1] + 1 < len(spans):
        end = spans[opens[-1] + 1][1]
    if any(first >= start for first, _ in mentions):
        return False
    said = text.stems((start, end))
    firm = phrases(f"chosen.firm.{text.language}").search(text.folded((start, end)))
    return bool(said - text.asked) and bool(said & text.asked or firm)


def _kind(alias: str) -> re.Pattern[str] | None:
    if re.search(r"\b(?:1\d|20)\d\d\b|\d年", alias) and len(alias) < 16:
        return _DATE
    if re.search(r"\d", fold_characters(alias).text):
        return _VALUE
    return None


def _name_in(words: str, text: Text, alias: str) -> bool:
    """Whether a clause has a name that is neither the alias nor the question's."""
    if not alias[:1].isupper() or text.language == "zh":
        return False
    known = {*re.findall(r"\w+", alias), *re.findall(r"\w+", text.question)}
    return any(match[0] not in known for match in _NAME.finditer(words))
