"""Questions and passages as `local/extractive` reads them: sentences, terms, names and numbers, each read once."""

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import add

from ragstone.systems._cues import cue, looks, stop_words
from ragstone.text import sentences
from ragstone.text.characters import HAN
from ragstone.text.folding import fold

__all__ = ["Question", "Reading", "Sentence", "read_passage", "read_question"]

_UNIT = re.compile(rf"\d+(?:\.\d+)?%?|[^\W\d_{HAN}]+|[{HAN}]|[^\w\s'·-]")
_ENGLISH_UNIT = re.compile(r"\d+(?:\.\d+)?%?|[^\W\d_]+")
_YEAR = re.compile(r"(?<!\d)(?:19|20|21)\d\d(?![\d万亿人名元米])")
# A capital that does not just begin the sentence.
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
    """`text` as it stands, `folded` for patterns, `terms` for counting; of them `names` and `numbers`, which can be
    answers. `rumour`: it tells what is expected or whispered."""

    text: str
    folded: str
    terms: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    years: frozenset[str]
    rumour: bool


@dataclass(frozen=True)
class Reading:
    """A passage once read."""

    sentences: tuple[Sentence, ...]
    terms: frozenset[str]
    years: frozenset[str]
    rumour: bool


@dataclass(frozen=True)
class Question:
    """A question once read: its terms with their base weights, the years it names, how its answers look (numbers and
    dates; names and the rest), and the two questions that it is made of, if it is."""

    terms: Mapping[str, float]
    years: frozenset[str]
    numbers: tuple[re.Pattern[str], ...]
    names: tuple[re.Pattern[str], ...]
    parts: tuple["Question", ...] = ()


def _terms(folded: str, language: str) -> list[str]:
    """What is counted: English words cut to six letters, without function words; in Chinese pairs of neighbours,
    numbers and Latin words. A pair with a punctuation mark in it is in no question, so it does no harm."""
    if language == "en":
        stop = stop_words()
        return [unit[:6] for unit in _ENGLISH_UNIT.findall(folded) if unit not in stop]
    units = _UNIT.findall(folded)
    return [*map(add, units, units[1:]), *(unit for unit in units if "0" <= unit[0] < "\u2e80")]


@lru_cache(maxsize=8192)
def read_passage(text: str, language: str) -> Reading:
    """The passage's sentences. The last 8,192 passages are kept: the same ones come back at every noise ratio."""
    whole = fold(text, language)
    guess = cue(f"{language}.rumour")
    # Most of the time goes here: what the passage as a whole does not hold is not looked for in its sentences.
    guessed, dated = guess.search(whole.text) is not None, _YEAR.search(whole.text) is not None
    parts = []
    end = done = 0
    for part in sentences(text):
        end += len(part)
        start, done = done, bisect_left(whole.offsets, end)
        folded = whole.text[start:done].strip()
        if folded:
            terms = frozenset(_terms(folded, language))
            names = _english_names(part, terms) if language == "en" else _chinese_names(folded, terms)
            numbers = frozenset([term for term in terms if "0" <= term[0] <= "9"])
            years = frozenset(_YEAR.findall(folded)) if dated else _NONE
            rumoured = guessed and guess.search(folded) is not None
            parts.append(Sentence(part.strip(), folded, terms, names, numbers, years, rumoured))
    terms = _NONE.union(*(part.terms for part in parts))
    years = _NONE.union(*(part.years for part in parts))
    return Reading(tuple(parts), terms, years, guessed)


def _english_names(text: str, terms: frozenset[str]) -> frozenset[str]:
    return terms & {name.lower()[:6] for name in _CAPITAL.findall(text)}


def _chinese_names(folded: str, terms: frozenset[str]) -> frozenset[str]:
    likely = [term for term in terms if term[0] in _SURNAMES and len(term) == 2 and term[1] > "\u4dff"]
    if not _BESIDE_NAME.isdisjoint(folded):
        likely += _CHINESE_NAME.findall(folded)
    return frozenset(likely)


@lru_cache(maxsize=4096)
def read_question(question: str, language: str) -> Question:
    """What the question is about and what it asks for."""
    folded = fold(question, language).text
    whole = _read_question(folded, language)
    parts = _parts(folded, language)
    if not parts:
        return whole
    return replace(whole, parts=tuple(_read_question(part, language, subject) for part, subject in parts))


def _read_question(folded: str, language: str, subject: str = "") -> Question:
    """`about` names the topic where the question itself says "it"."""
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
    """The two questions that a folded question is made of, each with what it is about; [] if it is one."""
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
    """What the first question is about: of an English one, what follows its first words, which ask."""
    match = cue("en.asks").match(first)
    return first[match.end() :] if match else first.rpartition("的")[0] or first
