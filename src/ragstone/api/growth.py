"""How the data of a command relate to the rows that a run file has: the same, more of them, or other ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragstone.datasets.tabular import EvalData
from ragstone.errors import UsageError
from ragstone.runs import open_run

__all__ = ["Growth", "growth_of"]

_SHOWN = 3


@dataclass(frozen=True)
class Growth:
    """`numbers`: row of the data → its number in the run file. `rows`: id → (number, digest) of all rows, for the file.
    `replaces`: settings whose value in the file gives way to the new one: those that depend on all rows."""

    numbers: Mapping[int, int] = field(default_factory=dict)
    rows: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    replaces: Mapping[str, Any] = field(default_factory=dict)

    @property
    def info(self) -> dict[str, Any]:
        """What the run file is told of the rows."""
        return {"rows": {name: list(entry) for name, entry in self.rows.items()}} if self.rows else {}

    def number(self, row: int) -> int:
        """The number in the run file of a row of the data."""
        return self.numbers.get(row, row)


def growth_of(data: EvalData, path: Path, system: str = "") -> Growth:
    """Rows that the file has keep their numbers, new ones follow. `system`: the recorded answers, whose settings have
    the hash of the data. Raises UsageError, naming rows, if rows of the file have changed or are missing."""
    old: Mapping[str, tuple[int, str]] = {}
    before = answers = None
    if data.digests and path.is_file() and path.stat().st_size:
        with open_run(path) as run:
            question = run.meta.get("question")
            before = question.get("data") if isinstance(question, dict) else None
            old = run.rows
            answers = run.systems.get(system, {}).get("data")
    if before != data.sha256:
        _check(data, old, path)
    following = max((number for number, _ in old.values()), default=0)
    numbers: dict[int, int] = {}
    rows = dict(old)
    for row, (name, digest) in enumerate(data.digests.items(), 1):
        if name not in rows:
            following += 1
            rows[name] = (following, digest)
        numbers[row] = rows[name][0]
    replaces: dict[str, Any] = {"question.data": before} if old else {}
    if old and system:
        replaces[f"systems.{system}.data"] = answers
    return Growth(numbers, rows, replaces)


def _check(data: EvalData, old: Mapping[str, tuple[int, str]], path: Path) -> None:
    """Raises UsageError if a row of the file is another one now, or missing."""
    where = {item.sample.id: f" ({item.where})" for item in data.items}
    changed = [f"{name!r}{where.get(name, '')}" for name, (_, digest) in old.items()
               if data.digests.get(name, digest) != digest]  # fmt: skip
    missing = [repr(name) for name in old if name not in data.digests]
    for names, kind in ((changed, "changed"), (missing, "missing")):
        if names:
            some = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
            raise UsageError(
                f"{path} was made with different settings (of its {len(old):,} rows of data, {len(names):,} "
                f"{'has' if len(names) == 1 else 'have'} {'changed' if kind == 'changed' else 'no counterpart now'}: "
                f"{some}). A run grows only by new rows: name another file with --run."
            )
