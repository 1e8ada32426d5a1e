"""The tables of slices, for the terminal, reports and notebooks."""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence

from ragstone.analysis.selection import spelled
from ragstone.analysis.slices import LEAST, Slice, Slices
from ragstone.display import Cell, Row, Table
from ragstone.messages import messages

MOST_ROWS = 12  # slices of a table


def slice_verdict(result: Slices, *, language: str = "en") -> str:
    """The answer in a line: the clearest slice of a system, or that there is none."""
    texts, tested = messages(__name__, language), sum(result.tested)
    if not tested:
        return texts["verdict.untested"].format(system=result.system, why=next(_notes(result, texts)))
    if not result.found:
        return texts["verdict.none"].format(system=result.system, tested=f"{tested:,}")
    first = result.found[0]
    inside, outside = (100 * (side.value or 0.0) for side in (first.contrast.inside, first.contrast.outside))
    count = sum(slice_.within is None for slice_ in result.found)
    line = texts["verdict.one" if count == 1 else "verdict.several"]
    return line.format(system=result.system, name=first.name, inside=inside, outside=outside, count=count)


def slice_tables(results: Sequence[Slices], *, language: str = "en") -> list[Table]:
    """A table for each system: the slices that fail significantly more, or the largest differences if none does."""
    texts = messages(__name__, language)
    columns = tuple(texts[name] for name in ("slice", "inside", "outside", "lift", "difference", "p"))
    return [
        Table(
            f"slices-{number}" if number else "slices",
            texts["title"].format(system=result.system),
            columns,
            tuple(
                _row(slice_, texts, found=bool(result.found)) for slice_ in (result.found or result.others)[:MOST_ROWS]
            ),
            tuple(_notes(result, texts)),
        )
        for number, result in enumerate(results)
    ]


def _row(slice_: Slice, texts: Mapping[str, str], *, found: bool) -> Row:
    made = slice_.contrast
    remarks = [] if found else [texts["not_found"]]
    if slice_.within is not None:
        remarks.append(texts["within"].format(name=spelled(slice_.within)))
    if slice_.also:
        remarks.append(texts["also"].format(names="; ".join(map(spelled, slice_.also))))
    shares = [Cell(texts["share"].format(share=side.value or 0.0, n=side.n)) for side in (made.inside, made.outside)]
    lift = texts["times"].format(lift=slice_.lift) if math.isfinite(slice_.lift) else texts["only"]
    difference = Cell("", made.difference, made.low, made.high, unit="%")
    return Row(
        (Cell(slice_.name, note="; ".join(remarks)), *shares, Cell(lift), difference, Cell(f"{slice_.p_holm:.2g}"))
    )


def _notes(result: Slices, texts: Mapping[str, str]) -> Iterator[str]:
    if not any(result.tested):
        yield texts["few" if result.samples or not result.undecided else "undecided_all"].format(least=LEAST)
        return
    if not result.found:
        yield texts["none"]
    if (more := len(result.found) - MOST_ROWS) > 0:
        yield texts["more"].format(n=more)
    yield texts["note"].format(singles=result.tested[0], pairs=result.tested[1], least=LEAST)
    if any("topic" in slice_.where for slice_ in result.found or result.others):
        yield texts["topics"]
    if result.undecided:
        yield texts["undecided"].format(n=result.undecided)
    if result.found:
        where = [word for name, value in result.found[0].where.items() for word in ("--where", f"{name}={value}")]
        yield texts["gate"].format(where=shlex.join(where))
