"""The tables of the RGB paper for the measured systems: 1 (noise), 3 (rejection), 5 (integration), 7 (counterfactual).

Every proportion has an interval and `scored / total`. Both scorings are in adjacent lines, the headline first. The
paper's rows are in the same table if data, selection, scoring and template are the same, and otherwise in a separate
table with the reasons.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from ragstone.benchmarks.rgb.extra_tables import difference, lines_of
from ragstone.benchmarks.rgb.published import RgbFigure, RgbSetting, paper, reasons_apart
from ragstone.benchmarks.table_builder import Entry, row
from ragstone.display import Cell, Row, Table
from ragstone.messages import messages
from ragstone.types import Run

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
    writer = _RgbTables(counts, setting(benchmark.options), language)
    candidates = [writer.summary(), *writer.paper_tables(), *writer.extra_tables(), *writer.published()]
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


class _RgbTables(extra_tables.ExtraTables):
    """Writes the tables of one run in one language."""

    def __init__(self, counts: RgbCounts, setting: RgbSetting, language: str) -> None:
        super().__init__(counts, messages(__name__, language))
        self.setting, self.language = setting, language

    # -- at a glance

    def summary(self) -> Table:
        """One line for each system and language, one column for each ability."""
        abilities = [ability for ability in ABILITIES if self.counts.keys(ability)]
        rows = []
        for system, language in extra_tables.systems(self.counts):
            pools = (extra_tables.pooled(self.counts, system, language, ability) for ability in abilities)
            cells = (self.words["not_asked"] if pool is None else self.share(*pool) for pool in pools)
            rows.append(row(system, language_name(language, self.words), *cells))
        interval = "note_interval_repeats" if self.counts.repeats > 1 else "note_interval"
        notes = (self.words["note_summary"], self._note("note_headline"), *self.texts("note_default", interval))
        return self.table("summary", self.texts("system", "data", *abilities), rows, notes, keys=2)

    # -- the paper's tables

    def paper_tables(self) -> list[Table]:
        """Tables 1, 3, 5 and 7, with the published rows where they are comparable."""
        return [self._by_ratio(1), self._rejection(), self._by_ratio(5), *self._counterfactual()]

    def _by_ratio(self, number: int) -> Table:
        """Table 1 or 5: accuracy, one column for each noise ratio."""
        keys = self.counts.keys(_ABILITY[number])
        ratios = sorted({key.noise_ratio for key in keys})
        rows = []
        for line in lines_of(keys):
            by_ratio = {key.noise_ratio: self.counts.cells[key] for key in line}
            for scoring in self.counts.scorings:
                cells = {ratio: self.share(cell.tally("Acc", scoring), cell.total) for ratio, cell in by_ratio.items()}
                shown = [cells.get(ratio, self.words["not_asked"]) for ratio in ratios]
                rows.append(self._row(line[0], scoring, shown))
        columns = [self.words["ratio"].format(ratio=ratio_text(ratio)) for ratio in ratios]
        return self._paper_table(number, columns, rows, [("Acc", ratio) for ratio in ratios])

    def _rejection(self) -> Table:
        """Table 3: Rej, Rej*, the gap between them, and lucky guesses."""
        empty = "not_scored" if self.counts.judged else "no_judge"
        rows = []
        for key in sorted(self.counts.keys("rejection"), key=by_language):
            cell = self.counts.cells[key]
            for scoring in self.counts.scorings:
                gap = difference(cell.tally("gap", scoring), cell.total, self.words, empty=empty)
                rej, judged, guess = (cell.tally(measure, scoring) for measure in ("Rej", "Rej*", "guess"))
                judged_cell = self.share(judged, cell.total, empty)
                cells = [self.share(rej, cell.total), judged_cell, gap, self.share(guess, cell.total)]
                rows.append(self._row(key, scoring, cells))
        columns = ["Rej", "Rej*", "Rej* − Rej", self.words["kind_guess"]]
        return self._paper_table(3, columns, rows, [("Rej", 1.0), ("Rej*", 1.0)], self._judge_notes("note_rej"))

    def _counterfactual(self) -> list[Table]:
        """Table 7, and the same restricted to questions that the system answers without documents."""
        all_rows, known_rows, above = [], [], []
        conditions = {(key.noise_ratio, key.correct_rate) for key in self.counts.keys("counterfactual")}
        for key in self._counterfactual_keys():
            closed = self.counts.cells.get(_closed(self.counts, key))
            ratios = f" (r {ratio_text(key.noise_ratio)}, c {ratio_text(key.correct_rate)})"
            suffix = ratios if len(conditions) > 1 else ""
            total, empty = (0, "not_asked") if closed is None else (closed.total, "not_scored")
            for scoring in self.counts.scorings:
                acc = None if closed is None else closed.tally("Acc", scoring)
                passes = None if acc is None or not acc.scored else acc.won / acc.scored > _RULE
                if scoring == self.counts.scoring:
                    above.append(passes)
                verdict = DASH if passes is None else self.words["yes" if passes else "no"]
                judged = self._with_documents(key, scoring, None)
                cells: list[Entry] = [self.share(acc, total, empty), *judged, verdict]
                all_rows.append(self._row(key, scoring, cells, suffix))
                if acc is not None and key in self.counts.cells:
                    known = acc.majority()
                    part = self.words["of"].format(part=len(known), whole=len(acc.samples))
                    known_cells: list[Entry] = [part, *self._with_documents(key, scoring, known)]
                    known_rows.append(self._row(key, scoring, known_cells, suffix))
        notes = [*self._judge_notes("note_table7"), self.words["note_rule"]]
        if any(passes is None for passes in above):
            notes.append(self.words["note_rule_unknown"])
        elif not any(above):
            notes.append(self.words["note_rule_none"])
        measures = ["Acc_doc", "ED", "ED*", "CR", "CR*"]
        wanted = [(metric, 0.0) for metric in ("Acc", *measures)]
        columns = (*self._keys(), self.words["known"], *measures)
        about = (self.words["note_known"], *self._judge_notes("note_table7"), *self._common_notes())
        return [
            self._paper_table(7, ["Acc", *measures, self.words["in_paper"]], all_rows, wanted, notes),
            self.table("table7-known", columns, known_rows, about, keys=3, title=self.words["title_known"]),
        ]

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
            return self.share(tally, whole, empty)

        return [
            of("Acc", nothing),
            of("ED", nothing),
            of("ED*", no_judge),
            of("CR", nothing, "ED"),
            of("CR*", no_judge, "ED*"),
        ]

    # -- rows, columns and notes that the paper's tables share

    def _keys(self) -> tuple[str, ...]:
        return self.texts("system", "data", "scoring")

    def _row(self, key: RgbKey, scoring: str, cells: Sequence[Entry], suffix: str = "") -> Row:
        return row(key.system, data_name(key.language, key.dataset, self.words) + suffix, self.words[scoring], *cells)

    def _paper_table(
        self, number: int, columns: Sequence[str], rows: Sequence[Row], wanted: Sequence[tuple[str, float]],
        notes: Sequence[str] = (),
    ) -> Table:  # fmt: skip
        """A table of the paper, with the published rows of the languages where they are comparable."""
        comparable = [language for language in paper().table(number).datasets if not self._reasons(number, language)]
        published_rows = [
            published for language in comparable for published in self._published_rows(number, language, wanted)
        ]
        all_notes = [*notes, *self._common_notes()]
        if published_rows and rows:
            all_notes += [self.words["note_beside"], *self._published_notes(number)]
        width = 3 + len(columns)
        padded = [row(*shown.cells, *[""] * (width - len(shown.cells)), published=True) for shown in published_rows]
        return self.table(
            f"table{number}", (*self._keys(), *columns), (*rows, *padded) if rows else (), all_notes, keys=3,
            title=self.words[f"title_{number}"],
        )  # fmt: skip

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

    def _published_rows(self, number: int, language: str, wanted: Sequence[tuple[str, float]]) -> Iterator[Row]:
        """The paper's rows of a table and language for these columns; Table 3 also gets the gap."""
        name = data_name(language, paper().table(number).datasets[language], self.words)
        for (model, of), figures in paper().rows(number).items():
            if of != language:
                continue
            # The paper's CR is over answers in which the judge found an objection: our CR*.
            printed = {"CR": "", "CR*": "CR"}
            cells = [self._printed(figures.get((printed.get(metric, metric), ratio))) for metric, ratio in wanted]
            if number == 3:
                gap = figures[("Rej*", 1.0)].share - figures[("Rej", 1.0)].share
                cells.append(Cell(value=round(gap, 4), unit="%"))
            yield row(model, name, self.words["official"], *cells, published=True)

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
            shown = dict.fromkeys(key for figures in paper().rows(number).values() for key in figures)
            wanted = [("CR*" if metric == "CR" else metric, ratio) for metric, ratio in shown]
            for language in paper().table(number).datasets:
                if reasons := self._reasons(number, language):
                    rows += self._published_rows(number, language, wanted)
                    notes.append(self._reason_note(number, language, reasons))
            heads = [
                self.words["ratio"].format(ratio=ratio_text(ratio)) if number in (1, 5) else metric
                for metric, ratio in wanted
            ]
            columns = (*self._keys(), *heads, *(["Rej* − Rej"] if number == 3 else []))
            title = self.words["title_published"].format(title=self.words[f"title_{number}"])
            yield self.table(f"published{number}", columns, rows, notes, keys=3, title=title)

    def _reason_note(self, number: int, language: str, reasons: list[str]) -> str:
        table = paper().table(number)
        values = {"wanted": table.datasets[language], "questions": table.questions}
        joined = self.words["alt_join"].join(self.words[reason].format(**values) for reason in reasons)
        return self.words["note_apart"].format(language=language_name(language, self.words), reasons=joined)


def _closed(counts: RgbCounts, key: RgbKey) -> RgbKey:
    """The closed-book condition that belongs to a counterfactual one."""
    for closed_key in counts.keys("counterfactual", closed_book=True):
        if (closed_key.system, closed_key.language, closed_key.dataset) == (key.system, key.language, key.dataset):
            return closed_key
    return RgbKey(key.system, key.ability, key.language, key.dataset, closed_book=True)


def _only(tally: SampleTally | None, known: set[str] | None) -> SampleTally | None:
    return tally if tally is None or known is None else tally.only(known)
