"""How well several judges agree, and the samples on which they do not."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from ragstone.benchmarks.recorded.aggregate import ScoreTally, display_order
from ragstone.display import Cell, Row, Table
from ragstone.stats import cohen_kappa

_GOOD = 0.5  # from here on a score counts as good, for kappa
_MOST = 50  # samples shown


def agreement_table(tallies: Mapping[str, ScoreTally], words: Mapping[str, str], *, multiple: bool) -> Table:
    """One row for each metric and pair of judges: their means, and Cohen's kappa of good and bad over the samples that
    both scored."""
    rows = []
    for system, tally in tallies.items():
        for metric in sorted(tally.by_judge, key=display_order):
            scores = [values for _, values in tally.by_judge[metric]]
            judges = list(dict.fromkeys(judge for values in scores for judge in values))
            for first, second in combinations(judges, 2):
                pairs = [(values[first], values[second]) for values in scores if first in values and second in values]
                if pairs:
                    keys = (system, metric) if multiple else (metric,)
                    rows.append(Row((*map(Cell, (*keys, first, second)), *_agreement(pairs))))
    columns = [words[name] for name in ("metric", "judge_a", "judge_b", "mean_a", "mean_b", "same", "kappa", "samples")]
    title, notes = words["judges"], (words["judges_note"].format(good=_GOOD),)
    columns = [words["system"], *columns] if multiple else columns
    return Table("eval-judges", title, tuple(columns), tuple(rows), notes, keys=3 + multiple)


def _agreement(pairs: list[tuple[float, float]]) -> Iterator[Cell]:
    n = len(pairs)
    yield Cell(value=sum(a for a, _ in pairs) / n)
    yield Cell(value=sum(b for _, b in pairs) / n)
    good = [(a >= _GOOD, b >= _GOOD) for a, b in pairs]
    yield Cell(value=sum(a == b for a, b in good) / n)
    kappa = cohen_kappa([a for a, _ in good], [b for _, b in good])
    yield Cell() if kappa is None else Cell(value=kappa)
    yield Cell(str(n))


def disagreements(tallies: Mapping[str, ScoreTally], words: Mapping[str, str], *, multiple: bool) -> Table:
    """The samples that some judge calls good and another bad, those with the widest gap first."""
    found = [
        (max(values.values()) - min(values.values()), system, metric, sample, values)
        for system, tally in tallies.items()
        for metric, scores in tally.by_judge.items()
        for sample, values in scores
        if len({value >= _GOOD for value in values.values()}) > 1
    ]
    found.sort(key=lambda item: (-item[0], *item[1:4]))
    rows = [
        Row((
            *map(Cell, (system, metric, sample) if multiple else (metric, sample)), Cell(value=gap),
            Cell("; ".join(f"{judge}: {value:.2f}" for judge, value in values.items())),
        ))
        for gap, system, metric, sample, values in found[:_MOST]
    ]  # fmt: skip
    columns = [words[name] for name in ("metric", "sample", "gap", "by_judge")]
    columns = [words["system"], *columns] if multiple else columns
    notes = (words["and_more"].format(n=len(found) - _MOST),) if len(found) > _MOST else ()
    return Table("eval-disagreements", words["disagreements"], tuple(columns), tuple(rows), notes, keys=2 + multiple)
