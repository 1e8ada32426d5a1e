"""The tables of the RGB paper for the measured systems: 1 (noise), 3 (rejection), 5 (integration), 7 (counterfactual).

Every proportion has an interval and `scored / total`. Both scorings are in adjacent lines, the headline first. The
paper's rows are in the same table if data, selection, scoring and template are the same, and otherwise in a separate
table with the reasons.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ragstone.benchmarks.rgb import extra_tables
from ragstone.benchmarks.rgb.aggregate import (
    ABILITIES,
    RgbCounts,
    RgbKey,
    SampleTally,
    by_language,
    count_run,
    data_name,
    language_name,
    ratio_text,
)
from ragstone.benchmarks.rgb.extra_tables import difference, proportion
from ragstone.benchmarks.rgb.published import RgbFigure, RgbSetting, paper, reasons_apart
from ragstone.messages import messages
from ragstone.types import Cell, Row, Run, Table

__all__ = ["HasOptions", "setting", "tables"]

DASH = "–"
_RULE = 0.70  # the paper's Table 7 has only models whose accuracy without documents is above it
_ABILITY = {1: "noise", 3: "rejection", 5: "integration", 7: "counterfactual"}


class HasOptions(Protocol):
    """A benchmark with options as JSON values (see `RGB`)."""

    @property
    def options(self) -> Mapping[str, Any]: ...


def tables(run: Run, benchmark: HasOptions, language: str = "en") -> list[Table]:
    """All tables of a run that have rows, in the language of the report ("en" or "zh")."""
    counts = count_run(run, scoring=str(benchmark.options.get("scoring", "default")))
    writer = _RgbTables(counts, setting(benchmark.options), language, messages(__name__, language))
    candidates = [
        writer.summary(),
        *writer.paper_tables(),
        *extra_tables.tables(counts, messages(__name__, language)),
        *writer.published(),
    ]
    return [table for table in candidates if table.rows]


def setting(options: Mapping[str, Any]) -> RgbSetting:
    """The part of the run's configuration that matters for comparison with the paper."""
    template = options.get("template", "")
    official = options.get("data_name") == "official"
    return RgbSetting(
        selection=str(options.get("selection", "")),
        scoring=str(options.get("scoring", "")),
        template=str(template.get("name", "")) if isinstance(template, Mapping) else str(template),
        passages=int(options.get("passages", 5)),
        correct_rate=float(options.get("correct_rate", 0.0)),
        official_sets=frozenset(name for table in paper().tables for name in table.datasets.values())
        | frozenset({"en_refine", "zh_refine"})
        if official
        else frozenset(),
    )


@dataclass(frozen=True)
class _RgbTables:
    """Writes the tables of one run in one language."""

    counts: RgbCounts
    setting: RgbSetting
    language: str
    words: Mapping[str, str]

    # -- at a glance

    def summary(self) -> Table:
        """One line for each system and language, one column for each ability."""
        abilities = [ability for ability in ABILITIES if self.counts.keys(ability)]
        rows = []
        for system, language in extra_tables.systems(self.counts):
            cells = [Cell(system), Cell(language_name(language, self.words))]
            for ability in abilities:
                pool = extra_tables.pooled(self.counts, system, language, ability)
                cells.append(Cell(self.words["not_asked"]) if pool is None else proportion(*pool, self.words))
            rows.append(Row(tuple(cells)))
        columns = (self.words["system"], self.words["data"], *(self.words[ability] for ability in abilities))
        notes = (
            self.words["note_summary"],
            self.words["note_headline"].format(headline=self.words[self.counts.scoring]),
            self.words["note_default"],
            self.words["note_interval_repeats" if self.counts.repeats > 1 else "note_interval"],
        )
        return Table("rgb-summary", self.words["title_summary"], columns, tuple(rows), notes, 2)

    # -- the paper's tables

    def paper_tables(self) -> Iterator[Table]:
        """Tables 1, 3, 5 and 7, with the published rows where they are comparable."""
        yield self._by_ratio(1)
        yield self._rejection()
        yield self._by_ratio(5)
        yield from self._counterfactual()

    def _by_ratio(self, number: int) -> Table:
        """Table 1 or 5: accuracy, one column for each noise ratio."""
        keys = self.counts.keys(_ABILITY[number])
        ratios = sorted({key.noise_ratio for key in keys})
        rows = []
        for line in _rows_of_keys(keys):
            by_ratio = {key.noise_ratio: self.counts.cells[key] for key in line}
            for scoring in self.counts.scorings:
                cells = []
                for ratio in ratios:
                    cell = by_ratio.get(ratio)
                    if cell is None:
                        cells.append(Cell(self.words["not_asked"]))
                    else:
                        cells.append(proportion(cell.tally("Acc", scoring), cell.total, self.words))
                rows.append(self._row(line[0], scoring, cells))
        columns = [self.words["ratio"].format(ratio=ratio_text(ratio)) for ratio in ratios]
        wanted = [("Acc", ratio) for ratio in ratios]
        return self._table(number, columns, rows, wanted)

    def _rejection(self) -> Table:
        """Table 3: Rej, Rej*, the gap between them, and lucky guesses."""
        rows = []
        for key in sorted(self.counts.keys("rejection"), key=by_language):
            cell = self.counts.cells[key]
            for scoring in self.counts.scorings:
                empty = "not_scored" if self.counts.judged else "no_judge"
                cells = [
                    proportion(cell.tally("Rej", scoring), cell.total, self.words),
                    proportion(cell.tally("Rej*", scoring), cell.total, self.words, empty=empty),
                    difference(cell.tally("gap", scoring), cell.total, self.words, empty=empty),
                    proportion(cell.tally("guess", scoring), cell.total, self.words),
                ]
                rows.append(self._row(key, scoring, cells))
        columns = ["Rej", "Rej*", "Rej* − Rej", self.words["kind_guess"]]
        return self._table(3, columns, rows, [("Rej", 1.0), ("Rej*", 1.0)], self._judge_notes("note_rej"))

    def _counterfactual(self) -> Iterator[Table]:
        """Table 7, and the same restricted to questions that the system answers without documents."""
        all_rows, known_rows, above = [], [], []
        conditions = {(key.noise_ratio, key.correct_rate) for key in self.counts.keys("counterfactual")}
        for key in self._counterfactual_keys():
            cell = self.counts.cells.get(key)
            closed = self.counts.cells.get(_closed(self.counts, key))
            for scoring in self.counts.scorings:
                acc = None if closed is None else closed.tally("Acc", scoring)
                passes = None if acc is None or not acc.scored else acc.won / acc.scored > _RULE
                if scoring == self.counts.scoring:
                    above.append(passes)
                suffix = self._documents(key) if len(conditions) > 1 else ""
                judged = self._with_documents(key, scoring, None)
                verdict = Cell(DASH if passes is None else self.words["yes" if passes else "no"])
                empty = "not_asked" if closed is None else "not_scored"
                cells = [
                    proportion(acc, 0 if closed is None else closed.total, self.words, empty=empty),
                    *judged,
                    verdict,
                ]
                all_rows.append(self._row(key, scoring, cells, suffix))
                if acc is not None and cell is not None:
                    known = acc.majority()
                    part = self.words["of"].format(part=len(known), whole=len(acc.samples))
                    cells = [Cell(part), *self._with_documents(key, scoring, known)]
                    known_rows.append(self._row(key, scoring, cells, suffix))
        notes = [*self._judge_notes("note_table7"), self.words["note_rule"]]
        if any(passes is None for passes in above):
            notes.append(self.words["note_rule_unknown"])
        elif not any(above):
            notes.append(self.words["note_rule_none"])
        measures = ["Acc_doc", "ED", "ED*", "CR", "CR*"]
        wanted = [(metric, 0.0) for metric in ("Acc", *measures)]
        yield self._table(7, ["Acc", *measures, self.words["in_paper"]], all_rows, wanted, notes)
        columns = (*self._keys(), self.words["known"], *measures)
        about = (self.words["note_known"], *self._judge_notes("note_table7"), *self._common_notes())
        yield Table("rgb-table7-known", self.words["title_known"], columns, tuple(known_rows), about, 3)

    def _counterfactual_keys(self) -> list[RgbKey]:
        """The conditions with documents, and a placeholder for systems that were asked only without documents."""
        keys = self.counts.keys("counterfactual")
        there = {(key.system, key.language, key.dataset) for key in keys}
        alone = [
            RgbKey(key.system, key.ability, key.language, key.dataset)
            for key in self.counts.keys("counterfactual", closed_book=True)
            if (key.system, key.language, key.dataset) not in there
        ]
        return sorted([*keys, *alone], key=by_language)

    def _with_documents(self, key: RgbKey, scoring: str, known: set[str] | None) -> list[Cell]:
        """Acc_doc, ED, ED*, CR and CR* of a condition, over all questions or the known ones."""
        cell = self.counts.cells.get(key)
        if cell is None:
            return [Cell(self.words["not_asked"])] * 5
        total = sum(n for sample, n in cell.requested.items() if known is None or sample in known)
        nothing = "none_known" if known is not None and not known else "not_scored"
        no_judge = "no_judge" if not self.counts.judged else nothing

        def of(measure: str, empty: str, of_measure: str | None = None) -> Cell:
            tally = _only(cell.tally(measure, scoring), known)
            whole = total
            if of_measure is not None:
                detected = _only(cell.tally(of_measure, scoring), known)
                if detected is not None and detected.scored:
                    whole, empty = detected.won, "none_detected" if not detected.won else empty
            return proportion(tally, whole, self.words, empty=empty)

        return [
            of("Acc", nothing),
            of("ED", nothing),
            of("ED*", no_judge),
            of("CR", nothing, "ED"),
            of("CR*", no_judge, "ED*"),
        ]

    # -- rows, columns and notes that the paper's tables share

    def _keys(self) -> tuple[str, str, str]:
        return (self.words["system"], self.words["data"], self.words["scoring"])

    def _row(self, key: RgbKey, scoring: str, cells: list[Cell], suffix: str = "") -> Row:
        name = data_name(key.language, key.dataset, self.words) + suffix
        return Row((Cell(key.system), Cell(name), Cell(self.words[scoring]), *cells))

    def _documents(self, key: RgbKey) -> str:
        """A suffix that distinguishes several counterfactual conditions of one run."""
        return f" (r {ratio_text(key.noise_ratio)}, c {ratio_text(key.correct_rate)})"

    def _table(
        self,
        number: int,
        columns: list[str],
        rows: list[Row],
        wanted: list[tuple[str, float]],
        notes: list[str] | None = None,
    ) -> Table:
        """A table of the paper, with the published rows of the languages where they are comparable."""
        published_rows = [
            row
            for language in self._comparable_languages(number)
            for row in self._published_rows(number, language, wanted)
        ]
        all_notes = [*(notes or []), *self._common_notes()]
        if published_rows and rows:
            all_notes += [self.words["note_beside"], *self._published_notes(number)]
        width = len(columns)
        padded = [Row((*row.cells, *[Cell()] * (3 + width - len(row.cells))), published=True) for row in published_rows]
        title = self.words[f"title_{number}"]
        return Table(
            f"rgb-table{number}",
            title,
            (*self._keys(), *columns),
            (*rows, *padded) if rows else (),
            tuple(all_notes),
            3,
        )

    def _common_notes(self) -> list[str]:
        notes = []
        if len(self.counts.scorings) > 1:
            headline, other = (self.words[scoring] for scoring in self.counts.scorings)
            notes.append(self.words["note_scoring"].format(headline=headline, other=other))
        if not self.setting.passages:
            notes.append(self.words["note_no_documents"])
        if extra_tables.any_failed(self.counts):
            notes.append(self.words["note_failed"])
        return notes

    def _judge_notes(self, first: str) -> list[str]:
        """The note on a table, and the judges, whose agreement with people has not been measured."""
        notes = [self.words[first]]
        if self.counts.judged:
            names = self.words["separator"].join(sorted(self.counts.judges)) or DASH
            notes.append(self.words["note_judge"].format(judges=names))
        if any("smollm2" in name.lower() for name in self.counts.judges):
            notes.append(self.words["note_judge_chance"])
        return notes

    # -- the published figures

    def _reasons(self, number: int, language: str) -> list[str]:
        """Why the paper's rows of a table and language are not comparable, as message keys; empty if they are."""
        keys = [key for key in self.counts.cells if (key.ability, key.language) == (_ABILITY[number], language)]
        measured = [(key.dataset, len(self.counts.cells[key].requested)) for key in keys]
        return reasons_apart(number, language, self.setting, measured)

    def _comparable_languages(self, number: int) -> list[str]:
        return [language for language in paper().table(number).datasets if not self._reasons(number, language)]

    def _published_rows(self, number: int, language: str, wanted: list[tuple[str, float]]) -> Iterator[Row]:
        """The paper's rows of a table and language for these columns; Table 3 also gets the gap."""
        dataset = paper().table(number).datasets[language]
        for (model, of), figures in paper().rows(number).items():
            if of != language:
                continue
            cells = [Cell(model), Cell(data_name(language, dataset, self.words)), Cell(self.words["official"])]
            for metric, ratio in wanted:
                # The paper's CR is over answers in which the judge found an objection: our CR*.
                printed = {"CR": None, "CR*": "CR"}.get(metric, metric)
                cells.append(self._printed(figures.get((printed, ratio)) if printed else None))
            if number == 3:
                gap = figures[("Rej*", 1.0)].share - figures[("Rej", 1.0)].share
                cells.append(Cell(value=round(gap, 4), unit="%"))
            yield Row(tuple(cells), published=True)

    def _printed(self, figure: RgbFigure | None) -> Cell:
        if figure is None:
            return Cell(DASH)
        return Cell(value=figure.share, unit="%", note="*" if paper().note(figure, self.language) else "")

    def _published_notes(self, number: int) -> list[str]:
        odd = [paper().note(figure, self.language) for figure in paper().figures if figure.table == number]
        return [
            self.words["note_published"].format(citation=paper().citation),
            self.words["note_template"],
            *(f"* {note}" for note in dict.fromkeys(odd) if note),
            *paper().notes(number, self.language),
        ]

    def published(self) -> Iterator[Table]:
        """Separate tables of the paper's figures that are not comparable, for the abilities of this run."""
        for number, ability in _ABILITY.items():
            if not self.counts.keys(ability) and not self.counts.keys(ability, closed_book=True):
                continue
            rows: list[Row] = []
            notes = self._published_notes(number)
            shown = list(dict.fromkeys(key for figures in paper().rows(number).values() for key in figures))
            wanted = [("CR*" if metric == "CR" else metric, ratio) for metric, ratio in shown]
            for language in paper().table(number).datasets:
                reasons = self._reasons(number, language)
                if reasons:
                    rows += self._published_rows(number, language, wanted)
                    notes.append(self._reason_note(number, language, reasons))
            by_ratio = number in (1, 5)
            columns = [
                self.words["ratio"].format(ratio=ratio_text(ratio)) if by_ratio else metric for metric, ratio in wanted
            ]
            if number == 3:
                columns.append("Rej* − Rej")
            title = self.words["title_published"].format(title=self.words[f"title_{number}"])
            yield Table(f"rgb-published{number}", title, (*self._keys(), *columns), tuple(rows), tuple(notes), 3)

    def _reason_note(self, number: int, language: str, reasons: list[str]) -> str:
        table = paper().table(number)
        texts = [
            self.words[reason].format(wanted=table.datasets[language], questions=table.questions) for reason in reasons
        ]
        joined = self.words["alt_join"].join(texts)
        return self.words["note_apart"].format(language=language_name(language, self.words), reasons=joined)


def _rows_of_keys(keys: list[RgbKey]) -> list[list[RgbKey]]:
    """The conditions of each line: all noise ratios of a system and data set."""
    lines: dict[tuple[str, str, str, float], list[RgbKey]] = {}
    for key in sorted(keys, key=by_language):
        lines.setdefault((key.system, key.language, key.dataset, key.correct_rate), []).append(key)
    return list(lines.values())


def _closed(counts: RgbCounts, key: RgbKey) -> RgbKey:
    """The closed-book condition that belongs to a counterfactual one."""
    for closed_key in counts.keys("counterfactual", closed_book=True):
        if (closed_key.system, closed_key.language, closed_key.dataset) == (key.system, key.language, key.dataset):
            return closed_key
    return RgbKey(key.system, key.ability, key.language, key.dataset, closed_book=True)


def _only(tally: SampleTally | None, known: set[str] | None) -> SampleTally | None:
    return tally if tally is None or known is None else tally.only(known)
