"""The charts of RGB, one for each ability: accuracy against noise for each language, and shares."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragstone.benchmarks.rgb import extra_tables, summary
from ragstone.benchmarks.rgb.aggregate import (
    RgbCounts,
    RgbKey,
    count_run,
    language_name,
    ratio_text,
    share_text,
)
from ragstone.benchmarks.rgb.published import RgbSetting, paper, reasons_apart
from ragstone.benchmarks.rgb.summary import hardest
from ragstone.benchmarks.rgb.tables import HasOptions, setting
from ragstone.display import Chart, Point, Series
from ragstone.messages import messages
from ragstone.types import Run

if TYPE_CHECKING:
    from ragstone.stats import Estimate

_TABLE = {"noise": 1, "integration": 5}


def charts(run: Run, benchmark: HasOptions, language: str = "en") -> list[Chart]:
    """The charts of a run that have data, in the language of the report."""
    counts = count_run(run, scoring=str(benchmark.options.get("scoring", "default")), kinds=False)
    drawer = _RgbCharts(
        counts, setting(benchmark.options), messages(__name__, language), messages(summary.__name__, language)
    )
    languages = list(dict.fromkeys(of for _, of in extra_tables.systems(counts)))
    drawn = [] if (grid := drawer.grid()) is None else [grid]
    drawn += [drawer.curve(ability, of) for ability in _TABLE for of in languages]
    drawn += [drawer.bars(ability, languages, leading=grid is None) for ability in ("rejection", "counterfactual")]
    return [chart for chart in drawn if chart.series]


@dataclass(frozen=True)
class _RgbCharts:
    """Draws the charts of one run."""

    counts: RgbCounts
    setting: RgbSetting
    words: Mapping[str, str]
    summary_words: Mapping[str, str]

    def bars(self, ability: str, languages: Sequence[str], *, leading: bool) -> Chart:
        """Bars: one category for each language of the questions, one series for each system."""
        series, descriptions = [], []
        for system in dict.fromkeys(system for system, _ in extra_tables.systems(self.counts)):
            points, values = [], []
            for place, language in enumerate(languages):
                pool = extra_tables.pooled(self.counts, system, language, ability)
                if pool is None or not pool[0].scored:
                    continue
                share = pool[0].share()
                points += share.points(float(place))
                name = language_name(language, self.words)
                values.append(
                    self.words["alt_value"].format(ability=self.words[ability], language=name, value=share_text(share))
                )
            if points:
                series.append(Series(system, tuple(points)))
                joined = self.words["separator"].join(values)
                descriptions.append(self.words["alt_system"].format(system=system, values=joined))
        return Chart(
            f"rgb-{ability}", self.words[f"chart_{ability}"], "bars", tuple(series), y_label=self.words["share_right"],
            categories=tuple(language_name(language, self.words) for language in languages),
            alt=self._sentence(descriptions), leading=leading,
        )  # fmt: skip

    def grid(self) -> Chart | None:
        """Each ability with the most noise, a row for each system and language: the worst row first. None for fewer
        than two abilities: what is measured has a picture of its own."""
        pairs = extra_tables.systems(self.counts)
        several = len({of for _, of in pairs}) > 1
        rows: dict[str, dict[str, Estimate]] = {}
        for system, of in pairs:
            name = self.words["row"].format(system=system, language=language_name(of, self.words))
            cells = rows.setdefault(name if several else system, {})
            cells |= {label: tally.share() for label, tally, _ in hardest(self.counts, system, of, self.summary_words)}
        rows = dict(sorted(rows.items(), key=lambda row: min((one.value or 0.0 for one in row[1].values()), default=1)))
        columns = list(dict.fromkeys(label for cells in rows.values() for label in cells))
        if len(columns) < 2:
            return None
        sizes = sorted({share.n for cells in rows.values() for share in cells.values()})
        series = tuple(
            Series(name, tuple(point for label, share in cells.items() for point in share.points(columns.index(label))))
            for name, cells in rows.items()
        )
        title = self.words["chart_abilities"].format(n="–".join(f"{n:,}" for n in (sizes[:1] + sizes[1:][-1:])))
        alt = self._sentence(
            self.words["alt_system"].format(
                system=name,
                values=self.words["separator"].join(f"{label} {share_text(cells[label])}" for label in cells),
            )
            for name, cells in rows.items()
        )
        return Chart(
            "rgb-abilities", title, "grid", series, categories=tuple(columns), alt=alt, leading=True, lowest=True
        )

    def curve(self, ability: str, language: str) -> Chart:
        """Lines: accuracy by noise ratio, one for each system, with the paper's models where they are comparable."""
        lines: dict[tuple[str, str, float], list[RgbKey]] = {}
        keys = [key for key in self.counts.keys(ability) if key.language == language]
        for key in keys:
            lines.setdefault((key.system, key.dataset, key.correct_rate), []).append(key)
        drops = {
            (drop.key.system, drop.key.dataset, drop.key.correct_rate): drop
            for drop in extra_tables.drops(self.counts, ability)
        }
        multiple = len({(dataset, rate) for _, dataset, rate in lines}) > 1
        series, descriptions = [], []
        for line, conditions in lines.items():
            name = f"{line[0]} ({line[1]})" if multiple else line[0]
            points, finding = self._line(conditions)
            if points:
                series.append(Series(name, tuple(points)))
                descriptions.append(self._curve_text(name, finding, drops[line]))
        title = self.words[f"chart_{ability}"].format(language=language_name(language, self.words))
        published = self._published(_TABLE[ability], language, keys) if series else []
        alt = self._sentence(descriptions)
        if published:
            alt = f"{alt} {self.words['alt_published'].format(count=len(published))}"
        return Chart(
            f"rgb-{ability}-{language}", title, "lines", (*series, *published), x_label=self.words["noise_ratio"],
            y_label=self.words["accuracy"], alt=alt, leading=True,
        )  # fmt: skip

    def _line(self, conditions: list[RgbKey]) -> tuple[list[Point], list[tuple[float, str]]]:
        """The points of a curve, and (ratio, share in words) of each."""
        points, finding = [], []
        for key in sorted(conditions, key=lambda key: key.noise_ratio):
            tally = self.counts.cells[key].tally("Acc", self.counts.scoring)
            if tally is not None and tally.scored:
                points += tally.share().points(key.noise_ratio)
                finding.append((key.noise_ratio, share_text(tally.share())))
        return points, finding

    def _curve_text(self, name: str, finding: list[tuple[float, str]], drop: extra_tables.Drop) -> str:
        """One curve as text: where it begins, where it ends, and from which ratio on it is lower."""
        (low, first), (high, last) = finding[0], finding[-1]
        if low == high:
            return self.words["alt_one"].format(system=name, first=first, low=ratio_text(low))
        text = self.words["alt_range"].format(
            system=name, first=first, low=ratio_text(low), last=last, high=ratio_text(high)
        )
        if not drop.tested:
            return text
        verdict = self.words["alt_no_drop"]
        if drop.first is not None:
            verdict = self.words["alt_drop"].format(ratio=ratio_text(drop.first))
        return f"{text}{self.words['separator']}{verdict}"

    def _published(self, number: int, language: str, keys: list[RgbKey]) -> list[Series]:
        measured = [(key.dataset, len(self.counts.cells[key].requested)) for key in keys]
        if language not in paper().table(number).datasets or reasons_apart(number, language, self.setting, measured):
            return []
        return [
            Series(model, tuple(Point(ratio, figure.share) for (_, ratio), figure in sorted(figures.items())), True)
            for (model, of), figures in paper().rows(number).items()
            if of == language
        ]

    def _sentence(self, descriptions: Iterable[str]) -> str:
        return self.words["alt_join"].join(descriptions) + self.words["alt_end"]
