"""The charts of MIRAGE: the four shares with each context, quality against the number of chunks, and quality against
tokens and time with the Pareto front."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import Any

from ragstone.benchmarks.mirage.adaptability import MEASURES, Shares, shares_of
from ragstone.benchmarks.mirage.aggregate import BASE, OFFICIAL, Condition, MirageTally, tally_records
from ragstone.benchmarks.mirage.extra_tables import Priced, is_choice, is_right, on_front, priced
from ragstone.benchmarks.mirage.names import Names
from ragstone.benchmarks.mirage.published import options_of
from ragstone.benchmarks.mirage.retrieved import mean_of, retrieved, shown_ks
from ragstone.benchmarks.mirage.tables import headline_of
from ragstone.display import Chart, Point, Series
from ragstone.messages import messages
from ragstone.stats import Estimate
from ragstone.types import Run

_MOST_BARS = 24  # per chart; more are split
_MOST_CURVES = 12  # per chart; more are split
_STACK = (MEASURES[1], MEASURES[0], MEASURES[2], MEASURES[3])  # acceptability first


def charts(run: Run, *, language: str = "en") -> list[Chart]:
    """The charts of a run that have data, in the language of the report."""
    meta = run.meta
    ks = options_of(meta).get("ks", ())
    drawer = _MirageCharts(
        tally_records(run.records(texts=False)),
        headline_of(meta),
        messages(__name__, language),
        ks,
        meta.get("preparation"),
    )
    drawn = [drawer.grid(), *drawer.shares(), *drawer.by_k(), *drawer.recall(), *drawer.prices()]
    return [chart for chart in drawn if chart.series]


class _MirageCharts:
    def __init__(
        self, tally: MirageTally, headline: str, texts: Mapping[str, str], ks: Sequence[Any], preparation: Any
    ) -> None:  # fmt: skip
        self.tally, self.headline, self.words, self.ks = tally, headline, texts, ks
        self.preparation = preparation
        self.names = Names(tally, texts)

    # -- the grid

    def grid(self) -> Chart:
        """Right answers of each system without passages and with each retriever, at its best k: the best first."""
        best: dict[str, dict[str, Estimate]] = {}
        for system in self.tally.systems:
            for condition in filter(is_choice, self.tally.conditions(system)):
                name = self.names.context(condition) if condition == BASE else self._retriever(condition)
                right, cells = self._right(system, condition), best.setdefault(system, {})
                if name not in cells or (right.value or 0.0) > (cells[name].value or 0.0):
                    cells[name] = right
        names = dict.fromkeys(name for cells in best.values() for name in cells)
        columns = sorted(
            names, key=lambda name: -max(cells[name].value or 0.0 for cells in best.values() if name in cells)
        )
        series = tuple(
            Series(system, tuple(p for at, name in enumerate(columns) if name in cells for p in cells[name].points(at)))
            for system, cells in best.items()
            if len(columns) > 1 and any(right.value is not None for right in cells.values())
        )
        alt = self.words["separator"].join(
            self.words["alt_curve"].format(
                name=curve.name, points=", ".join(f"{columns[int(p.x)]}: {_percent_text(p.y)}" for p in curve.points)
            )
            for curve in series
        )
        return Chart(
            "mirage-grid", self.words["chart_grid"], "grid", series, categories=tuple(columns), alt=alt, leading=True
        )

    # -- stacked

    def shares(self) -> Iterator[Chart]:
        """A system's four shares with each context, stacked to 1. By the official rule, as in the paper."""
        for number, system in enumerate(self.tally.systems):
            contexts = [
                (condition, shares)
                for condition in self.tally.contexts(system)
                if (shares := shares_of(self.tally, system, condition, OFFICIAL)) is not None
            ]
            for part, start in enumerate(range(0, len(contexts), _MOST_BARS)):
                yield self._stack(f"mirage-shares-{number}-{part}", system, contexts[start : start + _MOST_BARS])

    def _stack(self, key: str, system: str, contexts: Sequence[tuple[Condition, Shares]]) -> Chart:
        series = tuple(
            Series(
                self.words[name],
                tuple(point for at, (_, shares) in enumerate(contexts) for point in shares.measures[name].points(at)),
            )
            for name in _STACK
        )
        rows = []
        for condition, shares in contexts:
            values = (_percent_text(shares.measures[name].value) for name in MEASURES)
            texts = dict(zip(("nv", "ca", "ci", "cm"), values, strict=True))
            rows.append(self.words["alt_share"].format(name=self.names.short(condition), **texts))
        alt = self.words["alt_shares"].format(system=system, rows=self.words["separator"].join(rows))
        title = self.words["chart_shares"].format(system=system)
        categories = tuple(self.names.short(condition) for condition, _ in contexts)
        return Chart(key, title, "bars", series, categories=categories, alt=alt, stacked=True)

    # -- against k

    def by_k(self) -> Iterator[Chart]:
        """For each system, against k: right answers, and noise vulnerability given a supporting chunk."""
        for number, system in enumerate(self.tally.systems):
            for name, title, share, axis in (
                ("k", "chart_quality", self._right, "share_right"),
                ("vulnerability", "chart_vulnerability", self._vulnerable, "share_wrong"),
            ):
                curves = self._curves(system, partial(share, system))
                text = self.words[title].format(system=system)
                yield from self._lines(f"mirage-{name}-{number}", text, curves, "chunks", axis)

    def _curves(self, system: str, share: Callable[[Condition], Estimate]) -> Iterator[Series]:
        """One curve over k per retriever and chunk size."""
        by_name: dict[str, list[Point]] = {}
        for condition in self.tally.contexts(system):
            if is_choice(condition) and (points := share(condition).points(float(condition.k))):
                by_name.setdefault(self._retriever(condition), []).extend(points)
        return (Series(name, tuple(points)) for name, points in by_name.items())

    def _right(self, system: str, condition: Condition) -> Estimate:
        crosstab = self.tally.crosstab(system, (condition,), self.headline)
        return Estimate() if crosstab is None else crosstab.share(is_right)

    def _vulnerable(self, system: str, condition: Condition) -> Estimate:
        shares = shares_of(self.tally, system, condition, self.headline)
        return Estimate() if shares is None else shares.given_gold

    def recall(self) -> Iterator[Chart]:
        """Recall of each retriever against k."""
        series = []
        for retriever, chunk in sorted(self.tally.found):
            points = []
            for k in shown_ks(self.tally, self.ks, retriever, chunk):
                points += mean_of(retrieved(self.tally, retriever, chunk, k)["recall"]).points(k)
            series.append(Series(self._retriever(Condition("retrieved", retriever, 1, chunk)), tuple(points)))
        return self._lines("mirage-recall", self.words["chart_recall"], series, "chunks", "recall")

    def _retriever(self, condition: Condition) -> str:
        size = f" ({self.words['tokens_size'].format(n=condition.chunk)})" if condition.chunk else ""
        return f"{self.names.context(condition)}{size}"

    # -- against cost

    def prices(self) -> Iterator[Chart]:
        """Right answers against tokens and against seconds."""
        prices = [price for price in priced(self.tally, self.headline, self.preparation) if is_choice(price.condition)]
        yield from self._price("mirage-tokens", "chart_cost", "tokens_axis", prices, attrgetter("tokens"), 1)
        yield from self._price("mirage-seconds", "chart_latency", "seconds_axis", prices, attrgetter("seconds"), 3)

    def _price(
        self,
        key: str,
        title: str,
        axis: str,
        prices: Sequence[Priced],
        cost: Callable[[Priced], float | None],
        digits: int,
    ) -> Iterator[Chart]:
        """One curve over k per system and retriever, and the front over all of them, even if the curves are split; none
        for a single point."""
        points: list[tuple[Priced, Point]] = []
        for price in prices:
            spent = cost(price)
            if spent is not None:
                points += [(price, point) for point in price.right.points(float(round(spent, digits)))]
        if len(points) < 2:
            return
        by_name: dict[str, list[Point]] = {}
        for price, point in points:
            by_name.setdefault(self._priced(price), []).append(point)
        best = on_front([(point.x, point.y) for _, point in points])
        front = [pair for pair, good in zip(points, best, strict=True) if good]
        curves = [Series(name, tuple(line)) for name, line in by_name.items()]
        line = tuple(Point(x, y) for x, y in sorted({(point.x, point.y) for _, point in front}))
        names = self.words["separator"].join(f"{p.system}, {self.names.short(p.condition)}" for p, _ in front[:20])
        everyone = {price.system for price, _ in points} == {*self.tally.systems}
        for name, some_curves in _parted(key, curves, _MOST_CURVES - 1):
            alt = self._alt(some_curves) + " " + self.words["alt_front"].format(names=names)
            yield Chart(
                name, self.words[title], "lines", (*some_curves, Series(self.words["pareto"], line)),
                self.words[axis], self.words["share_right"], alt=alt,
                leading=name == "mirage-tokens" and everyone,
            )  # fmt: skip

    def _priced(self, price: Priced) -> str:
        multiple = len(self.tally.systems) > 1
        context = self.names.context(price.condition) if price.condition == BASE else self._retriever(price.condition)
        return f"{price.system}, {context}" if multiple else context

    # -- what they share

    def _lines(self, key: str, title: str, curves: Iterable[Series], x: str, y: str) -> Iterator[Chart]:
        """Line charts; none if no curve has two points."""
        series = list(curves)
        if any(len(curve.points) > 1 for curve in series):
            for name, part in _parted(key, series, _MOST_CURVES):
                yield Chart(name, title, "lines", tuple(part), self.words[x], self.words[y], alt=self._alt(part))

    def _alt(self, series: Iterable[Series]) -> str:
        curves = []
        for curve in series:
            points = ", ".join(f"{point.x:g}: {_percent_text(point.y)}" for point in curve.points)
            curves.append(self.words["alt_curve"].format(name=curve.name, points=points))
        return self.words["separator"].join(curves)


def _parted(key: str, curves: Sequence[Series], most: int) -> Iterator[tuple[str, Sequence[Series]]]:
    """Split the curves evenly into charts: (id, curves)."""
    parts = -(-len(curves) // most)
    ends = [len(curves) * part // parts for part in range(parts + 1)]
    for part, (start, end) in enumerate(pairwise(ends)):
        yield key if not part else f"{key}-part-{part}", curves[start:end]


def _percent_text(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
