"""The verdict of an RGB run: where each system is worst, and what it reaches in each ability with the most noise."""

import math
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from ragstone.benchmarks.rgb import extra_tables
from ragstone.benchmarks.rgb.aggregate import (
    ABILITIES,
    RgbCounts,
    SampleTally,
    count_run,
    language_name,
    ratio_text,
)
from ragstone.benchmarks.rgb.tables import HasOptions
from ragstone.benchmarks.verdicts import asked, percent
from ragstone.display import Figure, Summary
from ragstone.messages import messages
from ragstone.stats.decision import LEVEL, Decision, decide, family
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
            Figure(label, percent(tally.share()), tally.share().value, tally.scored, planned)
            for label, tally, planned in hardest(counts, system, of, words)
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
    if len(summaries) < 2:
        return summaries
    return {"": Summary("", _compared(counts, summaries, words))} | summaries


def _compared(counts: RgbCounts, summaries: Mapping[str, Summary], words: Mapping[str, str]) -> str:
    """In which abilities the better of the two systems with the highest figures differs from the other, over all noise
    ratios: by the same questions, corrected by Holm for all abilities and languages. The two are chosen from all
    systems, so what is said holds for all comparisons of two."""

    def height(system: str) -> float:
        values = [figure.value or 0.0 for figure in summaries[system].figures]
        return sum(values) / len(values)

    a, b = sorted(summaries, key=height, reverse=True)[:2]
    languages = list(dict.fromkeys(of for _, of in extra_tables.systems(counts)))
    decisions = {
        (ability, of): decision
        for ability in ABILITIES
        for of in languages
        if (decision := _decision(counts, (b, a), of, ability)) is not None
    }
    choices = math.comb(len(summaries), 2)
    told: dict[str, list[str]] = {"ahead": [], "behind": []}
    for (ability, of), (p, level) in zip(decisions, family(list(decisions.values())), strict=True):
        ends = decisions[ability, of].interval(level / choices)
        if p * choices < LEVEL and ends is not None:
            language = words["in_language"].format(language=language_name(of, words)) if len(languages) > 1 else ""
            ahead = decisions[ability, of].difference > 0
            gain, low, high = (round(100 * abs(value)) for value in (decisions[ability, of].difference, *ends))
            cell = words["cell"].format(ability=words[ability], language=language, gain=gain, low=min(low, high),
                                        high=max(low, high))  # fmt: skip
            told["ahead" if ahead else "behind"].append(cell)
    sides = [words[side].format(b=b, cells=words["and"].join(cells)) for side, cells in told.items() if cells]
    if not sides:
        return words["alike"].format(a=a, b=b) if decisions else ""
    choice = words["choice"].format(m=len(summaries)) if choices > 1 else ""
    return words["compared"].format(a=a, cells=words["then"].join(sides), choice=choice)


def _decision(counts: RgbCounts, pair: tuple[str, str], of: str, ability: str) -> Decision | None:
    """The decision between two systems in an ability and a language, by the questions that both answered equally often;
    None without one."""
    first, second = (extra_tables.pooled(counts, system, of, ability) for system in pair)
    if first is None or second is None:
        return None
    a, b = first[0].samples, second[0].samples
    shared = [sample for sample, (_, tried) in a.items() if b.get(sample, (0, 0))[1] == tried]
    one, other = ([won / tried for won, tried in map(side.__getitem__, shared)] for side in (a, b))
    return decide(one, other) if shared else None


def hardest(
    counts: RgbCounts, system: str, of: str, words: Mapping[str, str]
) -> Iterator[tuple[str, SampleTally, int]]:  # fmt: skip
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
            yield label, tally, counts.cells[key].total
