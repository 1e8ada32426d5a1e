"""The charts of RGB: the four abilities at a glance, and accuracy against noise for each language."""

from collections.abc import Mapping
from dataclasses import dataclass

from ragstone.benchmarks.rgb import extra_tables as details
from ragstone.benchmarks.rgb.aggregate import ABILITIES, Counts, Key, count
from ragstone.benchmarks.rgb.names import language_name, ratio_text, share_text
from ragstone.benchmarks.rgb.published import Setting, apart, paper
from ragstone.benchmarks.rgb.tables import Asked, setting
from ragstone.messages import messages
from ragstone.types import Chart, Point, Run, Series

__all__ = ["charts"]

_TABLE = {"noise": 1, "integration": 5}


def charts(run: Run, benchmark: Asked, language: str = "en") -> list[Chart]:
    """The charts of a run, in the language of the report; only those that have something to show."""
    counts = count(run, scoring=str(benchmark.options.get("scoring", "default")), kinds=False)
    drawer = _Drawer(counts, setting(benchmark.options), messages(__name__, language))
    languages = list(dict.fromkeys(of for _, of in details.systems(counts)))
    made = [drawer.glance()]
    made += [drawer.curve(ability, of) for ability in _TABLE for of in languages]
    return [chart for chart in made if chart.series]


@dataclass(frozen=True)
class _Drawer:
    """Draws the charts of one run."""

    counts: Counts
    setting: Setting
    words: Mapping[str, str]

    def glance(self) -> Chart:
        """Bars: one category for each ability and language, one series for each system."""
        asked = list(dict.fromkeys(details.systems(self.counts)))
        languages = list(dict.fromkeys(language for _, language in asked))
        bars = [
            (ability, language)
            for ability in ABILITIES
            for language in languages
            if any(key.language == language for key in self.counts.keys(ability))
        ]
        series, told = [], []
        for system in dict.fromkeys(system for system, _ in asked):
            points, values = [], []
            for place, (ability, language) in enumerate(bars):
                found = details.pooled(self.counts, system, language, ability)
                if found is None or not found[0].scored:
                    continue
                share = found[0].share()
                points += share.points(float(place))
                name = language_name(language, self.words)
                values.append(
                    self.words["alt_value"].format(ability=self.words[ability], language=name, value=share_text(share))
                )
            if points:
                series.append(Series(system, tuple(points)))
                joined = self.words["separator"].join(values)
                told.append(self.words["alt_system"].format(system=system, values=joined))
        names = tuple(
            self.words["group"].format(ability=self.words[ability], language=language_name(language, self.words))
            for ability, language in bars
        )
        alt = self._sentence(told)
        return Chart(
            "rgb-abilities", self.words["chart_summary"], "bars", tuple(series), y_label=self.words["share_right"],
            categories=names, alt=alt,
        )  # fmt: skip

    def curve(self, ability: str, language: str) -> Chart:
        """Lines: accuracy by noise ratio, one for each system, with the paper's models where they are comparable."""
        lines: dict[tuple[str, str, float], list[Key]] = {}
        keys = [key for key in self.counts.keys(ability) if key.language == language]
        for key in keys:
            lines.setdefault((key.system, key.dataset, key.correct_rate), []).append(key)
        drops = {
            (drop.key.system, drop.key.dataset, drop.key.correct_rate): drop
            for drop in details.drops(self.counts, ability)
        }
        several = len({(dataset, rate) for _, dataset, rate in lines}) > 1
        series, told = [], []
        for line, conditions in lines.items():
            name = f"{line[0]} ({line[1]})" if several else line[0]
            points, finding = self._line(conditions)
            if points:
                series.append(Series(name, tuple(points)))
                told.append(self._told(name, finding, drops[line]))
        title = self.words[f"chart_{ability}"].format(language=language_name(language, self.words))
        published = self._published(_TABLE[ability], language, keys) if series else []
        alt = self._sentence(told)
        if published:
            alt = f"{alt} {self.words['alt_published'].format(count=len(published))}"
        return Chart(
            f"rgb-{ability}-{language}", title, "lines", (*series, *published), x_label=self.words["noise_ratio"],
            y_label=self.words["accuracy"], alt=alt,
        )  # fmt: skip

    def _line(self, conditions: list[Key]) -> tuple[list[Point], list[tuple[float, str]]]:
        """The points of a curve, and (ratio, share in words) of each."""
        points, finding = [], []
        for key in sorted(conditions, key=lambda key: key.noise_ratio):
            tally = self.counts.cells[key].tally("Acc", self.counts.scoring)
            if tally is not None and tally.scored:
                points += tally.share().points(key.noise_ratio)
                finding.append((key.noise_ratio, share_text(tally.share())))
        return points, finding

    def _told(self, name: str, finding: list[tuple[float, str]], drop: details.Drop) -> str:
        """The finding of one curve in words: where it begins, where it ends, and from where on it is lower."""
        (low, first), (high, last) = finding[0], finding[-1]
        if low == high:
            return self.words["alt_one"].format(system=name, first=first, low=ratio_text(low))
        told = self.words["alt_range"].format(
            system=name, first=first, low=ratio_text(low), last=last, high=ratio_text(high)
        )
        if not drop.tested:
            return told
        verdict = self.words["alt_no_drop"]
        if drop.first is not None:
            verdict = self.words["alt_drop"].format(ratio=ratio_text(drop.first))
        return f"{told}{self.words['separator']}{verdict}"

    def _published(self, number: int, language: str, keys: list[Key]) -> list[Series]:
        measured = [(key.dataset, len(self.counts.cells[key].asked)) for key in keys]
        if language not in paper().table(number).datasets or apart(number, language, self.setting, measured):
            return []
        return [
            Series(model, tuple(Point(ratio, figure.share) for (_, ratio), figure in sorted(figures.items())), True)
            for (model, of), figures in paper().rows(number).items()
            if of == language
        ]

    def _sentence(self, told: list[str]) -> str:
        return self.words["alt_join"].join(told) + self.words["alt_end"]
