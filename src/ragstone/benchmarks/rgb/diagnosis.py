"""Why one RGB record is right or wrong, with the cause of failure and the stretches of text that show it.

The causes follow the paper's own error analyses (Chen et al. 2024, Tables 2, 4 and 6): long-distance information,
evidence uncertainty and concept confusion for noise; merging and ignoring for integration.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

from ragstone.benchmarks.highlights import found_slots, separate, stated, word_spans
from ragstone.benchmarks.record_reader import RecordReader
from ragstone.benchmarks.rgb.aggregate import RecordScores, language_name, read_scores
from ragstone.benchmarks.rgb.passage_kinds import is_far, kind_of
from ragstone.benchmarks.source_attribution import Source
from ragstone.display import Diagnosis, Span, shown_passage
from ragstone.error_text import failure_in, kind_in
from ragstone.messages import messages
from ragstone.metrics.catalogue import in_language
from ragstone.text import find_answer
from ragstone.types import Passage, Record

# The severity of each cause, from 0 to 1: a false statement that a reader would believe is worse than no answer.
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
    "misaligned": 0.80,
    "listed": 0.72,
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
    "unbound": 0.25,
    "guessed": 0.20,
    "other_form": 0.15,
    "other_wording_refusal": 0.10,
}

_LONGEST = 120  # characters of an alias or message that a reason quotes
_BOTH = ("both", "each", "same", "都", "均", "同样", "两者", "一样")


def explain(record: Record, language: str = "en", scoring: str = "default", *, marking: bool = True) -> Diagnosis:
    """The diagnosis of a record in `language`; `scoring` ("default" or "official") decides what is right. Without
    `marking` it has neither reason nor spans."""
    return _RgbReader(record, language, scoring, marking=marking).diagnosis()


class _RgbReader(RecordReader):
    causes = CAUSES

    def __init__(self, record: Record, language: str, scoring: str, *, marking: bool) -> None:
        super().__init__(record, messages(__name__, language), marking=marking)
        self.words_in = language
        self.scoring = scoring

    @cached_property
    def scores(self) -> RecordScores:
        return read_scores(self.record)

    @property
    def ability(self) -> str:
        return str(self.condition.get("ability", ""))

    @property
    def closed_book(self) -> bool:
        return bool(self.condition.get("closed_book", False))

    @cached_property
    def fakes(self) -> list[str]:
        fake_answers = self.record.case.sample.meta.get("fake") or []
        return [fake_answers] if isinstance(fake_answers, str) else [str(fake) for fake in fake_answers]

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
        by_ability = {"rejection": "refusal", "integration": "rgb.binding"}
        name = by_ability.get(self.ability, "answer_match")
        return name if name in self.record.scores else "answer_match"

    @property
    def right(self) -> bool | None:
        scores = self.scores
        if self.scoring == "official":
            return scores.official
        return scores.rejected if self.ability == "rejection" else scores.right

    @property
    def declines(self) -> bool:
        """Whether the answer refuses by either scoring."""
        return bool(self.scores.rejected) or self.scores.label == (-1,)

    # -- the diagnosis

    def diagnosis(self) -> Diagnosis:
        if self.record.response is None or self.record.error is not None:
            return self._not_answered()
        right = self.right
        if right is None:
            score = self.record.scores.get(self.metric)
            reason = self.say("never_scored")
            if score is not None:
                reason = self.say("unscored", metric=self.metric, message=in_language(score.reason, self.words_in))
            return Diagnosis(None, self.group, "unscored", self.words["cause_unscored"], reason)
        if right:
            return Diagnosis(True, self.group, reason=self._why_right(), spans=separate(self.own_spans()))
        return self._explained()

    def _not_answered(self) -> Diagnosis:
        kind, _, message = (self.record.error or "").partition(":")
        kind = kind.strip() if message else "error"
        message = failure_in((message or self.record.error or "").strip(), self.words_in)
        blocked = kind == "content_blocked"
        named = _short(kind_in(kind, self.words_in))
        label = self.words["cause_blocked"] if blocked else self.words["cause_error"].format(kind=named)
        cause = "blocked" if blocked else kind
        return Diagnosis(None, self.group, cause, label, self.say("error", message=_short(message)))

    def _why_right(self) -> str:
        if self.ability == "rejection" and self.declines:
            return self.say("right_refusal")
        if self.scoring == "official" and not self.scores.right:
            return self.say("right_label")
        return self.say("right", aliases=self._aliases())

    def _explained(self) -> Diagnosis:
        response = self.record.response
        if response is not None and response.finish_reason == "content_filter":
            return self.wrong("blocked", self.say("blocked"))
        if response is not None and response.finish_reason == "length":
            return self.wrong("cut_off", self.say("cut_off"))
        if not self.answer.strip():
            return self.wrong("empty", self.say("empty"))
        if self.ability == "rejection":
            return self._answered_anyway()
        by_rule = self._by_binding() or self._by_scoring() or self._declined()
        return by_rule or self._of_testbed() or self._from_passages()

    def _answered_anyway(self) -> Diagnosis:
        """No document contains the answer, but the system answered anyway."""
        if self.declines:
            return self.wrong("other_wording_refusal", self.say("other_wording_refusal"))
        if self.scores.right:
            return self.wrong("guessed", self.say("guessed", aliases=self._aliases()))
        source = self.source
        if source is None:
            return self.wrong("unsupported", self.say("unsupported"))
        return self._from(
            "misled", source, self.say("misled", passage=self._name(source.passage), what=self._what(source))
        )

    def _by_binding(self) -> Diagnosis | None:
        """All parts are stated, but not with what was asked of them."""
        outcome = self.scores.binding
        if self.scoring == "official" or outcome not in ("misaligned", "unbound", "listed"):
            return None
        return self.wrong(outcome, self.say(outcome, aliases=self._aliases()), self.answers_in(self.holders))

    def _by_scoring(self) -> Diagnosis | None:
        """If the two scorings disagree, their difference is the cause."""
        scores = self.scores
        if self.scoring == "official" and scores.right:
            return self.wrong("other_form", self.say("other_form", aliases=self._aliases()))
        if self.scoring == "default" and scores.all_slots and not self.declines and self._is_mere_mention():
            return self.wrong("not_stated", self.say("not_stated", aliases=self._aliases()))
        return None

    def _is_mere_mention(self) -> bool:
        """Whether the answer does not also state the false answer, which would be a cause of its own."""
        return not any(find_answer(fake, self.answer, self.language) for fake in self.fakes)

    def _declined(self) -> Diagnosis | None:
        if not self.declines:
            return None
        if self.closed_book:
            return self.wrong("declined", self.say("declined"))
        if self.ability == "counterfactual":
            return self.wrong("refused_false", self.say("refused_false", aliases=self._aliases()))
        holders = self.holders
        shown = self.words["separator"].join(map(self._name, holders[:3]))
        return self.wrong("refused", self.say("refused", passages=shown), self.answers_in(holders))

    def _of_testbed(self) -> Diagnosis | None:
        """The causes that are specific to one testbed."""
        if self.closed_book:
            return self.wrong("not_known", self.say("not_known", aliases=self._aliases()))
        if self.ability == "counterfactual":
            return self._counterfactual()
        if self.ability == "integration":
            return self._integration()
        return None

    def _counterfactual(self) -> Diagnosis | None:
        detected = bool(self.scores.detected) or bool(self.scores.fact)
        spans = _fake_spans(self.fakes, self.answer, self.passages if self.marking else (), self.language)
        if any(span.field == "answer" for span in spans):
            cause = "detected_but_followed" if detected else "followed_false"
            fake = _quoted(self.fakes[0])
            return self.wrong(cause, self.say(cause, fake=fake, aliases=self._aliases()), spans)
        if detected:
            cause = "detected_not_corrected"
            return self.wrong(cause, self.say(cause, aliases=self._aliases()), spans)
        source = self.source
        if source is not None and source.passage.id.startswith("wrong:"):
            spans += word_spans(source.shared, "answer", self.answer, self.language) if self.marking else []
            reason = self.say("altered_detail", passage=self._name(source.passage), aliases=self._aliases())
            return self.wrong("altered_detail", reason, spans)
        return None

    def _integration(self) -> Diagnosis | None:
        """Some parts are answered and others are not: merged if one answer is given for all, otherwise ignored."""
        places = found_slots(self.record)
        label = self.scores.label or ()
        answered = [bool(place) for place in places] if self.scoring == "default" else [hit == 1 for hit in label]
        if len(answered) != len(self.slots) or not any(answered) or all(answered):
            return None
        stated_slots = [slot for slot, hit in zip(self.slots, answered, strict=True) if hit]
        missing = [slot for slot, hit in zip(self.slots, answered, strict=True) if not hit]
        quoted = {"found": _quoted_slots(stated_slots), "missing": _quoted_slots(missing)}
        spans = [span for slot in missing for span in self.answers_in(self.passages, slot)]
        folded = f" {self.answer.lower()} "
        is_repeated = any(len(stated(slot[:1], "answer", self.answer, self.language)) > 1 for slot in stated_slots)
        if is_repeated or any(f" {cue} " in folded if cue.isascii() else cue in folded for cue in _BOTH):
            return self.wrong("merged", self.say("merged", **quoted), spans)
        source = self.source
        if source is not None and not source.passage.relevant and self._says_more(stated_slots):
            return self._wrong_passage(source)
        return self.wrong("ignored", self.say("ignored", **quoted), spans)

    def _says_more(self, stated_slots: Sequence[Sequence[str]]) -> bool:
        """Whether the answer took more from a passage than the parts that are right."""
        aliases = {alias for slot in stated_slots for alias in slot}
        source = self.source
        return source is not None and not all(any(word in alias.lower() for alias in aliases) for word in source.shared)

    def _from_passages(self) -> Diagnosis:
        source = self.source
        if source is not None and not source.passage.relevant:
            return self._wrong_passage(source)
        holders = self.holders
        far = [passage for passage in holders if is_far(passage, self.question, self.aliases, self.language)]
        if holders and len(far) == len(holders):
            shown = self.words["separator"].join(map(self._name, far[:3]))
            reason = self.say("far_missed", aliases=self._aliases(), passages=shown)
            return self.wrong("far_missed", reason, self.answers_in(far))
        if source is not None:
            source_slots = [slot for slot in self.slots if self.answers_in([source.passage], slot)]
            reason = self.say(
                "wrong_detail", passage=self._name(source.passage), aliases=_quoted_slots(source_slots or self.slots)
            )
            return self.wrong("wrong_detail", reason, [*self.answers_in(holders), *self.shared_words(source)])
        return self.wrong("no_match", self.say("no_match", aliases=self._aliases()), self.answers_in(holders))

    def _wrong_passage(self, source: Source) -> Diagnosis:
        what = self._what(source)
        reason = self.say("wrong_passage", passage=self._name(source.passage), what=what, aliases=self._aliases())
        return self._from("wrong_passage", source, reason)

    # -- parts of a diagnosis

    def _name(self, passage: Passage) -> str:
        return shown_passage(passage.id, self.words)

    def _kind(self, source: Source) -> str:
        """The kind of the passage that misled: by its label, by rule, or by the judge who was asked; "" if unknown."""
        kind = kind_of(source, self.question, self.language)
        return kind or ("other_category" if self.scores.confused else "")

    def _what(self, source: Source) -> str:
        kind = self._kind(source)
        return self.words.get(f"what_{kind}") or self.words["what_other"].format(kind=_short(kind))

    def _from(self, cause: str, source: Source, reason: str) -> Diagnosis:
        """A cause that lies in a passage, whose kind becomes part of the cause's name."""
        spans = [*self.shared_words(source), *self.answers_in(self.holders)]
        label = self.words[f"cause_{cause}"].format(what=self._what(source))
        return self.wrong(cause, reason, spans, kind=self._kind(source), label=label)

    def weight(self, cause: str) -> float:
        # For the same cause, failing with less noise is worse.
        return round(CAUSES[cause] + 0.04 * (1 - float(self.condition.get("noise_ratio", 0.0))), 4)

    def _aliases(self) -> str:
        return _quoted_slots(self.slots)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _quoted(text: str) -> str:
    return f"“{_short(text)}”"


def _quoted_slots(slots: Sequence[Sequence[str]]) -> str:
    return " + ".join(_quoted(slot[0]) for slot in slots if slot)


def _fake_spans(fakes: Sequence[str], answer: str, passages: Sequence[Passage], language: str) -> list[Span]:
    """Where the answer and the passages state the false answer."""
    spans = stated(fakes, "answer", answer, language, "wrong")
    for passage in passages:
        spans += stated(fakes, passage.id, passage.text, language, "wrong")
    return spans
