"""Details behind the figures: flaws of the official measures, the eight groups, sources, questions that need several
chunks, contamination, harder negatives, and quality against cost."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from ragstone.benchmarks.mirage.adaptability import GROUPS, SHARES, group_counts, macro, shares_of
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
from ragstone.benchmarks.mirage.names import Names, number_cell, percent
from ragstone.benchmarks.mirage.retrieved import mean_of, retrieved, shown_ks
from ragstone.stats import Estimate, mcnemar_exact, paired_difference
from ragstone.types import Cell, Row, Table

__all__ = ["Priced", "is_choice", "is_right", "on_front", "priced", "tables"]

_JOINT = (BASE, ORACLE)
_FLAWS = (("pure", QuestionFlag.PURE, MIXED), ("short", QuestionFlag.SHORT, MIXED), ("echo", QuestionFlag.ECHO, BASE))
"""Kinds of problematic questions, and the setting that shows the problem best."""


def tables(tally: MirageTally, names: Names, headline: str, ks: Sequence[Any]) -> Iterator[Table]:
    """All of them; some may have no rows."""
    writer = _ExtraTables(tally, names, headline, ks)
    yield writer.flaws()
    yield writer.flawed()
    yield writer.groups()
    yield from writer.sources()
    yield writer.hops()
    yield writer.contamination()
    yield writer.negatives()
    yield writer.cost()


def is_right(kind: AnswerKind) -> bool:
    """Whether the answer in the last condition is right."""
    return bool(kind.code & 1)


class Priced(NamedTuple):
    """A system with a context: its share of right answers, tokens per answer, and median seconds."""

    system: str
    condition: Condition
    right: Estimate
    tokens: float | None
    seconds: float | None


def priced(tally: MirageTally, headline: str) -> list[Priced]:
    """Every system with every context whose tokens or seconds are known, except the probe."""
    prices = []
    for system in tally.systems:
        for condition in sorted(tally.answers[system], key=_by_setting):
            answers, counts = tally.answers[system][condition], tally.crosstab(system, (condition,), headline)
            tokens, seconds = answers.tokens_each, median(answers.seconds) if answers.seconds else None
            if condition != PROBE and counts is not None and counts.n and (tokens is not None or seconds is not None):
                prices.append(Priced(system, condition, counts.share(is_right), tokens, seconds))
    return prices


def _by_setting(condition: Condition) -> tuple[int, str, int, int]:
    order = ("base", "oracle", "mixed", "retrieved", "probe")
    return order.index(condition.setting), condition.retriever, condition.chunk, condition.k


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


class _ExtraTables:
    def __init__(self, tally: MirageTally, names: Names, headline: str, ks: Sequence[Any]) -> None:
        self.tally, self.names, self.headline, self.ks = tally, names, headline, ks
        self.words: Mapping[str, str] = names.words
        self.rules = (headline, DEFAULT if headline == OFFICIAL else OFFICIAL)

    def _texts(self, *keys: str) -> tuple[str, ...]:
        return tuple(self.words[name] for name in keys)

    def _note_headline(self) -> str:
        return self.words["note_headline"].format(rule=self.words[self.headline])

    def _pairs(self) -> Iterator[tuple[str, Condition]]:
        """Each system with each context for which base and oracle are also measured."""
        for system in self.tally.systems:
            for condition in self.tally.contexts(system):
                counts = self.tally.crosstab(system, (*_JOINT, condition), OFFICIAL)
                if counts is not None and counts.n:
                    yield system, condition

    def flaws(self) -> Table:
        """Official noise vulnerability and total with their components."""
        rows = []
        for system, condition in self._pairs():
            shares = shares_of(self.tally, system, condition, OFFICIAL)
            if shares is not None:
                parts = (shares.measures["noise_vulnerability"], shares.missed, shares.noise, shares.given_gold)
                double_acceptance = 2 * (shares.measures["context_acceptability"].value or 0.0) - 1
                rows.append(
                    Row((
                        Cell(system), *self.names.cells(condition), *map(percent, parts), percent(shares.without_gold),
                        shares.total.cell("%"), Cell(value=double_acceptance, unit="%"),
                    ))
                )  # fmt: skip
        names = ("nv_official", "nv_missed", "nv_noise", "nv_given_gold", "without_gold", "total", "twice")
        columns = (self.words["system"], *self.names.columns(), *self._texts(*names))
        notes = self._texts("note_flaws", "note_without", "note_total")
        return Table("mirage-flaws", self.words["title_flaws"], columns, tuple(rows), notes, self.names.width + 1)

    def flawed(self) -> Table:
        """Questions that the official scores handle badly: the scores with and without them."""
        rows = []
        for system in self.tally.systems:
            for name, flag, condition in _FLAWS:
                counts, own_counts = (self.tally.crosstab(system, (condition,), rule) for rule in (OFFICIAL, DEFAULT))
                number = self.tally.questions(lambda marks, bit=flag: bool(marks & bit))  # type: ignore[misc]
                if counts is None or not counts.n or not number:
                    continue

                def flagged(kind: AnswerKind, bit: int = flag) -> bool:
                    return bool(kind.question_flags & bit)

                def unflagged(kind: AnswerKind, bit: int = flag) -> bool:
                    return not kind.question_flags & bit

                cells = [
                    percent(counts.share(is_right)), percent(counts.share(is_right, within=unflagged)),
                    percent(counts.share(is_right, within=flagged)),
                    Cell() if own_counts is None else percent(own_counts.share(is_right, within=flagged)),
                ]  # fmt: skip
                about = (Cell(system), Cell(self.words[f"flaw_{name}"]), Cell(self.words[condition.setting]))
                rows.append(Row((*about, number_cell(number), *cells)))
        names = ("system", "flaw", "setting", "count", "of_all", "of_others", "of_these", "ours_these")
        return Table("mirage-flawed", self.words["title_flawed"], self._texts(*names), tuple(rows), keys=3)

    def groups(self) -> Table:
        """The number of questions in each of the eight groups, by each rule."""
        rows = []
        for system, condition in self._pairs():
            for rule in self.rules:
                counts = self.tally.crosstab(system, (*_JOINT, condition), rule)
                if counts is not None and counts.n:
                    sizes = group_counts(counts)
                    about = (Cell(system), *self.names.cells(condition), Cell(self.words[rule]))
                    rows.append(Row((*about, *(number_cell(sizes[name]) for name in GROUPS), number_cell(counts.n))))
        columns = (self.words["system"], *self.names.columns(), self.words["scoring"], *GROUPS, self.words["n"])
        notes = (self.words["note_groups"],)
        return Table("mirage-groups", self.words["title_groups"], columns, tuple(rows), notes, self.names.width + 2)

    # -- by source

    def sources(self) -> Iterator[Table]:
        """Adaptability, right answers and retrieval by source and averaged over sources; skipped for one source."""
        counts_by_pair = [
            (pair, self.tally.crosstab(pair[0], (*_JOINT, pair[1]), self.headline)) for pair in self._pairs()
        ]
        places = [at for at in range(len(self.tally.sources)) if self._measured(at)]
        if len(places) < 2:
            return
        heads = (*self._texts("everything", "macro"), *map(self.names.source, places))
        notes = (self.words["note_macro"], self._note_headline())
        rows = [
            Row((Cell(system), *self.names.cells(condition), Cell(self.words[name]), *_by_source(counts, name, places)))
            for (system, condition), counts in counts_by_pair
            if counts is not None and counts.n
            for name in SHARES
        ]
        columns = (self.words["system"], *self.names.columns(), self.words["measure"], *heads)
        width = self.names.width
        yield Table("mirage-sources", self.words["title_sources"], columns, tuple(rows), notes, width + 2)
        rows = [
            Row((Cell(system), *self.names.cells(condition), *_by_source(counts, "", places)))
            for system in self.tally.systems
            for condition in sorted(self.tally.answers[system], key=_by_setting)
            if condition != PROBE
            and (counts := self.tally.crosstab(system, (condition,), self.headline)) is not None
            and counts.n
        ]
        columns = (self.words["system"], *self.names.columns(), *heads)
        yield Table("mirage-model-sources", self.words["title_model_sources"], columns, tuple(rows), notes, width + 1)
        yield self._retriever_sources(places, heads)

    def _measured(self, place: int) -> bool:
        """Whether a source has questions other than the probe's."""
        if any(self.tally.source_of[sample] == place for lists in self.tally.found.values() for sample in lists):
            return True
        return any(
            kind.source == place
            for system in self.tally.systems
            for condition in self.tally.answers[system]
            if condition != PROBE and (counts := self.tally.crosstab(system, (condition,), self.headline)) is not None
            for kind in counts.kinds
        )

    def _retriever_sources(self, places: Sequence[int], heads: tuple[str, ...]) -> Table:
        rows = []
        for retriever, chunk in sorted(self.tally.found):
            for k in shown_ks(self.tally, self.ks, retriever, chunk):
                parts = [
                    mean_of(retrieved(self.tally, retriever, chunk, k, within=lambda at, one=place: at == one)["f1"])  # type: ignore[misc]
                    for place in places
                ]
                known = [part.value for part in parts if part.value is not None]
                if not known:
                    continue
                everything = mean_of(retrieved(self.tally, retriever, chunk, k)["f1"])
                average = Cell(value=sum(known) / len(known), unit="%")
                cells = (percent(everything), average, *map(percent, parts))
                rows.append(Row((*self.names.cells(Condition("retrieved", retriever, k, chunk)), *cells)))
        title, notes = self.words["title_retriever_sources"], (self.words["note_macro"],)
        columns = (*self.names.columns(), *heads)
        return Table("mirage-retriever-sources", title, columns, tuple(rows), notes, self.names.width)

    # -- beyond the paper

    def hops(self) -> Table:
        """Questions that need one chunk, compared with those that need several."""
        rows = []
        has_hops = self.tally.questions(lambda marks: bool(marks & QuestionFlag.HOPS))
        for system in self.tally.systems if has_hops else ():
            for condition in sorted(self.tally.answers[system], key=_by_setting):
                counts = self.tally.crosstab(system, (condition,), self.headline)
                if condition == PROBE or counts is None or not counts.n:
                    continue
                given_shares = [
                    counts.share(lambda kind: kind.gold == 2, within=_needs_several),
                    counts.share(is_right, within=lambda kind: _needs_several(kind) and kind.gold == 2),
                ]
                cells = [
                    percent(counts.share(is_right, within=lambda kind: not _needs_several(kind))),
                    percent(counts.share(is_right, within=_needs_several)),
                    *(Cell() if condition == BASE else percent(share) for share in given_shares),
                ]
                rows.append(Row((Cell(system), *self.names.cells(condition), *cells)))
        names = ("one_chunk", "several_chunks", "all_given", "right_all_given")
        columns = (self.words["system"], *self.names.columns(), *self._texts(*names))
        title, notes = self.words["title_hops"], (self._note_headline(),)
        return Table("mirage-hops", title, columns, tuple(rows), notes, self.names.width + 1)

    def contamination(self) -> Table:
        """Right answers without context, compared with those to invented questions."""
        rows = []
        for system in self.tally.systems:
            for rule in self.rules:
                probe = self.tally.crosstab(system, (PROBE,), rule)
                base = self.tally.crosstab(system, (BASE,), rule)
                if base is None or probe is None or not base.n or not probe.n:
                    continue
                known, guessed = base.share(is_right), probe.share(is_right)
                about = (Cell(system), Cell(self.words[rule]))
                rows.append(Row((*about, percent(known), percent(guessed), _difference(known, guessed))))
        columns = self._texts("system", "scoring", "base_right", "probe_right", "known_difference")
        notes = (self.words["note_contamination"],)
        return Table("mirage-contamination", self.words["title_contamination"], columns, tuple(rows), notes, 2)

    def negatives(self) -> Table:
        """Mixed compared with harder negatives, paired by question."""
        rows = []
        for system in self.tally.systems:
            for condition in self.tally.contexts(system):
                counts = self.tally.crosstab(system, (MIXED, condition), self.headline)
                if not condition.retriever.startswith("negatives(") or counts is None or not counts.n:
                    continue
                only_mixed, only_harder = (counts.count(lambda kind, code=c: kind.code == code) for c in (2, 1))  # type: ignore[misc]
                low, high = paired_difference(only_mixed, only_harder, counts.n)
                cells = (
                    percent(counts.share(lambda kind: bool(kind.code & 2))), percent(counts.share(is_right)),
                    Cell(value=(only_harder - only_mixed) / counts.n, low=low, high=high, unit="%"),
                    Cell(f"{mcnemar_exact(only_mixed, only_harder):.3g}"),
                )  # fmt: skip
                name = condition.retriever.removeprefix("negatives(")[:-1]
                rows.append(Row((Cell(system), Cell(name), *cells)))
        columns = self._texts("system", "retriever", "usual", "harder", "difference", "p")
        notes = (self.words["note_negatives"], self._note_headline())
        return Table("mirage-negatives", self.words["title_negatives"], columns, tuple(rows), notes, 2)

    def cost(self) -> Table:
        """Right answers, tokens and seconds of each system with each context, and the Pareto front."""
        prices = priced(self.tally, self.headline)
        candidates = [price for price in prices if price.tokens is not None and is_choice(price.condition)]
        best = on_front([(price.tokens or 0.0, price.right.value or 0.0) for price in candidates])
        front = {(price.system, price.condition) for price, is_best in zip(candidates, best, strict=True) if is_best}
        rows = [
            Row((
                Cell(price.system), *self.names.cells(price.condition), percent(price.right),
                Cell() if price.tokens is None else Cell(value=round(price.tokens, 1)),
                Cell() if price.seconds is None else Cell(value=round(price.seconds, 3)),
                Cell(self.words["yes"] if (price.system, price.condition) in front else ""),
            ))
            for price in prices
        ]  # fmt: skip
        names = ("right", "tokens_each", "seconds_each", "front")
        columns = (self.words["system"], *self.names.columns(), *self._texts(*names))
        notes = (self.words["note_cost"], self._note_headline())
        return Table("mirage-cost", self.words["title_cost"], columns, tuple(rows), notes, self.names.width + 1)


def _needs_several(kind: AnswerKind) -> bool:
    return bool(kind.question_flags & QuestionFlag.HOPS)


def _by_source(counts: CrossTab, measure: str, places: Sequence[int]) -> Iterator[Cell]:
    """A measure of adaptability, or the right answers (""): overall, averaged over sources, and by source."""
    test = SHARES[measure] if measure else is_right
    yield percent(counts.share(test))
    yield percent(macro(counts, test))
    for place in places:
        yield percent(counts.share(test, within=lambda kind, at=place: kind.source == at))  # type: ignore[misc]


def _difference(first_share: Estimate, second_share: Estimate) -> Cell:
    """The difference of two independent proportions, with Newcombe's interval (1998, method 10)."""
    if first_share.known is None or second_share.known is None:
        return Cell()
    (first, low_1, high_1), (second, low_2, high_2) = first_share.known, second_share.known
    low = ((first - low_1) ** 2 + (high_2 - second) ** 2) ** 0.5
    high = ((high_1 - first) ** 2 + (second - low_2) ** 2) ** 0.5
    difference = first - second
    return Cell(value=difference, low=difference - low, high=difference + high, unit="%")
