"""Needle in a haystack: cells of length × depth, each a case that is made into a text only when it is asked.

A case holds a recipe, not its text: the haystack's first so many sentences, with these needles before those sentences.
`expand` makes the text of one case at a time. Cells are streamed by where their needle stands, from the end of the
longest context to the beginning, so that each prompt shares all that stands before its own needle with the one before
it: a server with a prefix cache evaluates little of it again. `lanes` cuts this order into runs that are asked side by
side, each in order.
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
from ragstone.benchmarks.niah import charts, tables
from ragstone.benchmarks.niah import comparison as beside
from ragstone.benchmarks.niah import diagnosis as explain
from ragstone.benchmarks.niah.contexts import Haystack, Plan
from ragstone.benchmarks.niah.needles import Asked
from ragstone.benchmarks.niah.retrieved_context import Rag, Searcher, chunks_of
from ragstone.benchmarks.niah.templates import NeedleTemplate
from ragstone.metrics.needle import NeedleFound, NeedleRefused
from ragstone.metrics.needle_retrieved import NeedleRetrieved
from ragstone.types import (
    Case,
    Chart,
    Diagnosis,
    Expand,
    Frozen,
    Metric,
    Passage,
    Query,
    Record,
    RequestPlan,
    Resources,
    Run,
    Sample,
    Sampling,
    Scalar,
    Table,
    Turn,
    to_json,
)

__all__ = ["MARKS", "NIAH", "CellPlan", "Templates", "expanded", "rng_of"]

_SAMPLING = Sampling(temperature=0.0, max_tokens=128)
_RECIPE, _RAG = "recipe", "rag"
MARKS = 64  # tokens that a chat's own marks may take, at most
# Chunks are cut by an estimate of their tokens. What the model's own tokenizer makes of a haystack for each of these is
# known, and a few chunks of it have at most so many times that: 1.18 was seen, in chunks of 30 tokens.
_UNEVEN = 1.25
_PARTED = 2  # tokens between two chunks


class CellPlan(Frozen, frozen=True):
    """One cell, planned: everything of its case but the text. `depth` is the asked one, in percent."""

    language: str
    kind: str
    template: str
    length: int
    depth: float
    repeat: int
    asked: Asked
    control: bool
    start: int  # which essay the haystack begins with
    sentences: int
    at: tuple[int, ...]
    needles: tuple[str, ...]
    tokens: int  # of the whole prompt, at most
    reached: float  # percent
    before: int  # tokens before the first needle
    around: int = 0  # tokens of the prompt without its context
    rag: Rag | None = None

    @property
    def id(self) -> str:
        ability = "control" if self.control else "needle"
        head = f"rag/{self.rag.id}/" if self.rag else ""
        tail = f"/r{self.repeat}" if self.repeat else ""
        return f"{head}{ability}/{self.language}/{self.kind}/{self.template}/{self.length:07d}/{self.depth:06.2f}{tail}"


@dataclass(frozen=True)
class Templates:
    """The templates of a run as one: each query names its own, in the recipe."""

    held: Mapping[str, NeedleTemplate]
    name: str = "niah"
    default: Sampling = _SAMPLING

    @property
    def sampling(self) -> Sampling:
        return next(iter(self.held.values())).sampling if self.held else self.default

    @property
    def spec(self) -> Mapping[str, Any]:
        """Which template a prompt has is part of its case."""
        return {"name": self.name, "version": 1}

    def messages(self, query: Query, /) -> tuple[Turn, ...]:
        passages = query.passages or ()
        name = passages[0].meta.get("template", "") if passages else ""
        template = self.held.get(name) or next(iter(self.held.values()))
        return template.messages(query)


@dataclass(frozen=True)
class NIAH(BaseBenchmark):
    """The cells of a needle test. Made by `make`; without cells there are no cases, but runs can be read.

    `hays`: (language, essay that it begins with) → the haystack. `tokenizer` names who counted. `lanes`: how many runs
    of cells are asked side by side."""

    name: ClassVar[str] = "niah"
    version: ClassVar[int] = 1
    license: ClassVar[str] = ""
    citation: ClassVar[str] = (
        "Greg Kamradt: LLMTest_NeedleInAHaystack (2023). Aparna Dhinakaran: The Needle in a Haystack Test (2024)."
    )
    axes: ClassVar[tuple[str, ...]] = (
        "ability", "language", "needle", "template", "mode", "retriever", "chunk", "k", "length", "depth",
    )  # fmt: skip
    leads: ClassVar[tuple[str, ...]] = ("niah-summary", "niah-lengths", "niah-effective", "niah-templates")
    growing: ClassVar[tuple[str, ...]] = (
        "lengths", "depths", "languages", "needles", "templates", "repeat", "retrievers", "chunks", "ks",
    )  # fmt: skip

    cells: Sequence[CellPlan] = ()
    hays: Mapping[tuple[str, int], Haystack] | None = None
    templates: Mapping[str, NeedleTemplate] | None = None
    haystacks: Mapping[str, str] | None = None  # language → hash
    tokenizer: str = ""
    seed: int = 0
    lanes: int = 4
    settings: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    searcher: Searcher | None = None  # where contexts go through a retriever
    asked: bool = True  # False: results that were read from files, whose prompts nobody knows

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self:
        """The benchmark that made a run, to tabulate and explain it."""
        question = meta.get("question", {})
        read = isinstance(question, dict) and "results" in question
        return cls(settings=meta.get("options", {}), asked=not read)

    @property
    def window(self) -> int:
        """Tokens that a model must take: the longest prompt with its answer, and some for the chat's own marks."""
        return max(map(self._most, self.cells), default=0) + MARKS

    @property
    def template(self) -> Templates:
        return Templates(self.templates or {}) if self.asked else Templates({}, "–", Sampling())

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (NeedleFound(), NeedleRefused(), *((NeedleRetrieved(),) if self.searcher else ()))

    @property
    def question(self) -> Mapping[str, Any]:
        """Haystacks, tokenizer and seed; the grid may grow."""
        return {
            "benchmark": self.name, "version": self.version, "data": {"sha256": dict(self.haystacks or {})},
            "tokenizer": self.tokenizer, "seed": self.seed,
        }  # fmt: skip

    @property
    def options(self) -> Mapping[str, Any]:
        return dict(self.settings or {})

    async def prepare(self, resources: Resources, /) -> str:
        """Tries each retriever, so that what is wrong with one is told before anything is asked."""
        if self.searcher is not None and self.hays:
            rags = dict.fromkeys(cell.rag for cell in self.cells if cell.rag is not None)
            await self.searcher.check(list(rags), [next(iter(self.hays.values())).slice(0, 1)])
        return hashlib.sha256(to_json(self.question).encode()).hexdigest()

    @property
    def plan(self) -> RequestPlan:
        return RequestPlan(self.window, self.lanes)

    @property
    def size(self) -> int:
        return len(self.cells)

    def prompt_tokens(self, case: Case, /) -> int:
        """Of a case's prompt, without making it; about, where what it has is still to be found."""
        cell = self._searched.get(case.id)
        return int(case.condition["length_reached"]) if cell is None else self._given(cell)

    def judge_tokens(self, case: Case, /) -> int:
        """The tokens of what the judge is asked about a case, and of its verdict; 0 where it is not asked."""
        from ragstone.metrics.needle_judge import judged_tokens  # noqa: PLC0415

        return judged_tokens(case, str(case.sample.meta.get("needle", "")))

    @cached_property
    def _searched(self) -> Mapping[str, CellPlan]:
        """The cells that go through a retriever, by id."""
        return {cell.id: cell for cell in self.cells if cell.rag is not None}

    def _given(self, cell: CellPlan, uneven: float = 1.0, more: int = 0) -> int:
        """Tokens of the prompt of a cell that goes through a retriever: its chunks, or all of its context, and what
        stands around them. `uneven`: chunks have so many times the tokens that the haystack has on average; `more`:
        and beyond that so many."""
        assert cell.rag is not None
        assert self.hays is not None
        chunks = ceil(uneven * self.hays[cell.language, cell.start].rate * cell.rag.chunk * cell.rag.k) + more
        return cell.around + min(cell.tokens - cell.around, chunks)

    def _most(self, cell: CellPlan) -> int:
        """Tokens that a model must take for a cell: those of its prompt and its answer, and what is left of its
        length."""
        if cell.rag is None or self.hays is None:
            return cell.length
        hay = self.hays[cell.language, cell.start]
        needles = cell.tokens - cell.around - hay.margin - hay.tokens_of(cell.sentences)
        given = self._given(cell, _UNEVEN, needles) + _PARTED * (cell.rag.k - 1)
        return cell.length - cell.tokens + given

    def cases(self) -> Iterator[Case]:
        """Every cell, in the order that shares most of its prompts, cut into lanes of about equal work; then those that
        go through a retriever, whose prompts share nothing."""
        order = sorted(
            (cell for cell in self.cells if cell.rag is None),
            key=lambda cell: (cell.language, cell.start, -cell.before, -cell.tokens, cell.id),
        )
        work = [cell.tokens - cell.before for cell in order]
        each = sum(work) / max(1, self.lanes)
        done = 0.0
        for cell, amount in zip(order, work, strict=True):
            lane = min(self.lanes - 1, int(done / each)) if each else 0
            done += amount
            yield self._case(cell, f"{cell.language}/{lane}")
        yield from (self._case(cell, "") for cell in self.cells if cell.rag is not None)

    def _case(self, cell: CellPlan, lane: str) -> Case:
        assert self.templates is not None
        template = self.templates[cell.template]
        recipe: dict[str, Any] = {
            "sentences": cell.sentences, "at": list(cell.at), "needles": list(cell.needles), "start": cell.start,
            "haystack": (self.haystacks or {}).get(cell.language, ""), "language": cell.language,
        }  # fmt: skip
        mark = hashlib.sha256(to_json(dict(template.spec)).encode()).hexdigest()[:12]
        meta: dict[str, Any] = {_RECIPE: recipe, "template": cell.template, "template_hash": mark}
        if cell.rag is not None:
            recipe["wanted"] = [] if cell.control else cell.asked.places(cell.needles)
            meta[_RAG] = [cell.rag.retriever, cell.rag.chunk, cell.rag.k]
        passage = Passage("haystack", "", meta=meta)
        references = () if cell.control else cell.asked.answers
        sample = Sample(
            f"{cell.language}/{cell.kind}/{cell.length}/{cell.depth:g}/{cell.repeat}", cell.asked.question, references,
            language=cell.language, meta={} if cell.control else {"needle": cell.asked.told},
        )  # fmt: skip
        condition: dict[str, Scalar] = {
            "ability": "control" if cell.control else "needle", "language": cell.language, "length": cell.length,
            "depth": cell.depth, "length_reached": cell.tokens, "depth_reached": round(cell.reached, 3),
            "template": cell.template, "needle": cell.kind, "needles": len(cell.needles), "repeat": cell.repeat,
            "tokenizer": self.tokenizer, "mode": "full" if cell.rag is None else "rag",
        }  # fmt: skip
        if cell.rag is not None:
            condition |= {"retriever": cell.rag.retriever, "chunk": cell.rag.chunk, "k": cell.rag.k}
        query = Query(cell.asked.question, (passage,), language=cell.language, repeat=cell.repeat)
        return Case(cell.id, sample, condition, query, lane)

    @property
    def expand(self) -> Expand:
        return self._expanded

    async def _expanded(self, query: Query, /) -> Query:
        """The query with the text of its context, or with what a retriever finds in it."""
        assert self.hays is not None
        meta = query.passages[0].meta if query.passages else {}
        if _RAG not in meta:
            return expanded(query, self.hays)
        assert self.searcher is not None
        recipe, rag = meta[_RECIPE], Rag(*meta[_RAG])
        hay = self.hays[recipe["language"], recipe["start"]]

        def pool() -> list[Passage]:  # a second's work for 200,000 tokens
            return chunks_of(
                hay.make(_plan(recipe)), recipe["needles"], recipe["wanted"], rag.chunk, recipe["language"]
            )

        found = await self.searcher.search(recipe, query.question, pool, rag)
        first, *rest = found or (Passage("nothing", ""),)  # which says the template, even where nothing was found
        first = replace(first, meta=first.meta | {"template": meta["template"]})
        return replace(query, passages=(first, *rest))

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        return tables.tables(run, language=language)

    def charts(self, run: Run, /, *, language: str = "en") -> list[Chart]:
        return charts.charts(run, language=language)

    def compare(self, a: tuple[Run, str, str], b: tuple[Run, str, str], /, *, language: str = "en") -> list[Table]:
        """Tables of two systems side by side, each (its run, its id, what to call it)."""
        return beside.compare_tables(a, b, language=language)

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        return explain.explain(record, language=language)


def expanded(query: Query, hays: Mapping[tuple[str, int], Haystack]) -> Query:
    """A query whose recipe is made into its text; any other query as it is."""
    passages = query.passages or ()
    if not passages or _RECIPE not in passages[0].meta:
        return query
    recipe = passages[0].meta[_RECIPE]
    text = hays[recipe["language"], recipe["start"]].make(_plan(recipe)).text
    return replace(query, passages=(replace(passages[0], id="context", text=text),))


def _plan(recipe: Mapping[str, Any]) -> Plan:
    return Plan(recipe["sentences"], tuple(recipe["at"]), tuple(recipe["needles"]), 0, None, 0)


def rng_of(seed: int, *parts: object) -> random.Random:
    """A generator that depends on the seed and these parts alone."""
    digest = hashlib.sha256(to_json([seed, *map(str, parts)]).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))
