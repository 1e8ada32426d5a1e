"""What a reader of a diagnosis sees first: the verdict, the waterfall, and the three fixes that buy most."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

from ragstone.diagnosis.interventions.advice import Effect, Fix, advice_text, change_text, fixes, tried_on
from ragstone.diagnosis.interventions.alarms import alarmed
from ragstone.diagnosis.interventions.causes import CAUSES
from ragstone.diagnosis.interventions.details import details
from ragstone.diagnosis.interventions.diagnosed import Diagnosed
from ragstone.diagnosis.interventions.waterfall import (
    STEPS,
    Step,
    Waterfall,
    bar_of,
    is_scored,
    priced,
    waterfall,
)  # fmt: skip
from ragstone.display import Action, Bar, Summary, signed
from ragstone.messages import messages
from ragstone.prices import Price
from ragstone.runs.readers import is_extractive
from ragstone.stats import Estimate
from ragstone.types import Run

_ACTIONS = 3
_NAMED = 5  # questions
_COVERED = {"prompt": ("ranking", "reranking", "k_too_small", "duplicates"), "alone": ("noise", "position")}
"""The causes that the name of a step stands for, where it may have others."""
_TO_FIND_OUT = {
    "missing_as_is": "measure_score", "missing_gold": "measure_gold", "missing_fetched": "measure_fetched",
    "missing_in_index": "measure_index", "missing_alone": "measure_passages",
}  # fmt: skip
"""What is missing to know a cause, with what to do about it."""


def summaries(run: Run, items: Mapping[str, Sequence[Diagnosed]], *, language: str = "en") -> dict[str, Summary]:
    """The summary of each system with at least one answer. `items`: the questions of each system."""
    return {
        system: alarmed(
            summary_of(found, system, language=language, price=priced(run), spec=run.systems[system]),
            found,
            run.systems[system],
            language=language,
        )
        for system, found in items.items()
        if found
    }


def summary_of(
    items: Sequence[Diagnosed], system: str, *, language: str = "en", price: Price | None = None,
    spec: Mapping[str, Any] = MappingProxyType({}),
) -> Summary:  # fmt: skip
    """The summary of these questions of a system. `spec`: of the system."""
    return _Summary(items, language, price, is_extractive(spec)).of(system)


class _Summary:
    def __init__(self, items: Sequence[Diagnosed], language: str, price: Price | None, extractive: bool) -> None:
        self.words, self.language, self.extractive = messages(__name__, language), language, extractive
        self.items, self.price = items, price
        self.wrong = [item for item in items if is_scored(item) and item.right("as_is") != 1]
        self.unsure = [item.id for item in self.wrong if item.evidence.is_unsure("as_is")]
        self.sizes = Counter(bar_of(item) for item in self.wrong)

    def of(self, system: str) -> Summary:
        fall = waterfall(self.items)
        sentences = [self._share_right(system, fall.as_is), *self._unknown(), *self._most()]
        found = fixes(self.items)[:_ACTIONS]
        actions = [self._action(fix) for fix in found]
        if self.sizes["unknown"] and self.sizes["unknown"] == max(self.sizes.values()):
            actions = [self._find_out(), *actions][:_ACTIONS]
        notes = tuple(self._notes(fall, found))
        return Summary(self.words["title"], self._joined(sentences), tuple(self._bars(fall)), tuple(actions), notes)

    def _share_right(self, system: str, right: Estimate) -> str:
        """Its interval ends where that of all answers as right does about which the metric cannot tell."""
        if right.value is None:
            return self.words["unscored"].format(system=system, n=len(self.items))
        least, most = right.low, right.high
        if self.unsure and least is not None:
            right_now = sum(item.right("as_is") == 1 for item in self.items)
            most = Estimate.of_count(right_now + len(self.unsure), right.n).high
        interval = "" if least is None else f" [{100 * least:.0f}, {100 * (most or 0.0):.0f}]"
        return self.words["answers"].format(system=system, share=f"{100 * right.value:.0f}%{interval}", n=right.n)

    def _missing(self) -> str:
        """What is missing most to know the causes that are unknown: the key of a text."""
        missing = Counter(item.missing for item in self.wrong if bar_of(item) == "unknown")
        return missing.most_common(1)[0][0] or "missing_answer"

    def _unknown(self) -> Iterator[str]:
        if n := self.sizes["unknown"]:
            yield self.words["unknown"].format(n=n, wrong=len(self.wrong), missing=self.words[self._missing()])

    def _find_out(self) -> Action:
        missing = self.words[_TO_FIND_OUT.get(self._missing(), "measure_again")]
        return Action(self.words["find_out"].format(n=self.sizes["unknown"], missing=missing), "cause-unknown")

    def _most(self) -> Iterator[str]:
        """The bar that has most wrong answers; several where they have the same number."""
        counts = {bar: n for bar, n in self.sizes.items() if bar != "unknown"}
        if not counts:
            if not self.wrong and any(is_scored(item) for item in self.items):
                yield self.words["none_wrong"]
            return
        most = max(counts.values())
        bars = [self._named(bar) for bar in (*STEPS, *CAUSES) if counts.get(bar) == most]
        names = [self.words.get(f"part_{bar}") or self.words["part"].format(cause=self.words[f"cause_{bar}"])
                 for bar in bars]  # fmt: skip
        if len(bars) > 1:
            yield self.words["most_several"].format(parts=self.words["and"].join(names), n=most, wrong=len(self.wrong))
        else:
            text = self.words.get(f"most_{bars[0]}") or self.words["most"].format(
                part=names[0], n="{n}", wrong="{wrong}"
            )
            yield text.format(n=most, wrong=len(self.wrong))

    def _named(self, bar: str) -> str:
        """A bar, or the cause of most of its answers where its name does not cover that: a cut prompt ranks nothing."""
        causes = Counter(item.cause.name for item in self.wrong if bar_of(item) == bar)
        cause, n = causes.most_common(1)[0]
        return cause if bar in _COVERED and cause not in _COVERED[bar] and 2 * n > self.sizes[bar] else bar

    def _bars(self, fall: Waterfall) -> Iterator[Bar]:
        n, level = fall.as_is.n or 1, fall.as_is.value or 0.0
        if fall.as_is.value is None:
            yield Bar(self.words["bar_as_is"], 0.0, 0.0, "unmeasured", self.words["bar_unmeasured"])
        else:
            yield Bar(self.words["bar_as_is"], 0.0, level, "level", f"{100 * level:.0f}%")
        if fall.luck:
            lucky = len(fall.luck) / n
            yield Bar(self.words["bar_luck"], level, level - lucky, "loss", f"{100 * lucky:.0f}%", "luck")
        for step in fall.steps:
            for bar in self._step_bars(step, level, n):
                yield bar
                level = bar.end
        for cause, share in fall.remaining.items():
            open_ = cause in fall.unmeasured
            label = self.words.get(f"bar_{cause}") or self.words["bar_rest"].format(cause=self.words[f"cause_{cause}"])
            end = level + (share.value or 0.0)
            figure = self.words["bar_unmeasured"] if open_ else f"{100 * (share.value or 0.0):.0f}%"
            yield Bar(label, level, end, "unmeasured" if open_ else "rest", figure, cause)
            level = end

    def _step_bars(self, step: Step, level: float, n: int) -> Iterator[Bar]:
        """What is lost at a step: the answers whose gain was measured, and the others."""
        label, group = self.words[f"bar_{step.name}"], step.name if step.lost else ""
        end = level + (len(step.lost) - len(step.unmeasured)) / n
        if step.gain is not None:
            figure = _points(step.gain) + _spaced_interval(step.gain, always=True)
            yield Bar(label, level, end, "gain", figure, group)
        if step.gain is None or step.unmeasured:
            text = self.words["bar_unmeasured"]
            label = label if step.gain is None else self.words["bar_others"].format(bar=label)
            yield Bar(label, end, end + len(step.unmeasured) / n, "unmeasured", text, group)

    def _action(self, fix: Fix) -> Action:
        more = [self._failed(effect, fix) for effect in fix.failed]
        more += self._besides(fix)
        more += details(fix.cause, self.items, language=self.language)[:1]
        return Action(self._joined([self._advice(fix), *more]), f"cause-{fix.cause}")

    def _advice(self, fix: Fix) -> str:
        """What to do, what speaks for it, and what it buys; where nothing speaks for it, what would tell."""
        lost = self.words["lost"].format(n=len(fix.cases), wrong=len(self.wrong))
        if not fix.shown:
            cause = self.words[f"cause_{fix.cause}"]
            values = {"cause": cause[:1].upper() + cause[1:], "lost": lost, "missing": self.words[fix.missing]}
            return self.words["not_shown"].format(**values)
        effect = fix.shown[0]
        values = {"lost": lost, "shown": self._shown(effect)}
        if fix.gain is None:
            gain = self.words["no_gain"].format(**values, missing=self.words[fix.missing])
        else:
            values |= {"gain": _points(fix.gain), "interval": _spaced_interval(fix.gain), "price": self._price(fix)}
            counts = {"righted": len(effect.righted), "broke": len(effect.broke), "tried_on": tried_on(fix, self.words)}
            gain = self.words["tried" if fix.tried else "at_most"].format(**values, **counts)
        advice = advice_text(fix, self.words, extractive=self.extractive)
        return self.words["action"].format(fix=advice[:1].upper() + advice[1:], gain=gain)

    def _shown(self, effect: Effect) -> str:
        """The answers that speak for an advice; "" where that is the answer as is."""
        if effect.condition == "as_is":
            return ""
        condition = self.words[f"condition_{effect.condition}"]
        return self.words["shown"].format(condition=condition, righted=len(effect.righted), asked=effect.wrong)

    def _failed(self, effect: Effect, fix: Fix) -> str:
        gain = effect.gain or Estimate()
        change = change_text(effect.condition, fix.size, self.words)
        return self.words["failed"].format(change=change, gain=_points(gain), interval=_spaced_interval(gain))

    def _besides(self, fix: Fix) -> Iterator[str]:
        """The other causes of the same answers, which stay wrong until these are lifted, too."""
        cases = {*fix.cases}
        others = [item.cause.also for item in self.items if item.id in cases and item.cause.also]
        if others:
            counts = Counter(name for also in others for name in also)
            several = len(counts) > 1
            names = [self.words[f"cause_{name}"] + several * f" ({n})" for name, n in counts.most_common()]
            values = {"n": len(others), "all": len(cases), "names": self.words["comma"].join(names)}
            yield self.words["besides"].format(**values)

    def _joined(self, sentences: Sequence[str]) -> str:
        return reduce(lambda a, b: self.words["join"].format(a=a, b=b), sentences)

    def _price(self, fix: Fix) -> str:
        """The changes of tokens, money and time, each with its interval; "" where none is known or shows a digit."""
        cost = fix.cost(self.price)
        amounts = {"tokens": (fix.tokens, 0), "seconds": (fix.seconds, 2)}
        known = {name: (value, digits) for name, (value, digits) in amounts.items()
                 if value is not None and any(round(end or 0.0, digits) for end in (value.value, value.low, value.high))
                }  # fmt: skip
        if not known:
            return ""
        prices = [self.words[name].format(change=amount(*pair)) for name, pair in known.items()]
        thousand = "" if cost is None else self.words["cost"].format(change=amount(cost, 4))
        n = min(value.n for value, _ in known.values())
        return self.words["price"].format(prices=self.words["and"].join(prices), cost=thousand, n=n)

    def _notes(self, fall: Waterfall, found: Sequence[Fix]) -> Iterator[str]:
        unscored = len(self.items) - fall.as_is.n
        if unscored and fall.as_is.n:
            yield self.words["left_out"].format(n=unscored)
        if self.unsure:
            named = self.words["comma"].join(self.unsure[:_NAMED]) + "…" * (len(self.unsure) > _NAMED)
            yield self.words["unsure"].format(n=len(self.unsure), named=named)
        if fall.changes.value:
            yield self.words["changes"].format(share=f"{100 * fall.changes.value:.0f}%", n=fall.changes.n)
        yield self.words["read"]
        if fall.luck or any(((step.gain and step.gain.value) or 0.0) < 0 for step in fall.steps):
            yield self.words["negative"]
        if any(
            step.gain and step.gain.value and (step.gain.low or 0) <= 0 <= (step.gain.high or 0) for step in fall.steps
        ):
            yield self.words["chance"]
        steps = [step for step in fall.steps if step.missing and (step.gain is None or step.unmeasured)]
        for missing in dict.fromkeys(step.missing for step in steps):
            names = [self.words[f"bar_{step.name}"] for step in steps if step.missing == missing]
            yield self.words["not_measured"].format(steps=self.words["comma"].join(names), missing=self.words[missing])


def amount(value: Estimate, digits: int) -> str:
    """A change of an amount with its interval."""
    low, high = (signed(end or 0.0, digits) for end in (value.low, value.high))
    return f"{signed(value.value or 0.0, digits, plus=True)} [{low}, {high}]"


def _points(gain: Estimate) -> str:
    """A change in percentage points, with a decimal only where it is below one point."""
    value = 100 * (gain.value or 0.0)
    return "0" if abs(value) < 1e-9 else signed(value, int(abs(value) < 1), plus=True)


def _spaced_interval(gain: Estimate, *, always: bool = False) -> str:
    """Its interval after a space; "" where nothing changed, unless that was measured (`always`)."""
    if gain.low is None or gain.high is None or not (gain.value or always):
        return ""
    return f" [{signed(100 * gain.low)}, {signed(100 * gain.high)}]"
