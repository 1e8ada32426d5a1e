"""The conditions under which a question is asked again, and how each is made of a question and its first answer.

A condition needs something of the system ("passages": it answers from given ones; "k"; "retrieve": it can be asked for
passages alone; "repeat": it can be asked again, unlike recorded answers) and of the question (gold passages, a first
answer). A condition that cannot be made, or that equals another one, is left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from ragstone.benchmarks.interventions.gold import evidence_of, holds, lacking, pieces, states
from ragstone.benchmarks.interventions.prompts import fillers, open_question
from ragstone.benchmarks.interventions.remembering import ORDERED, in_other_words
from ragstone.benchmarks.interventions.requests import explicit_question, neutral_question
from ragstone.benchmarks.interventions.stand_ins import exchanged, number_of
from ragstone.benchmarks.interventions.statements import letters
from ragstone.benchmarks.source_attribution import content_words, words_in
from ragstone.responses.stages import passages_at, stage_step
from ragstone.text import detect, fold
from ragstone.types import Passage, Query, Response, Sample, Step, Turn

REPEATS = ("again", "again_2", "again_3")
ASKED_AGAIN: Mapping[str, tuple[str, ...]] = {
    "gold_only": ("gold_only_2", "gold_only_3"), "chunk_only": ("chunk_only_2", "chunk_only_3"),
    "gold_added": ("gold_added_2", "gold_added_3"), "without_rivals": ("without_rivals_2", "without_rivals_3"),
    "padded_last": ("padded_last_2", "padded_last_3"),
}  # fmt: skip
"""The conditions of which a wrong answer decides, and those that ask it again where answers change by themselves."""
FOUND_BY_ITSELF = 5
"""Among so many passages a gold one should be if its own words are searched for."""
_TRANSLATIONS = ("question_en", "question_zh", "question_translated")  # columns
_ANY_DEPTH = 100
_SAME_SUBJECT = 0.7
"""Share of the words of a question's subject, by weight, that a passage about it has."""
ASKED, REFERENCE = "search_asked", "search_reference"
_PROBE = 300  # characters of a gold passage that are searched for
_MUCH = 2  # times as long as its evidence: a text in which the value may drown


@dataclass(frozen=True)
class Question:
    """A question before it is asked. `gold`: its gold passages, `indexed`: passages of the index that may be the same
    with another value; `stand_in`: an answer of the same kind to another question. `recorded`: its answer exists."""

    row: int
    sample: Sample
    history: tuple[Turn, ...] = ()
    gold: tuple[Passage, ...] = ()
    indexed: tuple[Passage, ...] = ()
    stand_in: str = ""
    recorded: bool = False

    @property
    def query(self) -> Query:
        """The question as it is asked; a recorded answer is found by its row."""
        return Query(
            self.sample.question, None, self.history, self.sample.language, repeat=self.row if self.recorded else 0
        )


def fetched_of(response: Response) -> tuple[Passage, ...]:
    """What the retriever of a system returned; without a record of that, the passages of the answer."""
    return passages_at(response, "fetch") or response.passages


def rewritten_of(response: Response) -> str:
    """The query that the system searched for in place of the question; "" if that is not known."""
    step: Step | None = next((step for step in response.steps if step.name == "rewrite"), None)
    output = step.output if step is not None else None
    queries = output if isinstance(output, list) else [output]
    return next((query for query in queries if isinstance(query, str) and query.strip()), "")


def basis_of(first: Response, searches: Mapping[str, Response | None]) -> Response:
    """The first answer as conditions are made of it: with what a search for the question as asked found, and with what
    one for the gold's own words found."""
    asked, own = searches.get(ASKED), searches.get(REFERENCE)
    steps = [stage_step(ASKED, asked.passages)] if asked is not None else []
    steps += [stage_step(REFERENCE, own.passages[:FOUND_BY_ITSELF])] if own is not None else []
    return replace(first, steps=(*first.steps, *steps)) if steps else first


def _plain(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    return tuple(replace(passage, relevant=None, score=None, meta={}) for passage in passages)


def _split(question: Question, first: Response) -> tuple[list[Passage], list[Passage]]:
    """The gold passages, as the system has them where it does, and the system's other passages, in its order."""
    slots = question.sample.references
    own = list(first.passages)
    held = [item for item in own if any(holds(item, one, slots) for one in question.gold)]
    return [*held, *lacking(own, question.gold, slots)], [item for item in own if item not in held]


def _given(question: Question, passages: Sequence[Passage]) -> Query:
    return replace(question.query, passages=_plain(passages))


def _repeated(number: int) -> "Build":
    return lambda question, first: replace(question.query, repeat=number)


def _without_history(question: Question, first: Response) -> Query | None:
    return replace(question.query, history=()) if question.history else None


def _framed(number: int) -> "Build":
    return lambda question, first: replace(question.query, question=in_other_words(question.sample.question, number))


def _reworded(ask: Callable[[Sample], str]) -> "Build":
    def build(question: Question, first: Response) -> Query | None:
        query = _gold_only(question, first)
        return None if query is None else replace(query, question=ask(question.sample))

    return build


def _explicit(sample: Sample) -> str:
    return explicit_question(sample.question, next((alias for slot in sample.references for alias in slot), ""))


def _gold_only(question: Question, first: Response) -> Query | None:
    return _given(question, question.gold) if question.gold else None


def _chunk_only(question: Question, first: Response) -> Query | None:
    """The system's own chunks of the gold; none where they are the labelled text, or all that it had."""
    found = own_chunks(question, first)
    return None if found == [*first.passages] or are_labels(question, found) else _given(question, found)


def own_chunks(question: Question, first: Response) -> list[Passage]:
    """The system's passages that hold the gold, or parts of it: those of the prompt; where it has none, those that were
    fetched, or found by its own words."""
    places = (first.passages, fetched_of(first), passages_at(first, REFERENCE) or ())
    found = (pieces(passages, question.gold, question.sample.references) for passages in places)
    return next((chunks for chunks in found if chunks), [])


def are_labels(question: Question, passages: Sequence[Passage]) -> bool:
    """Whether passages are the labelled texts themselves."""
    labels = {letters(one.text) for one in question.gold}
    return all(letters(item.text) in labels for item in passages)


def _evidence_only(question: Question, first: Response) -> Query | None:
    """The sentences with the answer, and what tells what they are about; none where the labels are not much longer."""
    given = [replace(one, text=_sentences(one, question), title="") for one in question.gold]
    short = _MUCH * sum(len(one.text) for one in given) <= sum(len(one.text) for one in question.gold)
    return _given(question, given) if given and short else None


def _sentences(gold: Passage, question: Question) -> str:
    """The best statement of each part of the answer; the whole text where it is not known which sentences they are."""
    found = {one.slot: one.alone for one in reversed(evidence_of(gold, question.sample.references)) if one.value}
    return "\n".join(dict.fromkeys(found.values())) or gold.text


def _indexed_only(question: Question, first: Response) -> Query | None:
    """What the index says instead: the passages that state the answer given, else those that may be another version."""
    found = rivals(question, first) or question.indexed
    return _given(question, found) if found and question.gold else None


def _without_rivals(question: Question, first: Response) -> Query | None:
    """The system's own passages without those that state another answer, and the gold that they lack."""
    found, slots = rivals(question, first), question.sample.references
    own = [item for item in first.passages if item not in found]
    missing = [one for one in question.gold if not any(holds(item, one, slots) for item in own)]
    return _given(question, _with(question, own, missing)) if found else None


def rivals(question: Question, first: Response) -> list[Passage]:
    """The passages of the prompt that state the answer given, and not the reference, about the subject of the question:
    they have its words that the gold passages have. Only the answers with and without them show whether they
    misled."""
    sample, language = question.sample, question.sample.language
    said = content_words(first.answer, language) - content_words(sample.question, language)
    figures = frozenset(word for word in said if any(map(str.isdigit, word)))
    if not said or not question.gold:
        return []
    asked = content_words(sample.question, language)
    shared = [words_in(f"{item.title}\n{item.text}", asked, language) for item in (*first.passages, *question.gold)]
    subject = frozenset[str]().union(*shared[len(first.passages) :])
    weights = {word: 1 / sum(word in found for found in shared) for word in subject}
    return [
        item
        for item, found in zip(first.passages, shared, strict=False)
        if sum(weights[word] for word in found & subject) >= _SAME_SUBJECT * sum(weights.values()) > 0
        and not states(item, sample.references)
        and not any(holds(item, one, sample.references) for one in question.gold)
        and 2 * len(words_in(item.text, said, language)) >= len(said)
        and figures <= words_in(item.text, figures, language)
    ]


def _gold_added(question: Question, first: Response) -> Query | None:
    """The system's own passages, of which the last make room for the gold that they lack, at a place by chance."""
    slots = question.sample.references
    own = list(first.passages)
    missing = lacking(own, question.gold, slots)
    if not missing or not own:
        return _given(question, missing) if missing and not own else None
    others = [item for item in own if not any(holds(item, one, slots) for one in question.gold)]
    dropped = others[max(0, len(others) - len(missing)) :] if len(own) > len(missing) else []
    kept = [item for item in own if item not in dropped]
    return _given(question, _with(question, kept, missing))


def _with(question: Question, passages: list[Passage], more: Sequence[Passage]) -> list[Passage]:
    """These passages with some more, each at a place by chance."""
    for one in more:
        passages.insert(number_of(question.sample, one.id, len(passages) + 1), one)
    return passages


def _no_gold(question: Question, first: Response) -> Query | None:
    _, others = _split(question, first)
    return _given(question, others) if question.gold and others and len(others) < len(first.passages) else None


def _placed(place: str) -> "Build":
    def build(question: Question, first: Response) -> Query | None:
        gold, others = _split(question, first)
        if not gold or not others:
            return None
        at = {"first": 0, "middle": (len(others) + 1) // 2, "last": len(others)}[place]
        return _given(question, [*others[:at], *gold, *others[at:]])

    return build


def _behind(*, short: bool) -> "Build":
    """The gold behind passages that say nothing."""

    def build(question: Question, first: Response) -> Query | None:
        gold, others = _split(question, first)
        return _given(question, [*fillers(others, short=short), *gold]) if gold and others else None

    return build


def _duplicated(question: Question, first: Response) -> Query | None:
    return _given(question, [item for item in first.passages for _ in range(2)]) if first.passages else None


def _as_given(question: Question, first: Response) -> Query | None:
    return _given(question, first.passages) if first.passages else None


def _reordered(question: Question, first: Response) -> Query | None:
    return _given(question, first.passages[::-1]) if len(first.passages) > 1 else None


def _ranked(first: Response) -> list[Passage]:
    """The passages of the prompt, best first, as the last ranking before it had them."""
    order = passages_at(first, "rerank") or passages_at(first, "fetch") or ()
    ranks = {passage.id: rank for rank, passage in reversed([*enumerate(order)])}
    return sorted(first.passages, key=lambda passage: ranks.get(passage.id, len(ranks)))


def _changed_to(question: Question, first: Response, passages: Sequence[Passage]) -> Query | None:
    """The question with these passages, if they are others than those of the prompt or in another order."""
    same = [item.id for item in passages] == [item.id for item in first.passages]
    return None if same or not passages else _given(question, passages)


def _fewer(question: Question, first: Response) -> Query | None:
    """The better half of its own passages, in its own order."""
    kept = {id(passage) for passage in _ranked(first)[: (len(first.passages) + 1) // 2]}
    return _changed_to(question, first, [passage for passage in first.passages if id(passage) in kept])


def _unranked(question: Question, first: Response) -> Query | None:
    """What the retriever ranked highest, without the reranker."""
    if passages_at(first, "rerank") is None:
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
    return None if unchanged else _given(question, changed)


def _more(times: int) -> "Build":
    def build(question: Question, first: Response) -> Query | None:
        return replace(question.query, k=times * len(first.passages)) if first.passages else None

    return build


def _search(text: Callable[[Question, Response], str], times: int = 1, least: int = 0) -> "Build":
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
    return f"{reference} {_sentences(sought, question)[:_PROBE]}"


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


def lost_gold(question: Question, first: Response) -> Passage | None:
    """The first gold passage that the prompt lacks; the first of all if it lacks none."""
    lost = lacking(first.passages, question.gold, question.sample.references)
    return next(iter(lost or question.gold), None)


Build = Callable[[Question, Response], Query | None]


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
    Condition("closed_book", "passages", lambda question, first: _given(question, ())),
    Condition("as_given", "passages", _as_given),
    Condition("gold_only", "passages", _gold_only),
    Condition("indexed_only", "passages", _indexed_only),
    Condition("chunk_only", "passages", _chunk_only),
    Condition("evidence_only", "passages", _evidence_only),
    Condition("gold_added", "passages", _gold_added),
    Condition("without_rivals", "passages", _without_rivals),
    Condition("no_gold", "passages", _no_gold),
    Condition("gold_first", "passages", _placed("first")),
    Condition("gold_middle", "passages", _placed("middle")),
    Condition("gold_last", "passages", _placed("last")),
    Condition("padded_last", "passages", _behind(short=False)),
    Condition("short_last", "passages", _behind(short=True)),
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
    Condition(ASKED, "retrieve", _search(lambda question, first: question.sample.question)),
    Condition("search_rewritten", "retrieve", _search(lambda question, first: rewritten_of(first))),
    Condition("search_deep", "retrieve", _search(lambda question, first: question.sample.question, 4)),
    Condition(REFERENCE, "retrieve", _search(_reference, least=FOUND_BY_ITSELF)),
    Condition("search_own", "retrieve", _search(_own_words, 4, least=_ANY_DEPTH)),
    Condition("search_control", "retrieve", _search(_control_words, least=FOUND_BY_ITSELF)),
    Condition("search_translated", "retrieve", _search(translation_of)),
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
