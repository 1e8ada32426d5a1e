"""Finds the gold passages of the user's questions: by labels, by what the corpus states, by the judge."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from statistics import median
from typing import TypeAlias

from msgspec.structs import replace

from ragstone.analysis.gold_passages import CorpusIndex, labelled, with_evidence
from ragstone.analysis.statements import Subject, no_subject
from ragstone.benchmarks.recorded.benchmark import RecordedRow
from ragstone.benchmarks.row_names import row_name
from ragstone.diagnosis.interventions.benchmark import sample_of
from ragstone.diagnosis.interventions.index import Listed, SystemIndex
from ragstone.diagnosis.interventions.question import Question
from ragstone.diagnosis.interventions.stand_ins import StandIns
from ragstone.engine.judge_tools import Judging, open_tools
from ragstone.engine.shard import Shard
from ragstone.errors import Unfinished
from ragstone.evaluation.gold_documents import column_documents
from ragstone.metrics.reference_core import readings
from ragstone.models import ModelOptions
from ragstone.retrieval import open_retriever
from ragstone.runs.scoring import score as run_metric
from ragstone.text import detect, estimate_tokens
from ragstone.types import Case, Metric, Passage, Query, Response, Retriever, Sample

_Gold: TypeAlias = tuple[tuple[Passage, ...], str]  # the gold passages, and how they were found

_RANKED = 50  # chunks in which the reference is looked for
_JUDGED = 10  # chunks that the judge reads
_AT_ONCE = 16  # requests to the judge
_SHORT = 8  # tokens of a reference that can be found word for word


async def find_gold(
    rows: Sequence[RecordedRow], corpus: CorpusIndex | None, judging: Judging, options: ModelOptions,
    shard: Shard | None = None, index: SystemIndex | None = None,
) -> list[Question]:  # fmt: skip
    """The questions with their gold passages, and how they were found ("gold_found" of `Sample.meta`); with a shard
    those of its rows.

    Labels count first. Otherwise the chunks that BM25 ranks highest for question and reference are searched for the
    words of the reference; a reference of more words is given to the judge, who marks the chunks that help to reach it.
    Where an `index` is named, it is noted whether it states the evidence, and what may be another version of it."""
    samples = [_labelled(row) for row in rows]
    questions, stand_ins = [], StandIns(samples)
    if shard is not None:
        kept_rows = [at for at, row in enumerate(rows) if shard.has(row_name(row.row))]
        rows, samples = [rows[at] for at in kept_rows], [samples[at] for at in kept_rows]
    lacking = any(sample.references and not labelled(sample) for sample in samples)
    async with _searching(corpus if lacking else None, judging, options) as search:
        results = _whole(await asyncio.gather(*map(search, samples), return_exceptions=True))
    subject = no_subject if corpus is None else corpus.subject(sample.question for sample in samples)
    truth = cache(lambda: None if corpus is None else SystemIndex(corpus.chunks))  # built where something is missing
    for row, sample, (gold, found) in zip(rows, samples, results, strict=True):
        whole = gold if corpus is None else [part for one in gold for part in corpus.complete(one, sample)]
        kept = tuple(_with_evidence(one, sample, corpus, subject) for one in whole)
        other = stand_ins.of(sample) if kept else ""
        listed, versions = _listed(index, corpus, truth, kept, sample)
        question = Question(row.row, sample, row.history, kept, versions, other)
        noted = sample_of(question, found=found, in_index=listed)
        questions.append(dataclasses.replace(question, sample=noted))
    return questions


def _whole(results: Sequence[_Gold | BaseException]) -> list[_Gold]:
    """The results, if all questions have one: with gold passages that come and go, the questions of a run would change.
    Raises what concerns all of them, else what concerns the first."""
    errors = [error for error in results if isinstance(error, BaseException)]
    if errors:
        raise next((error for error in errors if not isinstance(error, Unfinished)), errors[0])
    return [result for result in results if not isinstance(result, BaseException)]


def _labelled(row: RecordedRow) -> Sample:
    """The sample, with the documents of a column of their ids as its gold passages."""
    meta = {**row.sample.meta, **({"columns": row.columns} if row.columns else {})}
    language = row.sample.language or detect(row.sample.question)
    sample = replace(row.sample, language=language, meta=meta)
    if labelled(sample):
        return sample
    return replace(sample, passages=column_documents(row.columns))


def _with_evidence(gold: Passage, sample: Sample, corpus: CorpusIndex | None, subject: Subject) -> Passage:
    """The gold passage with its evidence; of one that words the answer in another way, the document that its id names
    is evidence, too."""
    named = None if corpus is None else corpus.named(gold)
    wordings = () if named is None else (named.text,)
    return with_evidence(gold, sample.question, sample.references, subject=subject, wordings=wordings)


def _listed(
    index: SystemIndex | None, corpus: CorpusIndex | None, truth: Callable[[], SystemIndex | None],
    gold: Sequence[Passage], sample: Sample,
) -> tuple[Listed | None, tuple[Passage, ...]]:  # fmt: skip
    """Whether the index has the evidence, None if that is not known, and the passages that may be other versions of
    the gold passages that it lacks."""
    if index is None or not gold or not all(one.text.strip() for one in gold):
        return None, ()
    listed, lacking = index.lists(gold, sample)
    if listed == "cut":  # what is left of a sentence is no other version of it
        return listed, ()
    named = {one.id: None if corpus is None else corpus.named(one) for one in lacking}
    versions = {
        passage.id: passage for one in lacking for passage in index.versions(one, sample, truth(), named[one.id])
    }
    return listed, tuple(versions.values())


@asynccontextmanager
async def _searching(corpus: CorpusIndex | None, judging: Judging, options: ModelOptions) -> "AsyncIterator[_Search]":
    if corpus is None or not corpus.chunks:
        yield _Search(None, None, None)
        return
    names = ("context_precision",) if judging.model is not None else ()
    async with (
        open_retriever("bm25", corpus.chunks, options=options) as retriever,
        open_tools(judging, names, options) as tools,
    ):
        judge = next((metric for metric in tools.metrics if metric.name == "context_precision"), None)
        yield _Search(corpus, retriever, judge)


class _Search:
    """Looks for the gold passages of one question."""

    def __init__(self, corpus: CorpusIndex | None, retriever: Retriever | None, judge: Metric | None) -> None:
        self._corpus, self._retriever, self._judge = corpus, retriever, judge
        self._limit = asyncio.Semaphore(_AT_ONCE)

    async def __call__(self, sample: Sample) -> _Gold:
        if labels := labelled(sample):
            return labels, "labels"
        if self._corpus is None or self._retriever is None or not sample.references:
            return (), ""
        answer = " ".join(slot[0] for slot in sample.references if slot)
        (ranked,) = await self._retriever.retrieve([f"{sample.question} {answer}"], k=_RANKED)
        if _is_short(sample) and (stating := self._corpus.stating(sample, ranked)):
            return stating, "corpus"
        if self._judge is None:
            return (), ""
        return await self._judged(sample, answer, ranked[:_JUDGED])

    async def _judged(self, sample: Sample, answer: str, ranked: Sequence[Passage]) -> _Gold:
        """The chunks that the judge finds useful for the reference."""
        assert self._judge is not None
        plain = tuple(replace(passage, score=None, relevant=None) for passage in ranked)
        case = Case(f"gold/{sample.id}", replace(sample, passages=()), {}, Query(sample.question, plain))
        async with self._limit:
            score = await run_metric(self._judge, case, Response(answer, plain))
        if score.status == "failed":
            raise Unfinished(
                f"The judge could not look for the gold passages of {sample.id!r}: {score.reason}. Run the same "
                "command again to resume (replies are cached), or label the gold passages of this question."
            )
        evidence = score.evidence
        if score.value is None or not isinstance(evidence, Mapping) or evidence.get("by") != "useful":
            return (), ""
        places = evidence["counted"]
        return tuple(replace(plain[place - 1], relevant=True) for place in places), "judge"


def _is_short(sample: Sample) -> bool:
    """Whether a wording, or what it says beyond the question, can be found word for word."""
    slots = [min(_longest(slot, sample.question)) for slot in sample.references if slot]
    return median(slots) <= _SHORT


def _longest(slot: Sequence[str], question: str) -> list[int]:
    """For each way to look for a part of the answer, the tokens of its longest item."""
    return [max(estimate_tokens(item[0]) for item in items) for items in readings(slot[:1], question)]
