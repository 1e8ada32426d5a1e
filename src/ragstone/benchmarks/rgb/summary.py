"""The verdict of an RGB run: a sentence for each system about the four abilities."""

from collections.abc import Iterator, Mapping

from ragstone.benchmarks.rgb import extra_tables
from ragstone.benchmarks.rgb.aggregate import ABILITIES, RgbCounts, count_run, language_name, ratio_text
from ragstone.benchmarks.rgb.tables import HasOptions
from ragstone.benchmarks.verdicts import asked, percent
from ragstone.display import Figure, Summary
from ragstone.messages import messages
from ragstone.types import Run

_FIGURES = 2  # of a system and language in its sentence; the pictures beside it have all four


def summaries(run: Run, benchmark: HasOptions, language: str = "en") -> dict[str, Summary]:
    """The verdict of each system with scored answers: a sentence for each language of its questions."""
    counts = count_run(run, scoring=str(benchmark.options.get("scoring", "default")), kinds=False)
    words = messages(__name__, language)
    pairs = extra_tables.systems(counts)
    several = len({of for _, of in pairs}) > 1
    sentences: dict[str, list[str]] = {}
    figures_of: dict[str, list[Figure]] = {}
    for system, of in pairs:
        figures_of.setdefault(system, []).extend(_hardest(counts, system, of, words, several=several))
        if figures := list(_figures(counts, system, of, words))[:_FIGURES]:
            name = words["in_language"].format(language=language_name(of, words)) if several else ""
            sentence = words["verdict"].format(
                system=system, figures=name + words["and"].join(figures), n=_asked(counts, system, of, language)
            )
            sentences.setdefault(system, []).append(sentence)
    return {
        system: Summary("", "\n".join(found), figures=tuple(figures_of[system])) for system, found in sentences.items()
    }


def _hardest(counts: RgbCounts, system: str, of: str, words: Mapping[str, str], *, several: bool) -> Iterator[Figure]:
    """What the system reaches in each ability with the most noise that it was asked with; nothing is pooled over
    conditions, and answers without documents are no part of it."""
    for ability in ABILITIES:
        keys = [key for key in counts.keys(ability) if (key.system, key.language) == (system, of)]
        if not keys:
            continue
        key = max(keys, key=lambda one: one.noise_ratio)
        tally = counts.cells[key].tally(extra_tables.HEADLINE[ability], counts.scoring)
        if tally is None or not tally.scored:
            continue
        share = tally.share()
        label = words[f"figure_{ability}"].format(ratio=ratio_text(key.noise_ratio))
        name = words["figure_of"].format(figure=label, language=language_name(of, words)) if several else label
        yield Figure(name, percent(share), share.value, tally.scored)


def _figures(counts: RgbCounts, system: str, of: str, words: Mapping[str, str]) -> Iterator[str]:
    """What the system reaches in each ability: with noise at the least and the most of it, else over all conditions."""
    by_ratio = {
        key.noise_ratio: tally.share()
        for key in counts.keys("noise")
        if (key.system, key.language) == (system, of)
        and (tally := counts.cells[key].tally("Acc", counts.scoring)) is not None
        and tally.scored
    }
    if by_ratio:
        first, last = min(by_ratio), max(by_ratio)
        figure = words["noise_first"].format(figure=percent(by_ratio[first]), ratio=ratio_text(first))
        if last > first:
            figure += words["noise_last"].format(figure=percent(by_ratio[last]), ratio=ratio_text(last))
        yield figure
    for ability in ("rejection", "integration", "counterfactual"):
        pool = extra_tables.pooled(counts, system, of, ability)
        if pool is not None and pool[0].scored:
            yield words[f"verdict_{ability}"].format(figure=percent(pool[0].share()))


def _asked(counts: RgbCounts, system: str, of: str, language: str) -> str:
    cells = [cell for key, cell in counts.cells.items() if (key.system, key.language) == (system, of)]
    scored = sum(
        max((tally.scored for (_, scoring), tally in cell.tallies.items() if scoring == counts.scoring),
            default=0) for cell in cells
    )  # fmt: skip
    return asked(scored, sum(cell.total for cell in cells), language)
