"""What a judge was asked, what it replied, and what was made of it: the one shape of a step and of its verdicts.

Every judged metric writes its steps into `evidence["verdicts"]` (`evidence`); run files, reports, analysis and
benchmarks read them here (`steps_of`, `merged`) and nowhere else. Run files come from anywhere: what has not this shape
is left out, and no reader raises. Claims, sentences and passages are numbered from 1.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from ragstone.metrics.judge.salvage import salvaged
from ragstone.structs import Frozen, from_json, to_json
from ragstone.types import Record, Score, Usage

_KEY = "verdicts"
_MOST = 9_999  # a claim, a sentence or a passage with a larger number is none
_QUESTIONS = 3  # of those that the answer answers, as many as count
_QUOTES = 4  # of one claim, as many as are kept
Place: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=_MOST)]


# --- a step ---------------------------------------------------------------------------------------------------------


class Claim(Frozen, frozen=True):
    """A claim of the answer or of the reference in one step: its text where the texts are taken apart, and the verdicts
    where it is verified. `supported_by` None: nobody asked for passages; `in_reference`, `in_answer` None: nobody asked
    for the other text. `quote_found`: whether the quote stands in a passage that supports. `together`: it takes all
    passages that support it, none does by itself. `alternative`: of a claim of the reference, which of several."""

    id: Place
    text: str = ""
    sentence: Annotated[int, msgspec.Meta(ge=0, le=_MOST)] = 0
    relevant: bool = True
    supported_by: tuple[Place, ...] | None = None
    contradicted_by: tuple[Place, ...] = ()
    in_reference: bool | None = None
    in_answer: bool | None = None
    quote: str = ""
    quote_found: bool | None = None
    reason: str = ""
    together: bool = False
    alternative: Annotated[int, msgspec.Meta(ge=0, le=_MOST)] = 0

    @property
    def unsupported_quote(self) -> bool:
        """Whether support is claimed with a quote that is in no passage."""
        return bool(self.supported_by) and self.quote_found is False


class PassageVerdict(Frozen, frozen=True):
    """`id` is the passage's place. `relevant` to the question; `useful` to reach the reference (None: none)."""

    id: Place
    relevant: bool
    useful: bool | None = None


class ElementVerdict(Frozen, frozen=True):
    """An element of a rubric: "present" with its quote, "missing" or "unknown"."""

    id: Place
    status: str
    quote: str = ""


class JudgeStep(Frozen, frozen=True):
    """One request to a judge. `prompt` names the prompt, its language and hash; `model` is as the endpoint named it;
    `reply` is raw (None: none came); `problem` says why it could not be used, and then nothing was made of it.
    `doubt`: what is doubted about what was made of it, as nobody asks a third time.
    `coerced`: what was done to read a reply that is not the object alone as it was asked for (`reply.COERCIONS`).
    `copy` numbers requests that are the same but for their sampling, `again` those of a score whose steps are the same
    in everything, as after the same reply to a retry: each was sent and counts.

    The rest is what was made of the reply, as far as the step asks for it. `repeated`: the passages were shown before
    with other claims, so these verdicts on them do not count. `verdict`, `elements`, `score` and `reason` are those of
    metrics with questions of their own. `judge`: which of several. `metric`: the one that asked for itself, so that the
    equal step of another is another request; "" where a step is shared."""

    name: str = msgspec.field(name="step", default="")
    prompt: str = ""
    model: str = ""
    reply: str | None = None
    usage: Usage | None = None
    cached: bool = False
    problem: str = ""
    doubt: str = ""
    copy: int = 0
    sentences: tuple[str, ...] = ()
    answer_claims: tuple[Claim, ...] = ()
    reference_claims: tuple[Claim, ...] = ()
    questions: tuple[str, ...] = ()
    noncommittal: bool = False
    passages: tuple[PassageVerdict, ...] = ()
    repeated: bool = False
    verdict: str | None = None
    elements: tuple[ElementVerdict, ...] = ()
    score: int | None = None
    reason: str = ""
    judge: str = ""
    coerced: tuple[str, ...] = ()
    again: int = 0
    metric: str = ""


# --- written --------------------------------------------------------------------------------------------------------


def evidence(
    steps: Iterable[JudgeStep], /, rest: Mapping[str, Any] | None = None, *, metric: str = ""
) -> dict[str, Any]:
    """The evidence of a score, as plain JSON data: `rest`, and the steps that it rests on. `metric`: the one that asked
    them for itself alone."""
    known: Counter[JudgeStep] = Counter()
    numbered = []
    for step in (replace(step, metric=metric) for step in steps):
        numbered.append(replace(step, again=known[step]))
        known[step] += 1
    return {**(rest or {}), _KEY: [from_json(to_json(step), dict) for step in numbered]}


def parted(score: Score) -> tuple[Score, list[Any]]:
    """The score without the steps that it rests on, and those as they stand in its evidence."""
    evidence_value = score.evidence
    if not (
        isinstance(evidence_value, dict | Mapping)
        and isinstance(evidence_value.get(_KEY), list)
        and evidence_value[_KEY]
    ):
        return score, []
    return replace(
        score, evidence={name: value for name, value in evidence_value.items() if name != _KEY}
    ), evidence_value[_KEY]


def reunited(score: Score, verdicts: list[Any]) -> Score:
    """The score as it was before `parted` took its steps away."""
    return replace(score, evidence={**(score.evidence or {}), _KEY: verdicts}) if verdicts else score


def united(scores: Mapping[str, Score], rest: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence of a score that several judges gave together: that of the first, `rest`, and the steps of all, each
    with its judge."""
    first = next(iter(scores.values())).evidence
    steps = [{**step, "judge": judge} for judge, score in scores.items() for step in _held(score)]
    return {**(first if isinstance(first, Mapping) else {}), **rest, _KEY: steps}


# --- read -----------------------------------------------------------------------------------------------------------


def steps_of(score: Score) -> tuple[JudgeStep, ...]:
    """The requests to a judge that a score rests on; none for a score that no judge gave."""
    return tuple(salvaged(step, JudgeStep) for step in _held(score))


def steps_by_metric(record: Record) -> dict[str, tuple[JudgeStep, ...]]:
    """The same for every score of a record, by metric. A step that several metrics rest on is one object."""
    known: dict[int, JudgeStep] = {}
    by_metric: dict[str, tuple[JudgeStep, ...]] = {}
    for metric, score in record.scores.items():
        raw_steps = _held(score)
        for raw in raw_steps:
            if id(raw) not in known:
                known[id(raw)] = salvaged(raw, JudgeStep)
        by_metric[metric] = tuple(known[id(raw)] for raw in raw_steps)
    return by_metric


def judged_scores(record: Record) -> dict[str, Score]:
    """The scores of a record that rest on a judge's replies, by metric."""
    return {metric: score for metric, score in record.scores.items() if _held(score)}


def requests_of(record: Record) -> list[JudgeStep]:
    """What a judge was asked about a record: each request once, however many metrics rest on it."""
    steps = steps_by_metric(record)
    requests: dict[JudgeStep, JudgeStep] = {}
    for metric in sorted(steps):
        for step in steps[metric]:
            request = replace(step, cached=False, usage=None)
            if request not in requests or (requests[request].cached and not step.cached):
                requests[request] = step
    return list(requests.values())


def _held(score: Score) -> list[Mapping[str, Any]]:
    raw_steps = score.evidence.get(_KEY) if isinstance(score.evidence, dict | Mapping) else None
    return [raw for raw in raw_steps if isinstance(raw, Mapping)] if isinstance(raw_steps, list | tuple) else []


# --- the matrix -----------------------------------------------------------------------------------------------------


class Quote(NamedTuple):
    """Words that a judge quotes for a verdict. `place`: the passage that they are said to be from, 0 if it may be any
    of those that the verdict is about."""

    text: str
    place: int = 0


class AnswerClaim(Frozen, frozen=True):
    """A claim of the answer. `sentence` is its place in `Judged.sentences`, from 1; `relevant`: it helps to answer the
    question. Passages are named by their places, from 1. `in_reference` None: there is no reference. `quote`: the first
    for a passage that supports; `quotes`: all; `verified`: somebody was asked which passages speak of it.
    `unsupported_quote`: it is said to be supported, but every quote for that is in no passage. `reason`: why it is
    not supported, where reasons were asked for."""

    id: int
    text: str
    sentence: int = 0
    relevant: bool = True
    supported_by: tuple[int, ...] = ()
    contradicted_by: tuple[int, ...] = ()
    in_reference: bool | None = None
    quote: str = ""
    quotes: tuple[Quote, ...] = ()
    verified: bool = False
    unsupported_quote: bool = False
    reason: str = ""
    together: bool = False

    @property
    def shared(self) -> bool | None:
        """Whether the other text says it too."""
        return self.in_reference


class ReferenceClaim(Frozen, frozen=True):
    """A claim of the reference. `in_answer` None: the answer makes no claim. `alternative`: of which reference where
    there are several, from 1. The rest as in `AnswerClaim`."""

    id: int
    text: str
    supported_by: tuple[int, ...] = ()
    contradicted_by: tuple[int, ...] = ()
    in_answer: bool | None = None
    quote: str = ""
    quotes: tuple[Quote, ...] = ()
    verified: bool = False
    unsupported_quote: bool = False
    reason: str = ""
    together: bool = False
    alternative: int = 0

    @property
    def shared(self) -> bool | None:
        """Whether the other text says it too."""
        return self.in_answer


class Judged(Frozen, frozen=True):
    """What a judge found in a sample: its steps, and the claims and verdicts of all of them together (`merged`).
    Before `verify` no claim has a verdict and `passages` is empty. `alternative`: the one of several references whose
    claims these are; 0: of all."""

    answer_claims: tuple[AnswerClaim, ...] = ()
    reference_claims: tuple[ReferenceClaim, ...] = ()
    questions: tuple[str, ...] = ()
    noncommittal: bool = False
    passages: tuple[PassageVerdict, ...] = ()
    steps: tuple[JudgeStep, ...] = ()
    sentences: tuple[str, ...] = ()
    alternative: int = 0


@dataclass
class _Verdicts:
    """The verdicts on one claim, as they come from step to step."""

    claim: Claim
    support: set[int] = field(default_factory=set)
    joint: set[int] = field(default_factory=set)
    against: set[int] = field(default_factory=set)
    shared: bool | None = None
    quote: str = ""
    quotes: list[Quote] = field(default_factory=list)
    verified: bool = False
    found: set[bool] = field(default_factory=set)
    reason: str = ""

    def add(self, claim: Claim, shared: bool | None) -> None:
        support, against = claim.supported_by or (), claim.contradicted_by
        if claim.together:
            self.joint = self.joint or {*support}
        else:
            self.support.update(support)
        self.against.update(against)
        self.verified = self.verified or claim.supported_by is not None
        self.shared = shared if self.shared is None else self.shared
        self.reason = self.reason or claim.reason
        if support and claim.quote_found is not None:
            self.found.add(claim.quote_found)
        if text := claim.quote.strip():
            self.quote = self.quote or (text if support else "")
            places = {*support, *against}
            if len(self.quotes) < _QUOTES:
                self.quotes.append(Quote(text, places.pop() if len(places) == 1 else 0))

    def fields(self) -> dict[str, Any]:
        support = self.support or self.joint
        return {
            "id": self.claim.id, "text": self.claim.text, "supported_by": tuple(sorted(support)),
            "contradicted_by": tuple(sorted(self.against - support)), "quote": self.quote,
            "together": bool(self.joint) and not self.support,
            "quotes": tuple(self.quotes), "verified": self.verified, "unsupported_quote": self.found == {False},
            "reason": "" if support else self.reason,
        }  # fmt: skip


def merged(steps: Iterable[JudgeStep]) -> Judged:
    """The claims of all steps with all their verdicts.

    A claim that one piece of a passage supports is supported by the passage, also where another piece contradicts it.
    Where no passage supports a claim by itself, those do that support it together.
    A passage is relevant, and useful, where one of its pieces is. Whether the reference states a claim and whether the
    answer covers one does not depend on passages: the first step that says so is right. An answer is noncommittal where
    each part of it is, and so is an empty one."""
    steps = tuple(steps)
    answer: dict[int, _Verdicts] = {}
    reference: dict[int, _Verdicts] = {}
    passages: dict[int, PassageVerdict] = {}
    # Claims of several judges are not the same claims: those of the first are shown.
    used = [step for step in steps if not step.problem and step.judge == steps[0].judge]
    decomposed = [step for step in used if step.name.startswith("decompose")]
    for step in decomposed:
        for side, claims in ((answer, step.answer_claims), (reference, step.reference_claims)):
            for claim in claims:
                if claim.text:
                    side.setdefault(claim.id, _Verdicts(claim))
    for step in used:
        if not step.name.startswith("verify"):
            continue
        for claim in step.answer_claims:
            if claim.id in answer:
                answer[claim.id].add(claim, claim.in_reference)
        for claim in step.reference_claims:
            if claim.id in reference:
                reference[claim.id].add(claim, claim.in_answer)
        for passage in () if step.repeated else step.passages:
            before = passages.get(passage.id, passage)
            useful = before.useful if passage.useful is None else before.useful or passage.useful
            passages[passage.id] = PassageVerdict(passage.id, before.relevant or passage.relevant, useful)
    return Judged(
        tuple(
            AnswerClaim(
                **one.fields(), sentence=one.claim.sentence, relevant=one.claim.relevant, in_reference=one.shared
            )
            for one in answer.values()
        ),
        tuple(
            ReferenceClaim(**one.fields(), in_answer=one.shared, alternative=one.claim.alternative)
            for one in reference.values()
        ),
        tuple(dict.fromkeys(text for step in decomposed for text in step.questions))[:_QUESTIONS],
        not any(step.sentences and not step.noncommittal for step in decomposed),
        tuple(passages[place] for place in sorted(passages)),
        steps,
        tuple(text for step in decomposed for text in step.sentences),
    )
