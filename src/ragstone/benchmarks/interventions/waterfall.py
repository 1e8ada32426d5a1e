"""The waterfall: how many answers are right as is, and how many more would be if each stage lost nothing.

    as is → gold in the base → fetched → in the prompt → gold alone → what remains wrong, by cause

Each step compares the same questions with and without a change, so it has a paired interval; a step may be negative (an
answer that was right by luck, or a document that confuses). The steps sum to the whole.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ragstone.benchmarks.interventions.causes import CAUSES, LOST
from ragstone.benchmarks.interventions.conditions import CONDITIONS
from ragstone.benchmarks.interventions.diagnosed import Diagnosed
from ragstone.prices import Price, price_of
from ragstone.stats import Estimate
from ragstone.types import Run

BASE, SEARCH, PROMPT = ("not_in_index", "stale"), ("rewriting", "not_retrieved"), ("reranking", "ranking")
_TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens", "written_tokens")
_SPREAD = ("position", "noise", "unstable")  # causes that the gold alone rights
_REMAINING = tuple(cause for cause in CAUSES if cause not in ("healthy", *LOST, *_SPREAD))


@dataclass(frozen=True)
class Step:
    """A step: `gain` in share of all questions, negative where it hurts; `level`: the share right after it."""

    name: str
    gain: Estimate
    level: Estimate
    cases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Waterfall:
    """`as_is`: the share right; `steps` lead to `alone`, the share right with the gold alone; `remaining`: the share of
    questions that stay wrong, by cause. as_is + gains + remaining = 1."""

    as_is: Estimate
    steps: tuple[Step, ...]
    alone: Estimate
    remaining: Mapping[str, Estimate]
    changes: Estimate


@dataclass(frozen=True)
class Fix:
    """What fixing a cause would buy. `gain`: in share of all questions, with its paired interval; `measured`: by
    asking with the cause removed, otherwise it is the most that could be gained. `usage`, `seconds`: the change per
    question, of the tokens `_TOKENS` and of time, None if unknown. `cases`: the questions with this cause."""

    cause: str
    gain: Estimate
    measured: bool
    cases: tuple[str, ...]
    usage: tuple[float, ...] | None = None
    seconds: float | None = None

    @property
    def tokens(self) -> float | None:
        """The change of tokens per question."""
        return None if self.usage is None else sum(self.usage[:2])

    def cost(self, price: Price | None) -> float | None:
        """The change of cost per 1,000 questions, at this price."""
        if self.usage is None or price is None:
            return None
        return 1000 * price.of_tokens(*self.usage)


def is_scored(item: Diagnosed) -> bool:
    """Whether it is known if the answer is right."""
    return item.right("as_is") is not None


def _fixed(item: Diagnosed) -> float:
    """1 if the answer is right once the lost gold is given; as is where that was not asked."""
    now = item.right("as_is") or 0.0
    value = item.right("gold_only") if item.lost == "stale" else item.right("gold_added")
    return now if value is None else value


def _level(item: Diagnosed, repaired: Sequence[str]) -> float:
    return _fixed(item) if item.lost in repaired else item.right("as_is") or 0.0


def _levels(items: Sequence[Diagnosed]) -> list[tuple[str, Callable[[Diagnosed], float]]]:
    def at_search(item: Diagnosed) -> bool:
        return item.lost in SEARCH or (item.lost == "k_too_small" and item.evidence.value("fetched") == "no")

    def alone(item: Diagnosed) -> float:
        value = item.right("gold_only")
        return _level(item, LOST) if value is None or item.evidence.value("answerable") == "no" else value

    return [
        ("base", lambda item: _level(item, BASE)),
        ("search", lambda item: _fixed(item) if item.lost in BASE or at_search(item) else _level(item, ())),
        ("prompt", lambda item: _level(item, LOST)),
        ("alone", alone),
    ]


def waterfall(items: Sequence[Diagnosed]) -> Waterfall:
    """The waterfall of these questions; those whose answer could not be scored are left out."""
    known = [item for item in items if is_scored(item)]
    now = [item.right("as_is") or 0.0 for item in known]
    steps, before = [], now
    for name, level in _levels(known):
        after = [level(item) for item in known]
        changed = tuple(item.id for item, a, b in zip(known, before, after, strict=True) if a != b)
        gains = [b - a for a, b in zip(before, after, strict=True)]
        steps.append(Step(name, Estimate.of_difference(gains), _share(after), changed))
        before = after
    wrong = [item for item, right in zip(known, before, strict=True) if right < 1]
    names = sorted({item.cause.name if item.cause.name in _REMAINING else "reading" if item.cause.name != "healthy"
                    else "luck" for item in wrong}, key=[*_REMAINING, "luck"].index)  # fmt: skip
    ids = {name: {item.id for item in wrong if _remains(item) == name} for name in names}
    remaining = {name: _share([float(item.id in ids[name]) for item in known]) for name in names}
    return Waterfall(_share(now), tuple(steps), _share(before), remaining, _changes(known))


def _remains(item: Diagnosed) -> str:
    """The cause under which a question is counted that stays wrong with the gold alone."""
    name = item.cause.name
    return name if name in _REMAINING else "luck" if name == "healthy" else "reading"


def _share(values: Sequence[float]) -> Estimate:
    return Estimate.of_count(round(sum(values)), len(values)) if values else Estimate()


def _changes(items: Sequence[Diagnosed]) -> Estimate:
    """The share of answers that change by themselves."""
    pairs = [(item.right("as_is"), item.right("again")) for item in items]
    known = [float(a != b) for a, b in pairs if a is not None and b is not None]
    return _share(known)


def fixes(items: Sequence[Diagnosed]) -> list[Fix]:
    """What fixing each cause would buy, the largest gain first; causes without a case are left out."""
    known = [item for item in items if is_scored(item)]
    found = [fix for cause in CAUSES if cause not in ("healthy", "unknown") and (fix := _fix(cause, known)) is not None]
    return sorted(found, key=lambda fix: (-(fix.gain.value or 0.0), not fix.measured))


def priced(run: Run) -> Price | None:
    """The price of the system's tokens that a run was given."""
    return price_of(run.meta.get("system_price")) or price_of(run.meta.get("price"))


def _fix(cause: str, known: Sequence[Diagnosed]) -> Fix | None:
    concerned = [item for item in known if cause in (item.lost, item.cause.name)]
    if not any(item.cause.name == cause for item in concerned):
        return None
    if cause in LOST:
        gains = [_fixed(item) - (item.right("as_is") or 0.0) if item.lost == cause else 0.0 for item in known]
        measured = any(item.right("gold_added") is not None or item.lost == "stale" for item in concerned)
        names = ("k2", "k4") if cause == "k_too_small" else ("gold_added",)
    elif cause == "noise":
        gains = [_without_noise(item) for item in known]
        measured, names = True, ("gold_only",)
    else:
        # Another order was asked of wrong answers only, so what it takes from right ones is not known.
        gains = [float(item.cause.name == cause) for item in known]
        measured, names = False, ("gold_first",)
    ids = tuple(item.id for item in concerned if item.cause.name == cause)
    gain = Estimate.of_difference(gains) if measured else _share(gains)
    return Fix(cause, gain, measured, ids, *_price(concerned, names))


def _without_noise(item: Diagnosed) -> float:
    """What the gold alone changes where the gold was in the prompt, and neither its position nor chance explains it."""
    if item.lost or item.cause.name in ("position", "unstable") or item.evidence.value("answerable") == "no":
        return 0.0
    alone = item.right("gold_only")
    return 0.0 if alone is None else alone - (item.right("as_is") or 0.0)


def _price(items: Sequence[Diagnosed], names: Sequence[str]) -> tuple[tuple[float, float, float] | None, float | None]:
    """The change of `_TOKENS` and of seconds per question between the answers as is and under the first
    of these conditions that was asked. Where passages were given nothing was searched for, so that the time says
    nothing."""
    usage, seconds = [], []
    for item in items:
        now = item.evidence.response("as_is")
        name = next((name for name in names if name in item.evidence.records), "")
        then = item.evidence.response(name)
        if then is None or now is None:
            continue
        if now.usage is not None and then.usage is not None:
            a, b = now.usage, then.usage
            usage.append([getattr(b, name) - getattr(a, name) for name in _TOKENS])
        if CONDITIONS[name].takes != "passages" and now.seconds is not None and then.seconds is not None:
            seconds.append(then.seconds - now.seconds)
    changes = tuple(sum(column) / len(usage) for column in zip(*usage, strict=True))
    return changes or None, _mean(seconds)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
