"""What the construction of RGB handles: a question about an article with its labelled chunks, and two joined ones."""

from ragstone.structs import Frozen
from ragstone.types import Passage


class NewsQuestion(Frozen, frozen=True):
    """A question about an event. `answers`: the answer and its other spellings; `kind`: what it is (person, number,
    date…). `found`: chunks to be labelled. `fake`: an answer of the same kind that is wrong; `positive_wrong`: the
    positive chunks with it in place of the answer."""

    id: str
    language: str
    article: Passage
    question: str
    answers: tuple[str, ...]
    kind: str
    evidence: str
    found: tuple[Passage, ...] = ()
    positive: tuple[Passage, ...] = ()
    negative: tuple[Passage, ...] = ()
    fake: str = ""
    positive_wrong: tuple[str, ...] = ()


class JoinedQuestion(Frozen, frozen=True):
    """Two questions as one; the answer has a part for each, in their order."""

    id: str
    language: str
    parts: tuple[NewsQuestion, NewsQuestion]
    question: str = ""
