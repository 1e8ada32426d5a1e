"""The tables of MIRAGE: models, retrievers and adaptability as the paper has them, and what stands behind its figures.

Tables of the paper have its rows beside ours where data and prompts are the same, and in tables of their own otherwise.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragstone.benchmarks.mirage import extra_tables as details
from ragstone.benchmarks.mirage.adaptability import MEASURES, Shares, shares_of
from ragstone.benchmarks.mirage.aggregate import (
    BASE,
    DEFAULT,
    MIXED,
    OFFICIAL,
    ORACLE,
    Answers,
    Condition,
    Tally,
    count,
)
from ragstone.benchmarks.mirage.index_cost import index_table
from ragstone.benchmarks.mirage.names import Names, percent, printed
from ragstone.benchmarks.mirage.published import Adapted, Asked, apart, asked_of, paper
from ragstone.benchmarks.mirage.retrieved import MANY, SCORES, mean_of, retrieved, shown_ks
from ragstone.messages import messages
from ragstone.stats import Estimate
from ragstone.types import Cell, Row, Run, Table

__all__ = ["headline_of", "tables"]

_FIXED = (BASE, ORACLE, MIXED)


def tables(run: Run, *, language: str = "en") -> list[Table]:
    """All tables of a run, in the language of the report ("en" or "zh"); only those that have something to say."""
    tally = count(run.records(), plans=run.plans())
    meta = run.meta
    writer = _Writer(tally, meta, language)
    made = [
        writer.models(), writer.retrievers(), writer.adaptability(),
        *details.tables(tally, writer.names, headline_of(meta), writer.ks),
        index_table(meta.get("preparation"), writer.words), *writer.published(),
    ]  # fmt: skip
    return [table for table in made if table.rows]


def headline_of(meta: Mapping[str, Any]) -> str:
    """The rule that says what is right in a run, from its option `scoring`."""
    options = meta.get("options")
    scoring = options.get("scoring") if isinstance(options, Mapping) else None
    return OFFICIAL if scoring == "official" else DEFAULT


class _Writer:
    """Writes the tables of one run in one language."""

    def __init__(self, tally: Tally, meta: Mapping[str, Any], language: str) -> None:
        self.tally, self.language, self.words = tally, language, messages(__name__, language)
        self.names = Names(tally, self.words)
        headline = headline_of(meta)
        self.rules = (headline, DEFAULT if headline == OFFICIAL else OFFICIAL)
        self.asked: Asked = asked_of(meta, tally.size)
        options = meta.get("options")
        self.ks: Sequence[Any] = options.get("ks", ()) if isinstance(options, Mapping) else ()
        self.chunking = options.get("chunking") if isinstance(options, Mapping) else None

    # -- the paper's tables

    def models(self) -> Table:
        """The paper's table of models: one line for each rule."""
        rows = []
        for system in self.tally.systems:
            held = [self.tally.answers[system].get(spot) for spot in _FIXED]
            if not any(held):
                continue
            lines = {rule: [self._right(system, spot, rule) for spot in _FIXED] for rule in self.rules}
            lines["em_strict"] = [_strict(one) for one in held]
            lines["token_f1"] = [_f1(one) for one in held]
            for name, cells in lines.items():
                label = self.words[{OFFICIAL: "em_loose", DEFAULT: "stated"}.get(name, name)]
                rows.append(Row((Cell(system), Cell(label), *cells)))
        told = [self.words["note_models"], self.words["note_official"]]
        ceilings = [value for value in self.tally.ceilings if value == value]  # noqa: PLR0124  (NaN: no answers)
        if ceilings:
            told.append(self.words["note_ceiling"].format(ceiling=f"{sum(ceilings) / len(ceilings):.3f}"))
        told.append(self.words["note_interval"].format(many=f"{MANY:,}"))
        if rows and not apart(self.asked, answers=True):
            rows += self._published_models()
            told += [self.words["note_beside"], *paper().notes("models", self.language)]
        return Table("mirage-models", self.words["title_models"], self._model_columns(), tuple(rows), tuple(told), 2)

    def retrievers(self) -> Table:
        """The paper's table of retrievers, with the textbook's NDCG beside the official one."""
        rows = []
        for retriever, chunk in sorted(self.tally.found):
            for k in shown_ks(self.tally, self.ks, retriever, chunk):
                scores = retrieved(self.tally, retriever, chunk, k)
                cells = [percent(mean_of(scores[name])) for name in SCORES]
                spot = Condition("retrieved", retriever, k, chunk)
                rows.append(Row((*self.names.cells(spot), *cells)))
        told = [self.words["note_retrievers"], self.words["note_ndcg"], *self._note_chunks()]
        if rows and not apart(self.asked, answers=False):
            rows += self._published_retrievers(self._measured_ks())
            told.append(self.words["note_beside"])
        columns = self._retriever_columns()
        return Table(
            "mirage-retrievers", self.words["title_retrievers"], columns, tuple(rows), tuple(told), self.names.width
        )

    def adaptability(self) -> Table:
        """The paper's tables 9 to 11: a line for each system, context and rule."""
        rows = []
        for system in self.tally.systems:
            for spot in self.tally.spots(system):
                for rule in self.rules:
                    if (held := shares_of(self.tally, system, spot, rule)) is not None:
                        about = (Cell(system), *self.names.cells(spot), Cell(self.words[rule]))
                        rows.append(Row((*about, *_measures(held))))
        told = [self.words[name] for name in ("note_adaptability", "note_total", "note_official")]
        told += self._note_chunks()
        if rows and not apart(self.asked, answers=True):
            rows += self._published_adaptability(self._measured_ks())
            told += [self.words["note_beside"], *paper().notes("adaptability", self.language)]
        return Table(
            "mirage-adaptability", self.words["title_adaptability"], self._adaptability_columns(), tuple(rows),
            tuple(told), self.names.width + 2,
        )  # fmt: skip

    # -- the paper's rows

    def published(self) -> Iterator[Table]:
        """Tables of the paper's rows alone, for what was measured on other terms."""
        answers, lists = apart(self.asked, answers=True), apart(self.asked, answers=False)
        ks = self._measured_ks()
        fixed = any(spot in held for held in self.tally.answers.values() for spot in _FIXED)
        made = (
            ("models", answers if fixed else [], self._model_columns, self._published_models, 2),
            ("retrievers", lists if self.tally.found else [], self._retriever_columns,
             lambda: self._published_retrievers(ks), self.names.width),
            ("adaptability", answers if self._adapted() else [], self._adaptability_columns,
             lambda: self._published_adaptability(ks), self.names.width + 2),
        )  # fmt: skip
        for name, reasons, columns, rows, keys in made:
            if reasons:
                why = self.words["separator"].join(self.words[reason] for reason in reasons)
                notes = (self.words["note_apart"].format(reasons=why), *paper().notes(name, self.language))
                title = self.words[f"title_published_{name}"]
                yield Table(f"mirage-published-{name}", title, columns(), tuple(rows()), notes, keys)

    def _published_models(self) -> list[Row]:
        rule = Cell(self.words["em_loose"])
        return [
            Row((Cell(one.model), rule, *map(printed, (one.base, one.oracle, one.mixed))), published=True)
            for one in paper().models
        ]

    def _published_retrievers(self, ks: set[int]) -> list[Row]:
        return [
            Row(
                (*self.names.cells(Condition("retrieved", one.retriever, one.k)),
                 *map(printed, (one.f1, one.precision, one.recall, one.ndcg)), Cell()),
                published=True,
            )
            for one in paper().retrievers
            if one.k in ks
        ]  # fmt: skip

    def _published_adaptability(self, ks: set[int]) -> list[Row]:
        def cells(one: Adapted) -> Iterable[Cell]:
            return map(printed, (one.nv, one.ca, one.ci, one.cm, one.total))

        rule = Cell(self.words[OFFICIAL])
        return [
            Row((Cell(one.model), *self.names.cells(Condition("retrieved", one.retriever, one.k)), rule, *cells(one)),
                published=True)
            for one in paper().adaptability
            if one.k in ks
        ]  # fmt: skip

    # -- what they share

    def _note_chunks(self) -> list[str]:
        """How chunks were cut, and who counted: a number of tokens says nothing without it."""
        if not self.names.chunked:
            return []
        cut = dict(self.chunking) if isinstance(self.chunking, Mapping) else {}
        told = {"method": "sentence", "overlap": 0, "tokenizer": "ragstone/estimate"} | cut
        told["method"] = self.words.get(f"cut_{told['method']}", str(told["method"]))
        return [self.words["note_chunks"].format(**told)]

    def _measured_ks(self) -> set[int]:
        """The k that are measured here and printed there; all that are printed where none is."""
        there = {one.k for one in paper().retrievers}
        held = {spot.k for spots in self.tally.answers.values() for spot in spots} | self.tally.ks
        held |= {k for key in self.tally.found for k in shown_ks(self.tally, self.ks, *key)}
        return held & there or there

    def _adapted(self) -> bool:
        return any(
            BASE in held and ORACLE in held and any(spot.setting in ("mixed", "retrieved") for spot in held)
            for held in self.tally.answers.values()
        )

    def _right(self, system: str, spot: Condition, rule: str) -> Cell:
        cube = self.tally.cube(system, (spot,), rule)
        return Cell(self.words["not_asked"]) if cube is None else percent(cube.share(lambda kind: kind.code == 1))

    def _model_columns(self) -> tuple[str, ...]:
        return tuple(self.words[name] for name in ("system", "measure", "base", "oracle", "mixed"))

    def _retriever_columns(self) -> tuple[str, ...]:
        return (*self.names.columns(), *(self.words[name] for name in SCORES))

    def _adaptability_columns(self) -> tuple[str, ...]:
        told = (self.words[name] for name in ("scoring", *MEASURES, "total"))
        return (self.words["system"], *self.names.columns(), *told)


def _measures(held: Shares) -> list[Cell]:
    return [*(percent(held.measures[name]) for name in MEASURES), held.total.cell("%")]


def _strict(answers: Answers | None) -> Cell:
    return Cell() if answers is None else percent(Estimate.of_count(*answers.strict, total=answers.asked))


def _f1(answers: Answers | None) -> Cell:
    if answers is None:
        return Cell()
    values = Counter(value for value in answers.f1 if value == value)  # noqa: PLR0124  (NaN: not scored)
    return percent(mean_of(values, total=answers.asked))
