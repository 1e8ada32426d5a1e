"""The tables of a needle run: needles found by length and depth, effective lengths, templates compared pairwise, and
disagreements between the rule and the judge."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from ragstone.benchmarks.niah.aggregate import (
    ANYWHERE,
    CellScores,
    NeedleKey,
    NeedleTally,
    by_pair,
    needle_name,
    setting_name,
    tally_needles,
)
from ragstone.benchmarks.niah.effective import Bar, EffectiveLength, effective, nolima_bar, ruler_bar
from ragstone.benchmarks.table_builder import Entry, TableWriter, row
from ragstone.display import Cell, Table
from ragstone.messages import messages
from ragstone.stats import Estimate, holm, paired_test
from ragstone.types import Run

_SHOWN = 50  # disagreements listed
_DEPTHS = 40  # columns of a table of depths
_WHOLE = 1.0 - 1e-9
# Default tokenizers, which may not be the model's own.
_DEFAULTS = ("ragstone/words", "local/e5-small")


def tables(run: Run, *, language: str = "en") -> list[Table]:
    """All tables that have rows, in the language of the report."""
    writer = _NeedleTables(tally_needles(run), language)
    candidates = [
        writer.summary(), writer.by_length(), writer.by_depth(), writer.by_cell(), writer.controls(),
        writer.effective(),
        writer.templates(), writer.disagreements(),
    ]  # fmt: skip
    return [table for table in candidates if table.rows]


def name_of_length(tokens: int) -> str:
    """1000 → "1k", 1500 → "1.5k", 10118 → "10.1k", 4096 → "4Ki"."""
    if tokens % 1024 == 0 and tokens % 1000:
        return f"{tokens // 1024}Ki"
    if tokens < 1000:
        return str(tokens)
    return f"{tokens / 1000:.3g}k" if tokens < 100_000 else f"{tokens / 1000:.0f}k"


def effective_text(cells: CellScores, bar: Bar | None, words: Mapping[str, str], *, told: bool = False) -> str:
    """The effective length by this bar with its interval: "≥ 32k [16k, –]" where the grid ends; "–" without a bar, or
    before the shortest length is finished. `told` in a sentence, an interval without ends is words."""
    found = None if bar is None else effective(cells, bar)
    if found is None or (found.pending and not found.reached):
        return "–"
    if told and not found.low and found.high is None and found.reached and not found.pending:  # anything is possible
        return words["too_few_contexts"].format(length=f"≥ {name_of_length(found.reached)}")
    return named_effective(found, cells.lengths[0], words)


def named_effective(found: EffectiveLength, shortest: int, words: Mapping[str, str]) -> str:
    """An effective length with its interval; `shortest` is the shortest length of the grid."""
    below = words["none_effective"].format(length=name_of_length(shortest))
    low = name_of_length(found.low) if found.low else below
    high = "–" if found.high is None else name_of_length(found.high) if found.high else below
    length = name_of_length(found.reached or shortest)
    if found.high == 0:
        return below
    if not found.reached:
        head = below
    elif found.pending:
        head = words["so_far"].format(length=length)
    else:
        head = f"≥ {length}" if found.ends else length
    return f"{head} [{low}, {high}]"


class _NeedleTables(TableWriter):
    prefix = "niah"

    def __init__(self, groups: Mapping[NeedleKey, NeedleTally], language: str) -> None:
        super().__init__(messages(__name__, language))
        self.groups = groups
        values: dict[str, set[Any]] = {
            "language": {key.language for key in groups}, "needle": {key.needle for key in groups},
            "template": {key.template for key in groups}, "mode": {(key.mode, key.retriever) for key in groups},
        }  # fmt: skip
        self.varying_keys = tuple(name for name, distinct in values.items() if len(distinct) > 1)

    def _keys(self, key: NeedleKey, except_for: str = "") -> tuple[str, ...]:
        """The system and the keys that vary between rows, except `except_for`."""
        texts = self.words
        mode = texts.get(key.mode, key.mode)
        labels = {
            "language": texts.get(key.language, key.language), "needle": needle_name(key.needle, texts),
            "template": key.template, "mode": f"{mode} ({key.retriever})" if key.retriever else mode,
        }  # fmt: skip
        return (key.system, *(labels[name] for name in self.varying_keys if name != except_for))

    def _by_key(
        self, name: str, columns: Iterable[str], cells_of: Callable[[NeedleTally], Iterable[Entry] | None],
        notes: Iterable[str] = (),
    ) -> Table:  # fmt: skip
        """A table with a row for each key whose cells are not None."""
        rows = [
            row(*self._keys(key), *cells, published=group.published)
            for key, group in self.groups.items()
            if (cells := cells_of(group)) is not None
        ]
        columns = (*self.texts("system", *self.varying_keys), *columns)
        return self.table(name, columns, rows, notes, keys=1 + len(self.varying_keys), title=self.words[name])

    def summary(self) -> Table:
        groups = self.groups.values()
        judged = any(group.judged.values or group.given.values for group in groups)
        searched = any(group.retrieved.values for group in groups)

        def cells_of(group: NeedleTally) -> Iterator[Entry]:
            means = group.main.means()
            whole = sum(value >= _WHOLE for value in means.values())
            yield _percent(group.found.mean())
            if means:
                yield Cell(value=whole / len(means), unit="%", scored=whole, total=len(group.main.grid))
            yield from ("", "") if not means else (str(len(means) - whole),)
            yield _percent(group.refused.mean())
            yield _percent(group.alarms.mean())
            if judged:
                score = (group.judged if group.judged.values else group.given).mean().value
                yield Cell() if score is None else Cell(value=1 + 9 * score)
            if searched:
                yield _percent(group.retrieved.mean())
                yield _percent(group.both.mean())

        more = (*(("judged",) if judged else ()), *(("retrieved", "both") if searched else ()))
        columns = self.texts("found", "whole", "misses", "refused", "alarms", *more)
        return self._by_key("summary", columns, cells_of, self._notes())

    def _notes(self) -> Iterator[str]:
        if self.groups:
            key = next(iter(self.groups))
            values = (("language", key.language), ("needle", key.needle), ("template", key.template))
            constant = [
                setting_name(name, value, self.words)
                for name, value in values
                if value and name not in self.varying_keys
            ]
            if constant:
                yield self.words["asked_note"].format(asked=self.words["comma"].join(constant))
        yield self.words["mean_note"]
        yield self.words["found_note"]
        if any(key.needle.startswith(("multi ", "distractor ", "chain ")) for key in self.groups):
            yield self.words["keys_note"]
        if any(group.given.values for group in self.groups.values()):
            yield self.words["given_note"]
        if any(group.retrieved.values for group in self.groups.values()):
            yield self.words["rag_note"]
        if repeating := sum(group.repeating for group in self.groups.values()):
            yield self.words["repeating_note"].format(n=repeating)
        names = sorted({name for group in self.groups.values() for name in group.tokenizers if name})
        if names:
            yield self.words["tokenizer_note"].format(names=", ".join(names))
        if defaults := [name for name in names if name in _DEFAULTS]:
            yield self.words["not_model"].format(names=", ".join(defaults))
        counted = [pair for group in self.groups.values() for pair in group.prompt_tokens if pair[0]]
        if counted:
            ratio = sum(reported for _, reported in counted) / sum(reached for reached, _ in counted)
            yield self.words["counted_note"].format(ratio=f"{ratio:.2f}")
        if missing := sum(group.errors for group in self.groups.values()):
            yield self.words["errors"].format(n=missing)

    def by_length(self) -> Table:
        lengths = sorted({length for group in self.groups.values() for length in group.main.lengths})

        def cells_of(group: NeedleTally) -> list[Entry] | None:
            if not group.main.values:
                return None
            return [_percent(group.main.mean(lengths=[length])) for length in lengths]

        return self._by_key("lengths", map(name_of_length, lengths), cells_of)

    def by_depth(self) -> Table:
        bands = _bands(sorted({depth for group in self.groups.values() for depth in group.main.depths} - {ANYWHERE}))

        def cells_of(group: NeedleTally) -> list[Entry] | None:
            if not group.main.values or ANYWHERE in group.main.depths:
                return None
            return [_percent(group.main.mean(depths=band)) for band in bands.values()]

        return self._by_key("depths", bands, cells_of)

    def by_cell(self) -> Table:
        """Each cell with an interval over its repeats; a row for each depth, and none without repeats."""
        groups = {
            key: group
            for key, group in self.groups.items()
            if group.main.repeated and ANYWHERE not in group.main.depths
        }
        lengths = sorted({length for group in groups.values() for length in group.main.lengths})
        rows = [
            row(
                *self._keys(key), f"{depth:g}%",
                *(_percent(group.main.mean([length], [depth])) for length in lengths), published=group.published,
            )
            for key, group in groups.items()
            for depth in group.main.depths
        ]  # fmt: skip
        columns = (*self.texts("system", *self.varying_keys, "depth"), *map(name_of_length, lengths))
        keys = 2 + len(self.varying_keys)
        return self.table(
            "cells", columns, rows, self.texts("by_cell_note"), keys=keys, title=self.words["by_cell"]
        )  # fmt: skip

    def controls(self) -> Table:
        """Refused controls of each cell; a row for each depth, and none where there is one control for each length."""
        groups = {key: group for key, group in self.groups.items() if len(group.refused.depths) > 1}
        lengths = sorted({length for group in groups.values() for length in group.refused.lengths})
        rows = [
            row(*self._keys(key), f"{depth:g}%",
                *(_percent(group.refused.mean([length], [depth])) for length in lengths), published=group.published)
            for key, group in groups.items()
            for depth in group.refused.depths
        ]  # fmt: skip
        columns = (*self.texts("system", *self.varying_keys, "depth"), *map(name_of_length, lengths))
        keys = 2 + len(self.varying_keys)
        title, notes = self.words["controls"], self.texts("controls_note")
        return self.table("controls", columns, rows, notes, keys=keys, title=title)

    def effective(self) -> Table:
        def cells_of(group: NeedleTally) -> list[Entry] | None:
            if len(group.main.lengths) < 2:
                return None
            bars = (nolima_bar(group.main), ruler_bar())
            return [effective_text(group.main, bar, self.words) for bar in bars]

        columns, notes = self.texts("effective_nolima", "effective_ruler"), self.texts("effective_note")
        return self._by_key("effective", columns, cells_of, notes)

    def templates(self) -> Table:
        """Pairs of templates with the same system, language, needle and mode: misses of both, and a paired test over
        cells, with Holm's correction over the pairs."""
        entries: list[tuple[str, ...]] = []
        ps: list[float] = []
        for (key, group), (other_key, other_group) in combinations(self.groups.items(), 2):
            pairs = by_pair(group, other_group)
            if replace(key, template="") != replace(other_key, template="") or not pairs:
                continue
            first = [float(value >= _WHOLE) for _, value, _ in pairs]
            second = [float(value >= _WHOLE) for _, _, value in pairs]
            ps.append(paired_test(first, second, groups=[cell for cell, _, _ in pairs])[1])
            only = [sum(x > y for x, y in zip(*sides, strict=True)) for sides in ((first, second), (second, first))]
            counts = (len(pairs) - sum(first), len(pairs) - sum(second), *only)
            about = (*self._keys(key, except_for="template"), key.template, other_key.template)
            entries.append((*about, *(f"{count:.0f}" for count in counts), str(len(pairs))))
        keys = ("system", *(name for name in self.varying_keys if name != "template"), "first", "second")
        columns = (*self.texts(*keys, "misses_first", "misses_second", "only_first", "only_second", "p"), "n")
        rows = [row(*cells, f"{p:.3g}", n) for (*cells, n), p in zip(entries, holm(ps), strict=True)]
        notes = self.texts("templates_note")
        return self.table("templates", columns, rows, notes, keys=len(keys), title=self.words["templates"])

    def disagreements(self) -> Table:
        disagreements = [(key, *item) for key, group in self.groups.items() for item in group.disagreements]
        rows = [
            row(key.system, case, Cell(value=rule, unit="%"), Cell(value=1 + 9 * judge))
            for key, case, rule, judge in disagreements[:_SHOWN]
        ]
        notes = (self.words["and_more"].format(n=len(disagreements) - _SHOWN),) if len(disagreements) > _SHOWN else ()
        columns = self.texts("system", "case", "by_rule", "by_judge")
        return self.table("rule-judge", columns, rows, notes, keys=2, title=self.words["disagreements"])


def _bands(depths: Sequence[float]) -> dict[str, list[float]]:
    """The columns of depths: one per depth, or ten bands of 10% if there are many."""
    if len(depths) <= _DEPTHS:
        return {f"{depth:g}%": [depth] for depth in depths}
    bands: dict[str, list[float]] = {}
    for depth in depths:
        band = min(90, int(depth // 10) * 10)
        bands.setdefault(f"{band}–{band + 10}%", []).append(depth)
    return bands


def _percent(mean: Estimate) -> Cell:
    return mean.cell("%", empty="")
