"""Tables beyond the paper's: where noise begins to matter, what misled, the position of the relevant document, and how
much repeated answers vary."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from ragstone.benchmarks.rgb.aggregate import (
    KindTally,
    RgbCounts,
    RgbKey,
    SampleTally,
    by_language,
    data_name,
    generation,
    language_name,
    ratio_text,
)
from ragstone.benchmarks.table_builder import Entry, TableWriter, row
from ragstone.display import Cell, Table
from ragstone.stats import Estimate, holm, paired_test

ALPHA = 0.05  # the paper's level of significance
HEADLINE: Mapping[str, str] = {"noise": "Acc", "rejection": "Rej", "integration": "Acc", "counterfactual": "Acc"}
_KINDS = ("rejected", "guess", "rumour", "other_year", "other_category", "related")  # and any other, "" and "none"
_RELEVANT = ("plain", "brief", "far")
_OUTCOMES = ("bound", "misaligned", "unbound", "listed", "incomplete")


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
        tally = counts.cells[key].tally(HEADLINE[ability], counts.scoring)
        for sample, (won, tried) in (tally.samples if tally is not None else {}).items():
            before = merged.get(sample, (0, 0))
            merged[sample] = (before[0] + won, before[1] + tried)
    return SampleTally(merged), sum(counts.cells[key].total for key in keys)


def any_failed(counts: RgbCounts) -> bool:
    """Whether any requested answer could not be scored."""
    for key, cell in counts.cells.items():
        tally = cell.tally(HEADLINE.get(key.ability, "Acc"), counts.scoring)
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
    return [_drop(counts, keys) for keys in lines_of(counts.keys(ability))]


def lines_of(keys: Iterable[RgbKey]) -> list[list[RgbKey]]:
    """The conditions of each line: all noise ratios of a system and data set."""
    lines: dict[tuple[str, str, str, float], list[RgbKey]] = {}
    for key in sorted(keys, key=by_language):
        lines.setdefault((key.system, key.language, key.dataset, key.correct_rate), []).append(key)
    return list(lines.values())


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


class ExtraTables(TableWriter):
    """Writes these tables for one run in one language."""

    prefix = "rgb"

    def __init__(self, counts: RgbCounts, words: Mapping[str, str]) -> None:
        super().__init__(words)
        self.counts = counts

    def _note(self, key: str) -> str:
        return self.words[key].format(headline=self.words[self.counts.scoring])

    def share(self, tally: SampleTally | None, total: int, empty: str = "not_scored") -> Cell:
        """A share with its interval and `scored` of `total`; the text `empty` if nothing was scored."""
        return Cell(self.words[empty]) if tally is None else tally.share(total).cell("%", empty=self.words[empty])

    def extra_tables(self) -> list[Table]:
        """All of these tables; some may have no rows."""
        places = sorted({place for tallies in self.counts.positions.values() for place in tallies})
        kinds_seen = {kind for tallies in self.counts.relevant_kinds.values() for kind in tallies}
        kinds = [kind for kind in (*_RELEVANT, *sorted(kinds_seen - set(_RELEVANT))) if kind in kinds_seen]
        positions = self.counts.positions if len(places) > 1 else {}
        place_heads = {place: self.words["position"].format(place=place) for place in places}
        kind_heads = {kind: self.words.get(f"relevant_{kind}", kind) for kind in kinds}
        return [
            self._drop_table(),
            self._outcomes("rejection-sources", "note_sources", self.counts.rejections, self._kinds()),
            self._outcomes("integration-parts", "note_parts", self.counts.bindings, self._parts()),
            self._by_group("positions", "note_positions", positions, place_heads),
            self._by_group("relevant-kinds", "note_relevant_kinds", self.counts.relevant_kinds, kind_heads),
            self._repeats_table(),
        ]

    def _drop_table(self) -> Table:
        """Where noise begins to matter."""
        tested = [(ability, drop) for ability in ("noise", "integration") for drop in drops(self.counts, ability)]
        keys = [key for ability in ("noise", "integration") for key in self.counts.keys(ability)]
        ratios = sorted({key.noise_ratio for key in keys if key.noise_ratio > 0})
        rows = []
        for ability, drop in tested if ratios else []:
            if drop.first is not None:
                verdict = ratio_text(drop.first)
            elif drop.tested:
                verdict = self.words["never"].format(ratio=ratio_text(max(drop.tested)))
            else:
                verdict = self.words["needs_zero"]
            name = data_name(drop.key.language, drop.key.dataset, self.words)
            cells = (self._loss(drop.tested.get(ratio)) for ratio in ratios)
            rows.append(row(drop.key.system, name, self.words[ability], *cells, verdict))
        heads = (self.words["ratio"].format(ratio=ratio_text(ratio)) for ratio in ratios)
        columns = (*self.texts("system", "data", "testbed"), *heads, self.words["first"])
        repeats = self.texts("note_drop_repeats") if self.counts.repeats > 1 else ()
        return self.table(
            "drop", columns, rows, (self._note("note_drop"), *repeats, self.words["note_untestable"]), keys=3
        )

    def _loss(self, result: tuple[float, int, float] | None) -> Entry:
        if result is None:
            return "–"
        gain, pairs, p = result
        p_text = self.words["p_least"] if p < 0.001 else f"{p:.3f}"
        text = self.words["p"].format(p=p_text, mark=" *" if p < ALPHA else "")
        return Cell(text, value=gain, scored=pairs, unit="%")

    def _kinds(self) -> Mapping[str, str]:
        """What became of questions that no document answers: refused, guessed, or misled by which kind of passage."""
        kinds_seen = {kind for group in self.counts.rejections.values() for kind in group.kinds}
        others = sorted(kinds_seen - {*_KINDS, "", "none"})
        kinds = [kind for kind in (*_KINDS, *others, "", "none") if kind in kinds_seen]
        return {kind: self.words.get(f"kind_{kind}") or self.words["kind_other"].format(kind=kind) for kind in kinds}

    def _parts(self) -> Mapping[str, str]:
        """How the parts of answers stand with what was asked of them."""
        return {outcome: self.words[f"parts_{outcome}"] for outcome in _OUTCOMES}

    def _outcomes(
        self, name: str, note: str, groups: Mapping[tuple[str, str], KindTally], heads: Mapping[str, str]
    ) -> Table:
        """The share of each outcome, for each system and language."""
        rows = []
        for pair in systems(self.counts):
            if (group := groups.get(pair)) is not None:
                cells = []
                for kind in heads:
                    samples = group.kinds.get(kind, SampleTally()).samples
                    base = group.base.samples.items()
                    parts = [(samples.get(sample, (0, 0))[0], tried) for sample, (_, tried) in base]
                    cells.append(replace(Estimate.of_share(parts).cell("%"), total=None))
                rows.append(row(pair[0], language_name(pair[1], self.words), *cells))
        columns = (*self.texts("system", "data"), *heads.values())
        return self.table(name, columns, rows, [self._note(note)], keys=2)

    def _by_group(
        self,
        name: str,
        note: str,
        tallies: Mapping[tuple[str, str], Mapping[Any, SampleTally]],
        heads: Mapping[Any, str],
    ) -> Table:
        """The accuracy of each system and language by the position or the kind of the relevant document."""
        rows = []
        for pair in systems(self.counts):
            if pair in tallies:
                groups = (tallies[pair].get(group) for group in heads)
                cells = ("–" if tally is None else self.share(tally, tally.scored) for tally in groups)
                rows.append(row(pair[0], language_name(pair[1], self.words), *cells))
        columns = (*self.texts("system", "data"), *heads.values())
        return self.table(name, columns, rows, [self._note(note)], keys=2)

    def _repeats_table(self) -> Table:
        """The variation of the figures between repeats; only for runs with repeats."""
        rows = []
        for key in sorted(self.counts.cells, key=by_language):
            cell = self.counts.cells[key]
            for measure in ("Acc", "Rej", "Rej*", "ED", "ED*"):
                tally = cell.tally(measure, self.counts.scoring)
                if tally is not None and (variation := generation(tally)) is not None:
                    figures = (Cell(value=value, unit="%") for value in variation)
                    name = data_name(key.language, key.dataset, self.words)
                    rows.append(row(
                        key.system, name, self._condition(key), measure, self.share(tally, cell.total), *figures
                    ))  # fmt: skip
        columns = self.texts("system", "data", "condition", "measure", "figure", "deviation", "changed")
        title = self.words["title_repeats"].format(repeats=self.counts.repeats)
        return self.table("repeats", columns, rows, [self._note("note_repeats")], keys=4, title=title)

    def _condition(self, key: RgbKey) -> str:
        """The name of a condition: the ability with its noise ratio, or closed book."""
        ratio = self.words["ratio"].format(ratio=ratio_text(key.noise_ratio))
        name = self.words["closed_book"] if key.closed_book else ratio
        return self.words["separator"].join((self.words.get(key.ability, key.ability), name))
