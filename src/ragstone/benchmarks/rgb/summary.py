"""The verdict of an RGB run: where each system is worst, and what it reaches in each ability with the most noise."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from ragstone.benchmarks.rgb import extra_tables
from ragstone.benchmarks.rgb.aggregate import ABILITIES, RgbCounts, count_run, language_name, ratio_text
from ragstone.benchmarks.rgb.tables import HasOptions
from ragstone.benchmarks.verdicts import asked, percent
from ragstone.display import Figure, Summary
from ragstone.messages import messages
from ragstone.stats import Estimate
from ragstone.types import Run


def summaries(run: Run, benchmark: HasOptions, language: str = "en") -> dict[str, Summary]:
    """The verdict of each system with scored answers: the ability in which it is worst. Its figures are one for each
    ability and language of its questions; a chart shows them side by side."""
    counts = count_run(run, scoring=str(benchmark.options.get("scoring", "default")), kinds=False)
    words = messages(__name__, language)
    pairs = extra_tables.systems(counts)
    several = len({of for _, of in pairs}) > 1
    shown: dict[str, dict[str, list[Figure]]] = {}
    for system, of in pairs:
        if figures := [
            Figure(label, percent(share), share.value, share.n, planned)
            for label, share, planned in hardest(counts, system, of, words)
        ]:
            shown.setdefault(system, {})[of] = figures
    summaries = {}
    for system, by_language in shown.items():
        names = {of: language_name(of, words) if several else "" for of in by_language}
        first, worst = min(
            ((of, figure) for of, figures in by_language.items() for figure in figures),
            key=lambda pair: pair[1].value or 0.0,
        )
        of_language = words["in_language"].format(language=names[first]) if several else ""
        n = asked(worst.n, worst.planned, language)
        told = words["figure"].format(label=worst.label, share=worst.text)
        verdict = words["verdict"].format(system=system, name=of_language, figure=told, n=n)
        named = [
            replace(figure, label=figure.label + (words["in_language"].format(language=names[of]) if several else ""))
            for of, figures in by_language.items()
            for figure in figures
        ]
        summaries[system] = Summary("", verdict, figures=tuple(named))
    return summaries


def hardest(
    counts: RgbCounts, system: str, of: str, words: Mapping[str, str]
) -> Iterator[tuple[str, Estimate, int]]:  # fmt: skip
    """What the system reaches in each ability with the most noise that it was asked with, and how many answers were
    asked for; nothing is pooled over conditions, and answers without documents are no part of it."""
    for ability in ABILITIES:
        keys = [key for key in counts.keys(ability) if (key.system, key.language) == (system, of)]
        if not keys:
            continue
        key = max(keys, key=lambda one: one.noise_ratio)
        tally = counts.cells[key].tally(extra_tables.HEADLINE[ability], counts.scoring)
        if tally is not None and tally.scored:
            label = words[f"figure_{ability}"].format(ratio=ratio_text(key.noise_ratio))
            yield label, tally.share(), counts.cells[key].total
