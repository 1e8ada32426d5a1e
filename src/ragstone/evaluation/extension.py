"""How the data of a command relate to the rows that a run file has: the same, more of them, or other ones."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragstone.datasets.tabular import EvalData
from ragstone.errors import UsageError
from ragstone.runs import open_run

_SHOWN = 3


class _Numbered:
    """The rows of the data as they are in a new run file: (number, id, hash)."""

    def __init__(self, data: EvalData) -> None:
        self._data = data

    def __iter__(self) -> Iterator[tuple[int, str, str]]:
        return ((number, *row) for number, row in enumerate(self._data.digests, 1))


@dataclass(frozen=True)
class Extension:
    """`numbers`: row of the data → its number in the run file, where that is another. `rows`: those that the file does
    not have, as (number, id, hash). `replaces`: settings whose value in the file gives way to the new one: those that
    depend on all rows."""

    numbers: Mapping[int, int] = field(default_factory=dict)
    rows: Iterable[tuple[int, str, str]] = ()
    replaces: Mapping[str, Any] = field(default_factory=dict)

    def number(self, row: int) -> int:
        """The number in the run file of a row of the data."""
        return self.numbers.get(row, row)


def extension_of(data: EvalData, path: Path, system: str = "") -> Extension:
    """Rows that the file has keep their numbers, new ones follow. `system`: the recorded answers, whose settings have
    the hash of the data. Raises UsageError, naming rows, if rows of the file have changed or are missing."""
    if not len(data.digests) or not path.is_file() or not path.stat().st_size:
        return Extension(rows=_Numbered(data))
    with open_run(path) as run:
        question = run.meta.get("question")
        before = question.get("data") if isinstance(question, dict) else None
        replaces: dict[str, Any] = {"question.data": before}
        if system:
            replaces[f"systems.{system}.data"] = run.systems.get(system, {}).get("data")
        if before == data.sha256 and _are_same(run.numbered_rows(), _Numbered(data)):
            return Extension(replaces=replaces)
        old = run.rows
    if before != data.sha256:
        _check(data, old, path)
    following = max((number for number, _ in old.values()), default=0)
    numbers: dict[int, int] = {}
    new: list[tuple[int, str, str]] = []
    for row, (name, digest) in enumerate(data.digests, 1):
        if name not in old:
            following += 1
            new.append((following, name, digest))
        number = old[name][0] if name in old else following
        if number != row:
            numbers[row] = number
    return Extension(numbers, new, replaces if old else {})


def _are_same(one: Iterable[object], other: Iterable[object]) -> bool:
    return all(a == b for a, b in itertools.zip_longest(one, other))


def _check(data: EvalData, old: Mapping[str, tuple[int, str]], path: Path) -> None:
    """Raises UsageError if a row of the file is another one now, or missing."""
    digests = dict(data.digests)
    where = {item.sample.id: f" ({item.where})" for item in data.items}
    changed = [f"{name!r}{where.get(name, '')}" for name, (_, digest) in old.items()
               if digests.get(name, digest) != digest]  # fmt: skip
    missing = [repr(name) for name in old if name not in digests]
    for names, kind in ((changed, "changed"), (missing, "missing")):
        if names:
            some = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
            raise UsageError(
                f"{path} was made with different settings (of its {len(old):,} rows of data, {len(names):,} "
                f"{'has' if len(names) == 1 else 'have'} {'changed' if kind == 'changed' else 'no counterpart now'}: "
                f"{some}). A run grows only by new rows: name another file with --run."
            )
