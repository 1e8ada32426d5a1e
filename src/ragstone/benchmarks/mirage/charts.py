"""The charts of MIRAGE: what becomes of the questions with each context, quality against the number of chunks, and
quality against tokens and time with the Pareto front."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ragstone.benchmarks.mirage.adaptability import MEASURES, Shares, shares_of
from ragstone.benchmarks.mirage.aggregate import BASE, OFFICIAL, Condition, Tally, count
from ragstone.benchmarks.mirage.extra_tables import Priced, is_choice, is_right, on_front, priced
from ragstone.benchmarks.mirage.names import Names
from ragstone.benchmarks.mirage.retrieved import mean_of, retrieved, shown_ks
from ragstone.benchmarks.mirage.tables import headline_of
from ragstone.messages import messages
from ragstone.stats import Estimate
from ragstone.types import Chart, Point, Run, Series

__all__ = ["charts"]

_MOST_BARS = 24  # of one chart; more are parted
_MOST_CURVES = 12  # of one chart; more are parted
_STACK = (MEASURES[1], MEASURES[0], MEASURES[2], MEASURES[3])  # what went well comes first


def charts(run: Run, *, language: str = "en") -> list[Chart]:
    """The charts of a run, in the language of the report; only those that have something to show."""
    meta = run.meta
    options = meta.get("options")
    ks = options.get("ks", ()) if isinstance(options, Mapping) else ()
    drawer = _Drawer(count(run.records()), headline_of(meta), messages(__name__, language), ks)
    made = [*drawer.shares(), *drawer.by_k(), *drawer.recall(), *drawer.prices()]
    return [chart for chart in made if chart.series]


class _Drawer:
    def __init__(self, tally: Tally, headline: str, told: Mapping[str, str], ks: Sequence[Any]) -> None:
        self.tally, self.headline, self.words, self.ks = tally, headline, told, ks
        self.names = Names(tally, told)

    # -- stacked

    def shares(self) -> Iterator[Chart]:
        """A system's four shares with each context, stacked: they sum to 1. By the official rule, as in the paper."""
        for number, system in enumerate(self.tally.systems):
            held = [
                (spot, found)
                for spot in self.tally.spots(system)
                if (found := shares_of(self.tally, system, spot, OFFICIAL)) is not None
            ]
            for part, start in enumerate(range(0, len(held), _MOST_BARS)):
                yield self._stack(f"mirage-shares-{number}-{part}", system, held[start : start + _MOST_BARS])

    def _stack(self, key: str, system: str, held: Sequence[tuple[Condition, Shares]]) -> Chart:
        series = tuple(
            Series(
                self.words[name],
                tuple(point for at, (_, found) in enumerate(held) for point in found.measures[name].points(float(at))),
            )
            for name in _STACK
        )
        rows = [
            self.words["alt_share"].format(
                name=self.names.short(spot),
                **dict(zip(("nv", "ca", "ci", "cm"), (_told(found.measures[m].value) for m in MEASURES), strict=True)),
            )
            for spot, found in held
        ]
        alt = self.words["alt_shares"].format(system=system, rows=self.words["separator"].join(rows))
        title = self.words["chart_shares"].format(system=system)
        categories = tuple(self.names.short(spot) for spot, _ in held)
        return Chart(key, title, "bars", series, categories=categories, alt=alt, stacked=True)

    # -- against k

    def by_k(self) -> Iterator[Chart]:
        """For each system: right answers, and noise vulnerability where a supporting chunk was given, against k."""
        for number, system in enumerate(self.tally.systems):
            title = self.words["chart_quality"].format(system=system)
            curves = self._curves(system, lambda spot, one=system: self._right(one, spot))  # type: ignore[misc]
            yield from self._lines(f"mirage-k-{number}", title, curves, "chunks", "share_right")
            title = self.words["chart_vulnerability"].format(system=system)
            curves = self._curves(system, lambda spot, one=system: self._vulnerable(one, spot))  # type: ignore[misc]
            yield from self._lines(f"mirage-vulnerability-{number}", title, curves, "chunks", "share_wrong")

    def _curves(self, system: str, share: Callable[[Condition], Estimate]) -> Iterator[Series]:
        """A curve a retriever and chunk size over its k."""
        by_name: dict[str, list[Point]] = {}
        for spot in self.tally.spots(system):
            if is_choice(spot) and (points := share(spot).points(float(spot.k))):
                by_name.setdefault(self._retriever(spot), []).extend(points)
        return (Series(name, tuple(points)) for name, points in by_name.items())

    def _right(self, system: str, spot: Condition) -> Estimate:
        cube = self.tally.cube(system, (spot,), self.headline)
        return Estimate() if cube is None else cube.share(is_right)

    def _vulnerable(self, system: str, spot: Condition) -> Estimate:
        held = shares_of(self.tally, system, spot, self.headline)
        return Estimate() if held is None else held.given_gold

    def recall(self) -> Iterator[Chart]:
        """Recall of each retriever against k."""
        series = []
        for retriever, chunk in sorted(self.tally.found):
            points = []
            for k in shown_ks(self.tally, self.ks, retriever, chunk):
                points += mean_of(retrieved(self.tally, retriever, chunk, k)["recall"]).points(k)
            series.append(Series(self._retriever(Condition("retrieved", retriever, 1, chunk)), tuple(points)))
        return self._lines("mirage-recall", self.words["chart_recall"], series, "chunks", "recall")

    def _retriever(self, spot: Condition) -> str:
        size = f" ({self.words['tokens_size'].format(n=spot.chunk)})" if spot.chunk else ""
        return f"{self.names.context(spot)}{size}"

    # -- against what it takes

    def prices(self) -> Iterator[Chart]:
        """Right answers against tokens and against seconds."""
        held = [one for one in priced(self.tally, self.headline) if is_choice(one.spot)]
        yield from self._price("mirage-tokens", "chart_cost", "tokens_axis", held, lambda one: one.tokens, 1)
        yield from self._price("mirage-seconds", "chart_latency", "seconds_axis", held, lambda one: one.seconds, 3)

    def _price(
        self,
        key: str,
        title: str,
        axis: str,
        held: Sequence[Priced],
        cost: Callable[[Priced], float | None],
        digits: int,
    ) -> Iterator[Chart]:
        """A curve a system and retriever over its k, and the front over all of them, also where the curves are parted;
        nothing where one point is all."""
        points: list[tuple[Priced, Point]] = []
        for one in held:
            spent = cost(one)
            if spent is not None:
                points += [(one, point) for point in one.right.points(float(round(spent, digits)))]
        if len(points) < 2:
            return
        by_name: dict[str, list[Point]] = {}
        for one, point in points:
            by_name.setdefault(self._priced(one), []).append(point)
        best = on_front([(point.x, point.y) for _, point in points])
        front = [pair for pair, good in zip(points, best, strict=True) if good]
        curves = [Series(name, tuple(line)) for name, line in by_name.items()]
        line = tuple(Point(x, y) for x, y in sorted({(point.x, point.y) for _, point in front}))
        names = self.words["separator"].join(f"{one.system}, {self.names.short(one.spot)}" for one, _ in front[:20])
        for name, some in _parted(key, curves, _MOST_CURVES - 1):
            alt = self._alt(some) + " " + self.words["alt_front"].format(names=names)
            yield Chart(
                name, self.words[title], "lines", (*some, Series(self.words["pareto"], line)), self.words[axis],
                self.words["share_right"], alt=alt,
            )  # fmt: skip

    def _priced(self, one: Priced) -> str:
        several = len(self.tally.systems) > 1
        context = self.names.context(one.spot) if one.spot == BASE else self._retriever(one.spot)
        return f"{one.system}, {context}" if several else context

    # -- what they share

    def _lines(self, key: str, title: str, curves: Iterable[Series], x: str, y: str) -> Iterator[Chart]:
        """Curves; none where no curve has two points."""
        series = list(curves)
        if any(len(one.points) > 1 for one in series):
            for name, some in _parted(key, series, _MOST_CURVES):
                yield Chart(name, title, "lines", tuple(some), self.words[x], self.words[y], alt=self._alt(some))

    def _alt(self, series: Iterable[Series]) -> str:
        return self.words["separator"].join(
            self.words["alt_curve"].format(
                name=one.name, points=", ".join(f"{point.x:g}: {_told(point.y)}" for point in one.points)
            )
            for one in series
        )


def _parted(key: str, curves: Sequence[Series], most: int) -> Iterator[tuple[str, Sequence[Series]]]:
    """The curves of each chart, with its id: as many in one as in another, or one less, and none left out."""
    parts = -(-len(curves) // most)
    ends = [len(curves) * part // parts for part in range(parts + 1)]
    for part, (start, end) in enumerate(pairwise(ends)):
        yield key if not part else f"{key}-part-{part}", curves[start:end]


def _told(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
