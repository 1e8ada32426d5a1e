"""The tables of MIRAGE: models, retrievers and adaptability as in the paper, and more detailed ones.

The paper's rows are in the same tables if data and prompts are the same, and otherwise in separate tables.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragstone.benchmarks.mirage import extra_tables
from ragstone.benchmarks.mirage.adaptability import MEASURES, Shares, shares_of
from ragstone.benchmarks.mirage.aggregate import (
    BASE,
    DEFAULT,
    MIXED,
    OFFICIAL,
    ORACLE,
    Answers,
    Condition,
    MirageTally,
    tally_records,
)
from ragstone.benchmarks.mirage.index_cost import index_table
from ragstone.benchmarks.mirage.metric_tables import metric_tables
from ragstone.benchmarks.mirage.names import Names, percent, printed
from ragstone.benchmarks.mirage.published import Adapted, MirageSetting, paper, reasons_apart, setting_of
from ragstone.benchmarks.mirage.retrieved import MANY, SCORES, mean_of, retrieved, shown_ks
from ragstone.messages import messages
from ragstone.stats import Estimate
from ragstone.types import Cell, Row, Run, Table

__all__ = ["headline_of", "tables"]

_FIXED = (BASE, ORACLE, MIXED)


def tables(run: Run, *, language: str = "en") -> list[Table]:
    """All tables of a run that have rows, in the language of the report ("en" or "zh")."""
    tally = tally_records(run.records(), plans=run.plans())
    meta = run.meta
    writer = _MirageTables(tally, meta, language)
    candidates = [
        writer.models(), writer.retrievers(), writer.adaptability(),
        *metric_tables(writer.names), *extra_tables.tables(tally, writer.names, headline_of(meta), writer.ks),
        index_table(meta.get("preparation"), writer.words), *writer.published(),
    ]  # fmt: skip
    return [table for table in candidates if table.rows]


def headline_of(meta: Mapping[str, Any]) -> str:
    """The rule that decides what is right in a run, from its option `scoring`."""
    options = meta.get("options")
    scoring = options.get("scoring") if isinstance(options, Mapping) else None
    return OFFICIAL if scoring == "official" else DEFAULT


class _MirageTables:
    """Writes the tables of one run in one language."""

    def __init__(self, tally: MirageTally, meta: Mapping[str, Any], language: str) -> None:
        self.tally, self.language, self.words = tally, language, messages(__name__, language)
        self.names = Names(tally, self.words)
        headline = headline_of(meta)
        self.rules = (headline, DEFAULT if headline == OFFICIAL else OFFICIAL)
        self.setting: MirageSetting = setting_of(meta, tally.size)
        options = meta.get("options")
        self.ks: Sequence[Any] = options.get("ks", ()) if isinstance(options, Mapping) else ()
        self.chunking = options.get("chunking") if isinstance(options, Mapping) else None

    # -- the paper's tables

    def models(self) -> Table:
        """The paper's table of models, with one line per rule."""
        rows = []
        for system in self.tally.systems:
            answers = [self.tally.answers[system].get(condition) for condition in _FIXED]
            if not any(answers):
                continue
            lines = {rule: [self._right(system, condition, rule) for condition in _FIXED] for rule in self.rules}
            lines["em_strict"] = [_strict(system_answers) for system_answers in answers]
            lines["token_f1"] = [_f1(system_answers) for system_answers in answers]
            for name, cells in lines.items():
                label = self.words[{OFFICIAL: "em_loose", DEFAULT: "stated"}.get(name, name)]
                rows.append(Row((Cell(system), Cell(label), *cells)))
        notes = [self.words["note_models"], self.words["note_official"]]
        ceilings = [value for value in self.tally.ceilings if value == value]  # noqa: PLR0124  (NaN: no answers)
        if ceilings:
            notes.append(self.words["note_ceiling"].format(ceiling=f"{sum(ceilings) / len(ceilings):.3f}"))
        notes.append(self.words["note_interval"].format(many=f"{MANY:,}"))
        if rows and not reasons_apart(self.setting, answers=True):
            rows += self._published_models()
            notes += [self.words["note_beside"], *paper().notes("models", self.language)]
        return Table("mirage-models", self.words["title_models"], self._model_columns(), tuple(rows), tuple(notes), 2)

    def retrievers(self) -> Table:
        """The paper's table of retrievers, with the textbook NDCG next to the official one."""
        rows = []
        for retriever, chunk in sorted(self.tally.found):
            for k in shown_ks(self.tally, self.ks, retriever, chunk):
                scores = retrieved(self.tally, retriever, chunk, k)
                cells = [percent(mean_of(scores[name])) for name in SCORES]
                condition = Condition("retrieved", retriever, k, chunk)
                rows.append(Row((*self.names.cells(condition), *cells)))
        notes = [self.words["note_retrievers"], self.words["note_ndcg"], *self._note_chunks()]
        if rows and not reasons_apart(self.setting, answers=False):
            rows += self._published_retrievers(self._measured_ks())
            notes.append(self.words["note_beside"])
        columns = self._retriever_columns()
        return Table(
            "mirage-retrievers", self.words["title_retrievers"], columns, tuple(rows), tuple(notes), self.names.width
        )

    def adaptability(self) -> Table:
        """The paper's tables 9 to 11: one line per system, context and rule."""
        rows = []
        for system in self.tally.systems:
            for condition in self.tally.contexts(system):
                for rule in self.rules:
                    if (shares := shares_of(self.tally, system, condition, rule)) is not None:
                        about = (Cell(system), *self.names.cells(condition), Cell(self.words[rule]))
                        rows.append(Row((*about, *_measures(shares))))
        notes = [self.words[name] for name in ("note_adaptability", "note_total", "note_official")]
        notes += self._note_chunks()
        if rows and not reasons_apart(self.setting, answers=True):
            rows += self._published_adaptability(self._measured_ks())
            notes += [self.words["note_beside"], *paper().notes("adaptability", self.language)]
        return Table(
            "mirage-adaptability", self.words["title_adaptability"], self._adaptability_columns(), tuple(rows),
            tuple(notes), self.names.width + 2,
        )  # fmt: skip

    # -- the paper's rows

    def published(self) -> Iterator[Table]:
        """Separate tables of the paper's rows that are not comparable."""
        answers, lists = reasons_apart(self.setting, answers=True), reasons_apart(self.setting, answers=False)
        ks = self._measured_ks()
        fixed = any(condition in conditions for conditions in self.tally.answers.values() for condition in _FIXED)
        specs = (
            ("models", answers if fixed else [], self._model_columns, self._published_models, 2),
            ("retrievers", lists if self.tally.found else [], self._retriever_columns,
             lambda: self._published_retrievers(ks), self.names.width),
            ("adaptability", answers if self._adapted() else [], self._adaptability_columns,
             lambda: self._published_adaptability(ks), self.names.width + 2),
        )  # fmt: skip
        for name, reasons, columns, rows, keys in specs:
            if reasons:
                why = self.words["separator"].join(self.words[reason] for reason in reasons)
                notes = (self.words["note_apart"].format(reasons=why), *paper().notes(name, self.language))
                title = self.words[f"title_published_{name}"]
                yield Table(f"mirage-published-{name}", title, columns(), tuple(rows()), notes, keys)

    def _published_models(self) -> list[Row]:
        rule = Cell(self.words["em_loose"])
        return [
            Row((Cell(row.model), rule, *map(printed, (row.base, row.oracle, row.mixed))), published=True)
            for row in paper().models
        ]

    def _published_retrievers(self, ks: set[int]) -> list[Row]:
        return [
            Row(
                (*self.names.cells(Condition("retrieved", row.retriever, row.k)),
                 *map(printed, (row.f1, row.precision, row.recall, row.ndcg)), Cell()),
                published=True,
            )
            for row in paper().retrievers
            if row.k in ks
        ]  # fmt: skip

    def _published_adaptability(self, ks: set[int]) -> list[Row]:
        def cells(row: Adapted) -> Iterable[Cell]:
            return map(printed, (row.nv, row.ca, row.ci, row.cm, row.total))

        rule = Cell(self.words[OFFICIAL])
        return [
            Row((Cell(row.model), *self.names.cells(Condition("retrieved", row.retriever, row.k)), rule, *cells(row)),
                published=True)
            for row in paper().adaptability
            if row.k in ks
        ]  # fmt: skip

    # -- what they share

    def _note_chunks(self) -> list[str]:
        """How chunks were cut, and by which tokenizer they were counted."""
        if not self.names.chunked:
            return []
        chunking = dict(self.chunking) if isinstance(self.chunking, Mapping) else {}
        values = {"method": "sentence", "overlap": 0, "tokenizer": "ragstone/estimate"} | chunking
        values["method"] = self.words.get(f"cut_{values['method']}", str(values["method"]))
        return [self.words["note_chunks"].format(**values)]

    def _measured_ks(self) -> set[int]:
        """The k that are both measured and printed in the paper; all printed ones if there are none."""
        printed_ks = {row.k for row in paper().retrievers}
        measured = {
            condition.k for conditions in self.tally.answers.values() for condition in conditions
        } | self.tally.ks
        measured |= {k for key in self.tally.found for k in shown_ks(self.tally, self.ks, *key)}
        return measured & printed_ks or printed_ks

    def _adapted(self) -> bool:
        return any(
            BASE in conditions
            and ORACLE in conditions
            and any(condition.setting in ("mixed", "retrieved") for condition in conditions)
            for conditions in self.tally.answers.values()
        )

    def _right(self, system: str, condition: Condition, rule: str) -> Cell:
        crosstab = self.tally.crosstab(system, (condition,), rule)
        return (
            Cell(self.words["not_asked"]) if crosstab is None else percent(crosstab.share(lambda kind: kind.code == 1))
        )

    def _model_columns(self) -> tuple[str, ...]:
        return tuple(self.words[name] for name in ("system", "measure", "base", "oracle", "mixed"))

    def _retriever_columns(self) -> tuple[str, ...]:
        return (*self.names.columns(), *(self.words[name] for name in SCORES))

    def _adaptability_columns(self) -> tuple[str, ...]:
        texts = (self.words[name] for name in ("scoring", *MEASURES, "total"))
        return (self.words["system"], *self.names.columns(), *texts)


def _measures(shares: Shares) -> list[Cell]:
    return [*(percent(shares.measures[name]) for name in MEASURES), shares.total.cell("%")]


def _strict(answers: Answers | None) -> Cell:
    return Cell() if answers is None else percent(Estimate.of_count(*answers.strict, total=answers.requested))


def _f1(answers: Answers | None) -> Cell:
    if answers is None:
        return Cell()
    values = Counter(value for value in answers.f1 if value == value)  # noqa: PLR0124  (NaN: not scored)
    return percent(mean_of(values, total=answers.requested))
