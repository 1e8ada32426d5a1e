"""Details behind the figures: flaws of the official measures, the eight groups, sources, questions that need several
chunks, contamination, harder negatives, and quality against cost."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from statistics import median
from typing import Any, NamedTuple

from ragstone.benchmarks.mirage.adaptability import GROUPS, SHARES, group_counts, macro, shares
from ragstone.benchmarks.mirage.aggregate import (
    BASE,
    DEFAULT,
    MIXED,
    OFFICIAL,
    ORACLE,
    PROBE,
    AnswerKind,
    Condition,
    CrossTab,
    MirageTally,
    QuestionFlag,
)
from ragstone.benchmarks.mirage.index_cost import search_cost
from ragstone.benchmarks.mirage.names import Names, number_cell, percent
from ragstone.benchmarks.mirage.retrieved import mean_of, retrieved, shown_ks
from ragstone.benchmarks.table_builder import TableWriter, row
from ragstone.display import Cell, Row, Table
from ragstone.stats import Estimate, apart, paired_test

_JOINT = (BASE, ORACLE)
_FLAWS = (("pure", QuestionFlag.PURE, MIXED), ("short", QuestionFlag.SHORT, MIXED), ("echo", QuestionFlag.ECHO, BASE))
"""Kinds of problematic questions, and the setting that shows the problem best."""


def tables(tally: MirageTally, names: Names, headline: str, ks: Sequence[Any], preparation: Any) -> list[Table]:
    """All of them; some may have no rows. `preparation`: the facts of the retrievers."""
    writer = _ExtraTables(tally, names, headline, ks, preparation)
    return [
        writer.flaws(), writer.flawed(), writer.groups(), *writer.sources(), writer.hops(), writer.contamination(),
        writer.negatives(), writer.cost(),
    ]  # fmt: skip


is_right = attrgetter("right")
"""Whether the answer in the last condition is right."""


class Priced(NamedTuple):
    """A system with a context: its share of right answers, and tokens, requests and seconds per answer, those of its
    retrieval among them."""

    system: str
    condition: Condition
    right: Estimate
    tokens: float | None
    seconds: float | None
    requests: float = 1.0


def priced(tally: MirageTally, headline: str, preparation: Any = None) -> list[Priced]:
    """Every system with every context whose tokens or seconds are known, except the probe. `preparation`: the facts of
    the retrievers."""
    prices = []
    for system, condition, counts in tally.scored(headline):
        answers = tally.answers[system][condition]
        tokens, seconds = answers.tokens_each, median(answers.seconds) if answers.seconds else None
        if tokens is not None or seconds is not None:
            search = search_cost(preparation, condition.retriever, condition.chunk)
            tokens = None if tokens is None else tokens + search.tokens
            seconds = None if seconds is None else seconds + search.seconds
            prices.append(Priced(system, condition, counts.share(is_right), tokens, seconds, 1 + search.requests))
    return prices


def is_choice(condition: Condition) -> bool:
    """Whether a context is available in practice: none, or retrieved. The oracle and mixed chunks were chosen with
    knowledge of the answer."""
    return condition == BASE or (condition.setting == "retrieved" and not condition.retriever.startswith("negatives("))


def on_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether each (cost, quality) is Pareto-optimal: none is at least as good in both and better in one."""
    return [
        not any((c <= cost and q >= quality) and (c < cost or q > quality) for c, q in points)
        for cost, quality in points
    ]


class _ExtraTables(TableWriter):
    prefix = "mirage"

    def __init__(
        self, tally: MirageTally, names: Names, headline: str, ks: Sequence[Any], preparation: Any
    ) -> None:  # fmt: skip
        super().__init__(names.words)
        self.tally, self.names, self.headline, self.ks = tally, names, headline, ks
        self.preparation = preparation
        self.rules = (headline, DEFAULT if headline == OFFICIAL else OFFICIAL)

    def _contexts(self, name: str, columns: Sequence[str], rows: Sequence[Row], *notes: str, keys: int = 1) -> Table:
        """A table whose rows are of a system with a context, and `keys` - 1 other things."""
        heads = (self.words["system"], *self.names.columns(), *columns)
        return self.table(name, heads, rows, notes, keys=self.names.width + keys)

    @property
    def _note_headline(self) -> str:
        return self.words["note_headline"].format(rule=self.words[self.headline])

    def flaws(self) -> Table:
        """Official noise vulnerability and total with their components."""
        rows = []
        for system, condition, counts in self.tally.scored(OFFICIAL, *_JOINT, contexts=True):
            if (parts := shares(counts)) is not None:
                split = (parts.measures["noise_vulnerability"], parts.missed, parts.noise, parts.given_gold)
                double_acceptance = 2 * (parts.measures["context_acceptability"].value or 0.0) - 1
                rows.append(row(
                    system, *self.names.cells(condition), *map(percent, split), percent(parts.without_gold),
                    parts.total.cell("%"), Cell(value=double_acceptance, unit="%"),
                ))  # fmt: skip
        names = ("nv_official", "nv_missed", "nv_noise", "nv_given_gold", "without_gold", "total", "twice")
        notes = self.texts("note_flaws", "note_without", "note_total")
        return self._contexts("flaws", self.texts(*names), rows, *notes)

    def flawed(self) -> Table:
        """Questions that the official scores handle badly: the scores with and without them."""
        rows = []
        for system in self.tally.systems:
            for name, flag, condition in _FLAWS:
                counts, own_counts = (self.tally.crosstab(system, (condition,), rule) for rule in (OFFICIAL, DEFAULT))
                number = self.tally.questions(flag)
                if counts is None or not counts.n or not number:
                    continue
                flagged = partial(AnswerKind.has, flags=flag)
                rows.append(row(
                    system, *self.texts(f"flaw_{name}", condition.setting), number_cell(number),
                    percent(counts.share(is_right)), percent(counts.share(is_right, within=_not(flagged))),
                    percent(counts.share(is_right, within=flagged)),
                    Cell() if own_counts is None else percent(own_counts.share(is_right, within=flagged)),
                ))  # fmt: skip
        names = ("system", "flaw", "setting", "count", "of_all", "of_others", "of_these", "ours_these")
        return self.table("flawed", self.texts(*names), rows, keys=3)

    def groups(self) -> Table:
        """The number of questions in each of the eight groups, by each rule."""
        rows = []
        for system, condition, _ in self.tally.scored(OFFICIAL, *_JOINT, contexts=True):
            for rule in self.rules:
                counts = self.tally.crosstab(system, (*_JOINT, condition), rule)
                if counts is not None and counts.n:
                    sizes = group_counts(counts)
                    numbers = map(number_cell, (*(sizes[name] for name in GROUPS), counts.n))
                    rows.append(row(system, *self.names.cells(condition), self.words[rule], *numbers))
        columns = (self.words["scoring"], *GROUPS, self.words["n"])
        return self._contexts("groups", columns, rows, self.words["note_groups"], keys=2)

    # -- by source

    def sources(self) -> Iterator[Table]:
        """Adaptability, right answers and retrieval by source and averaged over sources; skipped for one source."""
        places = [at for at in range(len(self.tally.sources)) if self._measured(at)]
        if len(places) < 2:
            return
        heads = (*self.texts("everything", "macro"), *map(self.names.source, places))
        notes = (self.words["note_macro"], self._note_headline)
        rows = []
        for system, condition, _ in self.tally.scored(OFFICIAL, *_JOINT, contexts=True):
            counts = self.tally.crosstab(system, (*_JOINT, condition), self.headline)
            if counts is not None and counts.n:
                rows += [
                    row(system, *self.names.cells(condition), self.words[name], *_by_source(counts, test, places))
                    for name, test in SHARES.items()
                ]
        yield self._contexts("sources", (self.words["measure"], *heads), rows, *notes, keys=2)
        rows = [
            row(system, *self.names.cells(condition), *_by_source(counts, is_right, places))
            for system, condition, counts in self.tally.scored(self.headline)
        ]
        yield self._contexts("model-sources", heads, rows, *notes)
        yield self._retriever_sources(places, heads)

    def _measured(self, place: int) -> bool:
        """Whether a source has questions other than the probe's."""
        if any(self.tally.source_of[sample] == place for lists in self.tally.found.values() for sample in lists):
            return True
        return any(kind.source == place for *_, counts in self.tally.scored(self.headline) for kind in counts.kinds)

    def _retriever_sources(self, places: Sequence[int], heads: tuple[str, ...]) -> Table:
        rows = []
        for retriever, chunk in sorted(self.tally.found):
            for k in shown_ks(self.tally, self.ks, retriever, chunk):
                everything, *parts = (
                    mean_of(retrieved(self.tally, retriever, chunk, k, source=place)["f1"]) for place in (None, *places)
                )
                known = [part.value for part in parts if part.value is not None]
                if known:
                    average = Cell(value=sum(known) / len(known), unit="%")
                    condition = Condition("retrieved", retriever, k, chunk)
                    rows.append(row(*self.names.cells(condition), percent(everything), average, *map(percent, parts)))
        columns = (*self.names.columns(), *heads)
        return self.table("retriever-sources", columns, rows, self.texts("note_macro"), keys=self.names.width)

    # -- beyond the paper

    def hops(self) -> Table:
        """Questions that need one chunk, compared with those that need several."""
        several, rows = partial(AnswerKind.has, flags=QuestionFlag.HOPS), []
        for system, condition, counts in (
            self.tally.scored(self.headline) if self.tally.questions(QuestionFlag.HOPS) else ()
        ):
            all_given = [
                counts.share(lambda kind: kind.gold == 2, within=several),
                counts.share(is_right, within=lambda kind: several(kind) and kind.gold == 2),
            ]
            rows.append(row(
                system, *self.names.cells(condition), percent(counts.share(is_right, within=_not(several))),
                percent(counts.share(is_right, within=several)),
                *(Cell() if condition == BASE else percent(share) for share in all_given),
            ))  # fmt: skip
        columns = self.texts("one_chunk", "several_chunks", "all_given", "right_all_given")
        return self._contexts("hops", columns, rows, self._note_headline)

    def contamination(self) -> Table:
        """Right answers without context, compared with those to invented questions."""
        rows = []
        for system in self.tally.systems:
            for rule in self.rules:
                base, probe = (self.tally.crosstab(system, (condition,), rule) for condition in (BASE, PROBE))
                if base is not None and probe is not None and base.n and probe.n:
                    known, guessed = base.share(is_right), probe.share(is_right)
                    cells = (percent(known), percent(guessed), _difference(known, guessed))
                    rows.append(row(system, self.words[rule], *cells))
        columns = self.texts("system", "scoring", "base_right", "probe_right", "known_difference")
        return self.table("contamination", columns, rows, self.texts("note_contamination"), keys=2)

    def negatives(self) -> Table:
        """Mixed compared with harder negatives, paired by question."""
        rows = []
        for system, condition, counts in self.tally.scored(self.headline, MIXED, contexts=True):
            if not condition.retriever.startswith("negatives("):
                continue
            usual, harder, questions = counts.pairs()
            gains = [after - before for before, after in zip(usual, harder, strict=True)]
            rows.append(row(
                system, condition.retriever.removeprefix("negatives(")[:-1],
                percent(counts.share(lambda kind: bool(kind.code & 2))), percent(counts.share(is_right)),
                Estimate.of_difference(gains, groups=questions).cell("%"),
                f"{paired_test(usual, harder, groups=questions)[1]:.3g}",
            ))  # fmt: skip
        columns = self.texts("system", "retriever", "usual", "harder", "difference", "p")
        return self.table("negatives", columns, rows, (self.words["note_negatives"], self._note_headline), keys=2)

    def cost(self) -> Table:
        """Right answers, tokens and seconds of each system with each context, and the Pareto front."""
        prices = priced(self.tally, self.headline, self.preparation)
        candidates = [price for price in prices if price.tokens is not None and is_choice(price.condition)]
        best = on_front([(price.tokens or 0.0, price.right.value or 0.0) for price in candidates])
        front = {(price.system, price.condition) for price, is_best in zip(candidates, best, strict=True) if is_best}
        rows = [
            row(
                price.system, *self.names.cells(price.condition), percent(price.right), _rounded(price.tokens, 1),
                _rounded(price.requests, 2), _rounded(price.seconds, 3),
                self.words["yes"] if (price.system, price.condition) in front else "",
            )
            for price in prices
        ]  # fmt: skip
        columns = self.texts("right", "tokens_each", "requests_each", "seconds_each", "front")
        return self._contexts("cost", columns, rows, self.words["note_cost"], self._note_headline)


def _not(test: Callable[[AnswerKind], bool]) -> Callable[[AnswerKind], bool]:
    return lambda kind: not test(kind)


def _rounded(value: float | None, digits: int) -> Cell:
    return Cell() if value is None else Cell(value=round(value, digits))


def _by_source(counts: CrossTab, test: Callable[[AnswerKind], bool], places: Sequence[int]) -> Iterator[Cell]:
    """A share of answers: overall, averaged over sources, and by source."""
    yield percent(counts.share(test))
    yield percent(macro(counts, test))
    for place in places:
        yield percent(counts.share(test, within=partial(AnswerKind.is_from, source=place)))


def _difference(first_share: Estimate, second_share: Estimate) -> Cell:
    """The difference of two independent proportions, with Newcombe's interval (1998, method 10)."""
    if first_share.value is None or second_share.value is None:
        return Cell()
    difference = first_share.value - second_share.value
    if first_share.known is None or second_share.known is None:
        return Cell(value=difference, unit="%")
    low, high = apart(first_share.known, second_share.known)
    return Cell(value=difference, low=float(low), high=float(high), unit="%")
