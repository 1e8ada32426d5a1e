"""RULER's questions on documents, on invented news: one document has the answer, or two are needed for it."""

from collections.abc import Iterator
from functools import cache, partial
from random import Random

from ragstone.benchmarks.niah.contexts import MARK
from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.benchmarks.niah.ruler.texts import prompts
from ragstone.benchmarks.niah.sources import TextSource
from ragstone.datasets.fictional.parts import pick
from ragstone.datasets.fictional.pools import MiragePool, make_pool
from ragstone.datasets.mirage import MirageQuestion

_ASKED = 32  # questions to choose from; the documents of all others are to search through
_CHUNKS = 3  # documents of one question
_SHORTEST = {"en": 5, "zh": 3}  # characters of an answer that stands nowhere by chance


@cache
def _pool(language: str, hops: int, questions: int) -> MiragePool:
    return make_pool(questions, language=language, chunks_per_query=_CHUNKS, multi_hop=float(hops > 1))


@cache
def _asked(language: str, hops: int) -> tuple[MirageQuestion, ...]:
    questions = _pool(language, hops, _ASKED).questions
    return tuple(question for question in questions if min(map(len, question.answer)) >= _SHORTEST[language])


def question_on_documents(
    hops: int, language: str, rng: Random, excluded: frozenset[str], length: int
) -> NeedleQuestion:
    """A question with the documents that answer it, one for each hop, and those about the same that do not."""
    del excluded, length
    pool, question = _pool(language, hops, _ASKED), pick(rng, _asked(language, hops))
    needed = tuple(_document(chunk.doc_chunk, language) for chunk in pool.oracle[question.query_id])
    related = tuple(
        _document(chunk.doc_chunk, language)
        for chunk in pool.pool
        if chunk.mapped_id == question.query_id and not chunk.support
    )
    return NeedleQuestion(
        question.query, needed, (question.answer,), related, wanted=needed, reply=prompts().qa[language].reply,
        form="short",
    )  # fmt: skip


def document_source(hops: int) -> TextSource:
    """The documents of other questions, none of which states an answer of those that are asked."""
    return TextSource(f"documents-{hops}", partial(_others, hops), joint="\n\n", batch=32)


def _others(hops: int, language: str, rng: Random) -> Iterator[str]:
    del rng
    answers = [alias.lower() for question in _asked(language, hops) for alias in question.answer]
    begun, size = _ASKED, 2 * _ASKED
    while True:
        for chunk in _pool(language, hops, size).pool[begun * _CHUNKS :]:
            if not any(answer in chunk.doc_chunk.lower() for answer in answers):
                yield _document(chunk.doc_chunk, language) + "\n\n"
        begun, size = size, 2 * size


def _document(text: str, language: str) -> str:
    return prompts().qa[language].document.format(number=MARK, text=text)
