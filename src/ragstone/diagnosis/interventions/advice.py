"""What to do about each cause: the change, the answers that speak for it, and what it bought where it was tried.

A change that can be made from outside is tried on all questions (`standing`), and its gain is that of these answers.
Another embedder or another model cannot be tried so: then only the most that it could buy is known, from what giving
the lost passages did; and where no answer shows the cause, there is no advice, but what would measure it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragstone.diagnosis.interventions.causes import CAUSES, LOST
from ragstone.diagnosis.interventions.conditions import CONDITIONS
from ragstone.diagnosis.interventions.details import details
from ragstone.diagnosis.interventions.diagnosed import Diagnosed
from ragstone.diagnosis.interventions.observations import MISSING
from ragstone.diagnosis.interventions.question import rewritten_of
from ragstone.diagnosis.interventions.standing import CHANGES
from ragstone.diagnosis.interventions.waterfall import (
    STEP_OF,
    bar_of,
    changes_of,
    is_drowned,
    is_scored,
    missing_of,
    step_of,
)
from ragstone.prices import Price
from ragstone.stats import Estimate

_TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens", "written_tokens")
_SHOWN_BY: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(LOST, ("gold_added", "gold_only")), "stale": ("gold_only",),
    "chunking": ("evidence_only", "gold_only"), "k_too_small": ("k2", "k4"),
    "position": ("gold_first", "gold_last"), "unstable": ("again", "again_2", "again_3"), "memory": ("gold_only",),
    "history": ("after_1", "after_2", "no_history"),
    "cached_answer": ("reworded", "reworded_2"),
    **dict.fromkeys(("noise", "refused_wrongly", "integration", "reading", "duplicates"), ("gold_only",)),
}  # fmt: skip
"""The conditions whose answers speak for the advice against a cause; one that is not here is seen in the answer as
is."""
_OF_MODEL = ("reading", "integration", "instruction", "memory", "units", "should_have_refused", "refused_wrongly",
             "noise", "position")  # fmt: skip
"""The causes that a language model or its prompt may lift."""
_UNKNOWN = ("generation",)  # causes for which nothing can be advised before more is measured


@dataclass(frozen=True)
class Effect:
    """What a condition did to the answers that it was asked of: to `wrong` ones as is, of which it `righted` some, and
    to `right` ones, of which it `broke` some. `gain`: in share of all questions, where it was asked of all of them."""

    condition: str
    wrong: int
    righted: tuple[str, ...]
    right: int = 0
    broke: tuple[str, ...] = ()
    gain: Estimate | None = None


@dataclass(frozen=True)
class Fix:
    """What to do about a cause. `change`: the condition that makes this change, which gains on all questions; "" where
    none was tried or gained. `shown`: what speaks for the advice, `failed`: changes that were tried and gained nothing.

    `gain`: of a change that was tried, what it bought; else the most that fixing the cause could, with its interval;
    None if that was not measured, and then `missing` is what would measure it (a key of the messages). `cases`: the
    questions with this cause; of those `unmeasured` the gain says nothing. `usage`: the change of the tokens
    `_TOKENS`, and `seconds` that of time, for each question of a change that was tried. `size`: the
    passages of a prompt; 0 where they differ. `variant`: what most of the questions showed, where the advice depends on
    it (`_variant`)."""

    cause: str
    cases: tuple[str, ...]
    change: str = ""
    shown: tuple[Effect, ...] = ()
    failed: tuple[Effect, ...] = ()
    gain: Estimate | None = None
    unmeasured: tuple[str, ...] = ()
    missing: str = ""
    size: int = 0
    usage: tuple[tuple[float, ...], ...] = ()
    seconds: Estimate | None = None
    variant: str = ""

    @property
    def tried(self) -> bool:
        """Whether the gain is that of the change itself."""
        return bool(self.change)

    @property
    def tokens(self) -> Estimate | None:
        """The change of tokens per question."""
        return _amount([row[0] + row[1] for row in self.usage])

    def cost(self, price: Price | None) -> Estimate | None:
        """The change of cost per 1,000 questions, at this price."""
        return None if price is None else _amount([1000 * price.of_tokens(*row) for row in self.usage])


def advice_text(fix: Fix, words: Mapping[str, str], *, extractive: bool = False) -> str:
    """The advice in the words of a language. `extractive`: no language model answers, which could be told something."""
    if fix.tried:
        return change_text(fix.change, fix.size, words)
    if extractive and fix.cause in _OF_MODEL:
        return words["fix_extractive"]
    if fix.failed and fix.variant != "unseen" and f"else_{fix.cause}" in words:
        return words[f"else_{fix.cause}"]
    return words[f"fix_{fix.cause}_{fix.variant}" if fix.variant else f"fix_{fix.cause}"]


def change_text(change: str, size: int, words: Mapping[str, str]) -> str:
    """A change that was tried, in the words of a language. `size`: of the prompts, if all have the same."""
    times = {"k2": 2, "k4": 4}.get(change)
    return words["change_k"].format(k=times * size, size=size) if times and size else words[f"change_{change}"]


def tried_on(fix: Fix, words: Mapping[str, str]) -> str:
    """The questions on which a change was tried; those that it leaves as they are were not asked again."""
    asked, n = fix.shown[0].wrong + fix.shown[0].right, 0 if fix.gain is None else fix.gain.n
    return words["tried_on" if asked == n else "tried_on_some"].format(asked=asked, n=n)


def fixes(items: Sequence[Diagnosed]) -> list[Fix]:
    """What to do about each cause: those of the bar that loses most questions first, and of a bar the cause with most.
    Causes without a case are left out."""
    known = [item for item in items if is_scored(item)]
    sizes = Counter(bar_of(item) for item in known)
    ranked = []
    for cause in CAUSES:
        mine = [item for item in known if item.cause.name == cause]
        if mine and cause not in ("healthy", "unknown"):
            largest = max(sizes[bar_of(item)] for item in mine)
            ranked.append(((-largest, -len(mine), CAUSES.index(cause)), _fix(cause, mine, known)))
    return [fix for _, fix in sorted(ranked, key=lambda pair: pair[0])]


def _fix(cause: str, mine: Sequence[Diagnosed], known: Sequence[Diagnosed]) -> Fix:
    ids, tried = tuple(item.id for item in mine), list(_tried(cause, mine, known))
    best = max((effect for effect in tried if _value(effect) > 0), key=_value, default=None)
    failed = tuple(effect for effect in tried if _value(effect) <= 0)
    shown = tuple(effect for name in _SHOWN_BY.get(cause, ("as_is",)) if (effect := _effect(name, mine)).wrong)
    seen = cause == "prompt_cut" and 2 * sum(item.evidence.value("clipped") == "yes" for item in mine) > len(mine)
    by_passages = cause == "cached_answer" and not any(effect.righted for effect in shown)  # not by answers
    if by_passages or (seen and not shown):
        shown = (_effect("as_is", mine),)
    sizes = {item.size for item in known}
    size = sizes.pop() if len(sizes) == 1 else 0
    if best is not None:
        usage, seconds = _price(best.condition, known)
        return Fix(cause, ids, best.condition, (best, *shown), failed, best.gain, (), "", size, usage, seconds)
    changes = [_change(cause, item) for item in known]
    own = [_change(cause, item) for item in mine]
    unmeasured = tuple(item.id for item, change in zip(mine, own, strict=True) if change is None)
    variant = _variant(cause, mine, shown)
    for item in mine:
        item.evidence.pack()  # what the variant was read of
    if len(unmeasured) == len(mine) or not shown:
        unseen = not shown or cause in (*LOST, "noise", *_UNKNOWN)
        missing = missing_of(STEP_OF.get(cause, "alone"), mine) if unseen else ""
        missing = "measure_index" if variant == "unlisted" else "" if seen else missing
        return Fix(cause, ids, "", shown, failed, None, ids, missing or "measure_try", size, variant=variant)
    gain = Estimate.of_difference([one or 0.0 for one in changes])
    return Fix(cause, ids, "", shown, failed, gain, unmeasured, "", size, variant=variant)


def _variant(cause: str, mine: Sequence[Diagnosed], shown: Sequence[Effect]) -> str:
    """Which of several advices against a cause the questions speak for: where right passages helped ("first", "last");
    "unfinished" answers; words of the question that a search does not see, without a query that shows a rewriter
    ("unseen"); chunks so long that answers drown in them ("drowned"), or of which only the outcomes are known
    ("plain"); a search that finds for the same query what the system did not ("narrowed"); documents that not even
    their own words find, in an index that nobody has named ("unlisted"). "": the usual one."""

    def most(name: str, value: str) -> bool:
        return 2 * sum(item.evidence.value(name) == value for item in mine) > len(mine)

    if cause == "position":
        righted = {effect.condition: len(effect.righted) for effect in shown}
        first, last = righted.get("gold_first", 0), righted.get("gold_last", 0)
        return "" if first == last else "first" if first > last else "last"
    if cause == "integration" and most("unfinished", "sentence"):
        return "unfinished"
    firsts = [(item.evidence.first, item.evidence.sample.question) for item in mine] if cause == "rewriting" else []
    if 2 * sum(first is None or not rewritten_of(first, asked) for first, asked in firsts) > len(mine):
        return "unseen"
    if cause == "chunking" and 2 * sum(map(is_drowned, mine)) > len(mine):
        return "drowned"
    if cause == "chunking":
        return "" if details(cause, mine) else "plain"
    if cause == "not_retrieved" and most("by_reference", "no") and most("in_index", MISSING):
        return "unlisted"
    return "narrowed" if cause == "filtered" and most("narrowed", "yes") else ""


def _tried(cause: str, mine: Sequence[Diagnosed], known: Sequence[Diagnosed]) -> Iterator[Effect]:
    """The changes against a cause that were asked of every question that they would change."""
    for name in CHANGES.get(cause, ()):
        if any(name in item.untried for item in known) or not any(name in item.evidence.records for item in mine):
            continue
        pairs = [(item.right("as_is") or 0.0, item.right(name)) for item in known
                 if name not in item.evidence.records or item.right(name) is not None]  # fmt: skip
        effect = _effect(name, known)
        gain = Estimate.of_difference([0.0 if then is None else then - now for now, then in pairs])
        yield Effect(name, effect.wrong, effect.righted, effect.right, effect.broke, gain)


def _effect(name: str, items: Sequence[Diagnosed]) -> Effect:
    asked = [(item.id, item.right("as_is"), then) for item in items if (then := item.right(name)) is not None]
    righted = tuple(one for one, now, then in asked if not now and then)
    broke = tuple(one for one, now, then in asked if now and not then)
    return Effect(name, sum(not now for _, now, _ in asked), righted, sum(bool(now) for _, now, _ in asked), broke)


def _value(effect: Effect) -> float:
    return 0.0 if effect.gain is None else effect.gain.value or 0.0


def _change(cause: str, item: Diagnosed) -> float | None:
    """What removing a cause changes for a question at most; None where nobody measured it."""
    if cause in LOST:
        measured = changes_of(item).get(step_of(cause, item)) if item.lost == cause else None
        return measured if cause in (item.lost, item.cause.name) else 0.0
    if cause == "noise":
        # Neither its position nor chance explains it.
        return 0.0 if item.cause.name in ("position", "unstable") else changes_of(item)["alone"]
    return None  # another order was asked of wrong answers only, so what it takes from right ones is not known


def _price(change: str, items: Sequence[Diagnosed]) -> tuple[tuple[tuple[float, ...], ...], Estimate | None]:
    """The changes of `_TOKENS` of each question, and of seconds per question, that a change brings. Where passages are
    given nothing is searched for, so that the time says nothing."""
    usage, seconds = [], []
    for item in items:
        now, then = item.evidence.response("as_is"), item.evidence.response(change)
        if then is None or now is None:
            continue
        if now.usage is not None and then.usage is not None:
            a, b = now.usage, then.usage
            usage.append(tuple(float(getattr(b, name) - getattr(a, name)) for name in _TOKENS))
        if CONDITIONS[change].takes != "passages" and now.seconds is not None and then.seconds is not None:
            seconds.append(then.seconds - now.seconds)
    return tuple(usage), _amount(seconds)


def _amount(values: Sequence[float]) -> Estimate | None:
    """The mean with its interval; None where there is no interval, as one question tells no change."""
    found = Estimate.of_amount(values)
    return None if found.known is None else found
