"""A run file with the benchmark that reads it."""

import contextlib
import errno
import os
import shlex
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from ragstone.benchmarks import BENCHMARKS
from ragstone.benchmarks.plugin import Plugin
from ragstone.display import Chart, Summary, Table
from ragstone.engine.public_functions import public
from ragstone.engine.trust import TRUST, is_named
from ragstone.errors import RESTORE, RagstoneError, UsageError
from ragstone.messages import LANGUAGES, preferred_language
from ragstone.metrics import is_own
from ragstone.optional import load
from ragstone.registry import is_loaded
from ragstone.report import export, is_export, render
from ragstone.report.digest import digest
from ragstone.report.named_run import named_run
from ragstone.report.notebook import Tables, result_snippet, result_text
from ragstone.report.unfinished import tables_of, unfinished_lines
from ragstone.runs import RunReader, open_run
from ragstone.runs.salvage import Expected
from ragstone.runs.schema import damaged
from ragstone.storage import write_file
from ragstone.types import Aggregate, Benchmark, Run, Score

if TYPE_CHECKING:
    from ragstone.analysis.expert_agreement import ExpertFindings

_SQLITE = b"SQLite format 3\x00"  # how a run file begins


def benchmark_of(meta: Mapping[str, Any], path: object) -> Benchmark:
    """The benchmark of a run, able to tabulate and explain it. Raises UsageError if the file does not name it."""
    return _made(_plugin_of(meta, path), meta, path)


def _plugin_of(meta: Mapping[str, Any], path: object) -> Plugin:
    name = _name_of_benchmark(meta)
    if name is None:
        raise UsageError(f"{path} does not say which benchmark it is a run of. {RESTORE}")
    place = meta.get("benchmark_at")
    if name not in BENCHMARKS and not isinstance(place, str):
        raise UsageError(
            f"{path} is a run of {name!r}, a benchmark that is not installed here. There are: "
            f"{', '.join(BENCHMARKS.names())}."
        )
    if name not in BENCHMARKS and not (is_loaded(str(place)) or is_named(str(place))):
        raise UsageError(
            f"{path} was made by a benchmark at {place}. Reading the run would execute that code: if you trust it, set "
            f"{TRUST}={shlex.quote(str(place))} and run this again."
        )
    # By name, otherwise from the place recorded in the run, which may be a stranger's.
    try:
        return BENCHMARKS.get(name if name in BENCHMARKS else str(place))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _name_of_benchmark(meta: Mapping[str, Any]) -> str | None:
    question = meta.get("question")
    name = question.get("benchmark") if isinstance(question, dict) else None
    return name if isinstance(name, str) else None


def _made(plugin: Plugin, meta: Mapping[str, Any], path: object) -> Benchmark:
    try:
        return plugin.from_meta(meta)
    except RagstoneError:
        raise
    except Exception as error:  # options of another kind than the benchmark wrote
        raise damaged(path, f"its options cannot be read ({type(error).__name__}: {error}).", helps=False) from error


def open_checked(path: str | Path) -> RunReader:
    """Open a run file for reading. Its cases are checked against the types that its benchmark declares, if that is
    installed."""
    run = open_run(path)
    try:
        with contextlib.suppress(UsageError):  # reported by what needs the benchmark
            _expect(run, _plugin_of(run.meta, path))
    except BaseException:
        run.close()
        raise
    return run


def viewed(run: RunReader) -> Run:
    """The run as its benchmark wants gates, comparisons and trends to read it; itself if that is not installed.
    UsageError if the file names none, or has options that it cannot read."""
    meta = run.meta
    try:
        plugin = _plugin_of(meta, run.path)
    except UsageError:
        if _name_of_benchmark(meta) is None:
            raise
        return run
    return _made(plugin, meta, run.path).view(run)


def _expect(run: RunReader, plugin: Plugin) -> None:
    run.expect(*_expected(plugin))


def _expected(plugin: Plugin) -> Expected:
    return plugin.condition_types, plugin.note_types, is_own


def expected_of(meta: Mapping[str, Any], path: Path) -> Expected:
    """What records of a run with these settings are checked against, if its benchmark is installed. DataError if that
    cannot read its options."""
    try:
        plugin = _plugin_of(meta, path)
    except UsageError:
        return {}, {}, is_own
    _made(plugin, meta, path)
    return _expected(plugin)


def check_target(target: str | Path, run: Path | None = None) -> None:
    """Raises now what `write_report` would raise after a long run: UsageError where no file can be written there, or
    where `run` is to be; MissingExtra where the report's libraries are not installed."""
    load("ragstone.report.page", extra="report", purpose="The HTML report")
    path = Path(target)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _check_place(path, run, " for the report")
        _spare(path)
        if not path.exists():
            path.touch()
            path.unlink()
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise UsageError(f"{path}: the report cannot be written ({error.strerror or error}).") from None


def _check_place(path: Path, run: Path | None, purpose: str = "") -> None:
    """UsageError where a path is a folder, the run file itself, or no path at all."""
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder: name a file{purpose}.")
        if run is not None and (
            path.samefile(run) if path.exists() and run.exists() else path.resolve() == run.resolve()
        ):
            raise UsageError(f"{path} is the run file itself: name another file{purpose}.")
    except (OSError, ValueError) as error:
        raise UsageError(f"{str(path)[:80]!r} cannot be written ({getattr(error, 'strerror', error)}).") from None


def is_run_file(path: str | Path) -> bool:
    """Whether this is an SQLite file, which data never are."""
    return _head(Path(path)).startswith(_SQLITE)


def _head(path: Path) -> bytes:
    """The first bytes of a file; empty if it does not exist or cannot be read."""
    try:
        if path.is_file():
            with path.open("rb") as file:
                return file.read(512)
    except OSError:
        pass  # reported when it is written
    return b""


def _spare(path: Path) -> None:
    """Raises UsageError if an existing file is not an HTML page, so that a report never overwrites data or a run."""
    head = _head(path)
    if head.strip() and not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        raise UsageError(f"{path} already exists and is not an HTML page: name another file for the report.")


def remembered_language(path: str | Path) -> str:
    """The language of the output that a run file remembers, else that of the environment."""
    with open_run(Path(path)) as run:
        return language_of(run.meta)


def language_of(meta: Mapping[str, Any]) -> str:
    """The language of the output that a run remembers, else that of the environment."""
    remembered = meta.get("language")
    return remembered if remembered in LANGUAGES else preferred_language()


class OpenRun:
    """An open run: `tables`, `aggregates`, `write_report`, `export`. A context manager; the file is only read."""

    def __init__(self, path: str | Path, benchmark: Plugin | None = None) -> None:
        self.path = Path(path)
        self.run: RunReader = open_run(self.path)
        try:
            meta = self.run.meta
            plugin = _plugin_of(meta, self.path) if benchmark is None else benchmark
            _expect(self.run, plugin)
            self.benchmark = _made(plugin, meta, self.path)
            self._tables: dict[tuple[str, bool], list[Table]] = {}
            self._closed = False
        except BaseException:
            self.run.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.run.close()
        self._closed = True

    def __repr__(self) -> str:
        """The verdict, its picture, the main table, unfinished work, and the path of the run file."""
        if self._closed:
            return f"Run file, closed: {self.path}"
        return result_text(*self._leading(), language=self.language)

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        return result_snippet("", (), [repr(self)]) if self._closed else result_snippet(*self._leading())

    def _leading(self) -> tuple[str, list[Table], list[str]]:
        from ragstone.report.opening_text import opening_text  # noqa: PLC0415  (only where somebody prints it)

        opening = opening_text(self.summaries(), self.leading_charts(), language=self.language)
        return opening, self.leading_tables()[:1], [*self.unfinished(), f"Run file: {self.path}"]

    @property
    def language(self) -> str:
        """The language that the commands on this file asked for, else that of the environment."""
        return language_of(self.run.meta)

    @cached_property
    def shown(self) -> Run:
        """The run with its systems under short labels, for people."""
        return named_run(self.run)

    def tables(self, *, language: str | None = None, short: bool = False) -> list[Table]:
        """The benchmark's tables of this run; those of an unfinished run say so. `short`: with short labels of the
        systems. Here and below, `language` is the run's own by default."""
        key = language or self.language, short
        if key not in self._tables:
            run = self.shown if short else self.run
            self._tables[key] = Tables(tables_of(run, self.benchmark, language=key[0]))
        return Tables(self._tables[key])

    def summaries(self, *, language: str | None = None) -> Mapping[str, Summary]:
        """What pages and the terminal open with, by system, that of all systems under ""."""
        from ragstone.report.opening import opening  # noqa: PLC0415  (numpy: only where a run is read)

        language = language or self.language
        counts = cache(partial(digest, self.shown, self.benchmark, language=language, cases_shown=0))
        if self.benchmark.observes:  # one pass over the records for the summaries, the tables and these counts
            counts()
        return opening(self.shown, self.benchmark, counts, language=language, experts=self.experts)

    def leading_charts(self, *, language: str | None = None) -> Sequence[Chart]:
        """The charts that stand beside the verdict, with short labels."""
        charts = self.benchmark.charts(self.shown, language=language or self.language)
        return [chart for chart in charts if chart.leading and chart.series]

    def leading_tables(self, *, language: str | None = None) -> list[Table]:
        """The main tables with short labels, as far as something was measured. Repeated notes appear only once, and
        those of `unfinished` are left out."""
        ids = self.benchmark.leads
        shown, seen = [], {*self.unfinished(language=language)}
        for table in self.tables(language=language, short=True):
            if (ids and table.id not in ids) or all(row.published for row in table.rows):
                continue
            notes = tuple(note for note in table.notes if note not in seen)
            seen.update(notes)
            shown.append(replace(table, notes=notes))
        return Tables(shown)

    @property
    def warnings(self) -> list[str]:
        """The warnings of all commands on the file, one line each."""
        warnings = self.run.meta.get("warnings")
        return [str(warning) for warning in warnings] if isinstance(warnings, list) else []

    def unfinished(self, *, language: str | None = None) -> list[str]:
        """A line for each system with cases left ("6 of 12, unfinished…")."""
        return unfinished_lines(self.shown, language=language or self.language)

    def aggregates(self, *more: Aggregate) -> dict[str, Score]:
        """The aggregate scores by name, of the benchmark and of `more`, each in one pass over the records."""
        scores: dict[str, Score] = {}
        for aggregate in (*self.benchmark.aggregates, *more):
            scores |= aggregate.over(self.run.records())
        return scores

    @property
    def experts(self) -> "ExpertFindings | None":
        """What labels of experts say of the run, as `ragstone agreement experts --keep` kept it; None if nothing is
        kept. Raises DataError for a damaged file."""
        from ragstone.report.findings_file import read_findings  # noqa: PLC0415  (numpy: only where a run is read)

        return read_findings(self.path, self.run.file_id)

    def write_report(
        self, target: str | Path, *, language: str | None = None, cases_shown: int = 200,
        experts: "ExpertFindings | None" = None,
    ) -> Path:  # fmt: skip
        """Write the report, one self-contained HTML file, and return its path. `experts`: what labels say, by default
        what is kept. Needs the extra `report`."""
        path = Path(target)
        _check_place(path, self.path, " for the report")
        _spare(path)
        page = render(
            self.run, self.benchmark, language=language or self.language, cases_shown=cases_shown,
            experts=experts or self.experts,
        )  # fmt: skip
        return write_file(path, page, parents=True)

    @public
    def export(self, target: Any, kind: str, *, language: str | None = None, force: bool = False) -> None:
        """Write records or tables in a format of `ragstone.report.FORMATS` to a path or an open stream. Raises
        UsageError for a file that no export wrote, unless `force`, and for a database always."""
        if isinstance(target, str | Path):
            path = Path(target)
            _check_place(path, self.path)
            if _head(path).startswith(_SQLITE):
                raise UsageError(f"{target} is a run file or another database: name another file.")
            if not force and path.is_file() and os.access(path, os.R_OK) and not is_export(path):
                raise UsageError(f"{target} already exists and is no export: name another file, or add --force.")
        export(self.run, self.benchmark, kind, target, language=language or self.language)


@public
def read_run(path: str | Path, benchmark: Plugin | None = None) -> OpenRun:
    """Open a run file. `benchmark`: its plugin, if it is not registered. Raises UsageError if it is not a run file."""
    return OpenRun(path, benchmark)
