"""MIRAGE from what a user says about it."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragstone.api.data import data_folder
from ragstone.benchmarks.mirage import MIRAGE
from ragstone.benchmarks.mirage.searching import Search
from ragstone.benchmarks.mirage.template import mirage_template
from ragstone.datasets.pools import Pool, PoolQuestion, read_any_pool, read_mirage
from ragstone.datasets.pull import known_hashes
from ragstone.datasets.sources import SOURCES
from ragstone.errors import UnknownName, UsageError
from ragstone.models import ModelOptions
from ragstone.retrieval import check_retriever, parse
from ragstone.retrieval.chunking import Chunking

__all__ = ["FICTIONAL_QUESTIONS", "load_pool", "make_mirage"]

FICTIONAL_QUESTIONS = 200
_PROBED = 200  # invented questions that tell what is not known beforehand


def load_pool(
    data: str | Path = "fictional",
    *,
    language: str = "en",
    seed: int = 0,
    size: int | None = None,
    multi_hop: float = 0.0,
) -> Pool:
    """The pool that `data` names: "fictional" (invented from `seed`, `size` questions), "official" (what `ragstone data
    pull mirage` fetched), or a folder or file in MIRAGE's, the hub's or BEIR's form. Raises UsageError or DataError."""
    if language not in ("en", "zh"):
        raise UnknownName("language", language, ("en", "zh"))
    if data == "fictional":
        from ragstone.datasets.fictional.pools import fictional_pool  # noqa: PLC0415  (the vocabulary of a world)

        return fictional_pool(size or FICTIONAL_QUESTIONS, seed=seed, language=language, multi_hop=multi_hop)
    if data == "official":
        folder = data_folder("mirage")
        if not folder.is_dir() or not any(folder.glob("*.json")):
            raise UsageError(
                "MIRAGE's files are not here yet: run `ragstone data pull mirage`, or name a folder: --data DIR."
            )
        return read_mirage(folder, name="official", license=SOURCES["mirage"].license)
    path = Path(data)
    if not str(data) or not path.exists():
        raise UsageError(f"--data {str(data)!r}: no such folder or file. It takes fictional, official, or a path.")
    pool = read_any_pool(path)
    if _is_official(pool, path):
        return replace(pool, name="official", license=SOURCES["mirage"].license)
    return pool


def _is_official(pool: Pool, path: Path) -> bool:
    """Whether these are the authors' files: by the hashes that are known, and by how much they hold where none is."""
    source = SOURCES["mirage"]
    known = known_hashes(source, path if path.is_dir() else path.parent)
    held = {"dataset.json": len(pool.questions), "doc_pool.json": len(pool.passages)}
    rows = {file.name: file.rows for file in source.files}
    hashes = known and all(pool.sha256.get(name) == digest for name, digest in known.items())
    return bool(hashes) and all(rows[name] == number for name, number in held.items())


def make_mirage(
    *,
    data: str | Path = "fictional",
    language: str = "en",
    fictional_seed: int = 0,
    fictional_size: int | None = None,
    multi_hop: float = 0.0,
    retrievers: Sequence[str] = (),
    negatives: Sequence[str] = (),
    probe: bool = False,
    template: str = "official",
    chunking: Chunking | None = None,
    model_options: ModelOptions | None = None,
    **options: Any,
) -> MIRAGE:
    """MIRAGE over the pool that is named; `options` are those of `benchmarks.mirage.MIRAGE`. `probe`: ask invented
    questions without context too; `chunking`: how the pool is cut where `chunks` are sizes. Raises UsageError."""
    for name in (*retrievers, *negatives):
        check_retriever(name)
    # `bm25` and ` bm25()` are one retriever: it is searched with, and its cases are named, once.
    given = {parse(name).name: name for name in (*retrievers, *negatives)}
    retrievers, negatives = (
        tuple(dict.fromkeys(parse(name).name for name in names)) for names in (retrievers, negatives)
    )
    for name in ("settings", "ks", "chunks"):
        if name in options and options[name] is not None:
            one = options[name]
            options[name] = tuple(dict.fromkeys((one,) if isinstance(one, (str, int)) else one))
    known = set(inspect.signature(MIRAGE).parameters)
    if unknown := sorted(options.keys() - known):
        raise UnknownName("option of mirage", unknown[0], known)
    pool = load_pool(data, language=language, seed=fictional_seed, size=fictional_size, multi_hop=multi_hop)
    probed: tuple[PoolQuestion, ...] = ()
    warnings = _warnings(pool, options, retrievers, negatives)
    if probe and pool.name.startswith("fictional"):
        warnings.append("--probe asks invented questions; these data are invented already, so it adds nothing.")
    elif probe:
        probed = load_pool("fictional", language=language, seed=fictional_seed, size=_PROBED).questions
    return MIRAGE(
        pool,
        retrievers=retrievers,
        negatives=negatives,
        probe=probed,
        data_name=pool.name,
        template=mirage_template(template),
        search=Search(model_options or ModelOptions(), chunking or Chunking(), given=given),
        warnings=tuple(warnings),
        **{key: value for key, value in options.items() if value is not None},
    )


def _warnings(pool: Pool, options: Mapping[str, Any], retrievers: Sequence[str], negatives: Sequence[str]) -> list[str]:
    lines = list(pool.doubts)
    settings, most = options.get("settings"), max(options.get("ks") or (0,))
    if retrievers and most > len(pool.passages) and not any(options.get("chunks") or ()):
        lines.append(
            f"--top-k {most}: the pool has {len(pool.passages):,} chunks; precision divides by k all the same."
        )
    if negatives and options.get("alone"):
        lines.append("--negatives changes what a model is given; without --model it adds nothing.")
    if unanswered := sum(not question.answers for question in pool.questions):
        lines.append(
            f"{unanswered:,} of {len(pool.questions):,} questions have no answer: their retrieval alone counts."
        )
    if settings is not None and "retrieved" in settings and not retrievers:
        lines.append("The setting retrieved has no --retriever, so nothing is retrieved.")
    return lines
