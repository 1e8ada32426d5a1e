"""The plugin interface: how a benchmark is run, read, re-scored and compared.

A plugin is listed by a module of this package or by an entry point of the group `ragstone.benchmarks`. It defines
`ragstone bench NAME`, `ragstone cases NAME`, `ragstone score NAME` and the keywords of `bench(NAME, ...)`. Listing the
benchmarks imports every plugin, so a plugin should import heavy modules inside its methods.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ragstone.benchmarks.options import Option, fields_of
from ragstone.errors import UsageError
from ragstone.structs import JSON, Frozen
from ragstone.types import Benchmark, Metric, Record

if TYPE_CHECKING:
    from ragstone.datasets.rgb_check import DataProblem
    from ragstone.models import ModelOptions

__all__ = ["CheckedData", "Context", "DataReport", "ImportedResults", "Option", "Plugin", "Rescored", "Rescoring"]


@dataclass(frozen=True)
class Context:
    """What a plugin may use to build its benchmark.

    `model_options`: for the models that the benchmark itself calls (retriever models, token counters). `cache`: a
    folder for files that can be regenerated. `models`: the names of the models to evaluate, as far as they have names.
    `metrics`: those asked for besides the benchmark's own.
    `sampling`: the user's overrides of the template's sampling parameters. `asks`: models will be asked, so that a
    missing key is to be told before any data are made."""

    model_options: "ModelOptions"
    cache: Path
    models: tuple[str, ...] = ()
    metrics: tuple[str | Metric, ...] = ()
    sampling: Mapping[str, Any] = field(default_factory=dict)
    asks: bool = False


class ImportedResults(Frozen, frozen=True):
    """A system whose records were read from files. `spec` describes the source; `versions` are metric versions."""

    system: str
    spec: dict[str, JSON]
    records: tuple[Record, ...]
    versions: dict[str, int]


@dataclass(frozen=True)
class Rescored:
    """Re-scored predictions: a JSON document, the same as lines of text, and notes."""

    document: Any
    lines: Sequence[str]
    notes: Sequence[str] = ()


class CheckedData(Protocol):
    """A summary of data in a benchmark's own format; also written as JSON."""

    @property
    def lines(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class DataReport:
    """The output of `ragstone data check` for data in a benchmark's own format."""

    checked: Sequence[CheckedData] = ()
    problems: "Sequence[DataProblem]" = ()


class Rescoring(Protocol):
    """`ragstone score NAME`: scores saved predictions in the official formats by the official rules. The docstring is
    the command's help, `summary` its one-line form."""

    summary: ClassVar[str]
    Options: ClassVar[type[Any]]

    def score(self, options: Any, /) -> Rescored: ...


class Plugin(Protocol):
    """A benchmark by its name. The docstring is its help; a subclass inherits these defaults.

    `summary`: one line, for lists. `Options`: a struct of typed fields (see `options`); None for a benchmark that
    `bench` cannot run but whose runs can be read. `judged`: the metrics that a judge adds. `own_metrics`: the metrics
    that apply to its cases only. `rescoring`: how saved predictions are scored. `condition_types`,
    `note_types`: the types of the fields of the condition and of the sample's `meta` of its cases, by which those in
    run files are checked when they are read; other fields are not."""

    name: ClassVar[str]
    summary: ClassVar[str]
    Options: ClassVar[type[Any] | None] = None
    judged: ClassVar[tuple[str, ...]] = ()
    own_metrics: ClassVar[tuple[str, ...]] = ()
    rescoring: ClassVar[Rescoring | None] = None
    condition_types: ClassVar[Mapping[str, Any]] = {}
    note_types: ClassVar[Mapping[str, Any]] = {}

    async def make(self, options: Any, context: Context, /) -> Benchmark:
        """Build the benchmark. Raises UsageError or DataError, one line each."""
        raise UsageError(f"{self.name} cannot be run by name.")

    def from_meta(self, meta: Mapping[str, Any], /) -> Benchmark:
        """The benchmark of an existing run, to tabulate and explain it. `meta["options"]` holds the saved `options`."""
        ...

    def without_model(self, options: Any, /) -> bool:
        """Whether these options measure something without a model (retrieval only). May raise UsageError."""
        return False

    @property
    def import_results(self) -> Callable[[Sequence[Path]], Sequence[ImportedResults]] | None:
        """A function that reads other programs' results and own runs, one system per model; None if unsupported."""
        return None

    def check_data(self, path: Path, /) -> DataReport | None:
        """Contents and problems of data in the benchmark's own format; None if the path is in another format. May raise
        DataError."""
        return None

    def options_of(self, meta: Mapping[str, Any], /) -> dict[str, Any]:
        """The options of a run that are fields of `Options`, for `from_meta`."""
        options = meta.get("options")
        known = fields_of(self.Options) if self.Options is not None else {}
        recorded = options if isinstance(options, Mapping) else {}
        return {key: tuple(v) if isinstance(v, list) else v for key, v in recorded.items() if key in known}
