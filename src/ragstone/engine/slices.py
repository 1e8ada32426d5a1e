"""`slices`: the parts of a run that fail more than the rest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ragstone.analysis.fields import fields_of
from ragstone.analysis.selection import check_selection, matches
from ragstone.analysis.slice_tables import slice_tables, slice_verdict
from ragstone.analysis.slices import Slice, Slices, find_slices
from ragstone.display import Table
from ragstone.engine.open_run import OpenRun, read_run
from ragstone.engine.public_functions import public
from ragstone.messages import preferred_language
from ragstone.report.metadata import words_of
from ragstone.report.notebook import result_snippet, result_text
from ragstone.types import Record

__all__ = ["Slice", "Slices", "slice_tables", "slice_verdict", "slices"]


@dataclass(frozen=True, repr=False)
class ShownSlices(Slices):
    """The slices of a system, which show themselves: the clearest one in a sentence, and the table. `named_by`: the
    class of the benchmark, whose texts name the fields."""

    named_by: type[Any] | None = None

    def __repr__(self) -> str:
        return _text([self])

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        return _html([self])


class SlicesOfSystems(list[ShownSlices]):
    """The slices of each system, which show themselves in the same way."""

    def __init__(self, results: Iterable[Slices], named_by: type[Any] | None = None) -> None:
        super().__init__(
            ShownSlices(**{each.name: getattr(one, each.name) for each in fields(one)}, named_by=named_by)
            for one in results
        )

    def __repr__(self) -> str:
        return _text(self)

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        return _html(self)


def _text(results: Sequence[ShownSlices]) -> str:
    return result_text(*_leading(results), language=preferred_language())


def _html(results: Sequence[ShownSlices]) -> str:
    return result_snippet(*_leading(results))


def _leading(results: Sequence[ShownSlices]) -> tuple[str, list[Table]]:
    language = preferred_language()
    words = words_of(results[0].named_by if results else None, language)
    verdict = "\n".join(slice_verdict(result, language=language, words=words) for result in results)
    return verdict, slice_tables([result for result in results if any(result.tested)], language=language, words=words)


@public
def slices(run: str | Path | OpenRun, *, where: Mapping[str, str] | None = None, pairs: bool = True) -> SlicesOfSystems:
    """The slices of each system of a run (a path or an open run) that fail more than the rest: values of the columns of
    the data and of conditions, `language`, `question_type`, `question_words`, `question_characters`, `document`,
    `topic`, and `pairs` of them. See `analysis.slices` for what is tested and how.

    `where`: only cases with these values, as in `check_gates`; a slice's own `where` is one. Right and wrong are the
    benchmark's. Raises UsageError for names or values that no case has.
    """
    if not isinstance(run, OpenRun):
        with read_run(run) as opened:
            return slices(opened, where=where, pairs=pairs)
    selected = {name: str(value) for name, value in (where or {}).items()}
    view = run.benchmark.view(run.run)
    fields, available = fields_of(view, selected), dict[str, dict[str, None]]()
    benchmark, chosen = run.benchmark, False

    def right(record: Record) -> bool | None:
        nonlocal chosen
        if selected:
            values = fields(record.case)
            for name, value in values.items():
                available.setdefault(name, {})[value] = None
            if not matches(values, selected):
                return None
        chosen = True
        return benchmark.classify(record).right

    results = find_slices(view.records(texts=benchmark.reads_texts), right, pairs=pairs)
    check_selection(str(run.path), selected, (), available, empty=not chosen)
    return SlicesOfSystems(results, type(benchmark))
