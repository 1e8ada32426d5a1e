"""Questions and passages as `local/extractive` reads them: sentences, terms, names and numbers, each read once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import add

from ragstone.systems._cues import Cues, cues, rumour
from ragstone.text import sentences
from ragstone.text.characters import HAN
from ragstone.text.folding import fold

__all__ = ["Question", "Reading", "Sentence", "read_passage", "read_question"]

_UNIT = re.compile(rf"\d+(?:\.\d+)?%?|[^\W\d_{HAN}]+|[{HAN}]|[^\w\s'·-]")
_ENGLISH_UNIT = re.compile(r"\d+(?:\.\d+)?%?|[^\W\d_]+")
_YEAR = re.compile(r"(?<!\d)(?:19|20|21)\d\d(?![\d万亿人名元米])")
# A capital that does not just begin the sentence.
_CAPITAL = re.compile(r"(?:(?<=[\w,;:)\"'] )[\"'(]?|(?<=[\"“(]))([A-Z][^\W\d_]+)")
_CHINESE_NAME = re.compile(rf"[{HAN}]{{2}}(?=·)|(?<=·)[{HAN}]{{2}}|(?<=[《\"])[{HAN}]{{2}}")
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
        stop = cues("en").stop
        return [unit[:6] for unit in _ENGLISH_UNIT.findall(folded) if unit not in stop]
    units = _UNIT.findall(folded)
    return [*map(add, units, units[1:]), *(unit for unit in units if "0" <= unit[0] < "\u2e80")]


@lru_cache(maxsize=8192)
def read_passage(text: str, language: str) -> Reading:
    """The passage's sentences. The last 8,192 passages are kept: the same ones come back at every noise ratio."""
    guess = rumour(language)
    parts = []
    for part in sentences(text):
        if stripped := part.strip():
            folded = fold(stripped, language).text
            terms = frozenset(_terms(folded, language))
            names = _english_names(stripped, terms) if language == "en" else _chinese_names(folded, terms)
            numbers = frozenset(term for term in terms if "0" <= term[0] <= "9")
            years = frozenset(_YEAR.findall(folded))
            parts.append(Sentence(stripped, folded, terms, names, numbers, years, guess.search(folded) is not None))
    terms = frozenset().union(*(part.terms for part in parts))
    years = frozenset().union(*(part.years for part in parts))
    return Reading(tuple(parts), terms, years, any(part.rumour for part in parts))


def _english_names(text: str, terms: frozenset[str]) -> frozenset[str]:
    return terms & {name.lower()[:6] for name in _CAPITAL.findall(text)}


def _chinese_names(folded: str, terms: frozenset[str]) -> frozenset[str]:
    likely = {term for term in terms if term[0] in _SURNAMES and len(term) == 2 and term[1] > "\u4dff"}
    likely.update(_CHINESE_NAME.findall(folded))
    return frozenset(likely)


@lru_cache(maxsize=4096)
def read_question(question: str, language: str) -> Question:
    """What the question is about and what it asks for."""
    folded = fold(question, language).text
    whole = _read_question(folded, language)
    parts = _parts(folded, language)
    if not parts:
        return whole
    return replace(whole, parts=tuple(_read_question(part, language, about) for part, about in parts))


def _read_question(folded: str, language: str, about: str = "") -> Question:
    """`about` names the topic where the question itself says "it"."""
    table: Cues = cues(language)
    topic = table.drop.sub("。", f"{folded}。{about}")
    terms = {term: 1.5 if any(map(str.isdigit, term)) else 1.0 for term in _terms(topic, language) if term.isalnum()}
    looks: dict[str, tuple[re.Pattern[str], ...]] = {
        kind: tuple(answer for asking, answer, of in table.asking if of == kind and asking.search(folded))
        for kind in ("number", "name")
    }
    return Question(terms, frozenset(_YEAR.findall(topic)), looks["number"], looks["name"])


# "Who directed A, and who wrote its music?"; "What was the revenue of A in 2014 and in 2016?"
_TWO_EN = re.compile(r"^(?P<first>.+?),? and (?P<second>(?:in |with |by |to |at |for |on |from )?(?:who|whom|what|which|when|where|how)\b.+)$")
_LIST_EN = re.compile(r"^(?P<head>.*?)(?P<a>(?:\b(?:in|of|for|at|by|on) )?(?:the )?\S+(?: \S+){0,6}?),? and (?P<b>(?:in|of|for|at|by|on|the) .+)$")
# A的甲是谁，B的呢; A的甲和乙分别是; A和B的甲分别是
_OTHER_ZH = re.compile(r"^(?P<first>.+的(?P<what>[^,的]+))[,;](?P<second>.+)的呢\W*$")
_TWO_ZH = re.compile(r"^(?P<first>[^,?]+)[,?](?P<second>.+)$")
_WHATS_ZH = re.compile(r"^(?P<head>.+的)(?P<a>[^的和与及、]+)(?:和|与|以及|及|、)(?P<b>[^的]+?)(?P<tail>(?:分别|各|都)?(?:是|为|有)?[^的]{0,6})$")
_THINGS_ZH = re.compile(r"^(?P<a>.+?)(?:和|与|以及)(?P<b>.+?)(?P<tail>的[^的]+)$")


_ASKED_EN = re.compile(r"^\W*(?:(?:in|with|by|to|at|for|on|from) )?(?:who|whom|what|which|when|where|how)\b(?: much| many)?")


def _parts(folded: str, language: str) -> list[tuple[str, str]]:
    """The two questions that a folded question is made of, each with what it is about; [] if it is one."""
    if language == "en":
        if two := _TWO_EN.match(folded):
            return [(two["first"], ""), (two["second"], _subject(two["first"]))]
        if two := _LIST_EN.match(folded):
            return [(two["head"] + two["a"], ""), (two["head"] + two["b"], "")]
        return []
    if two := _OTHER_ZH.match(folded):
        return [(two["first"], ""), (f"{two['second']}的{two['what']}", "")]
    if two := _WHATS_ZH.match(folded):
        return [(two["head"] + two["a"] + two["tail"], ""), (two["head"] + two["b"] + two["tail"], "")]
    if two := _THINGS_ZH.match(folded):
        return [(two["a"] + two["tail"], ""), (two["b"] + two["tail"], "")]
    if (two := _TWO_ZH.match(folded)) and cues("zh").drop.search(two["second"]):
        return [(two["first"], ""), (two["second"], _subject(two["first"]))]
    return []


def _subject(first: str) -> str:
    """What the first question is about: of an English one, what follows its first words, which ask."""
    found = _ASKED_EN.match(first)
    return first[found.end() :] if found else first.rpartition("的")[0] or first
