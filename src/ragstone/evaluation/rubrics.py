"""Rubrics: list and show the built-in ones, copy one for editing, check your own."""

from pathlib import Path

from ragstone.errors import DataError, UsageError
from ragstone.metrics.rubric import READY, Rubric, mistakes_in, read_rubric, ready_rubric, rubric_files, rubric_text
from ragstone.storage import write_file
from ragstone.structs import Frozen


class CheckedRubric(Frozen, frozen=True):
    """A file of a rubric: the `rubric` in it, or the `mistakes` for which it cannot be used, a line each."""

    path: str
    rubric: Rubric | None = None
    mistakes: tuple[str, ...] = ()


def list_rubrics() -> list[Rubric]:
    """The ready rubrics, in the order in which they are documented."""
    return [ready_rubric(name) for name in READY]


def show_rubric(name: str) -> tuple[Rubric, str]:
    """A ready rubric, or the one in a file, and the text of its file. Raises UnknownName and DataError."""
    path = Path(name)
    if path.suffix == ".toml" or path.is_file():
        return read_rubric(path), path.read_text(encoding="utf-8-sig")
    return ready_rubric(name), rubric_text(name)


def copy_rubric(name: str, folder: str | Path, *, force: bool = False) -> Path:
    """Write a ready rubric into `folder` as NAME.toml, to be edited; returns the path.

    Raises UnknownName, and UsageError if the file exists and `force` is not given.
    """
    text, path = rubric_text(name), Path(folder) / f"{name}.toml"
    if path.exists() and not force:
        raise UsageError(f"{path}: already exists. Use --force to overwrite it.")
    return write_file(path, text, parents=True)


def check_rubrics(path: str | Path) -> list[CheckedRubric]:
    """A file, or every file of a folder, with what is wrong with it. Two files of one name are a mistake of the second.

    Raises UsageError where there is nothing to check.
    """
    place = Path(path)
    if not place.exists():
        advice = "`ragstone rubrics copy NAME DIR` puts one of ours into a folder."
        raise DataError(place, "no such file or folder.", advice=advice)
    checked: list[CheckedRubric] = []
    paths: dict[str, str] = {}
    for file in rubric_files(place) if place.is_dir() else [place]:
        rubric, mistakes = mistakes_in(file)
        if rubric is not None and paths.setdefault(rubric.name, str(file)) != str(file):
            mistakes = [f"name: {rubric.name!r} is the name of {paths[rubric.name]} already."]
        checked.append(CheckedRubric(str(file), None if mistakes else rubric, tuple(mistakes)))
    return checked
