"""`ragstone score ragchecker`: RAGChecker's recorded verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from ragstone.benchmarks.plugin import Option, Plugin, Rescored, Rescoring
from ragstone.errors import UsageError
from ragstone.types import Benchmark


@dataclass(frozen=True, kw_only=True)
class RagCheckerOptions:
    """The files to read."""

    paths: Annotated[tuple[Path, ...], Option("RAGChecker's checking outputs.", positional=True)]


class RagCheckerRescoring(Rescoring):
    """PATHS: RAGChecker's checking outputs (`checking_outputs.json`), whose verdicts are read and not made again."""

    summary: ClassVar[str] = "RAGChecker's recorded verdicts: its figures."
    Options: ClassVar[type[Any]] = RagCheckerOptions

    def score(self, options: RagCheckerOptions, /) -> Rescored:
        from ragstone.benchmarks.recorded.ragchecker import figures  # noqa: PLC0415  (heavy)

        documents = [figures(path) for path in options.paths]
        lines: list[str] = []
        for document in documents:
            lines.append(f"{document['file']}: {document['results']} results")
            for group, metrics in document["metrics"].items():
                lines.append(f"  {group}")
                lines += [f"    {name}: {value:.1f}" for name, value in metrics.items()]
        return Rescored(documents, lines)


class RagCheckerPlugin(Plugin):
    """RAGChecker's recorded verdicts; it is scored and not run."""

    name: ClassVar[str] = "ragchecker"
    summary: ClassVar[str] = "RAGChecker's recorded verdicts."
    rescoring: ClassVar[Rescoring | None] = RagCheckerRescoring()

    def from_meta(self, meta: Mapping[str, Any], /) -> Benchmark:
        raise UsageError("ragchecker makes no run files.")
