"""Rows in the official RGB formats from what the languages offer: seeded row by row, checked, streamed."""

import importlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, cast

from ragstone.datasets.fictional.language import Language
from ragstone.datasets.fictional.pages import DIFFICULTIES, Difficulty, cut_pages
from ragstone.datasets.fictional.parts import Document, Fact, GeneratedItem, Unmet, seeded, shuffled
from ragstone.errors import UnknownName, UsageError
from ragstone.text import find_answer, fold

# As many as the official files have. `_fact` ends where the facts end: real ones cannot be invented.
DEFAULT_SIZES = {"": 300, "refine": 300, "int": 100, "fact": 100}
LANGUAGES = ("en", "zh")
ATTEMPTS = 60


@cache
def language(code: str) -> Language:
    """The `Language` of "en" or "zh", imported on first use."""
    return cast("Language", importlib.import_module(f"ragstone.datasets.fictional.{code}").LANGUAGE)


def fictional_rgb(
    name: str, *, seed: int = 0, size: int | None = None, difficulty: str = "news"
) -> Iterator[dict[str, Any]]:
    """Rows of one of the eight sets (`en`, `zh_refine`, `en_int`, `zh_fact`…) in the official format, plus `kinds`
    (from "positive:0", "positive:1:0" or "negative:3" to what the passage is) and `domain`.

    A row depends on seed, name and its number alone (and on no earlier question being the same), so a larger `size`
    goes on where the smaller ended. `en` and `en_refine` are equal; a `_fact` set ends where the facts end, and is the
    same at every difficulty (see `pages`).
    Raises UnknownName for another name or difficulty and UsageError for a negative size, before the first row.
    """
    code, _, testbed = name.partition("_")
    if code not in LANGUAGES or testbed not in DEFAULT_SIZES or name.endswith("_"):
        raise UnknownName("data set", name, [f"{c}{'_' * bool(t)}{t}" for c in LANGUAGES for t in DEFAULT_SIZES])
    if size is not None and size < 0:
        raise UsageError(f"A data set cannot have {size} questions.")
    if difficulty not in DIFFICULTIES:
        raise UnknownName("difficulty", difficulty, DIFFICULTIES)
    count = DEFAULT_SIZES[testbed] if size is None else size
    if testbed == "fact":
        return _facts(language(code), name, seed, count)
    make = language(code).integration if testbed == "int" else language(code).base
    world = f"{code}{'_int' if testbed == 'int' else ''}"
    return _invented(make, code, world, seed, count, difficulty)


def _invented(
    make: Callable[[random.Random, Difficulty], GeneratedItem],
    code: str,
    name: str,
    seed: int,
    count: int,
    difficulty: Difficulty,
) -> Iterator[dict[str, Any]]:
    queries: dict[str, None] = {}
    world = name if difficulty == "easy" else f"{name}/{difficulty}"
    for index in range(count):
        problem = ""
        for attempt in range(ATTEMPTS):
            rng = seeded("ragstone", seed, world, index, attempt)
            try:
                item = make(rng, difficulty)
                if difficulty != "easy":
                    item = cut_pages(rng, item, code)
            except Unmet as error:
                problem = f"nothing to say for {error}"
                continue
            problem = "a question that was asked before" if item.query in queries else flaw(item, code)
            if not problem:
                break
        else:
            raise RuntimeError(f"no sound row {index} of {name} in {ATTEMPTS} attempts; the last one: {problem}")
        queries[item.query] = None
        yield _row(index, item)


# What may follow a name, or a number that is not a part of a larger one.
AFTER_NAME = re.compile(r"(?!\w)")
AFTER_NUMBER = re.compile(r"(?![\w%])(?!\s?-?(?:hundred|thousand|[mbt]r?illion|[mb]n?\b))(?![.,]\d)")
# A Chinese name without a numeral: generated text writes it in one way only.
HAN_NAME = re.compile("(?:(?![〇零一二两三四五六七八九十百千万亿])[\u4e00-\u9fff])+")
RUNS = re.compile(r"\d+(?:[.,]\d+)+|[a-z]{3,}|\d+")


@lru_cache(maxsize=4096)
def _runs(alias: str) -> tuple[str, ...]:
    """The parts of an English alias that occur letter for letter wherever `find_answer` finds it in generated text."""
    runs = RUNS.findall(alias.lower())
    numbers = [run for run in runs if not run.isalpha() and not run.isdecimal()]
    return tuple(numbers or runs)


HAN_RUNS = re.compile("\\d+(?:[.,]\\d+)*|[a-z]{2,}|[\u4e00-\u9fff]{2,}")
NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")


@lru_cache(maxsize=4096)
def _han_runs(alias: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The same of a Chinese alias: parts that occur in the text as it is, and numbers that occur in the text with
    folded numerals. All of one or of the other occur wherever `find_answer` finds the alias."""
    return tuple(HAN_RUNS.findall(alias.lower())), tuple(NUMBERS.findall(fold(alias, "zh").text))


def _stated(alias: str, text: str, lower: str, code: str) -> bool:
    """Whether `find_answer` finds the alias. It compiles a pattern for each alias, which would dominate the time of
    making a row; so it is called only if comparing letters does not decide."""
    if HAN_NAME.fullmatch(alias):
        return alias in text
    if code == "zh":
        plain, numbers = _han_runs(alias)
        if not all(run in lower for run in plain) and not all(run in fold(text, code).text for run in numbers):
            return False
    if code == "en":
        runs = _runs(alias)
        if runs and not all(run in lower for run in runs):
            return False
        at = text.find(alias)
        if at == 0 or (at > 0 and not text[at - 1].isalnum() and text[at - 1] not in ".,$"):
            end = AFTER_NAME if alias[-1].isalpha() else AFTER_NUMBER
            if end.match(text, at + len(alias)):
                return True
    return bool(find_answer(alias, text, code))


def _holds(alias: str, text: str, lower: str, code: str) -> bool:
    return alias.lower() in lower or _stated(alias, text, lower, code)


def flaw(item: GeneratedItem, code: str) -> str:
    """What is wrong with an item, or "". A document must contain its slots by the official substring rule and by
    ragstone's own matching, so that either scoring finds them; it contains another slot's answer if either rule finds
    it."""
    integration = len(item.positive) > 1
    for number, group in enumerate(item.positive):
        own_slots = (item.slots[number],) if integration else item.slots
        other_slots = [slot for at, slot in enumerate(item.slots) if integration and at != number]
        for document in group:
            lower = document.text.lower()
            for slot in own_slots:
                if not any(alias.lower() in lower and _stated(alias, document.text, lower, code) for alias in slot):
                    return f"a positive without its answer {slot[0]!r}: {document.text!r}"
            if _leaks(document.text, lower, other_slots, code):
                return f"a passage of one group holds the answer of another: {document.text!r}"
    for document in item.negative:
        if _leaks(document.text, document.text.lower(), item.slots, code):
            return f"a negative that holds an answer: {document.text!r}"
    if _leaks(item.query, item.query.lower(), item.slots, code):
        return f"a question that holds its answer: {item.query!r}"
    texts = [document.text for group in item.positive for document in group]
    texts += [document.text for document in item.negative]
    return "" if len(dict.fromkeys(texts)) == len(texts) else "a passage twice"


def _leaks(text: str, lower: str, slots: Sequence[tuple[str, ...]], code: str) -> bool:
    return any(_holds(alias, text, lower, code) for slot in slots for alias in slot)


def _slot(aliases: tuple[str, ...]) -> str | list[str]:
    return aliases[0] if len(aliases) == 1 else list(aliases)


def _kinds(prefix: str, documents: Sequence[Document]) -> dict[str, str]:
    return {f"{prefix}:{number}": document.kind for number, document in enumerate(documents)}


def _row(index: int, item: GeneratedItem) -> dict[str, Any]:
    slots = [_slot(slot) for slot in item.slots]
    row: dict[str, Any] = {"id": index, "query": item.query}
    kinds: dict[str, str] = {}
    if len(item.positive) > 1:
        row["answer"] = slots
        row |= {f"answer{number}": slot for number, slot in enumerate(slots, 1)}
        row["positive"] = [[document.text for document in group] for group in item.positive]
        for number, group in enumerate(item.positive):
            kinds |= _kinds(f"positive:{number}", group)
    else:
        row["answer"] = slots[0] if len(slots) == 1 and isinstance(slots[0], str) else slots
        row["positive"] = [document.text for document in item.positive[0]]
        kinds |= _kinds("positive", item.positive[0])
    row["negative"] = [document.text for document in item.negative]
    return {**row, "kinds": kinds | _kinds("negative", item.negative), "domain": item.domain}


def _facts(source: Language, name: str, seed: int, count: int) -> Iterator[dict[str, Any]]:
    order = shuffled(seeded("ragstone", seed, name), source.facts)
    for index, fact in enumerate(order[:count]):
        rng = seeded("ragstone", seed, name, index)
        positive, negative = shuffled(rng, fact.positive), shuffled(rng, fact.negative)
        yield {
            "id": index,
            "query": fact.query,
            "answer": fact.answer[0] if len(fact.answer) == 1 else [list(fact.answer)],
            "fakeanswer": fact.fake,
            "positive": positive,
            "positive_wrong": [swap(text, fact) for text in positive],
            "negative": negative,
            "kinds": {f"positive:{place}": "plain" for place in range(len(positive))}
            | {f"wrong:{place}": "false" for place in range(len(positive))}
            | {f"negative:{place}": "related" for place in range(len(negative))},
            "domain": fact.domain,
        }


def swap(text: str, fact: Fact) -> str:
    """The text with every alias of the answer replaced by the false one, longer aliases first; the false one is
    capitalised where the alias was."""
    for alias in sorted(fact.answer, key=len, reverse=True):
        capital = alias[0].isupper() and fact.fake[0].islower()
        text = text.replace(alias, fact.fake[0].upper() + fact.fake[1:] if capital else fact.fake)
    return text
