"""The conditions under which a question is asked again, and how each is made of a question and its first answer.

A condition needs something of the system ("passages": it answers from given ones; "k"; "retrieve": it can be asked for
passages alone; "repeat": it can be asked again, unlike recorded answers) and of the question (gold passages, a first
answer). A condition that cannot be made, or that equals another one, is left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from ragstone.analysis.gold_passages import evidence_of, holds, lacking, states
from ragstone.analysis.statements import is_cut
from ragstone.diagnosis.interventions.condition_texts import (
    explicit_question,
    in_other_words,
    neutral_question,
    open_question,
)
from ragstone.diagnosis.interventions.index import is_old
from ragstone.diagnosis.interventions.placement import between_fillers, kept, placed, with_evidence_at
from ragstone.diagnosis.interventions.question import (
    ASKED,
    Build,
    Question,
    apart,
    are_labels,
    fetched_of,
    own_chunks,
    statements_in,
    with_passages,
)
from ragstone.diagnosis.interventions.rows import two_rows
from ragstone.diagnosis.interventions.searches import SEARCHED, swapped
from ragstone.diagnosis.interventions.stand_ins import exchanged, number_of
from ragstone.responses.stages import passages_at
from ragstone.text import fold
from ragstone.text.content_words import content_words, words_in
from ragstone.types import Passage, Query, Response, Sample

REPEATS = ("again", "again_2", "again_3")
ASKED_AGAIN: Mapping[str, tuple[str, ...]] = {
    "gold_only": ("gold_only_2", "gold_only_3"), "chunk_only": ("chunk_only_2", "chunk_only_3"),
    "gold_added": ("gold_added_2", "gold_added_3"), "without_rivals": ("without_rivals_2", "without_rivals_3"),
    "padded": ("padded_2", "padded_3"), "evidence_last": ("evidence_last_2", "evidence_last_3"),
}  # fmt: skip
"""The conditions of which a wrong answer decides, and those that ask it again where answers change by themselves."""
ORDERED = ("before_1", "after_1", "before_2", "after_2")
"""Another question and this one, twice: asked in this order, one at a time, while nothing else is asked."""
_SAME_SUBJECT = 0.7
"""Share of the words of a question's subject, by weight, that a passage about it has."""
_MUCH = 2  # times as long as its evidence: a text in which the value may drown


def _repeated(number: int) -> Build:
    return lambda question, first: replace(question.query, repeat=number)


def _asked_otherwise(question: Question, text: str) -> Query | None:
    return replace(question.query, question=text) if text else None


def _without_history(question: Question, first: Response) -> Query | None:
    return replace(question.query, history=()) if question.history else None


def _framed(number: int) -> Build:
    return lambda question, first: replace(question.query, question=in_other_words(question.sample.question, number))


def _reworded(ask: Callable[[Sample], str]) -> Build:
    def build(question: Question, first: Response) -> Query | None:
        query = _gold_only(question, first)
        return None if query is None else replace(query, question=ask(question.sample))

    return build


def _explicit(sample: Sample) -> str:
    return explicit_question(sample.question, next((alias for slot in sample.references for alias in slot), ""))


def _gold_only(question: Question, first: Response) -> Query | None:
    return with_passages(question, question.gold) if question.gold else None


def _chunk_only(question: Question, first: Response) -> Query | None:
    """The system's own chunks of the gold; none where they are the labelled text, or all that it had."""
    found = own_chunks(question, first)
    return None if found == [*first.passages] or are_labels(question, found) else with_passages(question, found)


def _evidence_only(question: Question, first: Response) -> Query | None:
    """The sentences with the answer, and what tells what they are about; none where the labels are not much longer."""
    given = [replace(one, text=statements_in(one, question), title="") for one in question.gold]
    short = _MUCH * sum(len(one.text) for one in given) <= sum(len(one.text) for one in question.gold)
    return with_passages(question, given) if given and short else None


def _indexed_only(question: Question, first: Response) -> Query | None:
    """What the index says instead: the passages that state the answer given, else those that may be another version."""
    found = rivals(question, first) or question.indexed
    return with_passages(question, found) if found and question.gold else None


def _without_rivals(question: Question, first: Response) -> Query | None:
    """The system's own passages without those that state another answer, and the gold that they lack."""
    found, slots = rivals(question, first), question.sample.references
    own = [item for item in first.passages if item not in found]
    missing = [one for one in question.gold if not any(holds(item, one, slots) for item in own)]
    return with_passages(question, _with(question, own, missing)) if found else None


def rivals(question: Question, first: Response) -> list[Passage]:
    """The passages of the prompt about the subject of the question that state the answer given, and not the reference;
    where none does, as none states a refusal or a slip, those that have the sentence of the gold with another value.
    Only the answers with and without them show whether they misled."""
    sample, language = question.sample, question.sample.language
    others = _about_the_same(question, first)
    said = content_words(first.answer, language) - content_words(sample.question, language)
    # Of an answer with several parts those that are wrong: no gold passage states them.
    stated = (words_in(f"{one.title}\n{one.text}", said, language) for one in question.gold)
    said = said - frozenset[str]().union(*stated) or said
    figures = frozenset(word for word in said if any(map(str.isdigit, word)))
    stating = [
        item
        for item in others
        if said
        and 2 * len(words_in(item.text, said, language)) >= len(said)
        and figures <= words_in(item.text, figures, language)
    ]
    known = [one for gold in question.gold for one in evidence_of(gold, sample.references)]
    return stating or [item for item in others if any(is_old(item, one) for one in known)]


def _about_the_same(question: Question, first: Response) -> list[Passage]:
    """The passages of the prompt that do not state the reference and have the words of the question that the gold
    passages have."""
    sample, language = question.sample, question.sample.language
    asked = content_words(sample.question, language)
    known = [one for gold in question.gold for one in evidence_of(gold, sample.references)]
    shared = [words_in(f"{item.title}\n{item.text}", asked, language) for item in (*first.passages, *question.gold)]
    subject = frozenset[str]().union(*shared[len(first.passages) :])
    weights = {word: 1 / sum(word in found for found in shared) for word in subject}
    return [
        item
        for item, found in zip(first.passages, shared, strict=False)
        if sum(weights[word] for word in found & subject) >= _SAME_SUBJECT * sum(weights.values()) > 0
        and not states(item, sample.references)
        and not any(holds(item, one, sample.references) for one in question.gold)
        and not any(is_cut(one, item.text) for one in known)  # what is left of a sentence is no other version of it
    ]


def _gold_added(question: Question, first: Response) -> Query | None:
    """The system's own passages, of which the last make room for the gold that they lack, at a place by chance."""
    slots = question.sample.references
    own = list(first.passages)
    missing = lacking(own, question.gold, slots)
    if not missing or not own:
        return with_passages(question, missing) if missing and not own else None
    others = [item for item in own if not any(holds(item, one, slots) for one in question.gold)]
    dropped = others[max(0, len(others) - len(missing)) :] if len(own) > len(missing) else []
    kept = [item for item in own if item not in dropped]
    return with_passages(question, _with(question, kept, missing))


def _with(question: Question, passages: list[Passage], more: Sequence[Passage]) -> list[Passage]:
    """These passages with some more, each at a place by chance."""
    for one in more:
        passages.insert(number_of(question.sample, one.id, len(passages) + 1), one)
    return passages


def _no_gold(question: Question, first: Response) -> Query | None:
    _, others = apart(question, first)
    return with_passages(question, others) if question.gold and others and len(others) < len(first.passages) else None


def _duplicated(question: Question, first: Response) -> Query | None:
    return with_passages(question, [item for item in first.passages for _ in range(2)]) if first.passages else None


def _as_given(question: Question, first: Response) -> Query | None:
    return with_passages(question, first.passages) if first.passages else None


def _reordered(question: Question, first: Response) -> Query | None:
    return with_passages(question, first.passages[::-1]) if len(first.passages) > 1 else None


def _ranked(first: Response) -> list[Passage]:
    """The passages of the prompt, best first, as the last ranking before it had them."""
    order = passages_at(first, "rerank") or passages_at(first, "fetch") or ()
    ranks = {passage.id: rank for rank, passage in reversed([*enumerate(order)])}
    return sorted(first.passages, key=lambda passage: ranks.get(passage.id, len(ranks)))


def _changed_to(question: Question, first: Response, passages: Sequence[Passage]) -> Query | None:
    """The question with these passages, if they are others than those of the prompt or in another order."""
    same = [item.id for item in passages] == [item.id for item in first.passages]
    return None if same or not passages else with_passages(question, passages)


def _fewer(question: Question, first: Response) -> Query | None:
    """The better half of its own passages, in its own order."""
    kept = {id(passage) for passage in _ranked(first)[: (len(first.passages) + 1) // 2]}
    return _changed_to(question, first, [passage for passage in first.passages if id(passage) in kept])


def _unranked(question: Question, first: Response) -> Query | None:
    """What the retriever ranked highest, without what comes between it and the prompt."""
    if passages_at(first, "rerank") is None and passages_at(first, "prompt") is None:
        return None
    return _changed_to(question, first, (passages_at(first, "fetch") or ())[: len(first.passages)])


def _unrewritten(question: Question, first: Response) -> Query | None:
    """What the search for the question as asked ranks highest."""
    return _changed_to(question, first, (passages_at(first, ASKED) or ())[: len(first.passages)])


def _distinct(question: Question, first: Response) -> Query | None:
    """Its own passages, each text once; the next that were fetched take the places of the others."""
    known = {fold(passage.text).text: passage for passage in reversed((*first.passages, *fetched_of(first)))}
    distinct = list(dict.fromkeys(fold(passage.text).text for passage in (*first.passages, *fetched_of(first))))
    return _changed_to(question, first, [known[text] for text in distinct][: len(first.passages)])


def _counterfactual(question: Question, first: Response) -> Query | None:
    """The gold passages with another answer in place of the right one."""
    if not question.stand_in:
        return None
    slots = question.sample.references
    changed = [replace(one, text=exchanged(one.text, slots, question.stand_in)) for one in question.gold]
    unchanged = all(new.text == old.text for new, old in zip(changed, question.gold, strict=True))
    return None if unchanged else with_passages(question, changed)


def _more(times: int) -> Build:
    def build(question: Question, first: Response) -> Query | None:
        return replace(question.query, k=times * len(first.passages)) if first.passages else None

    return build


@dataclass(frozen=True)
class Condition:
    """`takes`: what the system must accept. `build`: the query, from a question and the first answer to it; None if the
    condition does not apply."""

    name: str
    takes: str
    build: Build


_ALL = (
    Condition("as_is", "", lambda question, first: question.query),
    *(Condition(name, "repeat", _repeated(number)) for number, name in enumerate(REPEATS, 1)),
    Condition("no_history", "history", _without_history),
    *(Condition(name, "repeat", _repeated(len(REPEATS) + number)) for number, name in enumerate(ORDERED, 1)),
    Condition("reworded", "repeat", _framed(0)),
    Condition("reworded_2", "repeat", _framed(1)),
    Condition("closed_book", "passages", lambda question, first: with_passages(question, ())),
    Condition("as_given", "passages", _as_given),
    Condition("gold_only", "passages", _gold_only),
    Condition("indexed_only", "passages", _indexed_only),
    Condition("chunk_only", "passages", _chunk_only),
    Condition("evidence_only", "passages", _evidence_only),
    Condition("two_rows", "passages", two_rows),
    Condition("gold_added", "passages", _gold_added),
    Condition("without_rivals", "passages", _without_rivals),
    Condition("no_gold", "passages", _no_gold),
    Condition("gold_first", "passages", placed("first")),
    Condition("gold_middle", "passages", placed("middle")),
    Condition("gold_last", "passages", placed("last")),
    Condition("only_before", "passages", kept(before=True)),
    Condition("only_after", "passages", kept(before=False)),
    Condition("padded", "passages", between_fillers(short=False)),
    Condition("spaced", "passages", between_fillers(short=True)),
    Condition("evidence_first", "passages", with_evidence_at("first")),
    Condition("evidence_last", "passages", with_evidence_at("last")),
    Condition("gold_open", "passages", _reworded(lambda sample: open_question(sample.question))),
    Condition("duplicated", "passages", _duplicated),
    Condition("reordered", "passages", _reordered),
    Condition("counterfactual", "passages", _counterfactual),
    Condition("gold_explicit", "passages", _reworded(_explicit)),
    Condition("gold_neutral", "passages", _reworded(lambda sample: neutral_question(sample.question))),
    Condition("best_first", "passages", lambda question, first: _changed_to(question, first, _ranked(first))),
    Condition("fewer", "passages", _fewer),
    Condition("unranked", "passages", _unranked),
    Condition("unrewritten", "passages", _unrewritten),
    Condition("distinct", "passages", _distinct),
    Condition("k2", "k", _more(2)),
    Condition("k4", "k", _more(4)),
    *(Condition(name, "retrieve", build) for name, build in SEARCHED.items()),
    Condition("swapped", "repeat", lambda question, first: _asked_otherwise(question, swapped(question, first))),
)


def _with_repeats() -> Iterator[Condition]:
    for condition in _ALL:
        yield condition
        for number, name in enumerate(ASKED_AGAIN.get(condition.name, ()), 1):
            yield Condition(name, condition.takes, _again(condition.build, number))


def _again(build: Build, number: int) -> Build:
    def again(question: Question, first: Response) -> Query | None:
        query = build(question, first)
        return None if query is None else replace(query, repeat=number)

    return again


CONDITIONS: Mapping[str, Condition] = {condition.name: condition for condition in _with_repeats()}
SEARCHES = tuple(condition.name for condition in _ALL if condition.takes == "retrieve")
"""The conditions that only search; no answer is asked for."""
