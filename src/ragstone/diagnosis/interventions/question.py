"""A question before it is asked, what its first answer shows of the way to the prompt, and how passages are given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from ragstone.analysis.gold_passages import evidence_of, holds, lacking, pieces
from ragstone.analysis.statements import letters
from ragstone.responses.stages import passages_at, stage_step
from ragstone.types import Passage, Query, Response, Sample, Step, Turn

ASKED, REFERENCE = "search_asked", "search_reference"
FOUND_BY_ITSELF = 5
"""Among so many passages a gold one should be if its own words are searched for."""


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


def as_prompted(response: Response) -> Response:
    """The response with the passages of its recorded prompt, whole, in place of those that the system returned beside
    it: these are what was left before the prompt, a step "rerank", or "fetch" if it told no such step. As it is where
    no prompt was recorded, or one in whose text no passage was found."""
    shown = passages_at(response, "prompt")
    if (
        shown is None
        or unread_prompt(response)
        or [item.id for item in shown] == [item.id for item in response.passages]
    ):
        return response
    steps = response.steps
    if response.passages and (stage := _stage_of_returned(response)):
        steps = (stage_step(stage, response.passages), *steps)
    known = (*response.passages, *(passages_at(response, "rerank") or ()), *(passages_at(response, "fetch") or ()))
    return replace(response, passages=tuple(whole(item, known) for item in shown), steps=steps)


def _stage_of_returned(response: Response) -> str:
    """The stage that the returned passages are those of; "" if the system told it."""
    fetched = passages_at(response, "fetch")
    if fetched is None:
        return "fetch"
    same = [item.id for item in fetched] == [item.id for item in response.passages]
    return "" if same or passages_at(response, "rerank") is not None else "rerank"


def unread_prompt(response: Response) -> str:
    """The text of the recorded prompt in which no passage was found: it may have them in other words; "" otherwise."""
    step = next((step for step in reversed(response.steps) if step.name == "prompt"), None)
    return str(step.input) if step is not None and step.input and not step.output else ""


def whole(shown: Passage, found: Sequence[Passage]) -> Passage:
    """The passage that was found and of which this is the beginning, also under an id that the cut changed."""
    begun = [item for item in found if item.id == shown.id or letters(item.text).startswith(letters(shown.text))]
    return max((shown, *begun), key=lambda item: len(item.text))


def fetched_of(response: Response) -> tuple[Passage, ...]:
    """What the retriever of a system returned; without a record of that, the passages of the answer."""
    return passages_at(response, "fetch") or response.passages


def prompt_of(response: Response) -> tuple[Passage, ...]:
    """What of its passages stood in the prompt, as far as that is known; else the passages of the answer."""
    return passages_at(response, "prompt") or response.passages


def handed_over(response: Response) -> tuple[Passage, ...]:
    """The passages that the last step before the prompt left, whole."""
    return passages_at(response, "rerank") or fetched_of(response)


def queries_of(response: Response) -> list[str]:
    """The queries that the system says it searched for; those of an adapter are without the question itself."""
    step: Step | None = next((step for step in response.steps if step.name == "rewrite"), None)
    output = step.output if step is not None else None
    queries = output if isinstance(output, list) else [output]
    return [query for query in queries if isinstance(query, str) and query.strip()]


def rewritten_of(response: Response, asked: str) -> str:
    """The query that the system searched for in place of the question; "" if that is not known, or it searched for the
    question as it was asked, too."""
    queries = queries_of(response)
    return "" if any(is_same_query(query, asked) for query in queries) else next(iter(queries), "")


def is_same_query(one: str, other: str) -> bool:
    """Whether a search sees no difference between two texts: case and spaces are none."""
    return one.casefold().split() == other.casefold().split()


def basis_of(first: Response, searches: Mapping[str, Response | None]) -> Response:
    """The first answer as conditions are made of it: with what a search for the question as asked found, and with what
    one for the gold's own words found."""
    asked, own = searches.get(ASKED), searches.get(REFERENCE)
    steps = [stage_step(ASKED, asked.passages)] if asked is not None else []
    steps += [stage_step(REFERENCE, own.passages[:FOUND_BY_ITSELF])] if own is not None else []
    return replace(first, steps=(*first.steps, *steps)) if steps else first


def plain(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    return tuple(replace(passage, relevant=None, score=None, meta={}) for passage in passages)


def apart(question: Question, first: Response) -> tuple[list[Passage], list[Passage]]:
    """The gold passages, as the system has them where it does, and the system's other passages, in its order."""
    slots = question.sample.references
    own = list(first.passages)
    held = [item for item in own if any(holds(item, one, slots) for one in question.gold)]
    return [*held, *lacking(own, question.gold, slots)], [item for item in own if item not in held]


def with_passages(question: Question, passages: Sequence[Passage]) -> Query | None:
    """The question with these passages; None if the text of one is not known, as of a gold passage without a corpus
    that is known by its id."""
    if not all(one.text.strip() for one in passages):
        return None
    return replace(question.query, passages=plain(passages))


def lost_gold(question: Question, first: Response) -> Passage | None:
    """The first gold passage that the prompt lacks; the first of all if it lacks none."""
    lost = lacking(prompt_of(first), question.gold, question.sample.references)
    return next(iter(lost or question.gold), None)


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


def statements_in(gold: Passage, question: Question) -> str:
    """The best statement of each part of the answer; the whole text where it is not known which sentences they are."""
    found = {one.slot: one.alone for one in reversed(evidence_of(gold, question.sample.references)) if one.value}
    return "\n".join(dict.fromkeys(found.values())) or gold.text


Build = Callable[[Question, Response], Query | None]
"""Makes the query of a condition, from a question and the first answer to it; None if the condition does not apply."""


def asked_model(response: Response) -> bool:
    """Whether the prompt of an answer was recorded."""
    return any(step.name == "prompt" for step in response.steps)
