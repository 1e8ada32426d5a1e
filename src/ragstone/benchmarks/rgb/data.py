"""The sets of RGB: generated, pulled, or a folder of the user's."""

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from ragstone.datasets.fictional import fictional_rgb
from ragstone.datasets.pull import data_folder, known_hashes
from ragstone.datasets.rgb import NAMES, RGBSet, read_rgb, rgb_files, rgb_set
from ragstone.datasets.sources import SOURCES
from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.storage import check_regular

__all__ = ["LANGUAGES", "load_rgb"]

LANGUAGES = ("en", "zh")


def load_rgb(
    data: str | Path = "fictional",
    *,
    languages: Sequence[str] = LANGUAGES,
    dataset: str | None = None,
    seed: int = 0,
    size: int | None = None,
) -> tuple[str, Mapping[str, RGBSet]]:
    """The RGB sets that `data` names, and what to call them in the run file ("fictional", "official" or the folder).

    `data` is "fictional" (generated from `seed`, `size` questions a set), "official" (what `ragstone data pull rgb`
    fetched), or a folder or file in the official format. Only sets in `languages` are given, or `dataset` alone, in
    whatever language. Files with the pinned bytes of the official ones are called "official" wherever they lie, so
    that the published figures can stand beside theirs. Raises UsageError or DataError, one line each.
    """
    for language in languages:
        if language not in LANGUAGES:
            raise UnknownName("language", language, LANGUAGES)
    if data == "fictional":
        names = (
            [dataset] if dataset else [f"{lang}{part}" for lang in languages for part in ("_refine", "_int", "_fact")]
        )
        unknown = [name for name in names if name not in NAMES]
        if unknown:
            raise UnknownName("data set", unknown[0], NAMES)
        sets = {name: rgb_set(name, fictional_rgb(name, seed=seed, size=size)) for name in names}
        return (f"fictional:{seed}" if seed else "fictional"), sets
    if data == "official":
        folder = data_folder("rgb")
        if not folder.is_dir() or not any(folder.glob("*.json")):
            raise UsageError(
                "The official RGB files are not here yet: run `ragstone data pull rgb`, or name a folder: --data DIR."
            )
        sets, used = _read(rgb_files(folder), languages, dataset, folder)
        if strange := _not_official(used):
            raise DataError(
                strange[0],
                "is not the file that was published.",
                advice="`ragstone data pull rgb` fetches it anew; --data DIR takes it as it is.",
            )
        return "official", sets
    path = Path(data)
    if not str(data) or not path.exists():
        raise UsageError(f"--data {str(data)!r}: no such folder or file.{_nearest(str(data))}")
    files = rgb_files(path) if path.is_dir() else {read_rgb(path).name: path}
    sets, used = _read(files, languages, dataset, path)
    return ("official" if not _not_official(used) else path.name or path.resolve().name), sets


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), ("fictional", "official"), n=1, cutoff=0.6)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{hint} It takes fictional, official, a folder or a file."


def _read(
    files: Mapping[str, Path], languages: Sequence[str], dataset: str | None, where: Path
) -> tuple[dict[str, RGBSet], list[Path]]:
    """The sets that are asked for, and the files of those that will be used."""
    if not files:
        raise UsageError(f"{where} holds no RGB file (*.json, JSON lines). `ragstone data check {where}` says more.")
    if dataset is not None:
        if dataset not in files:
            raise UnknownName("data set", dataset, files, hint=f"{where} has: {', '.join(sorted(files))}.")
        return {dataset: read_rgb(files[dataset])}, [files[dataset]]
    every = {name: read_rgb(path) for name, path in files.items()}
    sets = {name: one for name, one in every.items() if one.language in languages}
    if not sets:
        raise UsageError(
            f"{where} holds no set in {' or '.join(languages)} (there are: {', '.join(sorted(every))}). "
            "--data-language says which to take."
        )
    return sets, [files[name] for name in sets]


def _not_official(paths: Sequence[Path]) -> list[Path]:
    """Those of these files that do not have, to the byte, what the published file of their name is known to have."""
    known = {folder: known_hashes(SOURCES["rgb"], folder) for folder in {path.parent for path in paths}}
    return [path for path in paths if known[path.parent].get(path.name) != _sha256(path)]


def _sha256(path: Path) -> str:
    try:
        check_regular(path)
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror or error}).") from None
