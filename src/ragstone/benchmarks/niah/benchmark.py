"""Needle in a haystack: a grid of length × depth, where each case becomes a text only when it is sent.

A case holds a recipe instead of its text: the first N sentences of the haystack, with needles inserted before given
sentences. `expand` builds the text of one case at a time. Cells are ordered by the position of their needle, from the
end of the longest context to the beginning, so that each prompt shares everything before its needle with the previous
prompt, and a server with a prefix cache re-evaluates little of it. `lanes` cuts this order into runs that are processed
in parallel, each in order.
"""

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any, ClassVar, Self

from msgspec.structs import replace

from ragstone.benchmarks.base import BaseBenchmark
from ragstone.benchmarks.niah import charts, comparison, diagnosis, suite_tables, tables, verdict
from ragstone.benchmarks.niah.aggregate import ANYWHERE, tally_needles
from ragstone.benchmarks.niah.cells import CellPlan
from ragstone.benchmarks.niah.contexts import ContextPlan, Haystack
from ragstone.benchmarks.niah.kinds import Stack
from ragstone.benchmarks.niah.retrieved_context import RagSetting, Searcher, chunks_of
from ragstone.benchmarks.niah.suites import SUITES
from ragstone.benchmarks.niah.templates import NeedleTemplate
from ragstone.display import Chart, Diagnosis, Summary, Table
from ragstone.metrics.needle import NeedleFound, NeedleRefused
from ragstone.metrics.needle_retrieved import NeedleRetrieved
from ragstone.plans import RequestPlan
from ragstone.structs import Scalar, to_json
from ragstone.types import Case, Expand, Metric, Passage, Query, Record, Resources, Run, Sample, Sampling, Turn

_SAMPLING = Sampling(temperature=0.0, max_tokens=128)
_RECIPE, _RAG = "recipe", "rag"
CHAT_TOKENS = 64  # upper bound for the control tokens of a chat format
# Chunks are cut by an estimate of their tokens. The haystack's ratio of the model's tokens to the estimate is known; a
# few chunks may exceed it by at most this factor (the largest observed: 1.18, in chunks of 30 tokens).
_CHUNK_FACTOR = 1.25
_SEPARATOR_TOKENS = 2  # tokens between two chunks


@dataclass(frozen=True)
class Templates:
    """All templates of a run as one: the recipe of each query names its template."""

    by_name: Mapping[str, NeedleTemplate]
    name: str = "niah"
    default: Sampling = _SAMPLING

    @property
    def sampling(self) -> Sampling:
        return next(iter(self.by_name.values())).sampling if self.by_name else self.default

    @property
    def spec(self) -> Mapping[str, Any]:
        """The template of a prompt is part of its case and therefore not listed here."""
        return {"name": self.name, "version": 1}

    def messages(self, query: Query, /) -> tuple[Turn, ...]:
        passages = query.passages or ()
        name = passages[0].meta.get("template", "") if passages else ""
        template = self.by_name.get(name) or next(iter(self.by_name.values()))
        return template.messages(query)


@dataclass(frozen=True)
class NIAH(BaseBenchmark):
    """The cells of a needle test, built by `make`. Without cells there are no cases, but runs can be read.

    `haystacks`: (name, index of its first text) → the haystack. `tokenizer`: the name of the token counter.
    `lanes`: the number of runs of cells that are processed in parallel."""

    name: ClassVar[str] = "niah"
    version: ClassVar[int] = 1
    gives_passages: ClassVar[bool] = True
    reads_texts: ClassVar[bool] = False
    license: ClassVar[str] = ""
    citation: ClassVar[str] = (
        "Greg Kamradt: LLMTest_NeedleInAHaystack (2023). Aparna Dhinakaran: The Needle in a Haystack Test (2024)."
    )
    axes: ClassVar[tuple[str, ...]] = (
        "ability", "language", "suite", "needle", "variant", "template", "mode", "retriever", "chunk", "k", "length",
        "depth",
    )  # fmt: skip
    leads: ClassVar[tuple[str, ...]] = (
        "niah-suite",
        "niah-summary",
        "niah-lengths",
        "niah-effective",
        "niah-templates",
    )
    growing: ClassVar[tuple[str, ...]] = (
        "lengths", "depths", "languages", "needles", "suites", "templates", "repeat", "retrievers", "chunks", "ks",
    )  # fmt: skip

    cells: Sequence[CellPlan] = ()
    haystacks: Mapping[tuple[str, int], Stack] | None = None
    templates: Mapping[str, NeedleTemplate] | None = None
    haystack_hashes: Mapping[str, str] | None = None  # name of a haystack → hash
    tokenizer: str = ""
    seed: int = 0
    lanes: int = 4
    settings: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    searcher: Searcher | None = None  # for contexts that go through a retriever
    has_prompts: bool = True  # False for imported results, whose prompts are unknown

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self:
        """The benchmark of an existing run, to tabulate and explain it."""
        question = meta.get("question", {})
        imported = isinstance(question, dict) and "results" in question
        return cls(settings=meta.get("options", {}), has_prompts=not imported)

    @property
    def window(self) -> int:
        """The context window that a model needs: the longest prompt with its answer and the chat format's tokens."""
        return max(map(self._tokens_needed, self.cells), default=0) + CHAT_TOKENS

    @property
    def template(self) -> Templates:
        return Templates(self.templates or {}) if self.has_prompts else Templates({}, "–", Sampling())

    @property
    def metrics(self) -> tuple[Metric, ...]:
        names = (self.settings or {}).get("suites", ())
        own = (metric for name in names if name in SUITES for metric in SUITES[name].metrics)
        return (NeedleFound(), NeedleRefused(), *((NeedleRetrieved(),) if self.searcher else ()), *own)

    @property
    def question(self) -> Mapping[str, Any]:
        """Haystacks, tokenizer and seed; the grid may grow."""
        return {
            "benchmark": self.name, "version": self.version, "data": {"sha256": dict(self.haystack_hashes or {})},
            "tokenizer": self.tokenizer, "seed": self.seed,
        }  # fmt: skip

    @property
    def options(self) -> Mapping[str, Any]:
        return dict(self.settings or {})

    async def prepare(self, resources: Resources, /) -> str:
        """Tries each retriever, so that a broken one is reported before any request is sent."""
        if self.searcher is not None and self.haystacks:
            settings = dict.fromkeys(cell.rag for cell in self.cells if cell.rag is not None)
            texts = (stack.slice(0, 1) for stack in self.haystacks.values() if isinstance(stack, Haystack))
            await self.searcher.check(list(settings), [next(texts)])
        return hashlib.sha256(to_json(self.question).encode()).hexdigest()

    @property
    def plan(self) -> RequestPlan:
        return RequestPlan(self.window, self.lanes)

    @property
    def size(self) -> int:
        return len(self.cells)

    def prompt_tokens(self, case: Case, /) -> int:
        """Tokens of a case's prompt, without building it; an estimate where the context is still to be retrieved."""
        cell = self._cells_by_id.get(case.id)
        return int(case.condition["length_reached"]) if cell is None else self._prompt_tokens(cell)

    def cached_tokens(self, case: Case, /) -> int:
        """Tokens before the first needle, which prompts before it in its lane have, too; 0 for the first prompt of a
        lane, a haystack or a template, and where the question stands before the context."""
        return self._shared.get(case.id, 0)

    def judge_tokens(self, case: Case, /) -> int:
        """Tokens of the judge's request about a case and of its verdict; 0 if there is no request."""
        from ragstone.metrics.needle_judge import judged_tokens  # noqa: PLC0415

        return judged_tokens(case, str(case.sample.meta.get("needle", "")))

    @cached_property
    def _cells_by_id(self) -> Mapping[str, CellPlan]:
        """The cells whose context goes through a retriever, by id."""
        return {cell.id: cell for cell in self.cells if cell.rag is not None}

    def _prompt_tokens(self, cell: CellPlan, factor: float = 1.0, extra: int = 0) -> int:
        """Prompt tokens of a cell that goes through a retriever: its chunks (at most its whole context) and the rest of
        the prompt. `factor`: the chunks' tokens relative to the haystack's average; `extra`: tokens on top of that."""
        assert cell.rag is not None
        assert self.haystacks is not None
        chunks = ceil(factor * self._haystack(cell).rate * cell.rag.chunk * cell.rag.k) + extra
        return cell.around + min(cell.tokens - cell.around, chunks)

    def _tokens_needed(self, cell: CellPlan) -> int:
        """The tokens that a model needs for a cell: its prompt, its answer, and the rest of its length."""
        if cell.rag is None or self.haystacks is None:
            return cell.length
        haystack = self._haystack(cell)
        needle_tokens = (
            cell.tokens - cell.around - haystack.margin_of(cell.sentences) - haystack.tokens_of(cell.sentences)
        )
        prompt_tokens = self._prompt_tokens(cell, _CHUNK_FACTOR, needle_tokens) + _SEPARATOR_TOKENS * (cell.rag.k - 1)
        return cell.length - cell.tokens + prompt_tokens

    def cases(self) -> Iterator[Case]:
        """Every cell, in the order that shares most of the prompts, cut into lanes of about equal work; then the cells
        that go through a retriever, whose prompts share nothing."""
        yield from (self._case(cell, lane) for cell, lane in self._ordered())
        yield from (self._case(cell, "") for cell in self.cells if cell.rag is not None)

    def _ordered(self) -> Iterator[tuple[CellPlan, str]]:
        """The cells that no retriever is asked for, in order, each with its lane."""
        order = sorted(
            (cell for cell in self.cells if cell.rag is None),
            key=lambda cell: (cell.language, cell.stack, cell.start, -cell.before, -cell.tokens, cell.id),
        )
        work = [cell.tokens - cell.before for cell in order]
        per_lane = sum(work) / max(1, self.lanes)
        done = 0.0
        for cell, amount in zip(order, work, strict=True):
            lane = min(self.lanes - 1, int(done / per_lane)) if per_lane else 0
            done += amount
            yield cell, f"{cell.language}/{lane}"

    @cached_property
    def _shared(self) -> Mapping[str, int]:
        shared, begun = {}, set()
        for cell, lane in self._ordered():
            if self.template.by_name[cell.template].asks_first(cell.language):
                continue
            beginning = (lane, cell.stack, cell.start, cell.template, cell.question.before)
            if beginning in begun:
                shared[cell.id] = cell.before
            begun.add(beginning)
        return shared

    def _case(self, cell: CellPlan, lane: str) -> Case:
        assert self.templates is not None
        template = self.templates[cell.template]
        recipe: dict[str, Any] = {
            "sentences": cell.sentences, "at": list(cell.at), "needles": list(cell.needles), "start": cell.start,
            "haystack": (self.haystack_hashes or {}).get(cell.stack, ""), "language": cell.language,
        }  # fmt: skip
        if cell.stack != cell.language:
            recipe["stack"] = cell.stack
        template_hash = hashlib.sha256(to_json(dict(template.spec)).encode()).hexdigest()[:12]
        meta: dict[str, Any] = {_RECIPE: recipe, "template": cell.template, "template_hash": template_hash}
        meta |= cell.question.frame
        if cell.rag is not None:
            recipe["wanted"] = [] if cell.control else cell.question.places(cell.needles)
            meta[_RAG] = [cell.rag.retriever, cell.rag.chunk, cell.rag.k]
        passage = Passage("haystack", "", meta=meta)
        references = () if cell.control else cell.question.answers
        sample = Sample(
            cell.sample_id,
            cell.question.question,
            references,
            language=cell.language,
            meta=cell.notes,
        )
        condition: dict[str, Scalar] = {
            "ability": "control" if cell.control else "needle", "language": cell.language, "length": cell.length,
            "depth": cell.depth, "length_reached": cell.tokens, "depth_reached": round(cell.reached, 3),
            "template": cell.template, "needle": cell.kind, "needles": len(cell.needles), "repeat": cell.repeat,
            "tokenizer": self.tokenizer, "mode": "full" if cell.rag is None else "rag",
        }  # fmt: skip
        if cell.depth == ANYWHERE:
            del condition["depth"], condition["depth_reached"]
        condition |= {name: text for name, text in (("variant", cell.variant), ("suite", cell.suite)) if text}
        if (passes := self._passes(cell)) > 1:
            condition["passes"] = passes
        if cell.rag is not None:
            condition |= {"retriever": cell.rag.retriever, "chunk": cell.rag.chunk, "k": cell.rag.k}
        query = Query(cell.question.question, (passage,), language=cell.language, repeat=cell.repeat)
        return Case(cell.id, sample, condition, query, lane)

    def _passes(self, cell: CellPlan) -> int:
        """How often the context of a cell goes through the haystack; more than once where the haystack is too short."""
        return ceil(cell.sentences / self.haystacks[cell.stack, cell.start].sentences) if self.haystacks else 1

    def _haystack(self, cell: CellPlan) -> Haystack:
        """The haystack of a cell that goes through a retriever."""
        assert self.haystacks is not None
        haystack = self.haystacks[cell.stack, cell.start]
        assert isinstance(haystack, Haystack)
        return haystack

    @property
    def expand(self) -> Expand:
        return self._expand_query

    async def _expand_query(self, query: Query, /) -> Query:
        """The query with the text of its context, or with the chunks that a retriever finds in it."""
        assert self.haystacks is not None
        meta = query.passages[0].meta if query.passages else {}
        if _RAG not in meta:
            return expand_query(query, self.haystacks)
        assert self.searcher is not None
        recipe, rag = meta[_RECIPE], RagSetting(*meta[_RAG])
        haystack = _stack(recipe, self.haystacks)

        def pool() -> list[Passage]:  # takes a second for 200,000 tokens
            return chunks_of(
                haystack.make(_plan(recipe)), recipe["needles"], recipe["wanted"], rag.chunk, recipe["language"]
            )

        passages = await self.searcher.search(recipe, query.question, pool, rag)
        first, *rest = passages or (Passage("nothing", ""),)  # carries the template even if nothing was found
        kept = {name: meta[name] for name in ("template", "before", "reply") if name in meta}
        first = replace(first, meta=first.meta | kept)
        return replace(query, passages=(first, *rest))

    def summary(self, run: Run, /, *, language: str = "en") -> Mapping[str, Summary]:
        return verdict.summaries(run, language=language)

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        by_kind = tables.tables(run, language=language)
        return suite_tables.suite_tables(tally_needles(run), language) + by_kind

    def charts(self, run: Run, /, *, language: str = "en") -> list[Chart]:
        return charts.charts(run, language=language)

    def compare(self, a: tuple[Run, str, str], b: tuple[Run, str, str], /, *, language: str = "en") -> list[Table]:
        """Tables of two systems side by side, each (its run, its id, its display name)."""
        return comparison.compare_tables(a, b, language=language)

    def compare_charts(
        self, a: tuple[Run, str, str], b: tuple[Run, str, str], /, *, language: str = "en"
    ) -> list[Chart]:
        """The maps of two systems side by side, with their differences."""
        return charts.compare_charts(a, b, language=language)

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        return diagnosis.explain(record, language=language)


def expand_query(query: Query, haystacks: Mapping[tuple[str, int], Stack]) -> Query:
    """A query with its recipe replaced by the text; any other query unchanged."""
    passages = query.passages or ()
    if not passages or _RECIPE not in passages[0].meta:
        return query
    recipe = passages[0].meta[_RECIPE]
    text = _stack(recipe, haystacks).make(_plan(recipe)).text
    return replace(query, passages=(replace(passages[0], id="context", text=text),))


def _stack(recipe: Mapping[str, Any], haystacks: Mapping[tuple[str, int], Stack]) -> Stack:
    return haystacks[recipe.get("stack", recipe["language"]), recipe["start"]]


def _plan(recipe: Mapping[str, Any]) -> ContextPlan:
    return ContextPlan(recipe["sentences"], tuple(recipe["at"]), tuple(recipe["needles"]), 0, None, 0)


def rng_for(seed: int, *parts: object) -> random.Random:
    """A random generator that depends only on the seed and these parts."""
    digest = hashlib.sha256(to_json([seed, *map(str, parts)]).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))
