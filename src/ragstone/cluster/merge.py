"""Joins run files of the same settings: shards that several machines asked, as if one command had asked all."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragstone.engine.open_run import OpenRun, benchmark_of, expected_of, open_checked
from ragstone.engine.public_functions import public
from ragstone.engine.run_info import GROWING, joined_info
from ragstone.errors import RESTORE, DataError, RagstoneError, RunMismatch, UsageError
from ragstone.messages import messages
from ragstone.report.notebook import result_snippet
from ragstone.runs import RunReader, open_run
from ragstone.runs.merge import Merged, attached, copy_records
from ragstone.runs.owners import left_part, remove_left
from ragstone.runs.salvage import Salvaged, salvage
from ragstone.runs.schema import LAYOUT, RECOVER, key_of
from ragstone.runs.store import record_settings
from ragstone.storage import connect
from ragstone.structs import to_json


@dataclass(frozen=True, repr=False)
class MergedRun:
    """The merged file, which shows itself as the run that it is, and how many of its records came from more than one of
    the files: `repeated`, of which `differing` had different answers. `recovered`: what was left out of each damaged
    file."""

    path: Path
    repeated: int
    differing: int
    recovered: Mapping[Path, Salvaged] = field(default_factory=dict)

    def open(self) -> OpenRun:
        """The merged run, open for reading."""
        return OpenRun(self.path)

    def repeated_in(self, language: str) -> str:
        """How many records were in several files, in a sentence; "" for none."""
        text = messages(__name__, language)["repeated"]
        return text.format(n=self.repeated, differing=self.differing) if self.repeated else ""

    def __repr__(self) -> str:
        with self.open() as run:
            return "\n".join(filter(None, [repr(run), self.repeated_in(run.language)]))

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        with self.open() as run:
            repeated = self.repeated_in(run.language)
            return run._repr_html_() + (result_snippet("", (), [repeated]) if repeated else "")


@public
def merge(
    runs: Sequence[str | Path], target: str | Path, *, keep_first: bool = False, recover: bool = False
) -> MergedRun:
    """Write one run file with everything that `runs` have. Their settings must be the same, as for a command that
    resumes: RunMismatch names what differs. Of a case that two files answered, equal answers (times aside) are kept
    once; different ones raise UsageError, or with `keep_first` the answer of the file that is named first is kept. An
    answer replaces a failure. `recover`: of damaged files, what can be read; the command that made them then asks only
    for the rest, with the new file. UsageError if a file is named twice or `target` exists, DataError for a damaged
    record; nothing is left there unless all was merged."""
    sources, path = [Path(run) for run in runs], Path(target)
    if not sources:
        raise UsageError("Name the run files to merge.")
    if path.exists():
        raise UsageError(f"{path} already exists: name a new file with -o.")
    _check_different(sources)
    merged, recovered, parts = Merged(), dict[Path, Salvaged](), dict[Path, Path]()
    with _named(parts), contextlib.ExitStack() as stack:
        if recover:
            for source in sources:
                part = stack.enter_context(_temporary(path))
                parts[part] = source
                recovered[source] = salvage(source, part, expected_of)
            sources = list(parts)
        sources = _in_order_of_growth(sources)
        part = stack.enter_context(_new_file(path))
        for source in sources:
            try:
                merged += _add(part, source, keep_first=keep_first)
            except RunMismatch as error:
                names = [parts.get(each, each).name for each in (sources[0], source)]
                changes = error.changes(*(f"in {name}" for name in names))
                raise UsageError(
                    f"{source} was made with other settings than {sources[0]} ({changes}). Only runs with the same "
                    "settings can be merged."
                ) from error
    return MergedRun(path, merged.repeated, merged.differing, recovered)


@contextlib.contextmanager
def _named(parts: Mapping[Path, Path]) -> Iterator[None]:
    """Errors about one of these temporary files name the file of the user that it was made of. To recover that is no
    next step: it is what was done."""
    try:
        yield
    except RagstoneError as error:
        text = str(error)
        for part, source in parts.items():
            text = text.replace(RECOVER.format(path=part), RESTORE).replace(str(part), str(source))
            if isinstance(error, DataError) and error.path == str(part):
                error.path = str(source)
        error.args = (text,)
        raise


def _check_different(sources: Sequence[Path]) -> None:
    """UsageError if a file is named twice, by whatever path: probably another one was meant."""
    known: dict[Path, Path] = {}
    for source in sources:
        if (earlier := known.setdefault(source.resolve(), source)) is not source:
            same = str(source) == str(earlier)
            problem = f"{source} is named twice." if same else f"{earlier} and {source} are one and the same file."
            raise UsageError(f"{problem} Name each run file once.")


def _add(part: Path, source: Path, *, keep_first: bool) -> Merged:
    """Adds a file to the one that is being made, settings and records in one transaction."""
    with contextlib.closing(connect(part, LAYOUT)) as connection:
        with open_checked(source) as new, open_run(part) as old:
            growing = benchmark_of(new.meta, source).growing
            _check_readable(new)
            info = joined_info(part, old.meta, new.meta, growing)
            question = dict(info.pop("question", {}))
            specs = {name: dict(spec) for name, spec in new.systems.items()}
            replaces = _grown(old, new)
        notes = {key_of(name): to_json(value) for name, value in info.items()}
        with attached(connection, part, source):
            record_settings(connection, part, question, notes, specs, GROWING, replaces)
            return copy_records(connection, source, keep_first=keep_first)


def _check_readable(run: RunReader) -> None:
    """DataError for a record or a plan that is damaged: in the merged file nobody would know where it came from."""
    run.plans()
    for _ in run.records(texts=False):
        pass


def _grown(old: RunReader, new: RunReader) -> dict[str, Any]:
    """The settings that may differ because the user's data has more rows now: `replaces` of `record_settings`."""
    if not old.rows or not old.rows.items() <= new.rows.items():
        return {}
    data = {f"systems.{name}.data": spec.get("data") for name, spec in old.systems.items()}
    return {"question.data": old.meta["question"].get("data"), **data}


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """A path beside `path`, of a file that is for the block only."""
    part = left_part(path)
    try:
        yield part
    finally:
        _remove(part)


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """A path beside `path`, whose file is moved there when the block succeeds; otherwise nothing is left. What a killed
    process left there goes, too."""
    remove_left(path.parent)
    part = left_part(path)
    try:
        yield part
        try:
            os.link(part, path)  # unlike a move, this replaces nothing that came meanwhile
        except FileExistsError:
            raise UsageError(f"{path} already exists: name a new file with -o.") from None
        except OSError:  # a file system without links
            part.replace(path)
    finally:
        _remove(part)


def _remove(part: Path) -> None:
    for file in (part, *(part.with_name(f"{part.name}-{rest}") for rest in ("journal", "wal", "shm"))):
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)


def _in_order_of_growth(sources: Sequence[Path]) -> list[Path]:
    """The files, those with fewer rows of the user's data first: a run grows by new rows."""

    def rows(source: Path) -> int:
        with open_checked(source) as run:
            return sum(1 for _ in run.numbered_rows())

    return sorted(sources, key=rows)
