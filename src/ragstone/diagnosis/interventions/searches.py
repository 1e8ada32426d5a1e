"""What the search of a system is asked for besides the question, to find out what it does with its words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle

from ragstone.diagnosis.interventions.question import (
    ASKED,
    FOUND_BY_ITSELF,
    REFERENCE,
    Build,
    Question,
    fetched_of,
    lost_gold,
    rewritten_of,
    statements_in,
)
from ragstone.text import detect
from ragstone.text.content_words import content_words, places
from ragstone.types import Passage, Query, Response

_TRANSLATIONS = ("question_en", "question_zh", "question_translated")  # columns
_ANY_DEPTH = 100
_PROBE = 300  # characters of a gold passage that are searched for


def _search(text: Callable[[Question, Response], str], times: int = 1, least: int = 0) -> Build:
    def build(question: Question, first: Response) -> Query | None:
        sought, size = text(question, first), max(times * len(fetched_of(first)), least)
        if not sought.strip():
            return None
        return Query(sought, None, (), question.sample.language, k=size or None, retrieve_only=True)

    return build


def _reference(question: Question, first: Response) -> str:
    """The reference and the evidence of a gold passage that was not fetched: a retriever that works finds a passage by
    its own words, whatever the reference is worded like."""
    reference = " ".join(slot[0] for slot in question.sample.references if slot)
    sought = lost_gold(question, first)
    if sought is None:
        return reference
    return f"{reference} {statements_in(sought, question)[:_PROBE]}"


def control_of(first: Response) -> Passage | None:
    """A passage that the search is known to return: the last one that it returned."""
    return next(reversed(fetched_of(first)), None)


def _own_words(question: Question, first: Response) -> str:
    sought = lost_gold(question, first)
    return "" if sought is None else sought.text[:_PROBE]


def _control_words(question: Question, first: Response) -> str:
    control = control_of(first)
    return "" if control is None else control.text[:_PROBE]


def translation_of(question: Question, first: Response) -> str:
    """The question in another language, as a column of the data has it; "" if there is none."""
    columns = question.sample.meta.get("columns")
    known = [str(columns.get(name) or "") for name in _TRANSLATIONS] if isinstance(columns, Mapping) else []
    return next((text for text in known if text.strip() and detect(text) != detect(question.sample.question)), "")


def _joined_words(question: Question, first: Response) -> str:
    own = _own_words(question, first)
    return f"{question.sample.question} {own}" if own else ""


def swapped(question: Question, first: Response) -> str:
    """The question with other words in place of those that it shares with its gold passages: words of passages that the
    search returned, so that it knows them; "" where there are none."""
    asked, known = question.sample.question, content_words(_texts(question.gold), "")
    subject = [(start, end) for word, start, end in places(asked, "") if word in known]
    others = _runs(_texts(fetched_of(first)), content_words(asked, ""))
    if not subject or not others:
        return ""
    text, at = "", 0
    for (start, end), other in zip(_merged(subject), cycle(others), strict=False):
        text, at = f"{text}{asked[at:start]}{other[: max(2, end - start)]}", end
    return text + asked[at:]


def _texts(passages: Sequence[Passage]) -> str:
    return "\n".join(f"{passage.title}\n{passage.text}" for passage in passages)


def _runs(text: str, unlike: frozenset[str]) -> list[str]:
    """The content words of a text that are none of these; Chinese ones that overlap are one."""
    found = [(start, end) for word, start, end in places(text, "") if word not in unlike]
    return sorted({text[start:end] for start, end in _merged(found)}, key=lambda run: (-len(run), run))


def _merged(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans, of which those that overlap are one."""
    last: tuple[int, int] | None = None
    for start, end in spans:
        if last is not None and start < last[1]:
            last = last[0], max(end, last[1])
            continue
        if last is not None:
            yield last
        last = start, end
    if last is not None:
        yield last


SEARCHED: Mapping[str, Build] = {
    ASKED: _search(lambda question, first: question.sample.question),
    "search_rewritten": _search(lambda question, first: rewritten_of(first, question.sample.question)),
    "search_deep": _search(lambda question, first: question.sample.question, 4),
    REFERENCE: _search(_reference, least=FOUND_BY_ITSELF),
    "search_own": _search(_own_words, 4, least=_ANY_DEPTH),
    "search_control": _search(_control_words, least=FOUND_BY_ITSELF),
    "search_joined": _search(_joined_words, 4, least=4 * FOUND_BY_ITSELF),
    "search_swapped": _search(swapped),
    "search_translated": _search(translation_of),
}
"""The searches by the name of their condition."""
