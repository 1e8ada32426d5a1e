"""The pool of MIRAGE's questions: generated, pulled, or the user's."""

from pathlib import Path

from msgspec.structs import replace

from ragstone.datasets.pools import Pool, read_any_pool, read_mirage
from ragstone.datasets.pull import data_folder, known_hashes
from ragstone.datasets.sources import SOURCES
from ragstone.errors import UnknownName, UsageError

__all__ = ["FICTIONAL_QUESTIONS", "load_pool"]

FICTIONAL_QUESTIONS = 200


def load_pool(
    data: str | Path = "fictional",
    *,
    language: str = "en",
    seed: int = 0,
    size: int | None = None,
    multi_hop: float = 0.0,
    split: str = "",
) -> Pool:
    """The pool named by `data`: "fictional" (invented from `seed`, `size` questions), "official" (fetched by `ragstone
    data pull mirage`), or a folder or file in MIRAGE's, the hub's or BEIR's format.
    `split`: of a BEIR folder. Raises UsageError or DataError."""
    if split and data in ("fictional", "official"):
        raise UsageError(f"--split {split}: the {data} data have no splits; a BEIR folder has.")
    if language not in ("en", "zh"):
        raise UnknownName("language", language, ("en", "zh"))
    if data == "fictional":
        from ragstone.datasets.fictional.pools import fictional_pool  # noqa: PLC0415  (the vocabulary of a world)

        return fictional_pool(size or FICTIONAL_QUESTIONS, seed=seed, language=language, multi_hop=multi_hop)
    if data == "official":
        folder = data_folder("mirage")
        if not folder.is_dir() or not any(folder.glob("*.json")):
            raise UsageError(
                "MIRAGE's files are not downloaded. Run `ragstone data pull mirage`, or name a folder: --data DIR."
            )
        return read_mirage(folder, name="official", license=SOURCES["mirage"].license)
    path = Path(data)
    if not str(data) or not path.exists():
        raise UsageError(f"--data {str(data)!r}: no such folder or file. Expected fictional, official, or a path.")
    pool = read_any_pool(path, split=split)
    if _is_official(pool, path):
        return replace(pool, name="official", license=SOURCES["mirage"].license)
    return pool


def _is_official(pool: Pool, path: Path) -> bool:
    """Whether these are the authors' files, by the known hashes and the numbers of rows."""
    source = SOURCES["mirage"]
    known = known_hashes(source, path if path.is_dir() else path.parent)
    counts = {"dataset.json": len(pool.questions), "doc_pool.json": len(pool.passages)}
    rows = {file.name: file.rows for file in source.files}
    hashes = known and all(pool.sha256.get(name) == digest for name, digest in known.items())
    return bool(hashes) and all(rows[name] == number for name, number in counts.items())
