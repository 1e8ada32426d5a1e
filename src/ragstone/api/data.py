"""Where a benchmark's data come from: generated, pulled, or a folder of the user's."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import platformdirs

from ragstone.datasets.fictional import fictional_rgb
from ragstone.datasets.rgb import NAMES, RGBSet, read_rgb, read_rgb_dir, rgb_set
from ragstone.errors import UnknownName, UsageError

__all__ = ["data_folder", "load_rgb"]


def data_folder(name: str) -> Path:
    """Where `ragstone data pull NAME` puts the files unless it is told otherwise."""
    return Path(platformdirs.user_data_dir("ragstone", appauthor=False)) / name


def load_rgb(
    data: str | Path = "fictional",
    *,
    languages: Sequence[str] = ("en", "zh"),
    dataset: str | None = None,
    seed: int = 0,
    size: int | None = None,
) -> tuple[str, Mapping[str, RGBSet]]:
    """The RGB sets that `data` names, and what to call them in the run file ("fictional", "official" or the folder).

    `data` is "fictional" (generated from `seed`, `size` questions a set), "official" (what `ragstone data pull rgb`
    fetched), or a folder or file in the official format. Raises UsageError or DataError, one line each.
    """
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
        if not any(folder.glob("*.json")):
            raise UsageError(
                "The official RGB files are not here yet: run `ragstone data pull rgb`, or name a folder: --data DIR."
            )
        return "official", _only(read_rgb_dir(folder), dataset, folder)
    path = Path(data)
    if path.is_dir():
        return str(data), _only(read_rgb_dir(path), dataset, path)
    if path.is_file():
        one = read_rgb(path)
        return str(data), _only({one.name: one}, dataset, path)
    raise UsageError(f"--data {data}: no such folder or file. It takes fictional, official, a folder or a file.")


def _only(sets: Mapping[str, RGBSet], dataset: str | None, where: Path) -> Mapping[str, RGBSet]:
    if not sets:
        raise UsageError(f"{where} holds no RGB file (*.json, JSON lines). `ragstone data check {where}` says more.")
    if dataset is None:
        return sets
    if dataset not in sets:
        raise UnknownName("data set", dataset, sets, hint=f"{where} has: {', '.join(sorted(sets))}.")
    return {dataset: sets[dataset]}
