"""What a benchmark offers to be run, read, re-scored and compared: its `Plugin`.

A module of this package, or an entry point of the group `ragstone.benchmarks`, offers one. From it come `ragstone bench
NAME`, `ragstone cases NAME`, `ragstone score NAME`, and the keywords of `bench(NAME, ...)`. Whoever lists benchmarks
imports every plugin, so that a plugin imports what is heavy inside its methods.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ragstone.benchmarks.options import Option, fields_of
from ragstone.errors import UsageError
from ragstone.types import JSON, Benchmark, Frozen, Record

if TYPE_CHECKING:
    from ragstone.datasets.rgb_check import Problem
    from ragstone.models import ModelOptions

__all__ = ["CheckedData", "Context", "DataReport", "ImportedResults", "Option", "Plugin", "Rescored", "Rescoring"]


@dataclass(frozen=True)
class Context:
    """What a benchmark may use while it is made.

    `model_options`: for models that it asks itself (those of retrievers, who counts tokens). `cache`: a folder for what
    can be made again. `models`: the names of the models to evaluate, as far as they have names. `sampling`: what the
    user asks for instead of the template's."""

    model_options: "ModelOptions"
    cache: Path
    models: tuple[str, ...] = ()
    sampling: Mapping[str, Any] = field(default_factory=dict)


class ImportedResults(Frozen, frozen=True):
    """A system whose records were read from files. `spec` says from what; `versions` are those of the metrics."""

    system: str
    spec: dict[str, JSON]
    records: tuple[Record, ...]
    versions: dict[str, int]


@dataclass(frozen=True)
class Rescored:
    """Saved predictions, scored: a JSON document, the same as lines for a reader, and what to know about it."""

    document: Any
    lines: Sequence[str]
    notes: Sequence[str] = ()


class CheckedData(Protocol):
    """What data in a benchmark's own form hold. It is written as JSON, too."""

    @property
    def lines(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class DataReport:
    """What `ragstone data check` says of data in a benchmark's own form."""

    checked: Sequence[CheckedData] = ()
    problems: "Sequence[Problem]" = ()


class Rescoring(Protocol):
    """`ragstone score NAME`: saved predictions in the official formats, scored by the official rules. The docstring is
    its help, `summary` one line of it."""

    summary: ClassVar[str]
    Options: ClassVar[type[Any]]

    def score(self, options: Any, /) -> Rescored: ...


class Plugin(Protocol):
    """A benchmark by its name. The docstring is its help; a subclass has these defaults.

    `summary`: one line, for lists. `Options`: a struct of typed fields (see `options`); None for a benchmark that is
    not run by `bench`, and whose runs can be read all the same. `judged`: names of metrics that a judge adds.
    `own_metrics`: names of metrics that score nothing but its cases. `rescoring`: how saved predictions are scored."""

    name: ClassVar[str]
    summary: ClassVar[str]
    Options: ClassVar[type[Any] | None] = None
    judged: ClassVar[tuple[str, ...]] = ()
    own_metrics: ClassVar[tuple[str, ...]] = ()
    rescoring: ClassVar[Rescoring | None] = None

    async def make(self, options: Any, context: Context, /) -> Benchmark:
        """The benchmark. Raises UsageError or DataError, one line each."""
        raise UsageError(f"{self.name} cannot be run by name.")

    def from_meta(self, meta: Mapping[str, Any], /) -> Benchmark:
        """The benchmark that made a run, to tabulate and explain it: `meta["options"]` is what `options` was."""
        ...

    def without_model(self, options: Any, /) -> bool:
        """Whether these options measure something where no model is named (retrievers alone). May raise UsageError."""
        return False

    @property
    def import_results(self) -> Callable[[Sequence[Path]], Sequence[ImportedResults]] | None:
        """Reads results of others, and runs of its own, where it can: each model a system."""
        return None

    def check_data(self, path: Path, /) -> DataReport | None:
        """What data in the benchmark's own form hold, and what is wrong with them; None where a path has another form.
        May raise DataError."""
        return None

    def options_of(self, meta: Mapping[str, Any], /) -> dict[str, Any]:
        """The options of a run that are fields of `Options`, ready for `from_meta`."""
        told = meta.get("options")
        known = fields_of(self.Options) if self.Options is not None else {}
        found = told if isinstance(told, Mapping) else {}
        return {key: tuple(v) if isinstance(v, list) else v for key, v in found.items() if key in known}
