"""The differences of a comparison as tables: what differs, which questions moved, and what the questions can show."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ragstone.analysis.sides import RIGHT
from ragstone.comparison.compare_figures import FLIPPED, Comparison, Difference, Side
from ragstone.display import Cell, Row, Table, short_names
from ragstone.messages import messages
from ragstone.report.metadata import metric_name

_LONGEST_NAME = 16  # longer names of systems stand in the title instead of the column heads
_ALIASES = 3  # metrics with the same scores that are named


def labels_of(*sides: Side) -> tuple[str, str]:
    """Short names of A and B for a reader: of the systems, or of the files where it is the same system."""
    names = [side.system for side in sides]
    if names[0] == names[1]:
        names = [str(side.path) if side.path and not side.axis else side.name for side in sides]
    labels = short_names(names)
    return labels[names[0]], labels[names[1]]


def comparison_tables(
    comparison: Comparison, *, language: str = "en", moves: int | None = None, power: float | None = None
) -> list[Table]:
    """The differences, and the samples that moved, `lost` first; of a metric at most `moves` in either direction.
    `power`: a difference; how many questions would show it. What these questions can show is also told if they show no
    difference."""
    texts = texts_for(comparison, __name__, language)
    grouped = any(row.group for row in comparison.rows)
    several = any(row.samples != row.n for row in comparison.rows)  # pairs of a sample
    rows = [
        Row((
            Cell(_metric(row, texts)),
            *([Cell(row.group)] if grouped else []), Cell(value=row.a), Cell(value=row.b),
            Cell(value=row.difference, low=row.low, high=row.high), Cell(f"{row.p_holm:.3g}"),
            Cell(texts[row.test]), Cell(str(row.n)), *([Cell(str(row.samples))] if several else []),
            Cell(f"{row.improved} / {row.worsened}"),
        ))
        for row in comparison.rows
    ]  # fmt: skip
    names = labels_of(comparison.a, comparison.b)
    long = max(map(len, names)) > _LONGEST_NAME
    columns = (
        texts["metric"], *([texts["group"]] if grouped else []),
        *((texts["before"], texts["after"]) if long else names),
        texts["difference"], texts["p"], texts["test"], texts["n"], *([texts["samples"]] if several else []),
        texts["flips"],
    )  # fmt: skip
    title = texts["long_title" if long else "title"].format(a=names[0], b=names[1])
    tables = [Table("compare", title, columns, tuple(rows), tuple(_notes(comparison, texts)), keys=2 if grouped else 1)]
    if power is not None or not any(row.significant() for row in comparison.rows if row.primary):
        tables += _power_table(comparison, power, texts)
    return tables + _flips_table(comparison, moves, texts)


def _flips_table(comparison: Comparison, moves: int | None, texts: Mapping[str, str]) -> list[Table]:
    flips = [(row, flip) for row in comparison.rows for flip in (*row.lost[:moves], *row.gained[:moves])]
    if not flips:
        return []
    conditions = any(flip.condition for _, flip in flips)
    rows = [
        Row((
            Cell(label_of(row, texts)), Cell(flip.sample), *([Cell(flip.condition)] if conditions else []),
            Cell(value=flip.before), Cell(value=flip.after),
        ))
        for row, flip in flips
    ]  # fmt: skip
    keys = ("metric", "sample", *(["condition"] if conditions else []))
    columns = tuple(texts[name] for name in (*keys, "before", "after"))
    hidden = sum(row.gained_total + row.lost_total for row in comparison.rows)
    hidden -= sum(flip.flipped for _, flip in flips)
    notes = [texts["flip_note"].format(least=FLIPPED), *([texts["more"].format(n=hidden)] if hidden else [])]
    return [Table("compare-flips", texts["flip_title"], columns, tuple(rows), tuple(notes), keys=len(keys))]


def _metric(row: Difference, texts: Mapping[str, str]) -> str:
    remarks = [texts[row.better]] if row.better != "higher" else []
    names = [_named(name, texts) for name in (row.metric, *row.aliases)]
    if aliases := names[1:]:
        if len(aliases) > _ALIASES + 1:
            aliases[_ALIASES:] = [texts["more_names"].format(n=len(aliases) - _ALIASES)]
        remarks.append(texts["same_scores"].format(names=texts["join"].join(aliases)))
    return f"{names[0]} ({texts['apart'].join(remarks)})" if remarks else names[0]


def _named(metric: str, texts: Mapping[str, str]) -> str:
    return texts["right_answers"] if metric == RIGHT else metric_name(metric, texts)


def texts_for(comparison: Comparison, module: str, language: str) -> Mapping[str, str]:
    """The texts of a module of this package, with those in which the benchmark of a comparison names its metrics."""
    own = messages(comparison.texts, language) if comparison.texts else {}
    return {**own, **messages(module, language)}


def label_of(row: Difference, texts: Mapping[str, str]) -> str:
    """The metric and its group of cases, for a reader. `texts`: of `texts_for`."""
    return replace(row, metric=_named(row.metric, texts)).label


def _power_table(comparison: Comparison, power: float | None, texts: Mapping[str, str]) -> list[Table]:
    """The smallest difference that the questions can show, and the questions that the difference `power` needs."""
    rows = []
    for row in comparison.rows:
        smallest = Cell(texts["no_power"]) if row.smallest is None else Cell(value=row.smallest)
        needed = [] if power is None else [Cell(f"{row.needed(power):,}")]
        rows.append(Row((Cell(label_of(row, texts)), Cell(f"{row.samples:,}"), smallest, *needed)))
    heads = [texts[name] for name in ("metric", "samples", "smallest")]
    heads += [] if power is None else [texts["needed"].format(difference=f"{power:g}")]
    return (
        [Table("compare-power", texts["power_title"], tuple(heads), tuple(rows), (texts["power_note"],))]
        if rows
        else []
    )


def _notes(comparison: Comparison, texts: Mapping[str, str]) -> Iterator[str]:
    """Notes below the table of differences: the methods, and everything that is left out."""
    yield texts["note"]
    if others := [label_of(row, texts) for row in comparison.rows if not row.primary]:
        yield texts["secondary"].format(names=", ".join(others))
    if any(comparison.left_out):
        yield texts["left_out"].format(a=comparison.left_out[0], b=comparison.left_out[1])
    if comparison.changed:
        yield texts["changed"].format(n=comparison.changed)
    for row in comparison.rows:
        if row.failed_a or row.failed_b:
            yield texts["failed"].format(metric=label_of(row, texts), a=row.failed_a, b=row.failed_b)
        if row.only_a or row.only_b:
            yield texts["applies"].format(metric=label_of(row, texts), a=row.only_a, b=row.only_b)
    for name, why in comparison.refused.items():
        yield texts["refused"].format(metric=name, why=why.said(texts))
    for name, (a, b) in comparison.unpaired.items():
        yield texts["unpaired"].format(metric=_named(name, texts), a=a, b=b)
    for side, names in zip(("first", "second"), comparison.one_sided, strict=True):
        if names:
            yield texts[side].format(names=texts["join"].join(_named(name, texts) for name in names))
    if comparison.differing:
        yield texts["differing"].format(names=", ".join(comparison.differing))
    if all(comparison.judges) and comparison.judges[0] != comparison.judges[1]:
        yield texts["judges"].format(
            a=texts["and"].join(comparison.judges[0]), b=texts["and"].join(comparison.judges[1])
        )
