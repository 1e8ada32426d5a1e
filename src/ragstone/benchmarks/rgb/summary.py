"""The verdict of an RGB run: a line for each system and language about the four abilities."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from ragstone.benchmarks.rgb import extra_tables
from ragstone.benchmarks.rgb.aggregate import ABILITIES, RgbCounts, count_run, language_name, ratio_text
from ragstone.benchmarks.rgb.tables import HasOptions
from ragstone.benchmarks.verdicts import asked, percent
from ragstone.display import Figure, Summary
from ragstone.messages import messages
from ragstone.types import Run


def summaries(run: Run, benchmark: HasOptions, language: str = "en") -> dict[str, Summary]:
    """The verdict of each system with scored answers: a line for each language of its questions, with the ability in
    which it is worst first."""
    counts = count_run(run, scoring=str(benchmark.options.get("scoring", "default")), kinds=False)
    words = messages(__name__, language)
    pairs = extra_tables.systems(counts)
    several = len({of for _, of in pairs}) > 1
    lines: dict[str, list[str]] = {}
    shown: dict[str, list[Figure]] = {}
    for system, of in pairs:
        figures = list(_hardest(counts, system, of, words))
        if not figures:
            continue
        name = words["in_language"].format(language=language_name(of, words)) if several else ""
        worst_first = sorted(figures, key=lambda figure: figure.value or 0.0)
        told = words["and"].join(words["figure"].format(label=one.label, share=one.text) for one in worst_first)
        line = words["verdict"].format(system=system, name=name, figures=told, n=_asked(counts, system, of, language))
        lines.setdefault(system, []).append(line)
        shown.setdefault(system, []).extend(
            replace(figure, label=words["figure_of"].format(figure=figure.label, name=name)) for figure in figures
        )
    return {system: Summary("", "\n".join(found), figures=tuple(shown[system])) for system, found in lines.items()}


def _hardest(counts: RgbCounts, system: str, of: str, words: Mapping[str, str]) -> Iterator[Figure]:
    """What the system reaches in each ability with the most noise that it was asked with; nothing is pooled over
    conditions, and answers without documents are no part of it."""
    for ability in ABILITIES:
        keys = [key for key in counts.keys(ability) if (key.system, key.language) == (system, of)]
        if not keys:
            continue
        key = max(keys, key=lambda one: one.noise_ratio)
        tally = counts.cells[key].tally(extra_tables.HEADLINE[ability], counts.scoring)
        if tally is not None and tally.scored:
            share = tally.share()
            label = words[f"figure_{ability}"].format(ratio=ratio_text(key.noise_ratio))
            yield Figure(label, percent(share), share.value, tally.scored)


def _asked(counts: RgbCounts, system: str, of: str, language: str) -> str:
    cells = [cell for key, cell in counts.cells.items() if (key.system, key.language) == (system, of)]
    scored = sum(
        max((tally.scored for (_, scoring), tally in cell.tallies.items() if scoring == counts.scoring),
            default=0) for cell in cells
    )  # fmt: skip
    return asked(scored, sum(cell.total for cell in cells), language)
