"""What stands behind the figures: the flaws of the official measures, the eight groups, sources, questions that need
several chunks, what was known beforehand, harder negatives, and what quality costs."""

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
    Condition,
    CrossTab,
    Kind,
    QuestionFlag,
    Tally,
)
from ragstone.benchmarks.mirage.names import Names, number_cell, percent
from ragstone.benchmarks.mirage.retrieved import mean_of, retrieved, shown_ks
from ragstone.stats import Estimate, mcnemar_exact, paired_difference
from ragstone.types import Cell, Row, Table

__all__ = ["Priced", "is_choice", "is_right", "on_front", "priced", "tables"]

_JOINT = (BASE, ORACLE)
_FLAWS = (("pure", QuestionFlag.PURE, MIXED), ("short", QuestionFlag.SHORT, MIXED), ("echo", QuestionFlag.ECHO, BASE))
"""Which questions, and the setting that shows best what is odd about them."""


def tables(tally: Tally, names: Names, headline: str, ks: Sequence[Any]) -> Iterator[Table]:
    """All of them; some may have no rows."""
    writer = _Writer(tally, names, headline, ks)
    yield writer.flaws()
    yield writer.flawed()
    yield writer.groups()
    yield from writer.sources()
    yield writer.hops()
    yield writer.contamination()
    yield writer.negatives()
    yield writer.cost()


def is_right(kind: Kind) -> bool:
    """Whether the last of the answers of a kind is right."""
    return bool(kind.code & 1)


class Priced(NamedTuple):
    """What a system with a context comes to: the share of right answers, tokens an answer, seconds (median)."""

    system: str
    spot: Condition
    right: Estimate
    tokens: float | None
    seconds: float | None


def priced(tally: Tally, headline: str) -> list[Priced]:
    """Every system with every context of which tokens or seconds are known, the probe apart."""
    found = []
    for system in tally.systems:
        for spot in sorted(tally.answers[system], key=_by_setting):
            answers, cube = tally.answers[system][spot], tally.cube(system, (spot,), headline)
            tokens, seconds = answers.tokens_each, median(answers.seconds) if answers.seconds else None
            if spot != PROBE and cube is not None and cube.n and (tokens is not None or seconds is not None):
                found.append(Priced(system, spot, cube.share(is_right), tokens, seconds))
    return found


def _by_setting(spot: Condition) -> tuple[int, str, int, int]:
    order = ("base", "oracle", "mixed", "retrieved", "probe")
    return order.index(spot.setting), spot.retriever, spot.chunk, spot.k


def is_choice(spot: Condition) -> bool:
    """Whether one can have it in practice: no context, or what a retriever finds. The oracle's and the mixed chunks
    were chosen by who knew the answer."""
    return spot == BASE or (spot.setting == "retrieved" and not spot.retriever.startswith("negatives("))


def on_front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """For each (cost, quality), whether no other is at least as good in both and better in one."""
    return [
        not any((c <= cost and q >= quality) and (c < cost or q > quality) for c, q in points)
        for cost, quality in points
    ]


class _Writer:
    def __init__(self, tally: Tally, names: Names, headline: str, ks: Sequence[Any]) -> None:
        self.tally, self.names, self.headline, self.ks = tally, names, headline, ks
        self.words: Mapping[str, str] = names.words
        self.rules = (headline, DEFAULT if headline == OFFICIAL else OFFICIAL)

    def _told(self, *names: str) -> tuple[str, ...]:
        return tuple(self.words[name] for name in names)

    def _note_headline(self) -> str:
        return self.words["note_headline"].format(rule=self.words[self.headline])

    def _pairs(self) -> Iterator[tuple[str, Condition]]:
        """Each system with each context for which there are base and oracle too."""
        for system in self.tally.systems:
            for spot in self.tally.spots(system):
                cube = self.tally.cube(system, (*_JOINT, spot), OFFICIAL)
                if cube is not None and cube.n:
                    yield system, spot

    def flaws(self) -> Table:
        """Official noise vulnerability and total beside what they are made of."""
        rows = []
        for system, spot in self._pairs():
            held = shares_of(self.tally, system, spot, OFFICIAL)
            if held is not None:
                parts = (held.measures["noise_vulnerability"], held.missed, held.noise, held.given_gold)
                twice = 2 * (held.measures["context_acceptability"].value or 0.0) - 1
                rows.append(
                    Row((
                        Cell(system), *self.names.cells(spot), *map(percent, parts), percent(held.without_gold),
                        held.total.cell("%"), Cell(value=twice, unit="%"),
                    ))
                )  # fmt: skip
        names = ("nv_official", "nv_missed", "nv_noise", "nv_given_gold", "without_gold", "total", "twice")
        columns = (self.words["system"], *self.names.columns(), *self._told(*names))
        notes = self._told("note_flaws", "note_without", "note_total")
        return Table("mirage-flaws", self.words["title_flaws"], columns, tuple(rows), notes, self.names.width + 1)

    def flawed(self) -> Table:
        """Questions that the official scores treat oddly: what they come to with and without them."""
        rows = []
        for system in self.tally.systems:
            for name, mark, spot in _FLAWS:
                cube, ours = (self.tally.cube(system, (spot,), rule) for rule in (OFFICIAL, DEFAULT))
                number = self.tally.questions(lambda marks, bit=mark: bool(marks & bit))  # type: ignore[misc]
                if cube is None or not cube.n or not number:
                    continue

                def marked(kind: Kind, bit: int = mark) -> bool:
                    return bool(kind.marks & bit)

                def others(kind: Kind, bit: int = mark) -> bool:
                    return not kind.marks & bit

                cells = [
                    percent(cube.share(is_right)), percent(cube.share(is_right, within=others)),
                    percent(cube.share(is_right, within=marked)),
                    Cell() if ours is None else percent(ours.share(is_right, within=marked)),
                ]  # fmt: skip
                about = (Cell(system), Cell(self.words[f"flaw_{name}"]), Cell(self.words[spot.setting]))
                rows.append(Row((*about, number_cell(number), *cells)))
        names = ("system", "flaw", "setting", "count", "of_all", "of_others", "of_these", "ours_these")
        return Table("mirage-flawed", self.words["title_flawed"], self._told(*names), tuple(rows), keys=3)

    def groups(self) -> Table:
        """How many questions are in each of the eight groups, by each rule."""
        rows = []
        for system, spot in self._pairs():
            for rule in self.rules:
                cube = self.tally.cube(system, (*_JOINT, spot), rule)
                if cube is not None and cube.n:
                    counts = group_counts(cube)
                    about = (Cell(system), *self.names.cells(spot), Cell(self.words[rule]))
                    rows.append(Row((*about, *(number_cell(counts[name]) for name in GROUPS), number_cell(cube.n))))
        columns = (self.words["system"], *self.names.columns(), self.words["scoring"], *GROUPS, self.words["n"])
        notes = (self.words["note_groups"],)
        return Table("mirage-groups", self.words["title_groups"], columns, tuple(rows), notes, self.names.width + 2)

    # -- by source

    def sources(self) -> Iterator[Table]:
        """Adaptability, right answers and retrieval by source, and averaged over sources; nothing for one source."""
        cubes = [(pair, self.tally.cube(pair[0], (*_JOINT, pair[1]), self.headline)) for pair in self._pairs()]
        used = [at for at in range(len(self.tally.sources)) if self._measured(at)]
        if len(used) < 2:
            return
        heads = (*self._told("everything", "macro"), *map(self.names.source, used))
        notes = (self.words["note_macro"], self._note_headline())
        rows = [
            Row((Cell(system), *self.names.cells(spot), Cell(self.words[name]), *_by_source(cube, name, used)))
            for (system, spot), cube in cubes
            if cube is not None and cube.n
            for name in SHARES
        ]
        columns = (self.words["system"], *self.names.columns(), self.words["measure"], *heads)
        width = self.names.width
        yield Table("mirage-sources", self.words["title_sources"], columns, tuple(rows), notes, width + 2)
        rows = [
            Row((Cell(system), *self.names.cells(spot), *_by_source(cube, "", used)))
            for system in self.tally.systems
            for spot in sorted(self.tally.answers[system], key=_by_setting)
            if spot != PROBE and (cube := self.tally.cube(system, (spot,), self.headline)) is not None and cube.n
        ]
        columns = (self.words["system"], *self.names.columns(), *heads)
        yield Table("mirage-model-sources", self.words["title_model_sources"], columns, tuple(rows), notes, width + 1)
        yield self._retriever_sources(used, heads)

    def _measured(self, place: int) -> bool:
        """Whether a source has questions beside the probe's."""
        if any(self.tally.source_of[sample] == place for held in self.tally.found.values() for sample in held):
            return True
        return any(
            kind.source == place
            for system in self.tally.systems
            for spot in self.tally.answers[system]
            if spot != PROBE and (cube := self.tally.cube(system, (spot,), self.headline)) is not None
            for kind in cube.kinds
        )

    def _retriever_sources(self, used: Sequence[int], heads: tuple[str, ...]) -> Table:
        rows = []
        for retriever, chunk in sorted(self.tally.found):
            for k in shown_ks(self.tally, self.ks, retriever, chunk):
                parts = [
                    mean_of(retrieved(self.tally, retriever, chunk, k, within=lambda at, one=one: at == one)["f1"])  # type: ignore[misc]
                    for one in used
                ]
                there = [part.value for part in parts if part.value is not None]
                if not there:
                    continue
                everything = mean_of(retrieved(self.tally, retriever, chunk, k)["f1"])
                average = Cell(value=sum(there) / len(there), unit="%")
                cells = (percent(everything), average, *map(percent, parts))
                rows.append(Row((*self.names.cells(Condition("retrieved", retriever, k, chunk)), *cells)))
        title, notes = self.words["title_retriever_sources"], (self.words["note_macro"],)
        columns = (*self.names.columns(), *heads)
        return Table("mirage-retriever-sources", title, columns, tuple(rows), notes, self.names.width)

    # -- beyond the paper

    def hops(self) -> Table:
        """Questions that need one chunk beside those that need several."""
        rows = []
        several = self.tally.questions(lambda marks: bool(marks & QuestionFlag.HOPS))
        for system in self.tally.systems if several else ():
            for spot in sorted(self.tally.answers[system], key=_by_setting):
                cube = self.tally.cube(system, (spot,), self.headline)
                if spot == PROBE or cube is None or not cube.n:
                    continue
                given = [
                    cube.share(lambda kind: kind.gold == 2, within=_needs_several),
                    cube.share(is_right, within=lambda kind: _needs_several(kind) and kind.gold == 2),
                ]
                cells = [
                    percent(cube.share(is_right, within=lambda kind: not _needs_several(kind))),
                    percent(cube.share(is_right, within=_needs_several)),
                    *(Cell() if spot == BASE else percent(one) for one in given),
                ]
                rows.append(Row((Cell(system), *self.names.cells(spot), *cells)))
        names = ("one_chunk", "several_chunks", "all_given", "right_all_given")
        columns = (self.words["system"], *self.names.columns(), *self._told(*names))
        title, notes = self.words["title_hops"], (self._note_headline(),)
        return Table("mirage-hops", title, columns, tuple(rows), notes, self.names.width + 1)

    def contamination(self) -> Table:
        """Right answers without context, beside those to questions that nobody can have seen."""
        rows = []
        for system in self.tally.systems:
            for rule in self.rules:
                probe = self.tally.cube(system, (PROBE,), rule)
                base = self.tally.cube(system, (BASE,), rule)
                if base is None or probe is None or not base.n or not probe.n:
                    continue
                known, guessed = base.share(is_right), probe.share(is_right)
                about = (Cell(system), Cell(self.words[rule]))
                rows.append(Row((*about, percent(known), percent(guessed), _difference(known, guessed))))
        columns = self._told("system", "scoring", "base_right", "probe_right", "known_difference")
        notes = (self.words["note_contamination"],)
        return Table("mirage-contamination", self.words["title_contamination"], columns, tuple(rows), notes, 2)

    def negatives(self) -> Table:
        """Mixed beside mixed with a retriever's best chunks for noise, question by question."""
        rows = []
        for system in self.tally.systems:
            for spot in self.tally.spots(system):
                cube = self.tally.cube(system, (MIXED, spot), self.headline)
                if not spot.retriever.startswith("negatives(") or cube is None or not cube.n:
                    continue
                only_mixed, only_harder = (cube.count(lambda kind, code=c: kind.code == code) for c in (2, 1))  # type: ignore[misc]
                low, high = paired_difference(only_mixed, only_harder, cube.n)
                cells = (
                    percent(cube.share(lambda kind: bool(kind.code & 2))), percent(cube.share(is_right)),
                    Cell(value=(only_harder - only_mixed) / cube.n, low=low, high=high, unit="%"),
                    Cell(f"{mcnemar_exact(only_mixed, only_harder):.3g}"),
                )  # fmt: skip
                name = spot.retriever.removeprefix("negatives(")[:-1]
                rows.append(Row((Cell(system), Cell(name), *cells)))
        columns = self._told("system", "retriever", "usual", "harder", "difference", "p")
        notes = (self.words["note_negatives"], self._note_headline())
        return Table("mirage-negatives", self.words["title_negatives"], columns, tuple(rows), notes, 2)

    def cost(self) -> Table:
        """Right answers, tokens and seconds of each system with each context, and what is on the front."""
        held = priced(self.tally, self.headline)
        counted = [one for one in held if one.tokens is not None and is_choice(one.spot)]
        best = on_front([(one.tokens or 0.0, one.right.value or 0.0) for one in counted])
        front = {(one.system, one.spot) for one, good in zip(counted, best, strict=True) if good}
        rows = [
            Row((
                Cell(one.system), *self.names.cells(one.spot), percent(one.right),
                Cell() if one.tokens is None else Cell(value=round(one.tokens, 1)),
                Cell() if one.seconds is None else Cell(value=round(one.seconds, 3)),
                Cell(self.words["yes"] if (one.system, one.spot) in front else ""),
            ))
            for one in held
        ]  # fmt: skip
        names = ("right", "tokens_each", "seconds_each", "front")
        columns = (self.words["system"], *self.names.columns(), *self._told(*names))
        notes = (self.words["note_cost"], self._note_headline())
        return Table("mirage-cost", self.words["title_cost"], columns, tuple(rows), notes, self.names.width + 1)


def _needs_several(kind: Kind) -> bool:
    return bool(kind.marks & QuestionFlag.HOPS)


def _by_source(cube: CrossTab, measure: str, places: Sequence[int]) -> Iterator[Cell]:
    """All, the mean of sources, and each source: of a measure of adaptability, or of right answers ("")."""
    test = SHARES[measure] if measure else is_right
    yield percent(cube.share(test))
    yield percent(macro(cube, test))
    for place in places:
        yield percent(cube.share(test, within=lambda kind, at=place: kind.source == at))  # type: ignore[misc]


def _difference(one: Estimate, two: Estimate) -> Cell:
    """The difference of two independent proportions, with Newcombe's interval (1998, method 10)."""
    if one.known is None or two.known is None:
        return Cell()
    (first, low_1, high_1), (second, low_2, high_2) = one.known, two.known
    low = ((first - low_1) ** 2 + (high_2 - second) ** 2) ** 0.5
    high = ((high_1 - first) ** 2 + (second - low_2) ** 2) ** 0.5
    difference = first - second
    return Cell(value=difference, low=difference - low, high=difference + high, unit="%")
