"""The plugin of the needle test: its options, its construction, and the import of existing results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ragstone.benchmarks.niah.options import CONDITION_TYPES, NOTE_TYPES, NeedleOptions
from ragstone.benchmarks.plugin import Context, ImportedResults, Option, Plugin, Rescored, Rescoring

if TYPE_CHECKING:
    from ragstone.benchmarks.niah.benchmark import NIAH


@dataclass(frozen=True, kw_only=True)
class RescoreOptions:
    """The results to read."""

    paths: Annotated[tuple[Path, ...], Option("Folders and files of results.", positional=True)]


class NeedleRescoring(Rescoring):
    """PATHS: folders with one JSON file per cell, files with a list of cells, and with --run also niah run files.

    Repeats are averaged within a cell, then cells are averaged, for each model and version. With --run all results are
    put into one run, to compare tables, heat maps and effective lengths."""

    summary: ClassVar[str] = "Results of other needle tests: one file per cell, or lists of cells."
    Options: ClassVar[type[Any]] = RescoreOptions

    def score(self, options: RescoreOptions, /) -> Rescored:
        from ragstone.benchmarks.niah.rescore import read_results  # noqa: PLC0415
        from ragstone.runs import is_run_file  # noqa: PLC0415

        paths = [path for path in options.paths if not is_run_file(path)]
        lines: list[str] = []
        results = read_results(paths) if paths else []
        for result in results:
            summary = result.summary()
            version = "" if result.version is None else f", version {result.version}"
            lines += [
                f"{result.model or result.source or '(no model named)'}{version}",
                f"  cells: {len(summary['cells'])} ({summary['n']} rows)",
                f"  mean of cells: {summary['mean_of_cells']:.3f}",
                f"  share of cells at 10: {summary['share_at_10']:.1%}",
            ]
        return Rescored([result.summary() for result in results], lines)


class NeedlePlugin(Plugin):
    """Needle in a haystack: does the model find a sentence in a long text, by length and depth?

    Each cell hides a new random number and city unless --needle says otherwise. Controls without a needle show which
    models answer anyway. With --retriever the model gets the retrieved chunks; without --model only retrieval is
    scored."""

    name: ClassVar[str] = "niah"
    summary: ClassVar[str] = "Needle in a haystack: length by depth."
    Options: ClassVar[type[Any] | None] = NeedleOptions
    judged: ClassVar[tuple[str, ...]] = ("needle.judge",)
    own_metrics: ClassVar[tuple[str, ...]] = (
        "needle.found",
        "needle.refused",
        "needle.retrieved",
        "ruler.match",
        *judged,
    )
    rescoring: ClassVar[Rescoring | None] = NeedleRescoring()
    condition_types: ClassVar[Mapping[str, Any]] = CONDITION_TYPES
    note_types: ClassVar[Mapping[str, Any]] = NOTE_TYPES

    def without_model(self, options: NeedleOptions, /) -> bool:
        return bool(options.retrievers)

    async def make(self, options: NeedleOptions, context: Context, /) -> "NIAH":
        from ragstone.benchmarks.niah.make import make  # noqa: PLC0415

        return await make(options, context)

    def from_meta(self, meta: Mapping[str, Any], /) -> "NIAH":
        from ragstone.benchmarks.niah.benchmark import NIAH  # noqa: PLC0415

        return NIAH.from_meta(meta)

    @property
    def import_results(self) -> Callable[[Sequence[Path]], Sequence[ImportedResults]] | None:
        from ragstone.benchmarks.niah.imported_results import read_all  # noqa: PLC0415

        return read_all
