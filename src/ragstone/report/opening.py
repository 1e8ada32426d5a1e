"""What a page and the terminal open with: the summaries of the benchmark, which of two systems is better, the most
frequent causes of wrong answers, and systems that gave no answer."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from ragstone.analysis.expert_agreement import ExpertFindings
from ragstone.analysis.flips import Gain, gain_of
from ragstone.display import Action, Summary, signed
from ragstone.error_text import failure_in
from ragstone.messages import messages
from ragstone.report.digest import Digest, ErrorKind, SystemDigest
from ragstone.report.expert_tables import calibrated_line
from ragstone.report.named_run import id_of
from ragstone.runs.readers import is_extractive
from ragstone.types import Benchmark, Run

_ACTIONS = 3
_LEAST = 20  # questions that systems share, for one of them to lead
_VAGUE = 0.2  # an interval that is wider says nothing of a difference
_TINY = 0.002  # a share of which one decimal of a percentage point shows hardly anything
_MESSAGE = 160  # characters of a failure in a verdict
_BREAKS = re.compile(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")


def opening(
    run: Run, benchmark: Benchmark, digest: Callable[[], Digest], *, language: str = "en",
    experts: ExpertFindings | None = None,
) -> dict[str, Summary]:  # fmt: skip
    """The summaries by system, those of all systems first under "". A benchmark whose summaries have actions of their
    own keeps them. `digest` is called only where its counts are needed. `experts`: what their labels say: calibrated
    means stand below the verdict."""
    words = messages(__name__, language)
    unanswered = _unanswered(run, digest, words, language)
    summaries = {
        system: _unbroken(_calibrated(summary, id_of(run, system), experts, language), run.systems)
        for system, summary in benchmark.summary(run, language=language).items()
        if system not in unanswered
    }
    if summaries and not any(summary.bars for summary in summaries.values()):
        advice = messages(type(benchmark).__module__, language)
        summaries = _with_common(summaries, run, digest, words, advice)
    return summaries | unanswered


def _with_common(
    summaries: dict[str, Summary], run: Run, digest: Callable[[], Digest], words: Mapping[str, str],
    advice: Mapping[str, str],
) -> dict[str, Summary]:  # fmt: skip
    """The summaries with the better one of two systems, and the most frequent causes that their actions, if any are of
    causes, do not name."""
    common, verdict = summaries.pop("", Summary("", "")), ""
    acting = [action for summary in (common, *summaries.values()) for action in summary.actions]
    named = {(action.cause[0], cause) for action in acting if action.cause for cause in action.cause[1:]}
    if len(run.systems) > 1:
        verdict = "" if common.verdict else _better(digest(), words)  # a benchmark compares them by its own cells
        shares = {name: _share(system) for name, system in digest().systems.items()}
        thin = {name for name, system in digest().systems.items() if _is_thin(system)}
        summaries = dict(sorted(summaries.items(), key=lambda item: (item[0] in thin, -shares.get(item[0], 0.0))))
    if named or not acting:
        extractive = {name for name, spec in run.systems.items() if is_extractive(spec)}
        causes = _causes(digest(), words, advice, named, extractive)[: _ACTIONS - len(acting)]
        common = replace(common, actions=(*common.actions, *causes))
    verdict = "\n".join(filter(None, (common.verdict, verdict)))
    common = _unbroken(replace(common, verdict=verdict), run.systems)
    return ({"": common} if common.verdict or common.actions else {}) | summaries


def _unanswered(run: Run, digest: Callable[[], Digest], words: Mapping[str, str], language: str) -> dict[str, Summary]:
    """The systems of which every request failed: that, the most frequent error, and what to do."""
    summaries = {}
    for name, plan in run.plans().items():
        if not plan.failed or plan.failed < plan.asked:
            continue
        found = digest().systems.get(name, SystemDigest())
        if found.counts.failed < found.counts.total:
            continue
        kind, error = max(found.errors.items(), key=lambda item: item[1].count, default=("", ErrorKind()))
        message = next((f"{kind}: {text}" for _, text in error.examples), kind)
        message = failure_in(" ".join(message.split()), language)
        why = words["because"].format(message=message[:_MESSAGE].rstrip(".。")) if message else ""
        text = words["no_answer"].format(failed=f"{plan.failed:,}", asked=f"{plan.asked:,}", why=why)
        text = words["of_system"].format(system=name, text=text) if len(run.systems) > 1 else text
        summaries[name] = _unbroken(Summary("", text, actions=(Action(words["retry"]),)), run.systems)
    return summaries


def blocks(summaries: Mapping[str, Summary]) -> list[list[tuple[int, str, Summary]]]:
    """The summaries that stand together, each with its number and system: one block for each system that has a picture
    of its own, what concerns all with the first; else one block for all."""
    numbered = [(number, *item) for number, item in enumerate(summaries.items())]
    if not any(summary.bars or summary.dots for summary in summaries.values()):
        return [numbered] if numbered else []
    first = 2 if numbered[0][1] == "" and len(numbered) > 1 else 1
    return [numbered[:first], *([each] for each in numbered[first:])]


def heading_of(summaries: Sequence[Summary]) -> str:
    """The key of the heading above their actions."""
    return "to_check" if any(action.cause for summary in summaries for action in summary.actions) else "to_do"


def _calibrated(summary: Summary, system: str, experts: ExpertFindings | None, language: str) -> Summary:
    """The summary of a system with its calibrated means, a line each."""
    if experts is None or system != experts.system:
        return summary
    lines = [calibrated_line(experts, one, language=language) for one in experts.judged if not one.part]
    return replace(summary, verdict="\n".join(filter(None, (summary.verdict, *lines))))


def _unbroken(summary: Summary, systems: Iterable[str]) -> Summary:
    """The summary with the line breaks in names of systems marked: a line of a verdict is a sentence of ours."""
    for name in systems:
        marked = _BREAKS.sub("␤", name)
        if marked != name:
            summary = replace(summary, verdict=summary.verdict.replace(name, marked))
    return summary


def _better(digest: Digest, words: Mapping[str, str]) -> str:
    """Which of the two best systems has more right answers to the questions that both answered equally often, or that
    the data cannot tell; "" where fewer than two systems share enough questions."""
    decided = {name: system for name, system in digest.systems.items() if not _is_thin(system)}
    if len(decided) < 2:
        return ""
    first, second = sorted(decided, key=lambda name: -_share(decided[name]))[:2]
    a, b, groups = _paired(decided[second], decided[first])
    gain = gain_of(np.array(a), np.array(b), np.array(groups))
    return "" if gain is None or gain.questions < _LEAST else better_line(gain, (second, first), words)


def better_line(gain: Gain, names: tuple[str, str], words: Mapping[str, str]) -> str:
    """Which of A and B has more right answers, by how many points, or how many questions would tell. `words`: of this
    module."""
    (b, a), low, high = names, gain.low, gain.high
    if low is None or high is None:
        return words["one_question"].format(a=names[0], b=names[1])
    if gain.difference < 0:
        a, b, low, high = b, a, -high, -low
    size = abs(gain.difference)
    decimals = 0 if size >= 0.1 else 1 if max(abs(low), abs(high)) >= _TINY else 2
    shown = {name: signed(100 * share, decimals) for name, share in (("gain", size), ("low", low), ("high", high))}
    values = {"a": a, "b": b, "n": f"{gain.questions:,}", "needed": f"{gain.needed:,}", **shown}
    if gain.decided:
        return words["better"].format(**values)
    too_few = "too_few" if high - low > _VAGUE else "no_difference"
    return words["cannot_tell" if gain.needed > gain.questions else too_few].format(**values)


def _is_thin(system: SystemDigest) -> bool:
    """Whether it answered too few questions to lead."""
    return len(system.samples or ()) < _LEAST


def _share(system: SystemDigest) -> float:
    return system.counts.right / max(1, system.counts.right + system.counts.wrong)


def _paired(a: SystemDigest, b: SystemDigest) -> tuple[list[float], list[float], list[int]]:
    """For each answer to a common question the share of right answers to it of both, and the question's number."""
    first: list[float] = []
    second: list[float] = []
    groups: list[int] = []
    for number, (sample, (right, n)) in enumerate((a.samples or {}).items()):
        other, also = (b.samples or {}).get(sample, (0, 0))
        if n == also:
            first += [right / n] * n
            second += [other / n] * n
            groups += [number] * n
    return first, second, groups


def _causes(
    digest: Digest, words: Mapping[str, str], advice: Mapping[str, str], named: Collection[tuple[str, str]],
    extractive: Collection[str],
) -> tuple[Action, ...]:  # fmt: skip
    """The most frequent causes of wrong answers, each of a system, with what to try (`try_CAUSE` in `advice`, or
    `try_CAUSE_extractive` where no language model answers), without those that are `named` already. The kinds of a
    cause count together, as `causes_CAUSE`."""
    several = len(digest.systems) > 1
    kinds: dict[tuple[str, str], dict[str, int]] = {}
    for (name, cause), n in digest.causes():
        if (name, cause) in named:
            continue
        kinds.setdefault((name, _advised(cause, advice) or cause), {})[cause] = n
    actions = []
    for (name, root), counts in sorted(kinds.items(), key=lambda item: -sum(item[1].values()))[:_ACTIONS]:
        first = next(iter(counts))
        label = digest.labels.get(first, first)
        text = words["cause"].format(
            cause=label if len(counts) == 1 else advice.get(f"causes_{root}", label),
            n=f"{sum(counts.values()):,}", wrong=f"{digest.systems[name].counts.wrong:,}",
        )  # fmt: skip
        own = advice.get(f"try_{root}_extractive", "") if name in extractive else ""
        if what := own or advice.get(f"try_{root}"):
            text = words["tried"].format(text=text, advice=what)
        text = words["of_system"].format(system=name, text=text) if several else text
        actions.append(Action(text, cause=(name, *counts)))
    return tuple(actions)


def _advised(cause: str, advice: Mapping[str, str]) -> str:
    """The cause with advice: itself, or the one that it is a kind of ("misled" of "misled_far"); "" if none."""
    while cause and f"try_{cause}" not in advice:
        cause = cause.rpartition("_")[0]
    return cause
