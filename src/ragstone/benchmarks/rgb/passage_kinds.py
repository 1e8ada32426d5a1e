"""What kind of passage misled an answer, by rule, where the data do not say: the kinds of the paper's error analysis.

Chen et al. 2024, Table 4: evidence uncertainty (a forecast or a rumour is taken for what happened), concept confusion
(what is said of another year, or of something similar, is taken for what was asked), long-distance information (what
was asked stands far from what identifies it)."""

import re
from collections.abc import Sequence

from ragstone.benchmarks.source_attribution import Source
from ragstone.text import find_answer, sentences
from ragstone.text.content_words import content_words, places, words_in
from ragstone.types import Passage

_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_UNCERTAIN = re.compile(
    r"\b(?:expect(?:s|ed|ations?)?|(?:un)?likely|could|may(?! \d)|might|would|will|rumou?r(?:s|ed)?|reportedly|"
    r"allegedly|predict(?:s|ed|ions?)?|forecasts?|favou?rites?|odds|set to|plan(?:s|ned)? to|tipped|estimates?|"
    r"project(?:ed|ions?)|speculat\w+|if|hopes?|ahead of|contenders?|nominees?|nominat\w+)\b"
    r"|预计|有望|或将|可能|传闻|据传|预测|将[于在会成举]|计划[于在将]|拟[于在将定]|看好|热门|预期|猜测|料将|倘若|如果|估计|预估|赛前|候选|提名",
    re.IGNORECASE,
)
_WINDOW = {"en": 250, "zh": 80}  # characters on both sides of an answer
_NEAR = 0.4  # share of the question's content words within the window, below which an answer is far from them


def kind_of(source: Source, question: str, language: str) -> str:
    """The kind of a passage that an answer came from: its label in the data, or else "other_year" if the sentence with
    the words of the answer is of another year than the question, "rumour" if it says what may happen; "" else: no rule
    tells whether it is about something similar."""
    text = source.passage.text
    if label := str(source.passage.meta.get("kind", "")):
        return label
    told = max(sentences(text), key=lambda sentence: len(words_in(sentence, source.shared, language)), default="")
    asked, years = set(_YEAR.findall(question)), set(_YEAR.findall(told)) or set(_YEAR.findall(text))
    if asked and years and not asked & years:
        return "other_year"
    return "rumour" if _UNCERTAIN.search(told) else ""


def is_far(passage: Passage, question: str, aliases: Sequence[str], language: str) -> bool:
    """Whether a passage states the answer far from the words of the question: as its label says, or else less than two
    fifths of them within 250 characters of it (80 in Chinese)."""
    if label := str(passage.meta.get("kind", "")):
        return label == "far"
    wanted = content_words(question, language)
    stated = [span for alias in aliases for span in find_answer(alias, passage.text, language)]
    if not stated or not wanted:
        return False
    near = [
        {
            word
            for word, start, _ in places(passage.text, language)
            if word in wanted and abs(start - at) < _WINDOW[language]
        }
        for at, _ in stated
    ]
    return max(map(len, near)) < _NEAR * len(wanted)
