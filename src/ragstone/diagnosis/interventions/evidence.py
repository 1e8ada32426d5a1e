"""What the answers to one question under all conditions tell, as fields of which each has a few values.

A field is None while the condition that would tell it can still be asked, and "missing" if it cannot be known. The
table of causes and the plan of what to ask next read nothing else.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from ragstone.analysis.gold_passages import covered, holds, labelled, rank_of
from ragstone.benchmarks.recorded import diagnosis
from ragstone.diagnosis.interventions.chunking import own, sentence, split
from ragstone.diagnosis.interventions.conditions import (
    ASKED_AGAIN,
    CONDITIONS,
    REPEATS,
    rivals,
)
from ragstone.diagnosis.interventions.cutting import clipped, cut, unread_end
from ragstone.diagnosis.interventions.index import dated
from ragstone.diagnosis.interventions.packed import PackedRecords, without
from ragstone.diagnosis.interventions.parts import in_doubt, partial
from ragstone.diagnosis.interventions.placing import stood
from ragstone.diagnosis.interventions.prompts import guarded, message_of, stock
from ragstone.diagnosis.interventions.question import (
    ASKED,
    FOUND_BY_ITSELF,
    REFERENCE,
    Question,
    basis_of,
    fetched_of,
    lost_gold,
    own_chunks,
    prompt_of,
    rewritten_of,
)
from ragstone.diagnosis.interventions.remembering import ORDERED, asked_model, carried, reworded, stuck, unburdened
from ragstone.diagnosis.interventions.requests import explicit
from ragstone.diagnosis.interventions.rereading import claims_of, is_error_message, reads_right, reread
from ragstone.diagnosis.interventions.searching import (
    barrier,
    crowded,
    curtailed,
    deaf,
    demoted,
    excluded,
    left_out,
    narrowed,
)
from ragstone.diagnosis.interventions.shared import Shared
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.metrics.answerable import answerable
from ragstone.responses.stages import passages_at
from ragstone.structs import Itself
from ragstone.types import Passage, Record, Response, Sample

if TYPE_CHECKING:
    from ragstone.analysis.statements import Part

MISSING = "missing"
REPEATED = {again: name for name, repeats in ASKED_AGAIN.items() for again in repeats}
_NOT_REFUSED = {"right": "right", "wrong": "wrong", "refused": "wrong", MISSING: MISSING}

FIELDS: Mapping[str, tuple[str, ...]] = {
    "as_is": ("right", "wrong", "refused", "error", "unscored"),
    "again": ("right", "wrong", MISSING),
    "answerable": ("yes", "no"),
    "gold": ("yes", MISSING),
    "in_index": ("yes", "no", MISSING),
    "fetched": ("yes", "no", MISSING),
    "prompted": ("yes", "no", MISSING),
    "added": ("right", "wrong", MISSING),
    "asked": ("yes", "no", MISSING),
    "lowered": ("yes", "no", MISSING),
    "demoted": ("yes", "no", MISSING),
    "left_out": ("yes", "no"),
    "by_reference": ("yes", "no", MISSING),
    "reach": ("yes", "no", MISSING),
    "alone": ("right", "wrong", "refused", MISSING),
    "indexed": ("right", "wrong", "refused", MISSING),
    "contradicted": ("yes", "no", MISSING),
    "own": ("right", "wrong", MISSING),
    "split": ("yes", "no"),
    "dated": ("yes", "no"),
    "sentence": ("right", "wrong", MISSING),
    "moved": ("right", "wrong", MISSING),
    "recalled": ("yes", "no", MISSING),
    "partial": ("yes", "no"),
    "in_doubt": ("yes", "no"),
    "reread": ("right", "unit", "no"),
    "explicit": ("detail", "form", "language", "no"),
    "cut": ("yes", "no"),
    "clipped": ("yes", "no"),
    "unread_end": ("yes", "no"),
    "narrowed": ("yes", "no"),
    "curtailed": ("yes", "no"),
    "deaf": ("yes", "no"),
    "guarded": ("yes", "no", MISSING),
    "stock": ("yes", "no"),
    "crowded": ("yes", "no", MISSING),
    "excluded": ("yes", "no", MISSING),
    "barrier": ("yes", "no", MISSING),
    "stuck": ("yes", "no", MISSING),
    "reworded": ("right", "wrong", MISSING),
    "carried": ("yes", "no", MISSING),
    "unburdened": ("right", "wrong", MISSING),
}
"""Each field and its values; `docs/diagnosis.md` says what they mean."""

SOURCES: Mapping[str, tuple[str, ...]] = {
    "again": ("again",), "in_doubt": ("gold_only", "closed_book"),
    "added": ("gold_added",), "alone": ("gold_only",), "indexed": ("indexed_only",),
    "asked": ("search_asked",), "lowered": ("search_asked",), "by_reference": ("search_reference",),
    "reach": ("k2", "k4"), "demoted": ("k2", "k4"), "recalled": ("closed_book", "no_gold"),
    "moved": ("gold_first", "gold_last", "only_before", "only_after", "spaced"),
    "in_index": ("search_deep", "search_reference", "search_own"), "crowded": ("search_deep", "k4", "k2"),
    "excluded": ("search_own", "search_control"), "barrier": ("search_translated",),
    "contradicted": ("gold_added", "without_rivals", "indexed_only"),
    "own": ("chunk_only",), "split": ("search_reference", "k2", "k4"), "sentence": ("evidence_only",),
    "explicit": ("gold_explicit", "gold_neutral"), "cut": ("spaced", "padded"),
    "unread_end": ("evidence_first", "evidence_last"),
    "curtailed": ("search_deep", "search_joined"),
    "deaf": ("search_asked", "search_swapped", "search_control", "swapped"),
    "guarded": ("gold_open", "counterfactual"),
    "stuck": ("gold_only", "closed_book", "counterfactual"), "reworded": ("reworded", "reworded_2"),
    "carried": ORDERED, "unburdened": ("no_history",),
}  # fmt: skip
"""The conditions that tell a field, in the order in which to ask them; an answer may make the next superfluous."""


def question_of(sample: Sample, row: int = 0) -> Question:
    """The question of a case of this benchmark, whose sample has the gold passages and notes about them."""
    notes = sample.meta
    indexed = tuple(msgspec.convert(notes.get("indexed", []), list[Passage]))
    return Question(row, sample, (), labelled(sample), indexed, str(notes.get("stand_in", "")))


_UNPACKED = 64
_unpacked: "deque[Evidence]" = deque()  # the questions that were read last of those that are packed


@dataclass
class Evidence:
    """The records of one question by condition. `takes`: what the system accepts. `gates`: thresholds by metric that
    decide what is right. `unstable_system`: some outcome changed when it was asked for again, so a wrong one is asked
    for three times, as are wrong ones under `ASKED_AGAIN`. `shared`: what the questions of the run tell together.
    `withdrawn`: the conditions that did not take effect, with the reason; they count as not asked (`verification`)."""

    records: Mapping[str, Record]
    takes: frozenset[str] = frozenset()
    gates: Mapping[str, float] = field(default_factory=dict)
    unstable_system: bool = False
    shared: Shared = field(default_factory=Shared)
    withdrawn: dict[str, str] = field(default_factory=dict)

    @cached_property
    def id(self) -> str:
        """The question's id in the data."""
        return self.sample.id

    @cached_property
    def sample(self) -> Sample:
        if isinstance(self.records, PackedRecords):
            _unpacked.append(self)
            if len(_unpacked) > _UNPACKED:
                _unpacked.popleft().pack()
        return self.records["as_is"].case.sample

    @cached_property
    def question(self) -> Question:
        return replace(question_of(self.sample), history=self.records["as_is"].case.query.history)

    @property
    def gold(self) -> tuple[Passage, ...]:
        return self.question.gold

    @property
    def slots(self) -> Sequence[Sequence[str]]:
        return self.sample.references

    @property
    def first(self) -> Response | None:
        """The answer as is."""
        return self.records["as_is"].response

    @cached_property
    def basis(self) -> Response | None:
        """The answer as is, as conditions are made of it."""
        return (
            None
            if self.first is None
            else basis_of(self.first, {name: self.response(name) for name in (ASKED, REFERENCE)})
        )

    @property
    def asked(self) -> Collection[str]:
        """The conditions that were asked, with and without effect."""
        return {*self.records, *self.withdrawn}

    def withdraw(self, condition: str, why: str) -> None:
        """Forgets the record under a condition, and what was read of it."""
        self.records, self.withdrawn[condition] = without(self.records, condition), why
        self._outcomes.pop(condition, None)
        for name in ("_values", "basis", "_possible"):
            vars(self).pop(name, None)

    def pack(self) -> None:
        """Keeps the texts in few bytes, and lets go of what was read of them; that is also done to the question that
        was read `_UNPACKED` questions ago."""
        if not isinstance(self.records, PackedRecords):
            self.records = PackedRecords(self.records)
        for name in ("sample", "question", "basis", "own_chunks", "_possible", "_held"):
            vars(self).pop(name, None)

    def response(self, condition: str) -> Response | None:
        record = self.records.get(condition)
        return None if record is None else record.response

    def outcome(self, condition: str) -> str | None:
        """ "right", "wrong", "refused", "error" or "unscored"; None if it was not asked."""
        if condition not in self.records:
            return None
        if condition not in self._outcomes:
            self._outcomes[condition] = self._outcome(condition)
        return self._outcomes[condition]

    @cached_property
    def _outcomes(self) -> dict[str, str | None]:
        return {}

    def _outcome(self, condition: str) -> str | None:
        record = self.records.get(condition)
        if record is None:
            return None
        if record.response is None:
            return "error"
        found = diagnosis.explain(record, gates=self.gates)
        if not found.right and is_error_message(record):
            return "error"
        if found.right is None:
            return "unscored"
        return "right" if found.right else "refused" if found.cause == "wrong_refusal" else "wrong"

    def told(self, condition: str) -> str | None:
        """The outcome under a changed condition, where a wrong answer is read a second time; "missing" for an error or
        an answer that was not scored."""
        outcome = self.outcome(condition)
        if outcome == "wrong" and condition != "as_is" and self._reads_right(condition):
            return "right"
        return MISSING if outcome in ("error", "unscored") else outcome

    def _reads_right(self, condition: str) -> bool:
        if condition not in self._second:
            self._second[condition] = reads_right(self, self.records[condition])
        return self._second[condition]

    @cached_property
    def _second(self) -> dict[str, bool]:
        """By condition whether a wrong answer is right by a second reading."""
        return {}

    @property
    def changes_by_itself(self) -> bool:
        """Whether the question got another outcome when it was simply asked again: a refusal and a wrong answer are
        two, though neither is right."""
        told = {self.told("as_is"), self.told("again")}
        return len(told) > 1 and told <= {"right", "wrong", "refused"}

    def informed(self) -> list[str]:
        """The answers, no refusals, that were given with the gold in the prompt."""
        names = ("as_is", *REPEATS) if self._prompted() == "yes" else ()
        names = (*names, "gold_only", *ASKED_AGAIN["gold_only"])
        answers = [(self.outcome(name), response.answer) for name in names if (response := self.response(name))]
        return [answer for outcome, answer in answers if outcome in ("right", "wrong")]

    def settled(self, condition: str) -> str | None:
        """The outcome under a condition of which a wrong one decides: right if any of its answers is, as the answer as
        is has as many tries where answers change by themselves. None while it can be asked again."""
        names = (condition, *ASKED_AGAIN[condition])
        if any(self.told(name) == "right" for name in names):
            return "right"
        return None if any(name not in self.records and self.can(name) for name in names) else self.told(condition)

    def _is_doubted(self, condition: str) -> bool:
        """Whether a wrong answer under a condition may be one of those that change by themselves."""
        wrong = ("wrong", "refused")
        names = (condition, *ASKED_AGAIN[condition])
        return (
            self.unstable_system and self._as_is() in wrong and self.told(condition) in wrong
            and not any(self.told(name) == "right" for name in names)
        )  # fmt: skip

    def can(self, condition: str) -> bool:
        """Whether this condition can be asked of the system and of this question."""
        verified = self.shared.verified
        if condition in self.withdrawn or (verified is not None and condition in verified.unusable):
            return False
        if condition in REPEATED and not self._is_doubted(REPEATED[condition]):
            return False
        return self.is_possible(condition)

    def is_possible(self, condition: str) -> bool:
        """Whether this condition can be made of this question for the system, whatever was observed of others."""
        known, possible = CONDITIONS[condition], self._possible
        if known.takes and known.takes not in self.takes:
            return False
        if condition not in possible:
            possible[condition] = self.basis is not None and known.build(self.question, self.basis) is not None
        return possible[condition]

    @cached_property
    def _possible(self) -> dict[str, bool]:
        return {}

    def value(self, name: str) -> str | None:
        """The value of a field; None if a condition that can be asked would tell it."""
        return self._values[name] if name in self._values else self._values.setdefault(name, self._READERS[name](self))

    @cached_property
    def _values(self) -> dict[str, str | None]:
        return {}

    def open_conditions(self, name: str) -> list[str]:
        """The conditions to ask next for a field without a value."""
        sources = SOURCES[name]
        if name == "again" and self.unstable_system and self._as_is() != "right":
            sources = REPEATS
        wanted = [one for condition in sources for one in (condition, *ASKED_AGAIN.get(condition, ()))]
        asked = [condition for condition in wanted if condition not in self.records and self.can(condition)]
        return asked if name == "carried" else asked[:1]

    def told_by(self, name: str, *, otherwise: str = MISSING) -> str | None:
        """None if a condition of this field can still be asked, else `otherwise`."""
        return None if self.open_conditions(name) else otherwise

    # Fields, in the order of FIELDS.

    def _as_is(self) -> str:
        return self.outcome("as_is") or "unscored"

    def _again(self) -> str | None:
        return self._ever_right("again", REPEATS)

    def _ever_right(self, name: str, conditions: Sequence[str]) -> str | None:
        """Whether an answer under any of these conditions, which tell this field, is right."""
        outcomes = [outcome for condition in conditions if (outcome := self.told(condition)) not in (None, MISSING)]
        if "right" in outcomes:
            return "right"
        return self.told_by(name, otherwise="wrong" if outcomes else MISSING)

    def _answerable(self) -> str:
        return "no" if answerable(self.records["as_is"].case) is False else "yes"

    def _gold(self) -> str:
        return "yes" if self.gold else MISSING

    @cached_property
    def needs_every(self) -> bool:
        """Whether the gold passages that the prompt lacks are needed besides those that it has: adding them rights the
        answer."""
        return self._as_is() != "right" and self.settled("gold_added") == "right"

    def has_gold(self, passages: Sequence[Passage]) -> str:
        """Whether these passages hold the gold."""
        if not self.gold:
            return MISSING
        enough: tuple[Part, ...] = ("whole", "value") if self.settled("chunk_only") == "right" else ("whole",)
        key, known = (Itself(passages), enough, self.needs_every), self._held
        if key not in known:
            known[key] = covered(passages, self.gold, self.slots, every=self.needs_every, enough=enough)
        return "yes" if known[key] else "no"

    @cached_property
    def _held(self) -> "dict[tuple[Itself, tuple[Part, ...], bool], bool]":
        return {}

    @cached_property
    def own_chunks(self) -> list[Passage]:
        """The system's passages that hold the gold, or parts of it, as far as it showed them."""
        return [] if self.basis is None else own_chunks(self.question, self.basis)

    def _in_index(self) -> str | None:
        if not self.gold:
            return MISSING
        seen = [response for name in CONDITIONS if CONDITIONS[name].takes in ("", "repeat", "k", "retrieve")
                and (response := self.response(name)) is not None]  # fmt: skip
        if any(self.has_gold(fetched_of(response)) == "yes" for response in seen):
            return "yes"
        noted = self.sample.meta.get("in_index")  # as the list of the index tells
        if noted is not None:
            return "yes" if noted == "yes" or (noted == "part" and not self.needs_every) else "no"
        return self.told_by("in_index")

    def _fetched(self) -> str:
        first = self.first
        if first is None or not (first.passages or first.empty_retrieval or first.steps):
            return MISSING
        return self.has_gold(fetched_of(first))

    def _prompted(self) -> str:
        return MISSING if self._fetched() == MISSING or self.first is None else self.has_gold(prompt_of(self.first))

    def _added(self) -> str | None:
        return self.told_by("added") if (outcome := self.settled("gold_added")) is None else _NOT_REFUSED[outcome]

    def _asked(self) -> str | None:
        response = self.response("search_asked")
        return self.told_by("asked") if response is None else self.has_gold(response.passages)

    def _lowered(self) -> str | None:
        """Whether the question as asked ranks the gold where the prompt has room for it, unlike the rewritten one."""
        first = self.first
        if first is None or self._fetched() != "yes" or self._prompted() != "no":
            return "no"
        fetched = passages_at(first, "fetch") or ()
        if not rewritten_of(first, self.sample.question) or self.has_gold(fetched[: len(first.passages)]) == "yes":
            return "no"
        response = self.response("search_asked")
        return self.told_by("lowered") if response is None else self.has_gold(response.passages[: len(first.passages)])

    def _by_reference(self) -> str | None:
        """Whether the gold that the prompt lacks is found by its own words, with the reference or without: the words of
        a reference may lead elsewhere."""
        response, first = self.response("search_reference"), self.first
        if response is None or first is None:
            return self.told_by("by_reference")
        sought = lost_gold(self.question, first)
        if sought is None:
            return self.has_gold(response.passages)
        own, few = self.response("search_own"), max(FOUND_BY_ITSELF, len(first.passages))
        found = (*response.passages[:few], *(() if own is None else own.passages[:few]))
        return "yes" if any(holds(item, sought, self.slots) for item in found) else "no"

    def _reach(self) -> str | None:
        """Whether the gold is in the prompt when the system takes twice or four times as many passages."""
        prompts = [response.passages for name in ("k2", "k4") if (response := self.response(name)) is not None]
        if any(self.has_gold(passages) == "yes" for passages in prompts):
            return "yes"
        if prompts or self.open_conditions("reach"):
            return self.told_by("reach", otherwise="no")
        first = self.first  # k cannot be changed: what was fetched beyond the prompt tells
        if first is None or self._fetched() != "yes" or self.value("left_out") == "yes":
            return MISSING
        rank = rank_of(fetched_of(first), self.gold, self.slots)
        return "yes" if rank is not None and rank <= 4 * len(first.passages) else "no"

    def _alone(self) -> str | None:
        return self.told_by("alone") if (outcome := self.settled("gold_only")) is None else outcome

    def _indexed(self) -> str | None:
        return self.told_by("indexed") if (outcome := self.told("indexed_only")) is None else outcome

    def _contradicted(self) -> str | None:
        """Whether passages of the prompt that state another answer misled: without them the answer is right, and from
        them alone it is wrong; not where it is right beside them once the gold that the prompt lacked is there."""
        if self.first is None or self._as_is() != "wrong" or not rivals(self.question, self.first):
            return "no"
        if (added := self.settled("gold_added")) == "right" or (added is None and self.can("gold_added")):
            return None if added is None else "no"
        without, alone = self.settled("without_rivals"), self.told("indexed_only")
        if without not in (None, "right") or alone not in (None, "wrong"):
            return MISSING if MISSING in (without, alone) else "no"
        return self.told_by("contradicted") if without is None or alone is None else "yes"

    def _moved(self) -> str | None:
        """Whether the answer is right with the gold first or last; where the system puts passages into an order of its
        own, without those on either side of it, the one time and the other. Where the gold stood first or last as is,
        that answer tells."""
        ends = [self.told(f"gold_{place}") or self._stood(place) for place in ("first", "last")]
        if "right" in ends or not {*ends} & {None, MISSING}:
            return "right" if "right" in ends else "wrong"
        sides = {self.told(name) for name in ("only_before", "only_after")}
        if sides & {None, MISSING}:
            return self.told_by("moved")
        if sides == {"right"} or ("right" in sides and self.told("spaced") in ("wrong", "refused")):
            return "right"  # or right on the one side alone, and wrong between passages that say nothing
        return self.told_by("moved", otherwise="wrong")

    def _stood(self, place: str) -> str | None:
        """The outcome as is where the gold stood at this place of the prompt."""
        return self.told("as_is") if self.basis is not None and stood(self.question, self.basis, place) else None

    def _recalled(self) -> str | None:
        """Whether the answer from the gold claims what the system claims without any document, and no gold passage
        states. A refusal claims nothing. Where nothing asks the model without documents, as a system does that sends a
        fixed text then, it is asked with its own passages without the gold, which do not state it either."""
        read, name = self.response("gold_only"), "closed_book"
        by_heart = self.response(name)
        if by_heart is None or (self.shared.prompts and not asked_model(by_heart)):
            name = "no_gold"
            by_heart = self.response(name)
        if by_heart is None or read is None:
            return self.told_by("recalled")
        if "refused" in (self.outcome(name), self.outcome("gold_only")):
            return "no"
        if message_of(read) in self.shared.fixed:
            return "no"  # what many questions get is no knowledge
        given = () if name == "closed_book" or self.first is None else self.first.passages
        known = [self.sample.question, *(f"{item.title}\n{item.text}" for item in (*self.gold, *given))]
        claims, others = (claims_of(response.answer, known) for response in (by_heart, read))
        numbers, others_numbers = ({word for word in some if any(map(str.isdigit, word))} for some in (claims, others))
        if numbers or others_numbers:
            return "yes" if numbers == others_numbers else "no"
        return "yes" if claims and others and (claims <= others or others <= claims) else "no"

    def _partial(self) -> str:
        """Whether answers from the gold have some parts of the answer and lack others."""
        if partial(self) == "yes":
            return "yes"
        record = self.records.get("gold_only") or self.records["as_is"]
        if record.response is None:
            return "no"
        if len(self.slots) < 2:
            return "no"
        match = AnswerMatch().score(record.case, record.response)
        evidence: Any = match.evidence
        found = [bool(slot) for slot in evidence.get("slots", [])] if isinstance(evidence, Mapping) else []
        scores = [score.value for score in record.scores.values() if score.value is not None]
        in_part = any(found) and not all(found)
        return "yes" if in_part or (not any(found) and any(0.25 < value < 1 for value in scores)) else "no"

    _READERS: ClassVar[Mapping[str, Callable[["Evidence"], str | None]]] = {
        "as_is": _as_is, "again": _again, "answerable": _answerable, "gold": _gold, "in_index": _in_index,
        "fetched": _fetched, "prompted": _prompted, "added": _added, "asked": _asked, "lowered": _lowered,
        "demoted": demoted, "left_out": left_out, "by_reference": _by_reference, "reach": _reach, "alone": _alone,
        "indexed": _indexed, "dated": dated, "contradicted": _contradicted, "moved": _moved, "recalled": _recalled,
        "partial": _partial, "in_doubt": in_doubt, "reread": reread, "crowded": crowded, "excluded": excluded,
        "barrier": barrier, "own": own, "split": split, "sentence": sentence, "explicit": explicit, "cut": cut,
        "clipped": clipped, "unread_end": unread_end, "narrowed": narrowed, "curtailed": curtailed, "deaf": deaf,
        "guarded": guarded, "stock": stock, "stuck": stuck, "reworded": reworded, "carried": carried,
        "unburdened": unburdened,
    }  # fmt: skip
    """How each of FIELDS is read."""
