"""The tables of slices, for the terminal, reports and notebooks."""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence

from ragstone.analysis.slices import LEAST, Slice, Slices
from ragstone.display import Cell, Row, Table
from ragstone.messages import messages

MOST_ROWS = 12  # slices of a table
_SHARED = "ragstone.benchmarks.base"  # whose folder has the names of what several benchmarks vary


def slice_name(where: Mapping[str, str], *, language: str = "en", words: Mapping[str, str] | None = None) -> str:
    """A slice for a reader: "noise ratio = 0.8". `words`: what its benchmark calls its fields (`field_NAME`,
    `field_NAME_VALUE`); the user's columns and values stay."""
    return _named(where, _texts(language, words))


def slice_verdict(result: Slices, *, language: str = "en", words: Mapping[str, str] | None = None) -> str:
    """The answer in a line: the clearest slice of a system, or that there is none. `words`: as in `slice_name`."""
    texts, tested = _texts(language, words), sum(result.tested)
    if not tested:
        return texts["verdict.untested"].format(system=result.system, why=next(_notes(result, texts)))
    if not result.found:
        return texts["verdict.none"].format(system=result.system, tested=f"{tested:,}")
    first = result.found[0]
    inside, outside = (100 * (side.value or 0.0) for side in (first.contrast.inside, first.contrast.outside))
    count = sum(slice_.within is None for slice_ in result.found)
    line, name = texts["verdict.one" if count == 1 else "verdict.several"], _named(first.where, texts)
    return line.format(system=result.system, name=name, inside=inside, outside=outside, count=count)


def slice_tables(
    results: Sequence[Slices], *, language: str = "en", words: Mapping[str, str] | None = None
) -> list[Table]:
    """A table for each system: the slices that fail significantly more, or the largest differences if none does.
    `words`: as in `slice_name`."""
    texts = _texts(language, words)
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


def _texts(language: str, words: Mapping[str, str] | None) -> Mapping[str, str]:
    return {**(messages(_SHARED, language) if words is None else words), **messages(__name__, language)}


def _named(where: Mapping[str, str], texts: Mapping[str, str]) -> str:
    parts = []
    for name, value in where.items():
        key = f"field_{value.lower()}" if value in ("True", "False") else f"field_{name}_{value}"
        parts.append(f"{texts.get(f'field_{name}', name)} = {texts.get(key, value)}")
    return texts["both"].join(parts)


def _options(where: Mapping[str, str]) -> str:
    """A slice as the options `--where` of a command."""
    return shlex.join(word for name, value in where.items() for word in ("--where", f"{name}={value}"))


def _row(slice_: Slice, texts: Mapping[str, str], *, found: bool) -> Row:
    made = slice_.contrast
    remarks = [] if found else [texts["not_found"]]
    if slice_.within is not None:
        remarks.append(texts["within"].format(name=_named(slice_.within, texts)))
    if slice_.also:
        names = "; ".join(_named(other, texts) for other in slice_.also)
        remarks.append(texts["also"].format(names=names))
    shares = [Cell(texts["share"].format(share=side.value or 0.0, n=side.n)) for side in (made.inside, made.outside)]
    lift = texts["times"].format(lift=slice_.lift) if math.isfinite(slice_.lift) else texts["only"]
    difference = Cell("", made.difference, made.low, made.high, unit="%")
    return Row(
        (
            Cell(_named(slice_.where, texts), note="; ".join(remarks)),
            *shares,
            Cell(lift),
            difference,
            Cell(f"{slice_.p_holm:.2g}"),
        )
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
        first, *others = (_options(slice_.where) for slice_ in result.found[:MOST_ROWS])
        yield texts["gate"].format(where=first) + (texts["gates"].format(others="; ".join(others)) if others else "")
