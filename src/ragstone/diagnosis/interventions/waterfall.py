"""The waterfall: how many answers are right as is, where the wrong ones are lost, and what each step would gain.

    as is → gold in the base → fetched → in the prompt → gold alone → what remains wrong, by cause

Every wrong answer belongs to one bar, that of its cause (`bar_of`), so that right answers and bars sum to all
questions. The gain of a step compares the same questions with and without a change, right ones too, so it has a paired
interval and may be negative (an answer that was right by luck, or a document that confuses). A step that no answer
tells anything about has no gain: not measured is not 0.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragstone.diagnosis.interventions.causes import CAUSES
from ragstone.diagnosis.interventions.diagnosed import Diagnosed
from ragstone.diagnosis.interventions.evidence import Evidence
from ragstone.diagnosis.interventions.question import prompt_of
from ragstone.diagnosis.interventions.standing import CHANGES
from ragstone.diagnosis.interventions.verification import GIVEN
from ragstone.prices import Price, price_of
from ragstone.stats import Estimate
from ragstone.types import Run

STEPS = ("base", "search", "prompt", "alone")
STEP_OF = {
    "not_in_index": "base", "stale": "base", "contradiction": "base", "chunking": "base",
    "rewriting": "search", "search_mismatch": "search", "filtered": "search",
    "not_retrieved": "search", "language": "search", "duplicates": "prompt", "reranking": "prompt", "ranking": "prompt",
    "k_too_small": "prompt", "prompt_cut": "prompt", "position": "alone", "noise": "alone",
}  # fmt: skip
"""The step that a cause belongs to; any other cause is a bar of its own below the steps."""
_REPAIRS = {"stale": "gold_only", "contradiction": "without_rivals"}  # of other losses the gold added
_TWICE = {"language": "language", "prompt_cut": "alone"}
"""The bar of a cause where it did not lose the gold before the prompt."""
_IGNORED = ("not_in_prompt", "own_passages", "same_answers", "nothing")  # why given passages had no effect
_OPEN = ("unknown", "generation")  # a condition that was not measured would tell more


@dataclass(frozen=True)
class Step:
    """A step. `gain`: in share of all questions, negative where it hurts, and `level`: the share right after it; both
    None where it was not measured. `lost`: the wrong answers that were lost here, of which nobody measured what the
    step does for those `unmeasured`. `missing`: what would measure them (a key of the messages), "" where nothing is
    missing. `cases`: the questions that it changes."""

    name: str
    gain: Estimate | None
    level: Estimate | None
    lost: tuple[str, ...] = ()
    unmeasured: tuple[str, ...] = ()
    missing: str = ""
    cases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Waterfall:
    """`as_is`: the share right; `steps` lead to the gold alone. `remaining`: the share of questions whose wrong answer
    is lost at none of them, by cause, of which those `unmeasured` may be right with the gold alone. as_is, what is lost
    at the steps and what remains are all questions. `luck`: answers that are right as is and wrong with the gold."""

    as_is: Estimate
    steps: tuple[Step, ...]
    remaining: Mapping[str, Estimate]
    changes: Estimate
    unmeasured: tuple[str, ...] = ()
    luck: tuple[str, ...] = ()


def is_scored(item: Diagnosed) -> bool:
    """Whether it is known if the answer is right."""
    return item.right("as_is") is not None


def bar_of(item: Diagnosed) -> str:
    """The bar of the waterfall that a wrong answer belongs to: a step, or the name of its cause. "luck" for an answer
    that is right as is and wrong with the gold; "" for one that stays right, and for one that was not scored."""
    if not is_scored(item):
        return "unknown"
    if item.cause.name == "healthy":
        return "luck" if 0.0 in (item.right("gold_only"), item.right("gold_added")) else ""
    return step_of(item.cause.name, item)


def step_of(cause: str, item: Diagnosed) -> str:
    if cause == "chunking" and is_drowned(item):
        return "alone"
    if cause in _TWICE and item.lost != cause:
        return _TWICE[cause]
    fetched_too_few = cause in ("k_too_small", "duplicates") and item.evidence.value("fetched") == "no"
    return "search" if fetched_too_few else STEP_OF.get(cause, cause)


def is_drowned(item: Diagnosed) -> bool:
    """Whether the answer is lost in a chunk that has it: only the sentences that state it right the answer. That was
    asked of wrong answers alone, so nobody knows what smaller chunks would buy."""
    return item.lost == "chunking" and item.evidence.value("prompted") == "yes" and item.right("gold_only") == 0


def changes_of(item: Diagnosed) -> dict[str, float | None]:
    """What each step changes for a question: 1 where it rights the answer, -1 where it spoils it, else 0; None where
    that was not measured."""
    evidence = item.evidence
    if evidence.value("answerable") == "no":
        return dict.fromkeys(STEPS, 0.0)
    level, alone = item.right("as_is") or 0.0, item.right("gold_only")
    changes: dict[str, float | None] = dict.fromkeys(STEPS)
    at = step_of(item.lost, item) if item.lost else ""
    if is_drowned(item):
        return {**dict.fromkeys(STEPS[:-1], 0.0), "alone": None}
    if at in STEPS:
        given = _given_back(item)
        if item.lost == "chunking" and given is None:
            given = alone
        changes |= dict.fromkeys(STEPS[STEPS.index(at) + 1 : -1], 0.0)
        if at != "base" and evidence.value("in_index") == "yes":
            changes |= dict.fromkeys(STEPS[: STEPS.index(at)], 0.0)
        if given is None:
            return changes
        changes[at], level = given - level, given
    elif evidence.value("prompted") == "yes":
        changes |= dict.fromkeys(STEPS[:-1], 0.0)
    if item.cause.name == "noise" and alone == 0:
        alone = item.right("chunk_only")
    changes["alone"] = None if alone is None else alone - level
    return changes


def waterfall(items: Sequence[Diagnosed]) -> Waterfall:
    """The waterfall of these questions; those whose answer could not be scored are left out."""
    known = [item for item in items if is_scored(item)]
    bars, changes = [bar_of(item) for item in known], [changes_of(item) for item in known]
    levels = [item.right("as_is") or 0.0 for item in known]
    as_is, steps = _share(levels), []
    for name in STEPS:
        found = [change[name] for change in changes]
        step = _step(name, known, bars, found)
        # Also where the step is not measured for all: what later steps change is counted from there.
        levels = [level + (change or 0.0) for level, change in zip(levels, found, strict=True)]
        if step.gain is not None:
            step = Step(name, step.gain, _share(levels), step.lost, step.unmeasured, step.missing, step.cases)
        steps.append(step)
    names = [name for name in CAUSES if name in bars and name not in STEPS]
    remaining = {name: _share([float(bar == name) for bar in bars]) for name in names}
    luck = tuple(item.id for item, bar in zip(known, bars, strict=True) if bar == "luck")
    unmeasured = tuple(name for name in names if name in _OPEN)
    return Waterfall(as_is, tuple(steps), remaining, _unstable(known), unmeasured, luck)


def _step(name: str, items: Sequence[Diagnosed], bars: Sequence[str], changes: Sequence[float | None]) -> Step:
    """A step without its level. It is measured where what it does is known for some of the answers lost here; where
    none was lost here, for the wrong answers that have gold passages."""
    lost = [(item, change) for item, bar, change in zip(items, bars, changes, strict=True) if bar == name]
    concerned = lost or [
        (item, change) for item, bar, change in zip(items, bars, changes, strict=True)
        if bar not in ("", "luck", "error", "unknown", "should_have_refused")
    ] or list(zip(items, changes, strict=True))  # fmt: skip
    open_ = [item for item, change in concerned if change is None]
    ids = tuple(item.id for item, _ in lost)
    unmeasured = tuple(item.id for item, change in lost if change is None)
    missing = missing_of(name, open_)
    if len(open_) == len(concerned) or (open_ and not lost):
        return Step(name, None, None, ids, unmeasured, missing)
    changed = tuple(item.id for item, change in zip(items, changes, strict=True) if change)
    gain = Estimate.of_difference([change or 0.0 for change in changes])
    return Step(name, gain, None, ids, unmeasured, missing, changed)


def missing_of(step: str, items: Sequence[Diagnosed]) -> str:
    """What would measure a step for these questions: the key of a text, "" if there are none."""
    reasons = Counter(_reason(step, item) for item in items)
    return reasons.most_common(1)[0][0] if reasons else ""


def _reason(step: str, item: Diagnosed) -> str:
    evidence = item.evidence
    if step == "alone" and is_drowned(item):
        return "measure_try"
    if evidence.value("gold") != "yes":
        return "measure_gold"
    if not all(one.text.strip() for one in evidence.gold):
        return "measure_texts"
    if step != "alone" and evidence.value("prompted") not in ("yes", "no"):
        return "measure_fetched"
    if step == "base" and item.lost != "not_in_index" and evidence.value("in_index") not in ("yes", "no"):
        return "measure_index"
    condition = "gold_only" if step == "alone" else _repair_of(item)
    if "passages" in evidence.takes and _is_cut(condition, evidence):
        return "measure_cut"
    verified = evidence.shared.verified
    ignored = any(name in GIVEN and why in _IGNORED for name, why in evidence.withdrawn.items())
    ignored = ignored or (verified is not None and verified.tried and not verified.given)
    if "passages" in evidence.takes and not ignored:
        return _why_no_answer(condition, evidence)
    return "measure_passages" if "repeat" in evidence.takes else "measure_system"


def _is_cut(condition: str, evidence: Evidence) -> bool:
    """Whether given passages did not reach a prompt that is cut at its length."""
    why, cut = evidence.withdrawn.get(condition), "part_in_prompt"
    return why == cut or (why == "not_in_prompt" and cut in evidence.withdrawn.values())


def _why_no_answer(condition: str, evidence: Evidence) -> str:
    """Why a system that takes passages has no outcome under a condition. Only an answer that can still be asked for
    comes when the same command is run again."""
    if any(evidence.outcome(name) == "error" for name in GIVEN):
        return "measure_error"
    if evidence.outcome(condition) == "unscored":
        return "measure_score"
    verified = evidence.shared.verified
    if verified is not None and verified.discredited:
        return "measure_alarm"
    if condition in evidence.withdrawn or (verified is not None and condition in verified.unusable):
        return "measure_effect"
    return "measure_again" if condition not in evidence.records and evidence.can(condition) else "measure_try"


def _repair_of(item: Diagnosed) -> str:
    """The condition that gives back what a question lost."""
    return _REPAIRS.get(item.lost, "gold_added")


def _given_back(item: Diagnosed) -> float | None:
    """The answer with what a question lost: as it was given; else as a change of the system brought it to the
    prompt."""
    evidence, given = item.evidence, item.right(_repair_of(item))
    if given is not None:
        return given
    brought = [
        right
        for name in CHANGES.get(item.lost, ())
        if (right := item.right(name)) is not None
        and (response := evidence.response(name)) is not None
        and evidence.has_gold(prompt_of(response)) == "yes"
    ]
    evidence.pack()
    return next(iter(brought), None)


def _share(values: Sequence[float]) -> Estimate:
    return Estimate.of_count(round(sum(values)), len(values)) if values else Estimate()


def _unstable(items: Sequence[Diagnosed]) -> Estimate:
    """The share of answers that change by themselves."""
    pairs = [(item.right("as_is"), item.right("again")) for item in items]
    known = [float(a != b) for a, b in pairs if a is not None and b is not None]
    return _share(known)


def priced(run: Run) -> Price | None:
    """The price of the system's tokens that a run was given."""
    return price_of(run.meta.get("system_price")) or price_of(run.meta.get("price"))
