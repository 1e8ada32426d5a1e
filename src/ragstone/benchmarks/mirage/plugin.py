"""The plugin of MIRAGE: its options, its construction, and re-scoring of the official programs' files."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ragstone.benchmarks.options import chunk_sizes, endpoint_address
from ragstone.benchmarks.plugin import Context, DataReport, Option, Plugin, Rescored, Rescoring
from ragstone.errors import UsageError

if TYPE_CHECKING:
    from ragstone.benchmarks.mirage.benchmark import MIRAGE
    from ragstone.datasets.pools import Pool, PoolQuestion
    from ragstone.models import ModelOptions

_MOST_QUESTIONS = 1_000_000
_PROBED = 200  # invented questions for --probe
_SETTINGS = ("base", "oracle", "mixed", "retrieved")
_ALONE = ("local/retrieval",)


@dataclass(frozen=True, kw_only=True)
class MirageOptions:
    """The options of MIRAGE."""

    data: Annotated[str, Option(
        "Generated data, what `ragstone data pull mirage` fetched, or files in the format of MIRAGE, the hub or BEIR.",
        metavar="fictional|official|DIR|FILE",
    )] = "fictional"  # fmt: skip
    retrievers: Annotated[tuple[str, ...], Option(
        "Retriever (repeatable): bm25, local/e5-small, hybrid(bm25,local/e5-small)…; docs/retrievers.md lists all.",
        flag="--retriever", metavar="NAME", repeatable=True, objects=True,
    )] = ()  # fmt: skip
    ks: Annotated[tuple[int, ...], Option(
        "Numbers of chunks to retrieve, separated by commas.", flag="--top-k", low=1, high=10_000
    )] = (1, 3, 5)  # fmt: skip
    chunks: Annotated[tuple[int, ...], Option(
        "Chunk sizes in tokens, separated by commas; 0 keeps the pool's chunks.", flag="--chunk", parse=chunk_sizes
    )] = (0,)  # fmt: skip
    chunk_method: Annotated[str, Option(
        "The unit that chunking keeps whole if possible.", choices=("sentence", "recursive", "token")
    )] = "sentence"  # fmt: skip
    chunk_overlap: Annotated[int, Option("Tokens that consecutive chunks share.", low=0)] = 0
    chunk_tokenizer: Annotated[str, Option(
        "Tokenizer that measures chunks; also local/e5-small, openai/o200k_base, openai/cl100k_base.", metavar="NAME"
    )] = "ragstone/estimate"  # fmt: skip
    labels: Annotated[str, Option(
        "What is labelled as relevant: a document, an evidence text, or a chunk.",
        choices=("document", "evidence", "chunk"),
    )] = "chunk"  # fmt: skip
    split: Annotated[str, Option("Split of a BEIR folder: which qrels file to use.", metavar="train|dev|test")] = ""
    settings: Annotated[tuple[str, ...], Option(
        "Settings to run; each model is asked base, oracle and mixed only once.", flag="--setting"
    )] = _SETTINGS  # fmt: skip
    retriever_base_url: Annotated[str | None, Option(
        "Endpoint of the retrievers' models.", metavar="URL", parse=endpoint_address
    )] = None  # fmt: skip
    negatives: Annotated[tuple[str, ...], Option(
        "Also run mixed with this retriever's best wrong chunks as the noise (repeatable).",
        metavar="RETRIEVER", repeatable=True,
    )] = ()  # fmt: skip
    probe: Annotated[bool, Option(
        "Also ask invented questions without context, to see what the model guesses."
    )] = False  # fmt: skip
    scoring: Annotated[str, Option(
        "Scoring shown first; both are always computed.", choices=("default", "official")
    )] = "default"  # fmt: skip
    protocol: Annotated[str | None, Option(
        "official means --scoring official.", choices=("default", "official")
    )] = None  # fmt: skip
    template: Annotated[str, Option("The published prompt to use.", metavar="NAME")] = "official"
    data_language: Annotated[str, Option("Language of the fictional data.", choices=("en", "zh"))] = "en"
    limit: Annotated[int | None, Option("Ask only the first N questions; the pool stays complete.", low=1)] = None
    repeat: Annotated[int, Option("Number of answers per case.", low=1)] = 1
    fictional_seed: Annotated[int, Option("Seed of the fictional data.")] = 0
    fictional_size: Annotated[
        int | None, Option("Number of fictional questions.", low=1, high=_MOST_QUESTIONS, default="200")
    ] = None
    multi_hop: Annotated[float, Option(
        "Share of the fictional questions that need two chunks.", low=0, high=1
    )] = 0.0  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RescoreOptions:
    """The files of the official programs to score."""

    dataset: Annotated[Path | None, Option("dataset.json: the questions and their answers.")] = None
    base: Annotated[Path | None, Option("Predictions without context.")] = None
    oracle: Annotated[Path | None, Option("Predictions with the single right chunk.")] = None
    mixed: Annotated[Path | None, Option("Predictions with the five chunks mapped to the query.")] = None
    pool: Annotated[Path | None, Option("doc_pool.json: the chunks with their labels.")] = None
    retrieval: Annotated[Path | None, Option("Retrieval results, as saved by the official program.")] = None


class MirageRescoring(Rescoring):
    """Scores saved predictions (--dataset with --base, --oracle, --mixed) or retrieval (--pool with --retrieval)."""

    summary: ClassVar[str] = "Predictions and retrieval results of the official programs."
    Options: ClassVar[type[Any]] = RescoreOptions

    def score(self, options: RescoreOptions, /) -> Rescored:
        from ragstone.benchmarks.mirage.official import rescore_answers, rescore_retrieval  # noqa: PLC0415

        paths = {"base": options.base, "oracle": options.oracle, "mixed": options.mixed}
        predictions = {setting: path for setting, path in paths.items() if path is not None}
        is_retrieval = bool(options.pool or options.retrieval)
        if is_retrieval and (predictions or options.dataset):
            raise UsageError("Score one thing at a time: --dataset with predictions, or --pool with --retrieval.")
        notes: list[str] = []
        scores: dict[str, Any]
        if is_retrieval:
            if options.pool is None or options.retrieval is None:
                raise UsageError("Retrieval needs both --pool doc_pool.json and --retrieval FILE.")
            scores = rescore_retrieval(options.pool, options.retrieval, warn=notes.append)
        else:
            if options.dataset is None:
                raise UsageError(
                    "Name --dataset dataset.json with --base, --oracle, --mixed; or --pool with --retrieval."
                )
            scores = rescore_answers(options.dataset, predictions)
        return Rescored(scores, _lines(scores), notes)


def _lines(document: Mapping[str, Any]) -> list[str]:
    if "llm" not in document:
        return [f"k={k}  " + "  ".join(f"{name} {value:.4f}" for name, value in scores.items())
                for k, scores in document.items()]  # fmt: skip
    lines = [f"{setting:<7}" + "  ".join(f"{name} {value:.4f}" for name, value in scores.items())
             for setting, scores in document["llm"].items()]  # fmt: skip
    for part in ("adaptability", "groups"):
        if document[part] is not None:
            lines += [f"  {name}: {value:.4f}" if isinstance(value, float) else f"  {name}: {value}"
                      for name, value in document[part].items()]  # fmt: skip
    return [*lines, f"n: {document['n']}"]


class MiragePlugin(Plugin):
    """MIRAGE: which retriever and model fit together, and why (Park et al. 2025).

    Without --model, the retrievers are scored alone."""

    name: ClassVar[str] = "mirage"
    summary: ClassVar[str] = "Retrievers, models, and what fits together (Park et al. 2025)."
    Options: ClassVar[type[Any] | None] = MirageOptions
    own_metrics: ClassVar[tuple[str, ...]] = ("mirage.em_loose", "mirage.em_strict", "mirage.f1")
    rescoring: ClassVar[Rescoring | None] = MirageRescoring()
    # `chunk`: tokens, 0: unchanged. `contexts`: chunks in the prompt; `gold`: one is supporting. `found`: 1 or 0
    # for each retrieved chunk. `labels`: supporting chunks; `hops`: how many of them an answer needs. `ranking`:
    # the retrieved units as [id, score]; `ranking_cut`: whether there may be more.
    condition_types: ClassVar[Mapping[str, Any]] = {
        "setting": str, "retriever": str, "k": int, "chunk": int, "source": str, "language": str, "contexts": int,
        "gold": bool, "probe": str, "found": str, "labels": int, "repeat": int,
    }  # fmt: skip
    note_types: ClassVar[Mapping[str, Any]] = {
        "source": str, "labels": int, "hops": int, "ranking": list[tuple[str, float]] | None, "ranking_cut": bool,
    }  # fmt: skip

    def without_model(self, options: MirageOptions, /) -> bool:
        if not options.retrievers:
            raise UsageError("Nothing to measure: name a --model, a --retriever, or both.")
        return True

    async def make(self, options: MirageOptions, context: Context, /) -> "MIRAGE":
        from ragstone.benchmarks.mirage.data import load_pool  # noqa: PLC0415
        from ragstone.benchmarks.mirage.retrieval_pass import RANKED  # noqa: PLC0415
        from ragstone.retrieval import check_retriever, named_retrievers, retriever_name  # noqa: PLC0415

        model_options = replace(context.model_options, base_url=options.retriever_base_url)
        for name in (*options.retrievers, *options.negatives):
            check_retriever(name, model_options, keys=context.asks)
        full_names = named_retrievers((*options.retrievers, *options.negatives))
        # `bm25` and ` bm25()` are the same retriever.
        options = replace(
            options,
            retrievers=tuple(dict.fromkeys(map(retriever_name, options.retrievers))),
            negatives=tuple(dict.fromkeys(map(retriever_name, options.negatives))),
        )
        pool = load_pool(
            options.data, language=options.data_language, seed=options.fictional_seed, size=options.fictional_size,
            multi_hop=options.multi_hop, split=options.split,
        )  # fmt: skip
        return replace(
            _benchmark(options, pool, model_options, full_names, alone=context.models == _ALONE),
            depth=max(RANKED, *map(_depth_of, context.metrics)) if context.metrics else RANKED,
        )

    def from_meta(self, meta: Mapping[str, Any], /) -> "MIRAGE":
        from ragstone.benchmarks.mirage.benchmark import MIRAGE  # noqa: PLC0415

        return MIRAGE.from_meta(meta)

    def check_data(self, path: Path, /) -> DataReport | None:
        from ragstone.benchmarks.mirage.data import check_pool, is_pool  # noqa: PLC0415

        return DataReport([check_pool(path)]) if is_pool(path) else None


def _depth_of(metric: Any) -> int:
    """How deep a metric looks: 100 of `recall@100`."""
    k = str(getattr(metric, "name", metric)).partition("@")[2]
    return int(k) if k.isdecimal() else 0


def _benchmark(
    options: MirageOptions, pool: "Pool", model_options: "ModelOptions", full_names: Mapping[str, Any], *, alone: bool
) -> "MIRAGE":
    from ragstone.benchmarks.mirage.benchmark import MIRAGE  # noqa: PLC0415
    from ragstone.benchmarks.mirage.data import load_pool  # noqa: PLC0415
    from ragstone.benchmarks.mirage.retrieval_pass import RetrievalPass  # noqa: PLC0415
    from ragstone.benchmarks.mirage.template import mirage_template  # noqa: PLC0415
    from ragstone.retrieval.chunkers import Chunking  # noqa: PLC0415

    warnings, probe = _warnings(pool, options, alone), tuple["PoolQuestion", ...]()
    if options.probe and pool.name.startswith("fictional"):
        warnings.append("--probe has no effect: these data are already invented.")
    elif options.probe:
        language, seed = options.data_language, options.fictional_seed
        probe = load_pool("fictional", language=language, seed=seed, size=_PROBED).questions
    chunking = Chunking(options.chunk_method, options.chunk_overlap, options.chunk_tokenizer)  # type: ignore[arg-type]
    return MIRAGE(
        pool, settings=options.settings, retrievers=options.retrievers, ks=options.ks, chunks=options.chunks,
        limit=options.limit, repeat=options.repeat, data_name=pool.name, negatives=options.negatives, probe=probe,
        scoring="official" if options.protocol == "official" else options.scoring, alone=alone, labels=options.labels,
        template=mirage_template(options.template), warnings=tuple(warnings),
        search=RetrievalPass(model_options, chunking, full_names=full_names),
    )  # fmt: skip


def _warnings(pool: "Pool", options: MirageOptions, alone: bool) -> list[str]:
    lines = list(pool.doubts)
    if options.retrievers and max(options.ks, default=0) > len(pool.passages) and not any(options.chunks):
        lines.append(
            f"--top-k {max(options.ks)}: the pool has {len(pool.passages):,} chunks; precision still divides by k."
        )
    if options.negatives and alone:
        lines.append("--negatives changes what a model is given; without --model it adds nothing.")
    if unanswered := sum(not question.answers for question in pool.questions):
        lines.append(
            f"{unanswered:,} of {len(pool.questions):,} questions have no answer: only their retrieval is scored."
        )
    if "retrieved" in options.settings and not options.retrievers:
        lines.append("The setting retrieved has no --retriever, so nothing is retrieved.")
    return lines
