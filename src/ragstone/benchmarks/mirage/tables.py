"""The tables of MIRAGE: models, retrievers and adaptability as in the paper, and more detailed ones.

The paper's rows are in the same tables if data and prompts are the same, and otherwise in separate tables.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from ragstone.benchmarks.mirage import extra_tables
from ragstone.benchmarks.mirage.adaptability import MEASURES, shares_of
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
from ragstone.benchmarks.mirage.published import MirageSetting, options_of, paper, reasons_apart, setting_of
from ragstone.benchmarks.mirage.retrieved import SCORES, mean_of, retrieved, shown_ks
from ragstone.benchmarks.table_builder import TableWriter, row
from ragstone.display import Cell, Row, Table
from ragstone.messages import messages
from ragstone.types import Run

_FIXED = (BASE, ORACLE, MIXED)
_SETTINGS = tuple(condition.setting for condition in _FIXED)


def tables(run: Run, *, language: str = "en") -> list[Table]:
    """All tables of a run that have rows, in the language of the report ("en" or "zh")."""
    tally = tally_records(run.records(texts=False), plans=run.plans())
    meta = run.meta
    writer = _MirageTables(tally, meta, language)
    preparation = meta.get("preparation")
    candidates = [
        writer.models(), writer.retrievers(), writer.adaptability(),
        *metric_tables(writer.names),
        *extra_tables.tables(tally, writer.names, headline_of(meta), writer.ks, preparation),
        index_table(preparation, writer.words), *writer.published(),
    ]  # fmt: skip
    return [table for table in candidates if table.rows]


def headline_of(meta: Mapping[str, Any]) -> str:
    """The rule that decides what is right in a run, from its option `scoring`."""
    return OFFICIAL if options_of(meta).get("scoring") == "official" else DEFAULT


class _MirageTables(TableWriter):
    """Writes the tables of one run in one language."""

    prefix = "mirage"

    def __init__(self, tally: MirageTally, meta: Mapping[str, Any], language: str) -> None:
        super().__init__(messages(__name__, language))
        self.tally, self.language, self.names = tally, language, Names(tally, self.words)
        headline = headline_of(meta)
        self.rules = (headline, DEFAULT if headline == OFFICIAL else OFFICIAL)
        self.setting: MirageSetting = setting_of(meta, tally.questions())
        options = options_of(meta)
        self.ks: Sequence[Any] = options.get("ks", ())
        self.chunking = options.get("chunking")
        # Table → why the paper's rows are not comparable, its columns, its published rows, and its key columns.
        answers, lists = (reasons_apart(self.setting, answers=of_answers) for of_answers in (True, False))
        width = self.names.width
        measures = (self.words[name] for name in ("scoring", *MEASURES, "total"))
        self.paper_tables = {
            "models": (answers, self.texts("system", "measure", *_SETTINGS), self._published_models, 2),
            "retrievers": (lists, (*self.names.columns(), *self.texts(*SCORES)), self._published_retrievers, width),
            "adaptability": (answers, (self.words["system"], *self.names.columns(), *measures),
                             self._published_adaptability, width + 2),
        }  # fmt: skip

    # -- the paper's tables

    def _paper_table(self, name: str, rows: list[Row], notes: Sequence[str]) -> Table:
        """A table of the paper's, with its rows beside the measured ones if they are comparable."""
        reasons, columns, published, keys = self.paper_tables[name]
        beside: Sequence[str] = ()
        if rows and not reasons:
            rows += published()
            beside = (self.words["note_beside"], *paper().notes(name, self.language))
        return self.table(name, columns, rows, (*notes, *beside), keys=keys)

    def models(self) -> Table:
        """The paper's table of models, with one line per rule."""
        rows = []
        for system in self.tally.systems:
            answers = [self.tally.answers[system].get(condition) for condition in _FIXED]
            if any(answers):
                lines = {
                    **{rule: [self._right(system, condition, rule) for condition in _FIXED] for rule in self.rules},
                    "em_strict": [self._mean(column, "strict") for column in answers],
                    "token_f1": [self._mean(column, "f1") for column in answers],
                }
                labels = {OFFICIAL: "em_loose", DEFAULT: "stated"}
                rows += [row(system, self.words[labels.get(name, name)], *cells) for name, cells in lines.items()]
        notes = [*self.texts("note_models", "note_official")]
        ceilings = [value for value in self.tally.ceilings if value == value]  # noqa: PLR0124  (NaN: no answers)
        if ceilings:
            notes.append(self.words["note_ceiling"].format(ceiling=f"{sum(ceilings) / len(ceilings):.3f}"))
        notes.append(self.words["note_interval"])
        return self._paper_table("models", rows, notes)

    def retrievers(self) -> Table:
        """The paper's table of retrievers, with the textbook NDCG next to the official one."""
        rows = []
        for retriever, chunk in sorted(self.tally.found):
            for k in shown_ks(self.tally, self.ks, retriever, chunk):
                scores = retrieved(self.tally, retriever, chunk, k)
                cells = (percent(mean_of(scores[name])) for name in SCORES)
                rows.append(row(*self.names.cells(Condition("retrieved", retriever, k, chunk)), *cells))
        notes = self.texts("note_retrievers", "note_ndcg")
        return self._paper_table("retrievers", rows, [*notes, *self._note_chunks()])

    def adaptability(self) -> Table:
        """The paper's tables 9 to 11: one line per system, context and rule."""
        rows = []
        for system in self.tally.systems:
            for condition in self.tally.contexts(system):
                for rule in self.rules:
                    if (shares := shares_of(self.tally, system, condition, rule)) is not None:
                        cells = (*(percent(shares.measures[name]) for name in MEASURES), shares.total.cell("%"))
                        rows.append(row(system, *self.names.cells(condition), self.words[rule], *cells))
        notes = self.texts("note_adaptability", "note_total", "note_official")
        return self._paper_table("adaptability", rows, [*notes, *self._note_chunks()])

    # -- the paper's rows

    def published(self) -> Iterator[Table]:
        """Separate tables of the paper's rows that are not comparable."""
        asked = {
            "models": any(condition in asked for asked in self.tally.answers.values() for condition in _FIXED),
            "retrievers": bool(self.tally.found),
            "adaptability": any(
                {BASE, ORACLE} <= asked.keys() and self.tally.contexts(system)
                for system, asked in self.tally.answers.items()
            ),
        }
        for name, (reasons, columns, rows, keys) in self.paper_tables.items():
            if reasons and asked[name]:
                why = self.words["separator"].join(self.words[reason] for reason in reasons)
                notes = (self.words["note_apart"].format(reasons=why), *paper().notes(name, self.language))
                yield self.table(f"published-{name}", columns, rows(), notes, keys=keys)

    def _published_models(self) -> list[Row]:
        return [
            row(
                model.model,
                self.words["em_loose"],
                *map(printed, (model.base, model.oracle, model.mixed)),
                published=True,
            )
            for model in paper().models
        ]

    def _published_retrievers(self) -> list[Row]:
        return [
            row(
                *self.names.cells(Condition("retrieved", figures.retriever, figures.k)),
                *map(printed, (figures.f1, figures.precision, figures.recall, figures.ndcg)), Cell(), published=True,
            )
            for figures in paper().retrievers
            if figures.k in self._measured_ks
        ]  # fmt: skip

    def _published_adaptability(self) -> list[Row]:
        return [
            row(
                figures.model, *self.names.cells(Condition("retrieved", figures.retriever, figures.k)),
                self.words[OFFICIAL],
                *map(printed, (figures.nv, figures.ca, figures.ci, figures.cm, figures.total)), published=True,
            )
            for figures in paper().adaptability
            if figures.k in self._measured_ks
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

    @cached_property
    def _measured_ks(self) -> set[int]:
        """The k that are both measured and printed in the paper; all printed ones if there are none."""
        printed_ks = {figures.k for figures in paper().retrievers}
        measured = {condition.k for asked in self.tally.answers.values() for condition in asked} | self.tally.ks
        measured |= {k for key in self.tally.found for k in shown_ks(self.tally, self.ks, *key)}
        return measured & printed_ks or printed_ks

    def _right(self, system: str, condition: Condition, rule: str) -> Cell:
        counts = self.tally.crosstab(system, (condition,), rule)
        return Cell(self.words["not_asked"]) if counts is None else percent(counts.share(extra_tables.is_right))

    def _mean(self, answers: Answers | None, field: Literal["strict", "f1"]) -> Cell:
        return Cell() if answers is None else percent(self.tally.mean(getattr(answers, field), answers.requested))
