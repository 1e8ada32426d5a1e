"""What the questions of a run tell together, which no single one can."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ragstone.diagnosis.interventions.effect import Verified
from ragstone.text import find_answer

_FEWEST_MESSAGES = 3  # questions that get the same message
_FEWEST = 5  # questions of each kind
_MOSTLY, _SELDOM = 0.8, 0.5


@dataclass(frozen=True)
class Shared:
    """`barrier`: of the questions in the language of their documents the search finds most, of those in another it does
    not. `fixed`: wrong answers that several questions with different references got word for word; `stock`: those of
    them without a number or the reference of any question. `prompts`: of most answers the prompt was recorded.
    `repeated`: answers, hashed, that questions with different references got, one of them rightly; `replies`: answers
    with their passages, hashed, that questions with different references got. `searches`:
    the different lists of passages that questions got; `reranker_helps`: it raises the gold as often as it lowers it.
    `places`: the most passages that an answer had; `headings`: many wrong answers are nothing but headings of passages;
    `unfinished`: where the wrong answers to several questions stop, in the "value" or the "sentence" that the gold
    states; `verified`: which conditions took effect; None where nothing was asked under any; `rewrites`: the system
    finds the same with other words in most questions for which a search for the question as asked finds the gold."""

    barrier: bool = False
    fixed: frozenset[str] = frozenset()
    stock: frozenset[str] = frozenset()
    prompts: bool = False
    repeated: frozenset[int] = frozenset()
    replies: frozenset[int] = frozenset()
    searches: int = 0
    reranker_helps: bool = False
    places: int = 0
    headings: bool = False
    unfinished: frozenset[str] = frozenset()
    verified: Verified | None = None
    rewrites: bool = False


class Facts(NamedTuple):
    """What one question adds: whether it is in another language than its documents and the search finds them (None: not
    known), a short wrong answer, its references, its answer (None: a refusal, or none), whether that is right,
    whether its prompt was recorded (None: no answer), the wordings of its references, its passages (None: there are
    none), whether a reranker raised (1) or lowered (-1) its gold, how many passages it has, whether its wrong answer is
    nothing but a heading of one, where it stops within what the gold states, whether the system finds the same with
    other words in it (None: not asked), and its answer with its passages (None: a refusal, or without passages)."""

    language: tuple[bool, bool] | None = None
    message: str = ""
    references: int = 0
    answer: int | None = None
    right: bool = False
    prompt: bool | None = None
    wordings: tuple[str, ...] = ()
    passages: int | None = None
    reranked: int = 0
    size: int = 0
    heading: bool = False
    stop: str = ""
    ignores: bool | None = None
    reply: int | None = None


def shared_of(facts: Iterable[Facts], verified: Verified | None = None) -> Shared:
    """What these questions of one system tell together, and what was verified of it."""
    facts = list(facts)
    found: dict[bool, list[bool]] = {False: [], True: []}
    references: dict[str, set[int]] = {}
    for fact in facts:
        if fact.language is not None:
            found[fact.language[0]].append(fact.language[1])
        if fact.message:
            references.setdefault(fact.message, set()).add(fact.references)
    answers: dict[int, set[int]] = {}
    replies: dict[int, set[int]] = {}
    right: set[int] = set()
    for fact in facts:
        if fact.reply is not None:
            replies.setdefault(fact.reply, set()).add(fact.references)
        if fact.answer is not None:
            answers.setdefault(fact.answer, set()).add(fact.references)
            right.update({fact.answer} if fact.right else ())
    repeated = frozenset(answer for answer, several in answers.items() if len(several) > 1 and answer in right)
    shared_replies = frozenset(reply for reply, several in replies.items() if len(several) > 1)
    prompts = [fact.prompt for fact in facts if fact.prompt is not None]
    known = len(prompts) >= _FEWEST and 2 * sum(prompts) > len(prompts)
    own, others = found[False], found[True]
    enough = min(len(own), len(others)) >= _FEWEST
    barrier = enough and sum(own) >= _MOSTLY * len(own) and sum(others) <= _SELDOM * len(others)
    fixed = [message for message, several in references.items() if len(several) >= _FEWEST_MESSAGES]
    plain = [message for message in fixed if not any(map(str.isdigit, message))]
    wordings = {alias for fact in facts for alias in fact.wordings} if plain else set()
    stock = [
        message for message in plain if not any(find_answer(alias, message) for alias in wordings if alias.strip())
    ]
    searches = {fact.passages for fact in facts} - {None}
    moves = [fact.reranked for fact in facts if fact.reranked]
    wrong = [fact for fact in facts if fact.message]
    headed = {fact.references for fact in wrong if fact.heading}
    stopped = Counter(stop for stop, _ in {(fact.stop, fact.references) for fact in facts if fact.stop})
    ignoring = [fact.ignores for fact in facts if fact.ignores is not None]
    rewrites = len(searches) > 1 and sum(ignoring) >= max(_FEWEST_MESSAGES, len(ignoring) / 2)
    return Shared(
        barrier, frozenset(fixed), frozenset(stock), known, repeated, shared_replies, min(len(searches), 2),
        bool(moves) and sum(moves) >= 0, max((fact.size for fact in facts), default=0),
        len(headed) >= _FEWEST_MESSAGES and len(headed) >= len(wrong) / 3,
        frozenset(stop for stop, size in stopped.items() if size >= _FEWEST_MESSAGES), verified, rewrites,
    )  # fmt: skip
