"""Parses questions and passages for `local/extractive` into sentences, terms, names and numbers, with caching."""

import re
import sys
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import add

from ragstone.systems._cues import cue, looks, stop_words
from ragstone.text import sentences
from ragstone.text.characters import HAN
from ragstone.text.folding import fold

_UNIT = re.compile(rf"\d+(?:\.\d+)?%?|[^\W\d_{HAN}]+|[{HAN}]|[^\w\s'·-]")
_ENGLISH_UNIT = re.compile(r"\d+(?:\.\d+)?%?|[^\W\d_]+")
_YEAR = re.compile(r"(?<!\d)(?:19|20|21)\d\d(?![\d万亿人名元米])")
# A capitalized word that is not at the start of a sentence.
_CAPITAL = re.compile(r"(?=[A-Z\"'(])(?:(?<=[\w,;:)\"'] )[\"'(]?|(?<=[\"“(]))([A-Z][^\W\d_]+)")
_CHINESE_NAME = re.compile(rf"[{HAN}]{{2}}(?=·)|(?<=·)[{HAN}]{{2}}|(?<=[《\"])[{HAN}]{{2}}")
_BESIDE_NAME = frozenset('·《"')
_NONE: frozenset[str] = frozenset()
_SURNAMES = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林郑谢罗梁宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾"
    "夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)


@dataclass(frozen=True)
class Sentence:
    """A sentence: its original `text`, its `folded` text for patterns, and its `terms`, of which `names` and `numbers`
    can be answers. `rumour`: it reports an expectation or a rumour."""

    text: str
    folded: str
    terms: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    years: frozenset[str]
    rumour: bool


@dataclass(frozen=True)
class ParsedPassage:
    """A parsed passage."""

    sentences: tuple[Sentence, ...]
    terms: frozenset[str]
    years: frozenset[str]
    rumour: bool


@dataclass(frozen=True)
class Question:
    """A parsed question: its terms with their base weights, its years, patterns of its answers (`numbers` with dates;
    `names` and others), and its `parts` if it combines two questions."""

    terms: Mapping[str, float]
    years: frozenset[str]
    numbers: tuple[re.Pattern[str], ...]
    names: tuple[re.Pattern[str], ...]
    parts: tuple["Question", ...] = ()


def _terms(folded: str, language: str) -> list[str]:
    """The terms of a text. English: words cut to six letters, without function words. Chinese: pairs of neighbouring
    units, numbers and Latin words. Pairs with punctuation never occur in questions, so they have no effect."""
    if language == "en":
        stop = stop_words()
        return [unit[:6] for unit in _ENGLISH_UNIT.findall(folded) if unit not in stop]
    units = _UNIT.findall(folded)
    return [*map(add, units, units[1:]), *(unit for unit in units if "0" <= unit[0] < "\u2e80")]


@lru_cache(maxsize=8192)
def read_passage(text: str, language: str) -> ParsedPassage:
    """Parses a passage. The last 8,192 are cached: the same passages recur at every noise ratio."""
    whole = fold(text, language)
    guess = cue(f"{language}.rumour")
    # For speed: sentences are not searched for patterns that the whole passage lacks.
    guessed, dated = guess.search(whole.text) is not None, _YEAR.search(whole.text) is not None
    parts = []
    end = done = 0
    for part in sentences(text):
        end += len(part)
        start, done = done, bisect_left(whole.offsets, end)
        folded = whole.text[start:done].strip()
        if folded:
            terms = frozenset(map(sys.intern, _terms(folded, language)))
            names = _english_names(part, terms) if language == "en" else _chinese_names(folded, terms)
            numbers = frozenset([term for term in terms if "0" <= term[0] <= "9"])
            years = frozenset(_YEAR.findall(folded)) if dated else _NONE
            rumoured = guessed and guess.search(folded) is not None
            parts.append(Sentence(part.strip(), folded, terms, names, numbers, years, rumoured))
    terms = _NONE.union(*(part.terms for part in parts))
    years = _NONE.union(*(part.years for part in parts))
    return ParsedPassage(tuple(parts), terms, years, guessed)


def _english_names(text: str, terms: frozenset[str]) -> frozenset[str]:
    return terms & {name.lower()[:6] for name in _CAPITAL.findall(text)}


def _chinese_names(folded: str, terms: frozenset[str]) -> frozenset[str]:
    likely = [term for term in terms if term[0] in _SURNAMES and len(term) == 2 and term[1] > "\u4dff"]
    if not _BESIDE_NAME.isdisjoint(folded):
        likely += _CHINESE_NAME.findall(folded)
    return frozenset(likely)


@lru_cache(maxsize=4096)
def read_question(question: str, language: str) -> Question:
    """Parses a question: its topic and the kind of answer that it asks for."""
    folded = fold(question, language).text
    whole = _read_question(folded, language)
    parts = _parts(folded, language)
    if not parts:
        return whole
    return replace(whole, parts=tuple(_read_question(part, language, subject) for part, subject in parts))


def _read_question(folded: str, language: str, subject: str = "") -> Question:
    """Parses one question. `subject` is its topic if the question itself says only "it"."""
    topic = f"{folded}。{subject}"
    if language == "zh":
        topic = cue("zh.drop").sub("。", topic)
    terms = {term: 1.5 if any(map(str.isdigit, term)) else 1.0 for term in _terms(topic, language) if term.isalnum()}
    numbers, names = (
        tuple(answer for asking, answer in looks(language, kind) if asking.search(folded))
        for kind in ("number", "name")
    )
    return Question(terms, frozenset(_YEAR.findall(topic)), numbers, names)


def _parts(folded: str, language: str) -> list[tuple[str, str]]:
    """The two questions combined in a folded question, each with its subject; [] for a single question."""
    if language == "en":
        if two := cue("en.two").match(folded):
            return [(two["first"], ""), (two["second"], _subject(two["first"]))]
        if two := cue("en.list").match(folded):
            return [(two["head"] + two["a"], ""), (two["head"] + two["b"], "")]
        return []
    if two := cue("zh.other").match(folded):
        return [(two["first"], ""), (f"{two['second']}的{two['what']}", "")]
    if two := cue("zh.whats").match(folded):
        return [(two["head"] + two["a"] + two["tail"], ""), (two["head"] + two["b"] + two["tail"], "")]
    if two := cue("zh.things").match(folded):
        return [(two["a"] + two["tail"], ""), (two["b"] + two["tail"], "")]
    if (two := cue("zh.two").match(folded)) and cue("zh.drop").search(two["second"]):
        return [(two["first"], ""), (two["second"], _subject(two["first"]))]
    return []


def _subject(first: str) -> str:
    """The subject of the first question; in English, the text after the question words."""
    match = cue("en.asks").match(first)
    return first[match.end() :] if match else first.rpartition("的")[0] or first
