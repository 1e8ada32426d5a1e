"""MIRAGE as a benchmark: the questions of a pool without context, with the right chunk, with the collected chunks, and
with the chunks that each retriever finds.

| setting | context |
|---|---|
| base | nothing |
| oracle | the one chunk that contains the answer |
| mixed | the five chunks collected for the question, supporting or not |
| retrieved | the k best chunks of the whole pool, for each retriever, k and chunk size |

Base, oracle and mixed are asked once per system, regardless of the number of retrievers. `prepare` retrieves before any
question is asked. Source: Park et al. 2025, sections 3 to 5.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from msgspec.structs import replace

from ragstone.benchmarks.base import BaseBenchmark
from ragstone.benchmarks.mirage.metric_tables import RANKING
from ragstone.benchmarks.mirage.retrieval_pass import LABELS, NEGATIVES, RANKED, RetrievalPass, RetrievedLists
from ragstone.benchmarks.mirage.template import ALONE, MirageTemplate
from ragstone.datasets.pools import Pool, PoolQuestion
from ragstone.display import Chart, Diagnosis, Summary, Table
from ragstone.errors import UsageError, check_name
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.metrics.mirage_official import MirageEmLoose, MirageEmStrict, MirageF1
from ragstone.metrics.refusal import Refusal
from ragstone.plans import RetrievalCost
from ragstone.retrieval.chunkers import Chunking
from ragstone.retrieval.cost_estimate import TextCount, estimate_cost
from ragstone.structs import Scalar, to_json
from ragstone.text import estimate_tokens
from ragstone.types import Aggregate, Case, Metric, Passage, Query, Record, Resources, Run, Sample, Template

SETTINGS = ("base", "oracle", "mixed", "retrieved")
DEPTH = 5
"""The minimum number of retrieved chunks: the official NDCG takes its ideal from the whole list of five."""

_MOST = 10_000  # the largest k
_FORM_TOKENS = 20  # tokens of the template itself
_NOT_RANKED: Mapping[str, Any] = {"ranking": None}  # of a case whose passages were not retrieved
_OPTIONS = (
    "settings", "retrievers", "ks", "chunks", "limit", "repeat", "scoring", "data_name", "negatives", "alone", "labels",
)  # fmt: skip


@dataclass(frozen=True)
class MIRAGE(BaseBenchmark):
    """The cases of a pool. Without a pool there are no cases, but runs can be read.

    - `settings`: any of base, oracle, mixed, retrieved; retrieved needs `retrievers`.
    - `retrievers`: names (`retrieval.parse`); `ks`: numbers of chunks; `chunks`: sizes in tokens to which the pool's
      chunks are split before indexing (0: unchanged).
    - `negatives`: retrievers whose best non-supporting chunks replace the noise in mixed.
    - `probe`: invented questions, asked without context, to measure what a model already knows.
    - `alone`: retrieval only; one case per retriever and question.
    - `labels`: what a label belongs to: "document", "evidence" or "chunk" (`ChunkedPool`).
    - `depth`: the minimum depth of rankings.
    - `scoring`: the scoring shown first: "default" (`answer_match`) or "official" (`mirage.em_loose`). Both are always
      computed."""

    name: ClassVar[str] = "mirage"
    version: ClassVar[int] = 2
    gives_passages: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "Chanhee Park, Hyeonseok Moon, Chanjun Park, Heuiseok Lim: MIRAGE: A Metric-Intensive Benchmark for "
        "Retrieval-Augmented Generation Evaluation. Findings of NAACL 2025. arXiv:2504.17137."
    )
    axes: ClassVar[tuple[str, ...]] = ("setting", "retriever", "k", "chunk", "probe")
    leads: ClassVar[tuple[str, ...]] = ("mirage-ranking", "mirage-retrievers", "mirage-models", "mirage-adaptability")
    growing: ClassVar[tuple[str, ...]] = ("settings", "retrievers", "ks", "chunks", "limit", "repeat", "negatives")
    prepares: ClassVar[bool] = True

    pool: Pool | None = None
    settings: tuple[str, ...] = SETTINGS
    retrievers: tuple[str, ...] = ()
    ks: tuple[int, ...] = (1, 3, 5)
    chunks: tuple[int, ...] = (0,)
    limit: int | None = None
    repeat: int = 1
    scoring: str = "default"
    data_name: str = "fictional"
    negatives: tuple[str, ...] = ()
    probe: tuple[PoolQuestion, ...] = ()
    alone: bool = False
    labels: str = "chunk"
    depth: int = RANKED
    template: Template = MirageTemplate()  # noqa: RUF009  (immutable)
    search: RetrievalPass = field(default_factory=RetrievalPass, repr=False)
    warnings: tuple[str, ...] = ()
    _tokens: dict[str, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name in self.settings:
            check_name("setting", name, SETTINGS)
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"A limit of {self.limit} questions: expected 1 or more.")
        if not self.ks or not 1 <= min(self.ks) <= max(self.ks) <= _MOST:
            raise UsageError(f"--top-k takes numbers from 1 to {_MOST:,}.")
        check_name("kind of label", self.labels, LABELS)
        if self.pool is not None:
            self.search.labels = self.labels
            self.search.chunking.check(self.chunks)
            if self.labels == "evidence" and not all(question.evidence for question in self.pool.questions):
                raise UsageError(
                    "--labels evidence: not every question has evidence. Give each query the field `evidence`, the "
                    "text that its answer rests on, or use --labels document."
                )
        if self.pool is not None and not self.size:
            raise UsageError(f"There are no cases: {self._why_no_cases()}")

    def _why_no_cases(self) -> str:
        """Why there are no cases, and what to do about it."""
        if self.alone:
            return "without a --model only retrieval is scored, but --setting excludes retrieved."
        if self.retrievers:
            return "--setting is empty. Name one of base, oracle, mixed, retrieved."
        return "the setting retrieved needs a --retriever; or name one of the settings base, oracle, mixed."

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self:
        """The benchmark of an existing run, to tabulate and explain it."""
        names = (*_OPTIONS, "chunking")
        saved = {key: value for key, value in dict(meta.get("options", {})).items() if key in names}
        options: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in saved.items()
        }
        if isinstance(cut := options.pop("chunking", None), Mapping):
            options["search"] = RetrievalPass(chunking=Chunking(**cut))
        return cls(**options)

    @property
    def options(self) -> dict[str, Any]:
        listed = {name: getattr(self, name) for name in _OPTIONS}
        options = {key: list(value) if isinstance(value, tuple) else value for key, value in listed.items()}
        return options | ({"chunking": self.search.chunking.spec} if any(self.chunks) else {})

    @property
    def question(self) -> dict[str, Any]:
        """The data, the prompts and the chunking. Settings, retrievers, k, the limit and the repeats may grow."""
        cut = self.search.chunking
        return {
            "benchmark": self.name,
            "version": self.version,
            "data": {"sha256": dict(self.pool.sha256) if self.pool else {}},
            "template": dict(self.template.spec),
            **({} if cut == Chunking() else {"chunking": cut.spec}),
            **({} if self.labels == "chunk" else {"labels": self.labels}),
        }

    @property
    def license(self) -> str:
        return self.pool.license if self.pool else ""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        answers = (MirageEmLoose(), MirageEmStrict(), MirageF1(), AnswerMatch(strict=True), Refusal())
        return (*(() if self.alone else answers), *(RANKING if self._lists() else ()))

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        from ragstone.benchmarks.mirage.adaptability import Adaptability  # noqa: PLC0415

        return (Adaptability(),)

    @property
    def preparation(self) -> Mapping[str, Any]:
        """The facts that the retrievers reported, after `prepare`."""
        return {"retrievers": dict(self.search.facts)}

    async def prepare(self, resources: Resources, /) -> str:
        """Retrieve the chunks of all questions."""
        if self.pool is not None:
            await self.search.run(self.pool, self._questions(), self._searches(), depth=max(self.depth, *self.ks))
        return hashlib.sha256(to_json(self.question["data"]).encode()).hexdigest()

    @property
    def size(self) -> int:
        lists = len(self._lists()) * (1 if self.alone else len(self.ks))
        per_question = len(self._fixed_settings()) + lists + len(self._negative_retrievers())
        return (len(self._questions()) * per_question + len(self._probe_questions())) * self.repeat

    def planned(self) -> Iterator[Case]:
        """The cases before retrieval, with the pool's first chunks as placeholders, for `--dry-run`."""
        return self._all_cases(lambda name, size: self.search.planned(self._pool, size))

    def retrieval_cost(self) -> list[RetrievalCost]:
        """The cost of the retrievers' models, by model: tokens to embed, and requests."""
        probe = TextCount(1, 1)
        spelling = self.search.spelling
        searches = [(name, size) for name, size in self._searches() if estimate_cost(spelling(name), probe, probe)]
        questions = TextCount(len(self._questions()), sum(self._token_count(q.id, q.text) for q in self._questions()))
        sizes = {size: self.search.cut(self._pool, size).passages for _, size in searches}
        pools = {
            size: TextCount(len(passages), sum(self._token_count(p.id, p.text) for p in passages))
            for size, passages in sizes.items()
        }
        parts = {
            (size, part.key): part
            for name, size in searches
            for part in estimate_cost(spelling(name), pools[size], questions)
        }
        totals: dict[tuple[str, bool], RetrievalCost] = {}
        for part in parts.values():
            key = (part.model, part.requests > 0)
            before = totals.get(key, RetrievalCost(part.model, 0))
            totals[key] = RetrievalCost(part.model, before.tokens + part.tokens, before.requests + part.requests)
        return list(totals.values())

    def cases(self) -> Iterator[Case]:
        """The cases in a fixed order: by setting, then by retriever, chunk size and k, then by question."""
        return self._all_cases(lambda name, size: self.search.results[name, size])

    def prompt_tokens(self, case: Case, /) -> int:
        """An estimate of the tokens in a case's prompt. The count of each chunk is cached."""
        tokens = sum(self._token_count(passage.id, passage.text) for passage in case.query.passages or ())
        return _FORM_TOKENS + self._token_count(case.sample.id, case.query.question) + tokens

    def summary(self, run: Run, /, *, language: str = "en") -> Mapping[str, Summary]:
        from ragstone.benchmarks.mirage import summary  # noqa: PLC0415

        return summary.summaries(run, language=language)

    def intervention(self, case: Case, /) -> tuple[str, str]:
        """Oracle is the gold alone, base closed book; mixed, and each retriever, is a way of being asked as is."""
        setting = str(case.condition.get("setting", ""))
        if setting in ("oracle", "base"):
            return ("gold_only" if setting == "oracle" else "closed_book"), ""
        parts = [str(case.condition[key]) for key in ("retriever", "k", "chunk") if case.condition.get(key)]
        return "as_is", " ".join(parts) or setting

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        from ragstone.benchmarks.mirage import tables  # noqa: PLC0415

        return tables.tables(run, language=language)

    def charts(self, run: Run, /, *, language: str = "en") -> list[Chart]:
        from ragstone.benchmarks.mirage import charts  # noqa: PLC0415

        return charts.charts(run, language=language)

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        return self._explained(record, language, marking=True)

    def classify(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        return self._explained(record, language, marking=False)

    def _explained(self, record: Record, language: str, *, marking: bool) -> Diagnosis:
        from ragstone.benchmarks.mirage import diagnosis  # noqa: PLC0415

        return diagnosis.explain(record, language=language, scoring=self.scoring, marking=marking)

    def _token_count(self, key: str, text: str) -> int:
        if key not in self._tokens:
            self._tokens[key] = estimate_tokens(text)
        return self._tokens[key]

    def _questions(self) -> Sequence[PoolQuestion]:
        return self.pool.questions[: self.limit] if self.pool is not None else ()

    def _fixed_settings(self) -> tuple[str, ...]:
        return () if self.alone else tuple(name for name in SETTINGS[:3] if name in self.settings)

    def _lists(self) -> list[tuple[str, int]]:
        if self.pool is None or "retrieved" not in self.settings:
            return []
        return [(name, size) for name in self.retrievers for size in self.chunks]

    def _negative_retrievers(self) -> tuple[str, ...]:
        return () if self.alone else self.negatives

    def _probe_questions(self) -> Sequence[PoolQuestion]:
        return () if self.alone or "base" not in self.settings else self.probe[: self.limit]

    def _searches(self) -> list[tuple[str, int]]:
        return list(dict.fromkeys([*self._lists(), *((name, 0) for name in self._negative_retrievers())]))

    def _all_cases(self, found_by: Callable[[str, int], RetrievedLists]) -> Iterator[Case]:
        for setting in self._fixed_settings():
            for index, question in enumerate(self._questions()):
                yield from self._case(
                    f"{setting}/{index:06d}", question, setting, self._passages_for(setting, question), {}
                )
        for index, question in enumerate(self._probe_questions()):
            alone = replace(question, gold=(), mapped=(), oracle=())  # its chunks belong to another pool
            yield from self._case(f"probe/{index:06d}", alone, "base", (), {"probe": "fictional"})
        for name in self._negative_retrievers():
            lists = found_by(name, 0)
            for index, question in enumerate(self._questions()):
                fields: dict[str, Scalar] = {"retriever": f"{NEGATIVES}({name})", "k": len(question.mapped)}
                passages = lists.harder(index, question)
                yield from self._case(f"negatives/{name}/{index:06d}", question, "retrieved", passages, fields)
        for name, size in self._lists():
            lists = found_by(name, size)
            for k in (max(DEPTH, *self.ks),) if self.alone else self.ks:
                list_name = f"{name}/{k}" + (f"/c{size}" if size else "")
                for index, question in enumerate(self._questions()):
                    yield from self._retrieved(f"retrieved/{list_name}/{index:06d}", index, question, lists, {
                        "retriever": name, "k": k, "chunk": size,
                    })  # fmt: skip

    def _retrieved(
        self, key: str, index: int, question: PoolQuestion, lists: RetrievedLists, fields: Mapping[str, Any]
    ) -> Iterator[Case]:
        """A question with the k best chunks. Its labels are of the units that are ranked, which may be chunks of
        another size than the pool's own; `meta` has the ranking to the depth that the metrics need."""
        k, gold = fields["k"], lists.chunked.gold(question)
        ranking, cut = lists.ranking(index, max(k, self.depth))
        found = "".join("1" if unit in gold else "0" for unit, _ in ranking)
        shown = max(k, DEPTH, found.rfind("1") + 1 if lists.whole else 0)
        passages = lists.best(index, question, k)
        labels = tuple(
            replace(lists.chunked.passage(unit), relevant=True, meta={"grade": grade} if grade != 1 else {})
            for unit, grade in gold.items()
        )
        more: dict[str, Scalar] = {"found": found[:shown], "labels": len(gold)}
        meta = {"ranking": ranking, "ranking_cut": cut}
        yield from self._case(key, question, "retrieved", passages, {**fields, **more}, labels, meta)

    def _passages_for(self, setting: str, question: PoolQuestion) -> tuple[Passage, ...]:
        """The chunks of base, oracle or mixed."""
        if setting == "base" or self.pool is None:
            return ()
        if setting == "oracle":
            alone = len(question.oracle) == 1
            return tuple(replace(passage, meta={ALONE: True}) if alone else passage for passage in question.oracle)
        gold = set(question.gold)
        return tuple(replace(self._passage(key), relevant=key in gold) for key in question.mapped)

    @property
    def _pool(self) -> Pool:
        assert self.pool is not None
        return self.pool

    def _passage(self, key: str) -> Passage:
        return self.search.cut(self._pool, 0).passage(key)

    def _case(
        self, key: str, question: PoolQuestion, setting: str, passages: Sequence[Passage], fields: Mapping[str, Scalar],
        labels: tuple[Passage, ...] | None = None, meta: Mapping[str, Any] = _NOT_RANKED,
    ) -> Iterator[Case]:  # fmt: skip
        condition: dict[str, Scalar] = {
            "setting": setting, "retriever": "", "k": 0, "chunk": 0, "source": question.source,
            "language": question.language, "contexts": len(passages),
        }  # fmt: skip
        if passages:
            condition["gold"] = any(passage.relevant for passage in passages)
        condition |= fields
        if labels is None:
            gold = [*(key for key in question.mapped if key in question.gold), *question.gold]
            labels = tuple(replace(self._passage(key), relevant=True) for key in dict.fromkeys(gold))
        about = {"source": question.source, "labels": len(question.gold), "hops": question.together, **meta}
        sample = Sample(
            question.id, question.text, (question.answers,) if question.answers else (), labels, question.language,
            about,
        )  # fmt: skip
        for repeat in range(self.repeat):
            suffix = f"/r{repeat}" if repeat else ""
            extra = {"repeat": repeat} if repeat else {}
            query = Query(question.text, tuple(passages), language=question.language, repeat=repeat)
            yield Case(key + suffix, sample, condition | extra, query)
