"""What a run shows about its own conditions: which took effect, and what contradicts them.

A condition that did not take effect on a question is withdrawn there, and one that never did, or of which nothing shows
that it did, for the whole system: the table of causes reads it as not asked. Where nothing is recorded, the answers of
several questions show it: a system that ignores what it is given answers as if the question were simply asked again.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ragstone.diagnosis.interventions.conditions import CONDITIONS, REPEATS
from ragstone.diagnosis.interventions.effect import Alarm, Effect, Verified, effect_of, says
from ragstone.diagnosis.interventions.evidence import Evidence
from ragstone.stats import mcnemar_exact
from ragstone.stats.intervals import beta_quantile

GIVEN = tuple(name for name, known in CONDITIONS.items() if known.takes == "passages" and name != "closed_book")
"""The conditions under which a system is given passages."""

_WITH_GOLD = ("gold_only", "indexed_only", "gold_added", "gold_first", "gold_middle", "gold_last")
_FOLLOWED = (*_WITH_GOLD, "counterfactual", "closed_book")
SHOWN = "shown"
"""Beside what a system takes: a marked passage, given before the first question, was in its answer or its prompt."""
_CHANCE = 0.05
_PROOFS = ("as_given", "gold_only", "counterfactual", "closed_book", "evidence_first")
_SURE = 0.01
_SAID_BY_CHANCE = 0.02  # of answers: another answer that was put into the gold, and was not said before
_NOTHING: tuple[dict[str, str], frozenset[str]] = ({}, frozenset())  # is withdrawn, or may not be asked
_DISCREDITS = ("gold_worse", "only_refusals", "not_neutral")
"""The alarms after which no outcome under given passages is used."""
_PAIR = 2  # answers that are no accident
_SHARE = 0.2  # of the answers under a condition that become refusals: fewer do not speak against all of them
_FEW = 3  # records by which a condition is judged for the whole system
_HANDED_BACK = 5  # questions whose own passages are handed back
_SAMPLE = 4  # questions with each of two outcomes that are asked first, until passages are shown to arrive


@dataclass(frozen=True)
class Withdrawal:
    """A condition that did not take effect on `cases` of `asked` questions, and why. `whole`: on none, or nothing shows
    on which, so that it is no more asked."""

    condition: str
    why: str
    cases: tuple[str, ...]
    asked: int
    whole: bool


def withdrawals(evidences: Sequence[Evidence]) -> list[Withdrawal]:
    """What was withdrawn from these questions of a system, in the order of the conditions."""
    found = []
    cut = any("part_in_prompt" in evidence.withdrawn.values() for evidence in evidences)
    for name in CONDITIONS:
        lost = [evidence for evidence in evidences if name in evidence.withdrawn]
        if lost:
            reasons = [evidence.withdrawn[name] for evidence in lost]
            asked = len(lost) + sum(name in evidence.records for evidence in evidences)
            ids = tuple(evidence.id for evidence in lost)
            why = max(reasons, key=reasons.count)
            why = "part_in_prompt" if cut and why == "not_in_prompt" else why  # behind the place where it is cut
            found.append(Withdrawal(name, why, ids, asked, len(lost) == asked))
    return found


@dataclass(frozen=True, slots=True)
class Seen:
    """What one question shows, without its texts. `effects` and `outcomes` by condition; `follows`: the conditions with
    an answer that only what was given explains; `same`: every answer from given passages is that as is, to the letter;
    `again`: the second answer is another text; `possible`: of `_PROOFS`, those that can be asked of it; `probed`: its
    answer is what a probe invented."""

    effects: Mapping[str, Effect]
    outcomes: Mapping[str, str]
    follows: frozenset[str]
    same: bool
    again: bool | None
    possible: frozenset[str]
    probed: bool = False


def seen_of(evidence: Evidence) -> Seen:
    """What a question shows, before anything of it is withdrawn."""
    first = evidence.first
    names = () if first is None else tuple(name for name in evidence.records if name != "as_is")
    answers = {name: response.answer for name in names if (response := evidence.response(name)) is not None}
    given = [answer for name, answer in answers.items() if name in GIVEN]
    return Seen(
        {} if first is None else {name: effect_of(name, evidence.records[name], first) for name in names},
        {name: outcome for name in evidence.records if (outcome := evidence.outcome(name)) is not None},
        frozenset(name for name in answers if name in _FOLLOWED and _follows(evidence, name)),
        first is not None and all(answer == first.answer for answer in given),
        answers["again"] != first.answer if first is not None and "again" in answers else None,
        frozenset(name for name in _PROOFS if evidence.is_possible(name)),
        evidence.value("probed") == "yes",
    )  # fmt: skip


def verified_of(seen: Collection[Seen], *, shown: bool) -> Verified:
    """What these questions show of their system. `shown`: a marked passage, given before the first question, was in
    its answer or its prompt."""
    given_effects = [effect for one in seen for name, effect in one.effects.items() if name in GIVEN]
    places = [effect.seen for effect in given_effects]
    prompts = sum(place in ("prompt", "not_in_prompt", "part_in_prompt") for place in places) > len(places) / 2
    took = ["yes" if effect.seen == "part_in_prompt" else effect.took for effect in given_effects]
    noise = _Noise.of(seen)
    asked = [one for one in seen if any(name in one.effects for name in GIVEN)]
    given = (
        (shown and took.count("no") <= len(took) / 2)
        or took.count("yes") > took.count("no")
        or noise.exceeded_by(sum(not one.follows.isdisjoint(GIVEN) for one in asked), len(asked))
        or _says_what_was_put_in(seen)
    )
    closed = [one.effects["closed_book"].took for one in seen if "closed_book" in one.effects]
    known = [one for one in seen if "closed_book" in one.effects and one.outcomes.get("as_is") == "right"]
    closed_book = "yes" in closed or noise.exceeded_by(sum("closed_book" in one.follows for one in known), len(known))
    verified = Verified(given, closed_book, bool(asked), prompts)
    alarms = tuple(_alarms([_kept(one, verified) for one in seen]))
    if _is_only_cut(seen):
        alarms = tuple(alarm for alarm in alarms if alarm.condition != "gold_only")
    if probed := sum(one.probed for one in seen):
        alarms = (Alarm("probed", "as_is", probed, len(seen)), *alarms)
    verified = replace(verified, alarms=alarms, discredited=any(alarm.name in _DISCREDITS for alarm in alarms))
    return replace(verified, unusable=frozenset(_never(seen, verified)))


def _says_what_was_put_in(seen: Collection[Seen]) -> bool:
    """Whether more answers than by chance say the other answer that was put into the gold. However often answers change
    by themselves, they hardly ever change into just that."""
    asked = [one for one in seen if "counterfactual" in one.effects]
    saying = sum("counterfactual" in one.follows for one in asked)
    return saying >= _PAIR and _unlikely(saying, len(asked), _SAID_BY_CHANCE)


def reasons(seen: Seen, verified: Verified) -> dict[str, str]:
    """The conditions to withdraw from a question, with the reason."""
    found = {}
    for name, effect in seen.effects.items():
        outcome = seen.outcomes.get(name)
        proven = verified.closed_book if name == "closed_book" else verified.given
        if name in GIVEN and verified.prompts and effect == Effect("unknown", "nothing"):
            found[name] = "no_prompt"
        elif effect.took == "no" or (effect.took == "unknown" and not proven and outcome != "error"):
            found[name] = "same_answers" if effect.took == "unknown" and seen.same and name in GIVEN else effect.seen
        elif name in GIVEN and verified.discredited and name != "evidence_first" and outcome != "error":
            found[name] = "alarm"
    return found


def is_changed(seen: Seen, before: Verified | None, after: Verified | None) -> bool:
    """Whether something else is withdrawn from a question, or may be asked of it, than before."""
    known = [None if one is None else (reasons(seen, one), one.unusable) for one in (before, after)]
    return (known[0] or _NOTHING) != (known[1] or _NOTHING)


def _is_only_cut(seen: Collection[Seen]) -> bool:
    """Whether the gold alone is answered wrongly because the end of a passage is not read: some of those questions, and
    a third at least, are answered rightly from the same passages with the evidence first."""
    lost = [one.outcomes for one in seen if one.outcomes.get("gold_only") in ("wrong", "refused")]
    tried = [one["evidence_first"] for one in lost if "evidence_first" in one]
    return len(tried) >= _FEW and tried.count("right") >= max(_PAIR, len(tried) / 3)


def withdraw(evidence: Evidence, verified: Verified | None, seen: Seen | None = None) -> None:
    """Withdraws from a question what did not take effect."""
    if verified is not None:
        for name, why in reasons(seen or seen_of(evidence), verified).items():
            evidence.withdraw(name, why)


def proofs(seen: Mapping[int, Seen], verified: Verified, wanted: Mapping[int, Collection[str]]) -> dict[int, set[str]]:
    """By row what to ask besides what causes want, so that it shows which conditions work: own passages handed back,
    given passages of the first questions until they are shown to arrive, and none of them where answers are right, as
    long as no recorded prompt shows that.
    `wanted`: what is asked by row."""
    right = [row for row, one in seen.items() if one.outcomes.get("as_is") == "right"]
    wrong = [row for row, one in seen.items() if one.outcomes.get("as_is") in ("wrong", "refused")]
    plans: list[tuple[str, Sequence[int], int]] = []
    if any(alarm.condition == "gold_only" for alarm in verified.alarms):
        lost = [row for row, one in seen.items() if one.outcomes.get("gold_only") in ("wrong", "refused")]
        plans.append(("evidence_first", lost, _SAMPLE))
    if verified.given:
        plans.append(("as_given", [*right, *wrong], _HANDED_BACK))
    else:
        plans += [("gold_only", wrong, _SAMPLE), ("counterfactual", right, _SAMPLE)]
    if not verified.closed_book and not verified.prompts and any("closed_book" in names for names in wanted.values()):
        plans.append(("closed_book", right, _FEW))
    more: dict[int, set[str]] = {}
    for name, rows, most in plans:
        able = [row for row in rows if name in seen[row].possible]
        left = most - sum(name in wanted[row] for row in able)
        for row in [row for row in able if name not in wanted[row]][: max(0, left)]:
            more.setdefault(row, set()).add(name)
    return more


def _kept(seen: Seen, verified: Verified) -> Mapping[str, str]:
    """The outcomes under conditions that took effect."""
    lost = reasons(seen, verified)
    return {name: outcome for name, outcome in seen.outcomes.items() if name not in lost}


def _follows(evidence: Evidence, condition: str) -> bool:
    """Whether the answer under one of `_FOLLOWED` is right with the gold and never was before, is not right without
    documents and always was before, or says the other answer that was put into the gold."""
    outcome, response = evidence.outcome(condition), evidence.response(condition)
    names = [name for name in ("as_is", *REPEATS) if evidence.outcome(name) not in (None, "unscored", "error")]
    if response is None or outcome in ("unscored", "error") or not names:
        return False
    if condition == "counterfactual":
        before = [one.answer for name in names if (one := evidence.response(name)) is not None]
        other = [evidence.question.stand_in]
        return says(response.answer, other) and not any(says(answer, other) for answer in before)
    right = [evidence.outcome(name) == "right" for name in names]
    if condition == "closed_book":
        return outcome != "right" and all(right)
    return outcome == "right" and not any(right)


@dataclass(frozen=True)
class _Noise:
    """How many answers said something else when the question was simply asked again."""

    asked: int
    changed: int

    @classmethod
    def of(cls, seen: Iterable[Seen]) -> "_Noise":
        known = [one.again for one in seen if one.again is not None]
        return cls(len(known), sum(known))

    def exceeded_by(self, n: int, total: int) -> bool:
        """Whether `n` of `total` answers that changed are more than come of asking again. Where answers never change
        by themselves one is enough."""
        if not n or (not self.changed and self.asked >= _FEW):
            return n > 0
        return _unlikely(n, total, (self.changed + 1) / (self.asked + 2))


def _unlikely(n: int, total: int, rate: float) -> bool:
    """Whether at least `n` of `total` come by chance in less than 5% of cases, each at this rate: the binomial tail is
    a share of a beta distribution, which is quick for any number of questions."""
    return 0 < n <= total and beta_quantile(_CHANCE, n, total - n + 1) > rate


def _never(seen: Collection[Seen], verified: Verified) -> Iterator[str]:
    """The conditions that took effect on no question, and given passages as long as nothing shows that they arrive."""
    lost: Counter[str] = Counter()
    kept: set[str] = set()
    for one in seen:
        names = reasons(one, verified)
        lost.update(names.keys())
        kept |= one.effects.keys() - names.keys()
    yield from (name for name in CONDITIONS if name not in kept and lost[name] >= _FEW)
    if not verified.given or verified.discredited:
        yield from (name for name in GIVEN if name != "evidence_first" or not verified.given)


def _alarms(outcomes: Sequence[Mapping[str, str]]) -> Iterator[Alarm]:
    """What the answers under a condition say against the condition itself. `outcomes`: of each question."""
    worse, better, total = _changes(outcomes, "gold_only")
    if worse > better and mcnemar_exact(worse, better) < _CHANCE:
        yield Alarm("gold_worse", "gold_only", worse, total)
    for name in (*_WITH_GOLD, "as_given", "duplicated", "reordered"):
        changed, refused, total = _refusals(outcomes, name)
        if changed == refused >= max(_FEW, _SHARE * total) and not _is_chance(refused, total, outcomes):
            yield Alarm("only_refusals", name, refused, total)
    worse, better, total = _changes(outcomes, "as_given")
    *turned, again = _changes(outcomes, "again")
    enough = _FEW if sum(turned) else 1
    if worse + better >= enough and _unlikely(worse + better, total, (sum(turned) + 1) / (again + 2)):
        yield Alarm("not_neutral", "as_given", worse + better, total)
    worse, better, total = _changes(outcomes, "again")
    if mcnemar_exact(worse, better) < _SURE:
        yield Alarm("repeat_worse" if worse > better else "repeat_better", "again", worse + better, total)


def _is_chance(refused: int, total: int, outcomes: Sequence[Mapping[str, str]]) -> bool:
    """Whether as many answers become refusals when the questions are simply asked again."""
    _, again, asked = _refusals(outcomes, "again")
    return asked > 0 and not _unlikely(refused, total, (again + 1) / (asked + 2))


def _refusals(outcomes: Sequence[Mapping[str, str]], condition: str) -> tuple[int, int, int]:
    """The numbers of answers that a condition changed, and into refusals or errors, and of all that were asked."""
    pairs = [(one["as_is"], one[condition]) for one in outcomes if condition in one and "as_is" in one]
    changed = [after for before, after in pairs if after != before and "unscored" not in (before, after)]
    return len(changed), sum(after in ("refused", "error") for after in changed), len(pairs)


def _changes(outcomes: Sequence[Mapping[str, str]], condition: str) -> tuple[int, int, int]:
    """The numbers of answers that a condition made wrong, and right, and of all that were asked under both."""
    known = ("right", "wrong", "refused")
    pairs = [(one.get("as_is"), one.get(condition)) for one in outcomes]
    pairs = [(before, after) for before, after in pairs if before in known and after in known]
    worse = sum(before == "right" != after for before, after in pairs)
    better = sum(after == "right" != before for before, after in pairs)
    return worse, better, len(pairs)
