"""Why one RGB record is right or wrong, with the cause of failure and the stretches of text that show it.

The causes follow the paper's own error analyses (Chen et al. 2024, Tables 2, 4 and 6): long-distance information,
evidence uncertainty and concept confusion for noise; merging and ignoring for integration.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ragstone.benchmarks._misled import Source, misleading
from ragstone.benchmarks._spans import found_slots, refusal_spans, separate, stated, word_spans
from ragstone.benchmarks.rgb.counts import Marks, marks
from ragstone.benchmarks.rgb.names import language_name
from ragstone.messages import messages
from ragstone.text import find_answer
from ragstone.types import Finding, Passage, Record, Span

__all__ = ["CAUSES", "explain"]

# How bad each cause is, from 0 to 1: a false statement that a reader would believe is worse than none.
CAUSES: Mapping[str, float] = {
    "followed_false": 0.95,
    "detected_but_followed": 0.90,
    "misled": 0.90,
    "unsupported": 0.85,
    "wrong_passage": 0.80,
    "altered_detail": 0.75,
    "no_match": 0.70,
    "wrong_detail": 0.68,
    "far_missed": 0.65,
    "merged": 0.60,
    "ignored": 0.55,
    "refused": 0.50,
    "refused_false": 0.48,
    "detected_not_corrected": 0.45,
    "not_known": 0.40,
    "declined": 0.35,
    "not_stated": 0.35,
    "empty": 0.30,
    "cut_off": 0.30,
    "blocked": 0.25,
    "guessed": 0.20,
    "other_form": 0.15,
    "other_wording_refusal": 0.10,
}

_LONGEST = 120  # characters of an alias or message that a reason quotes
_BOTH = ("both", "each", "same", "都", "均", "同样", "两者", "一样")


def explain(record: Record, language: str = "en", scoring: str = "default") -> Finding:
    """The finding of a record, told in `language`, right or wrong by `scoring` ("default" or "official")."""
    return _Reader(record, messages(__name__, language), scoring).finding()


@dataclass(frozen=True)
class _Reader:
    """Reads one record. What costs time (looking into passages) is done for wrong answers only."""

    record: Record
    words: Mapping[str, str]
    scoring: str

    # -- what the record says

    @cached_property
    def marks(self) -> Marks:
        return marks(self.record)

    @cached_property
    def answer(self) -> str:
        return "" if self.record.response is None else self.record.response.answer

    @cached_property
    def language(self) -> str:
        return str(self.record.case.condition.get("language", "")) or self.record.case.sample.language

    @property
    def ability(self) -> str:
        return str(self.record.case.condition.get("ability", ""))

    @property
    def closed_book(self) -> bool:
        return bool(self.record.case.condition.get("closed_book", False))

    @property
    def passages(self) -> Sequence[Passage]:
        return self.record.case.query.passages or ()

    @property
    def slots(self) -> Sequence[Sequence[str]]:
        return self.record.case.sample.references

    @cached_property
    def fakes(self) -> list[str]:
        found = self.record.case.sample.meta.get("fake") or []
        return [found] if isinstance(found, str) else [str(fake) for fake in found]

    @property
    def group(self) -> str:
        ability = "closed_book" if self.closed_book else self.ability
        name = self.words.get(ability, ability)
        return self.words["group"].format(ability=name, language=language_name(self.language, self.words))

    @property
    def metric(self) -> str:
        """The metric that decides between right and wrong."""
        if self.scoring == "official":
            return "rgb.official"
        return "refusal" if self.ability == "rejection" else "answer_match"

    @property
    def right(self) -> bool | None:
        found = self.marks
        if self.scoring == "official":
            return found.official
        return found.rejected if self.ability == "rejection" else found.right

    @property
    def declines(self) -> bool:
        """Whether the answer refuses, in either scoring's eyes."""
        return bool(self.marks.rejected) or self.marks.label == (-1,)

    # -- the finding

    def finding(self) -> Finding:
        if self.record.response is None or self.record.error is not None:
            return self._not_answered()
        right = self.right
        if right is None:
            score = self.record.scores.get(self.metric)
            told = self._say("never_scored")
            if score is not None:
                told = self._say("unscored", metric=self.metric, message=score.reason)
            return Finding(None, self.group, "unscored", self.words["cause_unscored"], told)
        if right:
            return Finding(True, self.group, reason=self._why_right(), spans=separate(self._own_spans()))
        return self._wrong()

    def _not_answered(self) -> Finding:
        kind, _, message = (self.record.error or "").partition(":")
        kind = kind.strip() if message else "error"
        message = (message or self.record.error or "").strip()
        blocked = kind == "content_blocked"
        label = self.words["cause_blocked"] if blocked else self.words["cause_error"].format(kind=_short(kind))
        cause = "blocked" if blocked else kind
        return Finding(None, self.group, cause, label, self._say("error", message=_short(message)))

    def _why_right(self) -> str:
        if self.ability == "rejection" and self.declines:
            return self._say("right_refusal")
        if self.scoring == "official" and not self.marks.right:
            return self._say("right_label")
        return self._say("right", aliases=self._aliases())

    def _own_spans(self) -> list[Span]:
        """What the metrics themselves found in the answer."""
        return [*(span for slot in found_slots(self.record) for span in slot), *refusal_spans(self.record)]

    def _wrong(self) -> Finding:
        response = self.record.response
        if response is not None and response.finish_reason == "content_filter":
            return self._cause("blocked", self._say("blocked"))
        if response is not None and response.finish_reason == "length":
            return self._cause("cut_off", self._say("cut_off"))
        if not self.answer.strip():
            return self._cause("empty", self._say("empty"))
        if self.ability == "rejection":
            return self._answered_anyway()
        return self._by_scoring() or self._declined() or self._of_testbed() or self._from_passages()

    def _answered_anyway(self) -> Finding:
        """Wrong where no document holds the answer: it was answered all the same."""
        if self.declines:
            return self._cause("other_wording_refusal", self._say("other_wording_refusal"))
        if self.marks.right:
            return self._cause("guessed", self._say("guessed", aliases=self._aliases()))
        source = self._source
        if source is None:
            return self._cause("unsupported", self._say("unsupported"))
        return self._from("misled", source, self._say("misled", passage=source.passage.id, what=self._what(source)))

    def _by_scoring(self) -> Finding | None:
        """Where the two scorings disagree, the difference between them is the cause."""
        found = self.marks
        if self.scoring == "official" and found.right:
            return self._cause("other_form", self._say("other_form", aliases=self._aliases()))
        if self.scoring == "default" and found.all_slots and not self.declines and self._is_mere_mention():
            return self._cause("not_stated", self._say("not_stated", aliases=self._aliases()))
        return None

    def _is_mere_mention(self) -> bool:
        """Whether nothing else is said that would be a cause of its own: the false answer, or an altered passage's."""
        return not any(find_answer(fake, self.answer, self.language) for fake in self.fakes)

    def _declined(self) -> Finding | None:
        if not self.declines:
            return None
        if self.closed_book:
            return self._cause("declined", self._say("declined"))
        if self.ability == "counterfactual":
            return self._cause("refused_false", self._say("refused_false", aliases=self._aliases()))
        holders = self._holders()
        shown = self.words["separator"].join(passage.id for passage in holders[:3])
        return self._cause("refused", self._say("refused", passages=shown), self._answers_in(holders))

    def _of_testbed(self) -> Finding | None:
        """The causes that only one testbed knows."""
        if self.closed_book:
            return self._cause("not_known", self._say("not_known", aliases=self._aliases()))
        if self.ability == "counterfactual":
            return self._counterfactual()
        if self.ability == "integration":
            return self._integration()
        return None

    def _counterfactual(self) -> Finding | None:
        detected = bool(self.marks.detected) or bool(self.marks.fact)
        spans = _fake_spans(self.fakes, self.answer, self.passages, self.language)
        if any(span.field == "answer" for span in spans):
            cause = "detected_but_followed" if detected else "followed_false"
            fake = _quoted(self.fakes[0])
            return self._cause(cause, self._say(cause, fake=fake, aliases=self._aliases()), spans)
        if detected:
            cause = "detected_not_corrected"
            return self._cause(cause, self._say(cause, aliases=self._aliases()), spans)
        source = self._source
        if source is not None and source.passage.id.startswith("wrong:"):
            spans += word_spans(source.shared, "answer", self.answer, self.language)
            reason = self._say("altered_detail", passage=source.passage.id, aliases=self._aliases())
            return self._cause("altered_detail", reason, spans)
        return None

    def _integration(self) -> Finding | None:
        """Some parts are answered and others not: merged where one answer stands for all, otherwise left out."""
        places = found_slots(self.record)
        label = self.marks.label or ()
        there = [bool(place) for place in places] if self.scoring == "default" else [hit == 1 for hit in label]
        if len(there) != len(self.slots) or not any(there) or all(there):
            return None
        found = [slot for slot, hit in zip(self.slots, there, strict=True) if hit]
        missing = [slot for slot, hit in zip(self.slots, there, strict=True) if not hit]
        told = {"found": _quoted_slots(found), "missing": _quoted_slots(missing)}
        spans = [span for slot in missing for span in self._answers_in(self.passages, slot)]
        folded = f" {self.answer.lower()} "
        twice = any(len(stated(slot[:1], "answer", self.answer, self.language)) > 1 for slot in found)
        if twice or any(f" {cue} " in folded if cue.isascii() else cue in folded for cue in _BOTH):
            return self._cause("merged", self._say("merged", **told), spans)
        source = self._source
        if source is not None and not source.passage.relevant and self._says_more(found):
            return self._wrong_passage(source)
        return self._cause("ignored", self._say("ignored", **told), spans)

    def _says_more(self, found: Sequence[Sequence[str]]) -> bool:
        """Whether what the answer took from a passage is more than the parts it has right."""
        own = {alias for slot in found for alias in slot}
        source = self._source
        return source is not None and not all(any(word in alias.lower() for alias in own) for word in source.shared)

    def _from_passages(self) -> Finding:
        source = self._source
        if source is not None and not source.passage.relevant:
            return self._wrong_passage(source)
        holders = self._holders()
        far = [passage for passage in holders if passage.meta.get("kind") == "far"]
        if holders and len(far) == len(holders):
            shown = self.words["separator"].join(passage.id for passage in far[:3])
            reason = self._say("far_missed", aliases=self._aliases(), passages=shown)
            return self._cause("far_missed", reason, self._answers_in(far))
        if source is not None:
            there = [slot for slot in self.slots if stated(slot, "", source.passage.text, self.language)]
            reason = self._say("wrong_detail", passage=source.passage.id, aliases=_quoted_slots(there or self.slots))
            taken = word_spans(source.shared, "answer", self.answer, self.language)
            taken += word_spans(source.shared, source.passage.id, source.passage.text, self.language)
            return self._cause("wrong_detail", reason, [*self._answers_in(holders), *taken])
        return self._cause("no_match", self._say("no_match", aliases=self._aliases()), self._answers_in(holders))

    def _wrong_passage(self, source: Source) -> Finding:
        what = self._what(source)
        reason = self._say("wrong_passage", passage=source.passage.id, what=what, aliases=self._aliases())
        return self._from("wrong_passage", source, reason)

    # -- parts of a finding

    @cached_property
    def _source(self) -> Source | None:
        return misleading(self.record.case.query.question, self.answer, self.passages, self.language)

    def _what(self, source: Source) -> str:
        kind = _kind(source)
        return self.words.get(f"what_{kind}") or self.words["what_other"].format(kind=_short(kind))

    def _from(self, cause: str, source: Source, reason: str) -> Finding:
        """A cause that lies in a passage: its kind is part of the cause's name."""
        kind = _kind(source)
        spans = [
            *word_spans(source.shared, "answer", self.answer, self.language),
            *word_spans(source.shared, source.passage.id, source.passage.text, self.language),
            *self._answers_in(self._holders()),
        ]
        name = f"{cause}_{kind}" if kind else cause
        label = self.words[f"cause_{cause}"].format(what=self._what(source))
        return self._made(name, label, reason, CAUSES[cause], spans)

    def _cause(self, cause: str, reason: str, spans: Sequence[Span] = ()) -> Finding:
        return self._made(cause, self.words[f"cause_{cause}"], reason, CAUSES[cause], spans)

    def _made(self, cause: str, label: str, reason: str, weight: float, spans: Sequence[Span]) -> Finding:
        # Among equals, to fail with less noise is worse.
        weight += 0.04 * (1 - float(self.record.case.condition.get("noise_ratio", 0.0)))
        shown = separate([*self._own_spans(), *spans])
        return Finding(False, self.group, cause, label, reason, round(weight, 4), shown)

    def _holders(self) -> list[Passage]:
        return [passage for passage in self.passages if passage.relevant]

    def _answers_in(self, passages: Sequence[Passage], slot: Sequence[str] | None = None) -> list[Span]:
        """Where passages state the answer: all slots of it, or one."""
        aliases = [alias for one in self.slots for alias in one] if slot is None else list(slot)
        return [span for p in passages for span in stated(aliases, p.id, p.text, self.language)]

    def _aliases(self) -> str:
        return _quoted_slots(self.slots)

    def _say(self, reason: str, **values: str) -> str:
        return self.words[f"reason_{reason}"].format(**values)


def _kind(source: Source) -> str:
    return str(source.passage.meta.get("kind", ""))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _quoted(text: str) -> str:
    return f"“{_short(text)}”"


def _quoted_slots(slots: Sequence[Sequence[str]]) -> str:
    return " + ".join(_quoted(slot[0]) for slot in slots if slot)


def _fake_spans(fakes: Sequence[str], answer: str, passages: Sequence[Passage], language: str) -> list[Span]:
    """Where the false answer stands, in the answer and in the passages."""
    spans = stated(fakes, "answer", answer, language, "wrong")
    for passage in passages:
        spans += stated(fakes, passage.id, passage.text, language, "wrong")
    return spans
