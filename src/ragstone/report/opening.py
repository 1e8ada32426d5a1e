"""What a page and the terminal open with: the summaries of the benchmark, which of two systems is better, and the most
frequent causes of wrong answers."""

import re
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from ragstone.analysis.power import spread_of
from ragstone.display import Action, Summary
from ragstone.messages import messages
from ragstone.report.digest import OTHER, Digest, SystemDigest
from ragstone.stats import Estimate
from ragstone.types import Benchmark, Run

__all__ = ["opening"]

_ACTIONS = 3
_BREAKS = re.compile(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")


def opening(run: Run, benchmark: Benchmark, digest: Digest, *, language: str = "en") -> dict[str, Summary]:
    """The summaries by system, those of all systems first under "". A benchmark whose summaries have actions of their
    own keeps them."""
    summaries = {
        system: _unbroken(summary, run.systems) for system, summary in benchmark.summary(run, language=language).items()
    }
    if not summaries or any(summary.bars for summary in summaries.values()):
        return summaries
    words = messages(__name__, language)
    common = summaries.pop("", Summary("", ""))
    verdict = "\n".join(filter(None, (common.verdict, _better(digest, words))))
    if not any(summary.actions for summary in summaries.values()):
        common = replace(common, actions=_causes(digest, words))
    common = _unbroken(replace(common, verdict=verdict), run.systems)
    return ({"": common} if common.verdict or common.actions else {}) | summaries


def _unbroken(summary: Summary, systems: Iterable[str]) -> Summary:
    """The summary with the line breaks in names of systems marked: a line of a verdict is a sentence of ours."""
    for name in systems:
        marked = _BREAKS.sub("␤", name)
        if marked != name:
            summary = replace(summary, verdict=summary.verdict.replace(name, marked))
    return summary


def _better(digest: Digest, words: Mapping[str, str]) -> str:
    """Which of the two best systems has more right answers to the questions that both answered equally often, or that
    the data cannot tell; "" for a single system."""
    decided = {name: system for name, system in digest.systems.items() if system.samples}
    if len(decided) < 2:
        return ""
    first, second = sorted(decided, key=lambda name: -_share(decided[name]))[:2]
    a, b, groups = _paired(decided[second], decided[first])
    gain = Estimate.of_difference([y - x for x, y in zip(a, b, strict=True)], groups=groups)
    if gain.known is None:
        return ""
    value, low, high = gain.known
    values = {"a": first, "b": second, "n": f"{len({*groups}):,}", "gain": _points(value, value),
              "low": _points(low, value), "high": _points(high, value)}  # fmt: skip
    if low > 0 or high < 0:
        return words["better"].format(**values)
    needed = spread_of(a, b, groups).needed(value) if value else 0
    return words["cannot_tell" if needed > len({*groups}) else "no_difference"].format(**values, needed=f"{needed:,}")


def _points(points: float, size: float) -> str:
    """Percentage points, with a decimal only where the difference is below 10 of them."""
    text = f"{100 * points:.{int(abs(size) < 0.1)}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


def _share(system: SystemDigest) -> float:
    return system.counts.right / max(1, system.counts.right + system.counts.wrong)


def _paired(a: SystemDigest, b: SystemDigest) -> tuple[list[float], list[float], list[int]]:
    """For each answer to a common question the share of right answers to it of both, and the question's number."""
    first: list[float] = []
    second: list[float] = []
    groups: list[int] = []
    for number, (sample, (right, n)) in enumerate(a.samples.items()):
        other, also = b.samples.get(sample, (0, 0))
        if n == also:
            first += [right / n] * n
            second += [other / n] * n
            groups += [number] * n
    return first, second, groups


def _causes(digest: Digest, words: Mapping[str, str]) -> tuple[Action, ...]:
    """The most frequent causes of wrong answers, each of a system."""
    counts = {
        (name, cause): sum(causes[cause] for causes in system.causes.values())
        for name, system in digest.systems.items()
        for cause in dict.fromkeys(cause for causes in system.causes.values() for cause in causes)
        if cause != OTHER
    }
    several = len(digest.systems) > 1
    actions = []
    for name, cause in sorted(counts, key=lambda key: (-counts[key], key))[:_ACTIONS]:
        text = words["cause"].format(
            cause=digest.labels.get(cause, cause), n=f"{counts[name, cause]:,}",
            wrong=f"{digest.systems[name].counts.wrong:,}",
        )  # fmt: skip
        text = words["of_system"].format(system=name, text=text) if several else text
        actions.append(Action(text, cause=(name, cause)))
    return tuple(actions)
