"""Questions with a pool of labelled passages: what retrieval, and answers from what was retrieved, are measured on.

A pool comes from files (`datasets.pool_files`) or is invented (`datasets.fictional`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from ragstone.datasets.mirage import MirageChunk, MirageQuestion
from ragstone.errors import DataError
from ragstone.messages import messages, preferred_language
from ragstone.structs import Frozen
from ragstone.types import Passage


class PoolQuestion(Frozen, frozen=True):
    """A question. `gold`: ids of the passages that support an answer; `mapped`: of those that were collected for it,
    supporting or not; `oracle`: the passages that hold all that an answer needs. `answers`: any of them is right.
    `grades`: how relevant a gold passage is, where that is not 1. `evidence`: the texts that an answer rests on, which
    stay the same however the passages are cut. A gold passage may be absent from the pool (nothing can retrieve it)."""

    id: str
    text: str
    answers: tuple[str, ...] = ()
    source: str = ""
    language: str = ""
    gold: tuple[str, ...] = ()
    mapped: tuple[str, ...] = ()
    oracle: tuple[Passage, ...] = ()
    grades: dict[str, float] = msgspec.field(default_factory=dict)
    evidence: tuple[str, ...] = ()

    @property
    def together(self) -> int:
        """How many passages an answer needs together. The supporting passages themselves as the oracle, as BEIR's, do
        not say that more than one is needed."""
        return (len(self.oracle) or 1) if frozenset(self.gold).isdisjoint(passage.id for passage in self.oracle) else 1


class Pool(Frozen, frozen=True):
    """Questions and their passages. Ids of both are unique. `sha256`: part → hash of its bytes. `doubts`: lines on what
    looks wrong but is not an error."""

    name: str
    questions: tuple[PoolQuestion, ...]
    passages: tuple[Passage, ...]
    sha256: dict[str, str] = msgspec.field(default_factory=dict)
    license: str = ""
    doubts: tuple[str, ...] = ()


def mirage_pool(
    name: str,
    questions: Sequence[MirageQuestion],
    chunks: Sequence[MirageChunk],
    oracle: Mapping[str, MirageChunk | Sequence[MirageChunk]],
    *,
    where: object = "",
    sha256: Mapping[str, str] | None = None,
    license: str = "",  # noqa: A002  (the name that benchmarks have it under)
    language: str = "",
) -> Pool:
    """A pool of MIRAGE's parts. A passage's id is `query_id#n`, its place among the chunks of its query.

    Raises DataError, in one line, for a question without chunks, without one that supports an answer, or without an
    oracle, and for a chunk of a question that is not there."""
    where = where or name
    mapped: dict[str, list[MirageChunk]] = {question.query_id: [] for question in questions}
    for number, chunk in enumerate(chunks):
        if chunk.mapped_id not in mapped:
            raise DataError(where, f"chunk {number} belongs to the query {chunk.mapped_id!r}, which is not there.")
        mapped[chunk.mapped_id].append(chunk)
    passages: list[Passage] = []
    pool_questions: list[PoolQuestion] = []
    for question in questions:
        collected = mapped[question.query_id]
        if not collected:
            none = sum(not group for group in mapped.values())
            raise DataError(
                where, f"the query {question.query_id!r} has no chunk in the pool; "
                f"{none:,} of {len(mapped):,} have none.",
                advice="Are the files whole, and of one release?",
            )  # fmt: skip
        pool_question = _pool_question(where, question, collected, oracle.get(question.query_id), language)
        passages += [
            Passage(key, chunk.doc_chunk, chunk.doc_name)
            for key, chunk in zip(pool_question.mapped, collected, strict=True)
        ]
        pool_questions.append(pool_question)
    doubts = _doubts(questions, pool_questions, chunks)
    return Pool(name, tuple(pool_questions), tuple(passages), dict(sha256 or {}), license, doubts)


def _pool_question(
    where: object, question: MirageQuestion, chunks: Sequence[MirageChunk],
    oracle: MirageChunk | Sequence[MirageChunk] | None, language: str,
) -> PoolQuestion:  # fmt: skip
    """A question with the ids of its chunks and its oracle. Raises DataError if no chunk supports it."""
    key = question.query_id
    ids = tuple(f"{key}#{place}" for place in range(len(chunks)))
    gold = tuple(chunk_id for chunk_id, chunk in zip(ids, chunks, strict=True) if chunk.support == 1)
    if not gold:
        raise DataError(
            where, f"the query {key!r} has no label: no chunk supports it.", field="support",
            advice="Label one of its chunks, or leave the query out.",
        )  # fmt: skip
    if oracle is None:
        raise DataError(where, f"the query {key!r} has no oracle chunk.")
    whole = (oracle,) if isinstance(oracle, MirageChunk) else oracle
    passages = tuple(
        Passage(f"{key}#oracle{place or ''}", chunk.doc_chunk, chunk.doc_name, relevant=True)
        for place, chunk in enumerate(whole)
    )
    return PoolQuestion(
        key, question.query, question.answer, question.source, language, gold, ids, passages, evidence=question.evidence
    )


def _doubts(
    questions: Sequence[MirageQuestion], pool_questions: Sequence[PoolQuestion], chunks: Sequence[MirageChunk]
) -> tuple[str, ...]:
    """Rows of the pool that may be missing or duplicated: fewer or more chunks than most questions have, or labels that
    contradict the questions' own counts."""
    lines, texts = [], messages(__name__, preferred_language())
    sizes = Counter(len(question.mapped) for question in pool_questions)
    usual = max(sizes, key=lambda size: (sizes[size], size), default=0)
    fewer = [question.id for question in pool_questions if len(question.mapped) < usual]
    surplus = [question.id for question in pool_questions if len(question.mapped) > usual]
    for key, ids in (("fewer", fewer), ("more", surplus)):
        if ids:
            lines.append(texts[key].format(count=len(ids), total=len(pool_questions), usual=usual, first=ids[0]))
    if odd := sum(chunk.support not in (0, 1) for chunk in chunks):
        lines.append(texts["odd_support"].format(count=odd, total=len(chunks)))
    declared = [question.num_doc_labels for question in questions]
    pairs = zip(pool_questions, declared, strict=True)
    mislabelled = [question.id for question, number in pairs if number is not None and number != len(question.gold)]
    if mislabelled:
        lines.append(
            texts["other_number"].format(count=len(mislabelled), total=len(pool_questions), first=mislabelled[0])
        )
    return tuple(lines)
