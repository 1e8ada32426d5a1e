"""What a reader of a diagnosis sees first: the verdict, the waterfall, and the three fixes that buy most."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from ragstone.benchmarks.interventions.details import details
from ragstone.benchmarks.interventions.diagnosed import Diagnosed
from ragstone.benchmarks.interventions.waterfall import (
    BASE,
    SEARCH,
    Fix,
    Waterfall,
    fixes,
    is_scored,
    priced,
    waterfall,
)  # fmt: skip
from ragstone.display import Action, Bar, Summary
from ragstone.messages import messages
from ragstone.prices import Price
from ragstone.stats import Estimate
from ragstone.types import Run

if TYPE_CHECKING:
    from ragstone.benchmarks.interventions.benchmark import Interventions

PARTS: Mapping[str, tuple[str, ...]] = {
    "base": BASE,
    "search": SEARCH,
    "ranking": ("reranking", "ranking", "k_too_small"),
    "prompt": ("position", "noise"),
    "model": (
        "unstable",
        "should_have_refused",
        "refused_wrongly",
        "memory",
        "integration",
        "units",
        "reading",
        "generation",
    ),
    "reference": ("reference_in_doubt", "metric"),
    "error": ("error",),
}
"""The parts of a system, each with the causes that are its fault."""

_ACTIONS = 3


def summaries(run: Run, benchmark: "Interventions", *, language: str = "en") -> dict[str, Summary]:
    """The summary of each system with at least one answer."""
    found = {system: benchmark.diagnosed(run, system) for system in run.systems}
    return {system: _Summary(items, language, priced(run)).of(system) for system, items in found.items() if items}


def group_of(item: Diagnosed) -> str:
    """The bar of the waterfall that a question belongs to: a step, what remains wrong by cause, "luck", or "" for an
    answer that is right and stays right."""
    cause = item.cause.name
    if cause in BASE:
        return "base"
    if cause in SEARCH or (cause == "k_too_small" and item.evidence.value("fetched") == "no"):
        return "search"
    if cause in PARTS["ranking"]:
        return "prompt"
    if cause in ("position", "noise", "unstable"):
        return "alone"
    if cause == "healthy":
        return "luck" if 0.0 in (item.right("gold_only"), item.right("gold_added")) else ""
    return cause


class _Summary:
    def __init__(self, items: Sequence[Diagnosed], language: str, price: Price | None) -> None:
        self.words, self.language = messages(__name__, language), language
        self.items, self.price = items, price
        self.wrong = [item for item in items if is_scored(item) and item.right("as_is") != 1]
        self.groups = {group_of(item) for item in items}

    def of(self, system: str) -> Summary:
        fall = waterfall(self.items)
        sentences = [self._share_right(system, fall.as_is), *self._unknown(), *self._most()]
        actions = tuple(self._action(fix) for fix in fixes(self.items) if (fix.gain.value or 0.0) > 0)[:_ACTIONS]
        notes = tuple(self._notes(fall, actions))
        return Summary(self.words["title"], self._joined(sentences), tuple(self._bars(fall)), actions, notes)

    def _share_right(self, system: str, right: Estimate) -> str:
        if right.value is None:
            return self.words["unscored"].format(system=system, n=len(self.items))
        low, high = f"{100 * (right.low or 0.0):.0f}", f"{100 * (right.high or 0.0):.0f}"
        interval = "" if right.low is None else f" [{low}, {high}]"
        return self.words["answers"].format(system=system, share=f"{100 * right.value:.0f}%{interval}", n=right.n)

    def _unknown(self) -> Iterator[str]:
        unknown = [item for item in self.wrong if item.cause.name == "unknown"]
        if unknown:
            key = Counter(item.missing for item in unknown).most_common(1)[0][0]
            yield self.words["unknown"].format(n=len(unknown), wrong=len(self.wrong), missing=self.words[key])

    def _most(self) -> Iterator[str]:
        """The part that loses most answers; several where they lose the same number."""
        part_of = {cause: part for part, causes in PARTS.items() for cause in causes}
        counts = Counter(part_of[item.cause.name] for item in self.wrong if item.cause.name in part_of)
        if not counts:
            if not self.wrong:
                yield self.words["none_wrong"]
            return
        most = max(counts.values())
        parts = [part for part in PARTS if counts[part] == most]
        if len(parts) == 1:
            yield self.words[f"most_{parts[0]}"].format(n=most, wrong=len(self.wrong))
        else:
            names = self.words["and"].join(self.words[f"part_{part}"] for part in parts)
            yield self.words["most_several"].format(parts=names, n=most, wrong=len(self.wrong))

    def _bars(self, fall: Waterfall) -> Iterator[Bar]:
        level = fall.as_is.value or 0.0
        # Where the cause of no failure is known, a gain of 0 was not measured.
        blind = bool(self.wrong) and all(item.cause.name == "unknown" for item in self.wrong)
        yield Bar(self.words["bar_as_is"], 0.0, level, "level", f"{100 * level:.0f}%")
        for step in fall.steps:
            gain = step.gain.value or 0.0
            group = step.name if step.name in self.groups else "luck" if gain < 0 and "luck" in self.groups else ""
            figure = " ".join(filter(None, (_points(step.gain), _interval(step.gain))))
            if blind and not gain:
                figure = self.words["bar_unmeasured"]
            yield Bar(
                self.words[f"bar_{step.name}"], level, level + gain, "loss" if gain < 0 else "gain", figure, group
            )
            level += gain
        for cause, share in fall.remaining.items():
            known = self.words["bar_rest"].format(cause=self.words[f"cause_{cause}"])
            label = self.words["bar_luck"] if cause == "luck" else known
            group = cause if cause in self.groups else ""
            yield Bar(label, level, level + (share.value or 0.0), "rest", f"{100 * (share.value or 0.0):.0f}%", group)
            level += share.value or 0.0

    def _action(self, fix: Fix) -> Action:
        gain = self.words["points"].format(
            gain=_points(fix.gain), interval=_interval(fix.gain), questions=self._questions(len(fix.cases))
        )
        if not fix.measured:
            gain = self.words["at_most"].format(gain=gain)
        advice = self.words[f"fix_{fix.cause}"]
        text = self.words["action"].format(fix=advice[:1].upper() + advice[1:], gain=gain, price=self._price(fix))
        more = details(fix.cause, self.items, language=self.language)[:1]
        return Action(self._joined([text, *more]), f"cause-{fix.cause}")

    def _joined(self, sentences: Sequence[str]) -> str:
        return reduce(lambda a, b: self.words["join"].format(a=a, b=b), sentences)

    def _questions(self, n: int) -> str:
        return self.words["one_question" if n == 1 else "questions"].format(n=n)

    def _price(self, fix: Fix) -> str:
        prices = [
            self.words[name].format(change=text)
            for name, value, text in (("tokens", fix.tokens, f"{fix.tokens or 0.0:+,.0f}"),
                                      ("seconds", fix.seconds, f"{fix.seconds or 0.0:+,.2f}"))
            if value is not None
        ]  # fmt: skip
        if not prices:
            return self.words["price_unknown"]
        cost = fix.cost(self.price)
        thousand = "" if cost is None else self.words["cost"].format(cost=f"{cost:+,.4f}")
        return self.words["price"].format(prices=f"{self.words['and'].join(prices)}{thousand}".replace("-", "−"))

    def _notes(self, fall: Waterfall, actions: Sequence[Action]) -> Iterator[str]:
        unscored = len(self.items) - fall.as_is.n
        if unscored and fall.as_is.n:
            yield self.words["left_out"].format(n=unscored)
        if fall.changes.value:
            yield self.words["changes"].format(share=f"{100 * fall.changes.value:.0f}%", n=fall.changes.n)
        yield self.words["read"]
        if any(bar.kind == "loss" for bar in self._bars(fall)):
            yield self.words["negative"]
        bounded = self.words["at_most"].partition("{")[0].strip()
        if any(bounded in action.text for action in actions):
            yield self.words["bounded"]


def _points(gain: Estimate) -> str:
    """A change in percentage points, with a decimal only where it is below one point."""
    value = 100 * (gain.value or 0.0)
    shown = "0" if abs(value) < 1e-9 else f"{value:+.1f}" if abs(value) < 1 else f"{value:+.0f}"
    return shown.replace("-", "−")


def _interval(gain: Estimate) -> str:
    """Its interval; "" where nothing changed."""
    if gain.low is None or gain.high is None or not gain.value:
        return ""
    return f"[{100 * gain.low:.0f}, {100 * gain.high:.0f}]".replace("-", "−")
