"""Tables beyond the paper's: where noise begins to matter, what misled, the position of the relevant document, and how
much repeated answers vary."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from ragstone.benchmarks.rgb.aggregate import (
    RgbCounts,
    RgbKey,
    SampleTally,
    by_language,
    data_name,
    generation,
    language_name,
    ratio_text,
)
from ragstone.stats import Estimate, holm, paired_test
from ragstone.types import Cell, Row, Table

__all__ = ["Drop", "any_failed", "difference", "drops", "pooled", "proportion", "systems", "tables"]

ALPHA = 0.05  # the paper's level of significance
_HEADLINE = {"noise": "Acc", "rejection": "Rej", "integration": "Acc", "counterfactual": "Acc"}
_KINDS = ("rejected", "guess", "rumour", "other_year", "other_category", "related")  # and any other, "" and "none"
_RELEVANT = ("plain", "brief", "far")


def proportion(tally: SampleTally | None, total: int, words: Mapping[str, str], *, empty: str = "not_scored") -> Cell:
    """A share with its interval and `scored` of `total`; a text if nothing was scored."""
    return Cell(words[empty]) if tally is None else tally.share(total).cell("%", empty=words[empty])


def difference(tally: SampleTally | None, total: int, words: Mapping[str, str], *, empty: str) -> Cell:
    """The mean of differences between -1 and 1 with its interval over questions."""
    if tally is None or not tally.scored:
        return Cell(words[empty])
    by_sample = [(sample, won / tried) for sample, (won, tried) in tally.samples.items() for _ in range(tried)]
    samples, values = zip(*by_sample, strict=True)
    return Estimate.of_difference(values, groups=samples, total=total).cell("%")


def systems(counts: RgbCounts) -> list[tuple[str, str]]:
    """Every (system, language of the questions), in the order of the tables."""
    return list(dict.fromkeys((key.system, key.language) for key in sorted(counts.cells, key=by_language)))


def pooled(counts: RgbCounts, system: str, language: str, ability: str) -> tuple[SampleTally, int] | None:
    """The headline measure of an ability over all its conditions with documents, and the number of requested answers; a
    question is one cluster. None if the ability was not asked."""
    keys = [key for key in counts.keys(ability) if (key.system, key.language) == (system, language)]
    if not keys:
        return None
    merged: dict[str, tuple[int, int]] = {}
    for key in keys:
        tally = counts.cells[key].tally(_HEADLINE[ability], counts.scoring)
        for sample, (won, tried) in (tally.samples if tally is not None else {}).items():
            before = merged.get(sample, (0, 0))
            merged[sample] = (before[0] + won, before[1] + tried)
    return SampleTally(merged), sum(counts.cells[key].total for key in keys)


def any_failed(counts: RgbCounts) -> bool:
    """Whether any requested answer could not be scored."""
    for key, cell in counts.cells.items():
        tally = cell.tally(_HEADLINE.get(key.ability, "Acc"), counts.scoring)
        if tally is None or tally.scored < cell.total:
            return True
    return False


@dataclass(frozen=True)
class Drop:
    """The effect of noise on the accuracy of one system on one data set, against noise ratio 0.

    `tested`: ratio → (difference in accuracy, pairs of questions, p after Holm); empty without ratio 0.
    `first`: the lowest ratio with a significant loss, or None.
    """

    key: RgbKey
    tested: dict[float, tuple[float, int, float]]

    @property
    def first(self) -> float | None:
        return next((ratio for ratio, (gain, _, p) in sorted(self.tested.items()) if p < ALPHA and gain < 0), None)


def drops(counts: RgbCounts, ability: str) -> list[Drop]:
    """The drops of an ability for each system and data set, by the headline scoring."""
    lines: dict[tuple[str, str, str, float], list[RgbKey]] = {}
    for key in sorted(counts.keys(ability), key=by_language):
        lines.setdefault((key.system, key.language, key.dataset, key.correct_rate), []).append(key)
    return [_drop(counts, keys) for keys in lines.values()]


def _drop(counts: RgbCounts, keys: list[RgbKey]) -> Drop:
    tallies = {key.noise_ratio: counts.cells[key].tally("Acc", counts.scoring) for key in keys}
    base = tallies.pop(0.0, None)
    if base is None:
        return Drop(keys[0], {})
    raw = {ratio: _paired(base, tally) for ratio, tally in sorted(tallies.items()) if tally is not None}
    raw = {ratio: result for ratio, result in raw.items() if result[1]}
    adjusted = holm([p for _, _, p in raw.values()])
    return Drop(
        keys[0],
        {ratio: (gain, pairs, p) for (ratio, (gain, pairs, _)), p in zip(raw.items(), adjusted, strict=True)},
    )


def _paired(base: SampleTally, compared: SampleTally) -> tuple[float, int, float]:
    """The mean difference over the questions scored in both, their number, and the p-value of the paired test."""
    both = [sample for sample in base.samples if sample in compared.samples]
    if not both:
        return 0.0, 0, 1.0
    pairs = [(base.samples[sample], compared.samples[sample]) for sample in both]
    before, after = ([won / tried for won, tried in side] for side in zip(*pairs, strict=True))
    gain = (sum(after) - sum(before)) / len(both)
    return gain, len(both), paired_test(before, after)[1]


def tables(counts: RgbCounts, words: Mapping[str, str]) -> Iterator[Table]:
    """All of these tables; some may have no rows."""
    scoring = words[counts.scoring]
    yield _drop_table(counts, words, scoring)
    yield _sources_table(counts, words, scoring)
    yield _place_table(counts, words, scoring)
    yield _kind_table(counts, words, scoring)
    yield _repeats_table(counts, words, scoring)


def _drop_table(counts: RgbCounts, words: Mapping[str, str], scoring: str) -> Table:
    drops_by_ability = [(ability, drop) for ability in ("noise", "integration") for drop in drops(counts, ability)]
    asked_ratios = [key.noise_ratio for ability in ("noise", "integration") for key in counts.keys(ability)]
    ratios = sorted({ratio for ratio in asked_ratios if ratio > 0})
    rows = []
    for ability, drop in drops_by_ability if ratios else []:
        cells = [
            Cell(drop.key.system),
            Cell(data_name(drop.key.language, drop.key.dataset, words)),
            Cell(words[ability]),
        ]
        for ratio in ratios:
            if ratio in drop.tested:
                gain, pairs, p = drop.tested[ratio]
                text = words["p"].format(p=_p_text(p, words), mark=" *" if p < ALPHA else "")
                cells.append(Cell(text, value=gain, scored=pairs, unit="%"))
            else:
                cells.append(Cell("–"))
        if drop.first is not None:
            verdict = ratio_text(drop.first)
        elif drop.tested:
            verdict = words["never"].format(ratio=ratio_text(max(drop.tested)))
        else:
            verdict = words["needs_zero"]
        rows.append(Row((*cells, Cell(verdict))))
    heads = (words["ratio"].format(ratio=ratio_text(ratio)) for ratio in ratios)
    columns = (words["system"], words["data"], words["testbed"], *heads, words["first"])
    notes = [words["note_drop"].format(headline=scoring), words["note_untestable"]]
    if counts.repeats > 1:
        notes.insert(1, words["note_drop_repeats"])
    return Table("rgb-drop", words["title_drop"], columns, tuple(rows), tuple(notes), 3)


def _p_text(p: float, words: Mapping[str, str]) -> str:
    return words["p_least"] if p < 0.001 else f"{p:.3f}"


def _sources_table(counts: RgbCounts, words: Mapping[str, str], scoring: str) -> Table:
    """Questions that no document answers: refused, guessed, or misled by which kind of passage."""
    kinds_seen = {kind for group in counts.rejections.values() for kind in group.kinds}
    others = sorted(kinds_seen - {*_KINDS, "", "none"})
    kinds = [kind for kind in (*_KINDS, *others, "", "none") if kind in kinds_seen]
    rows = []
    for pair in systems(counts):
        group = counts.rejections.get(pair)
        if group is None:
            continue
        cells = [Cell(pair[0]), Cell(language_name(pair[1], words))]
        for kind in kinds:
            tally = group.kinds.get(kind, SampleTally())
            parts = [(tally.samples.get(sample, (0, 0))[0], tried) for sample, (_, tried) in group.base.samples.items()]
            cells.append(replace(Estimate.of_share(parts).cell("%"), total=None))
        rows.append(Row(tuple(cells)))
    heads = (words.get(f"kind_{kind}") or words["kind_other"].format(kind=kind) for kind in kinds)
    notes = (words["note_sources"].format(headline=scoring),)
    columns = (words["system"], words["data"], *heads)
    return Table("rgb-rejection-sources", words["title_sources"], columns, tuple(rows), notes, 2)


def _place_table(counts: RgbCounts, words: Mapping[str, str], scoring: str) -> Table:
    places = sorted({place for tallies in counts.positions.values() for place in tallies})
    pairs = [pair for pair in systems(counts) if pair in counts.positions and len(places) > 1]
    rows = [_by_group(pair, [counts.positions[pair].get(place) for place in places], words) for pair in pairs]
    heads = (words["position"].format(place=place) for place in places)
    columns = (words["system"], words["data"], *heads)
    notes = (words["note_positions"].format(headline=scoring),)
    return Table("rgb-positions", words["title_positions"], columns, tuple(rows), notes, 2)


def _kind_table(counts: RgbCounts, words: Mapping[str, str], scoring: str) -> Table:
    kinds_seen = {kind for tallies in counts.relevant_kinds.values() for kind in tallies}
    kinds = [kind for kind in (*_RELEVANT, *sorted(kinds_seen - set(_RELEVANT))) if kind in kinds_seen]
    pairs = [pair for pair in systems(counts) if pair in counts.relevant_kinds]
    rows = [_by_group(pair, [counts.relevant_kinds[pair].get(kind) for kind in kinds], words) for pair in pairs]
    columns = (words["system"], words["data"], *(words.get(f"relevant_{kind}", kind) for kind in kinds))
    notes = (words["note_kinds"].format(headline=scoring),)
    return Table("rgb-relevant-kinds", words["title_kinds"], columns, tuple(rows), notes, 2)


def _by_group(pair: tuple[str, str], tallies: list[SampleTally | None], words: Mapping[str, str]) -> Row:
    cells = [Cell(pair[0]), Cell(language_name(pair[1], words))]
    cells += [Cell("–") if tally is None else proportion(tally, tally.scored, words) for tally in tallies]
    return Row(tuple(cells))


def _repeats_table(counts: RgbCounts, words: Mapping[str, str], scoring: str) -> Table:
    """The variation of the figures between repeats; only for runs with repeats."""
    rows = []
    for key in sorted(counts.cells, key=by_language):
        cell = counts.cells[key]
        for measure in ("Acc", "Rej", "Rej*", "ED", "ED*"):
            tally = cell.tally(measure, counts.scoring)
            variation = None if tally is None else generation(tally)
            if variation is None:
                continue
            deviation, changed = (Cell(value=value, unit="%") for value in variation)
            names = (key.system, data_name(key.language, key.dataset, words), _condition(key, words), measure)
            rows.append(Row((*map(Cell, names), proportion(tally, cell.total, words), deviation, changed)))
    heads = ("system", "data", "condition", "measure", "figure", "deviation", "changed")
    title = words["title_repeats"].format(repeats=counts.repeats)
    notes = (words["note_repeats"].format(headline=scoring),)
    return Table("rgb-repeats", title, tuple(words[head] for head in heads), tuple(rows), notes, 4)


def _condition(key: RgbKey, words: Mapping[str, str]) -> str:
    """The name of a condition: the ability with its noise ratio, or closed book."""
    name = words["closed_book"] if key.closed_book else words["ratio"].format(ratio=ratio_text(key.noise_ratio))
    return words["separator"].join((words.get(key.ability, key.ability), name))
