"""The data sets of RGB: generated, pulled, or the user's; and whether `ragstone data check` takes a path for one."""

import difflib
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from ragstone.datasets.fictional import VERSIONS, fictional_rgb
from ragstone.datasets.jsonlines import json_lines
from ragstone.datasets.pull import blob_id, data_folder
from ragstone.datasets.rgb import NAMES, RGBSet, name_of, read_rgb, rgb_files, rgb_set
from ragstone.datasets.sources import RGB
from ragstone.datasets.tabular.words import is_question
from ragstone.errors import DataError, UnknownName, UsageError, check_name
from ragstone.storage import check_regular, reading

LANGUAGES = ("en", "zh")


def load_rgb(
    data: str | Path = "fictional",
    *,
    languages: Sequence[str] = LANGUAGES,
    dataset: str | None = None,
    seed: int = 0,
    size: int | None = None,
    difficulty: str = "news",
) -> tuple[str, Mapping[str, RGBSet]]:
    """The name of the data in the run file ("fictional-news", "official" or the folder), and its sets by name.

    `data` is "fictional" (generated from `seed`, `size` questions per set, of this difficulty), "official" (fetched by
    `ragstone data pull rgb`), or a folder or file in the official format. Returns only sets in `languages`, or
    `dataset` alone in any language. Files with the hashes of the official ones are called "official" wherever they
    are, so that they can be compared with the published figures. Raises UsageError or DataError, one line each.
    """
    for language in languages:
        check_name("language", language, LANGUAGES)
    if data == "fictional":
        names = (
            [dataset] if dataset else [f"{lang}{part}" for lang in languages for part in ("_refine", "_int", "_fact")]
        )
        unknown = [name for name in names if name not in NAMES]
        if unknown:
            raise UnknownName("data set", unknown[0], NAMES)
        sets = {name: rgb_set(name, fictional_rgb(name, seed=seed, size=size, difficulty=difficulty)) for name in names}
        version = VERSIONS[difficulty]
        called = f"fictional-{difficulty}" + (f"-v{version}" if version > 1 else "")
        return (f"{called}:{seed}" if seed else called), sets
    if data == "official":
        folder = data_folder("rgb")
        if not folder.is_dir() or not any(folder.glob("*.json")):
            raise UsageError(
                "The official RGB files are not downloaded. Run `ragstone data pull rgb`, or name a folder: --data DIR."
            )
        sets, used = _read(rgb_files(folder), languages, dataset, folder)
        if strange := _not_official(used):
            raise DataError(
                strange[0],
                "differs from the published file.",
                advice="`ragstone data pull rgb` fetches it again; --data DIR uses it as it is.",
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
    return f"{hint} Expected fictional, official, a folder or a file."


def _read(
    files: Mapping[str, Path], languages: Sequence[str], dataset: str | None, where: Path
) -> tuple[dict[str, RGBSet], list[Path]]:
    """The requested sets and their files."""
    if not files:
        raise UsageError(f"{where} contains no RGB file (*.json, JSON lines). See `ragstone data check {where}`.")
    if dataset is not None:
        check_name("data set", dataset, files, hint=f"{where} has: {', '.join(sorted(files))}.")
        return {dataset: read_rgb(files[dataset])}, [files[dataset]]
    all_sets = {name: read_rgb(path) for name, path in files.items()}
    sets = {name: rgb_set for name, rgb_set in all_sets.items() if rgb_set.language in languages}
    if not sets:
        raise UsageError(
            f"{where} holds no set in {' or '.join(languages)} (there are: {', '.join(sorted(all_sets))}). "
            "--data-language says which to take."
        )
    return sets, [files[name] for name in sets]


def _not_official(paths: Sequence[Path]) -> list[Path]:
    """The files that differ from the published file of the same name."""
    published = {file.name: file.blob for file in RGB.files}
    return [path for path in paths if published.get(path.name) != _blob_id(path)]


def _blob_id(path: Path) -> str:
    with reading(path):
        check_regular(path)
        return blob_id(path)


_FIELDS = frozenset({"positive", "negative", "positive_wrong", "fakeanswer"})
_MARKS = ("queries.jsonl", "dataset_info.json", "dataset_dict.json")


def is_rgb(path: Path) -> bool:
    """Whether to check this path as RGB data: a folder that is no other known kind of data set, a file with RGB's
    fields, or a file with one of RGB's names whose rows do not look like another format."""
    if path.is_dir():
        return not any(path.glob("*.parquet")) and not any(
            (folder / mark).is_file() for folder in (path, *_folders(path)) for mark in _MARKS
        ) and not any(path.glob("*/*.parquet"))  # fmt: skip
    if path.suffix not in (".json", ".jsonl") or not path.is_file():
        return False
    try:
        rows = [line.row for line in islice(json_lines(path), 20) if line.row is not None]
    except DataError:
        return name_of(path) in NAMES
    if any(not _FIELDS.isdisjoint(row) for row in rows):
        return True
    has_other_fields = any(
        (is_question(key) and key != "query") or key in ("response", "retrieved_context") for row in rows for key in row
    )
    return name_of(path) in NAMES and not has_other_fields


def _folders(path: Path) -> list[Path]:
    try:
        return [inner for inner in path.iterdir() if inner.is_dir()]
    except OSError:
        return []
