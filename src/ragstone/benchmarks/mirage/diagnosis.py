"""Why an answer of MIRAGE is wrong (the chunk was not retrieved or not used, or noise was followed), or why it counts
as right although it should not."""

from collections.abc import Mapping
from functools import cached_property

from ragstone.benchmarks.highlights import separate
from ragstone.benchmarks.mirage.aggregate import DEFAULT, OFFICIAL
from ragstone.benchmarks.record_reader import RecordReader
from ragstone.display import Diagnosis
from ragstone.messages import messages
from ragstone.metrics.catalogue import in_language
from ragstone.types import NO_ANSWER, Record

# The severity of each cause, from 0 to 1: a false statement that a reader would believe is worse than no answer.
CAUSES: Mapping[str, float] = {
    "distracted": 0.90,
    "ignored": 0.75,
    "not_retrieved": 0.60,
    "partly_retrieved": 0.58,
    "refused": 0.50,
    "not_known": 0.40,
    "declined": 0.35,
    "empty": 0.32,
    "cut_off": 0.30,
    "refused_missing": 0.25,
    "echo": 0.20,
    "other_form": 0.15,
    "other_wording": 0.10,
}
_LONGEST = 80  # characters of an alias that a reason quotes


def explain(record: Record, *, language: str = "en", scoring: str = "default", marking: bool = True) -> Diagnosis:
    """The diagnosis of a record in `language`; `scoring` ("default" or "official") decides what is right. Without
    `marking` it has neither reason nor spans."""
    rule = OFFICIAL if scoring == "official" else DEFAULT
    return _MirageReader(record, language, rule, marking=marking).diagnosis()


class _MirageReader(RecordReader):
    causes = CAUSES

    def __init__(self, record: Record, language: str, rule: str, *, marking: bool) -> None:
        super().__init__(record, messages(__name__, language), marking=marking)
        self.words_in = language
        self.rule = rule

    @property
    def setting(self) -> str:
        return str(self.condition.get("setting", ""))

    @cached_property
    def supporting(self) -> list[int]:
        """The ranks (from 1) of the chunks that support an answer."""
        return [place for place, passage in enumerate(self.passages, 1) if passage.relevant]

    @property
    def group(self) -> str:
        name = "probe" if self.condition.get("probe") else self.setting
        if str(self.condition.get("retriever", "")).startswith("negatives("):
            name = "negatives"
        return self.words.get(f"group_{name}", name)

    def _is_right(self, rule: str) -> bool | None:
        score = self.record.scores.get(rule)
        return None if score is None or score.value is None else score.value >= 1.0

    def _first_alias_in(self, source: str) -> str:
        """The first alias in the text by the official rule; "" if there is none."""
        text = source.lower()
        return next((alias for alias in self.aliases if alias.lower() in text), "")

    # -- the diagnosis

    def diagnosis(self) -> Diagnosis:
        response = self.record.response
        if response is None or self.record.error is not None:
            kind = (self.record.error or "error").partition(":")[0].strip() or "error"
            return Diagnosis(
                None, self.group, kind, self.words["cause_not_answered"], self.words["reason_not_answered"]
            )
        if response.finish_reason == NO_ANSWER:
            return Diagnosis(
                None, self.group, "retrieval_only", self.words["cause_retrieval_only"], self._retrieval_reason()
            )
        right = self._is_right(self.rule)
        if right is None:
            score = self.record.scores.get(self.rule)
            reason = in_language(score.reason if score else "", self.words_in) or self.words["reason_unscored"]
            return Diagnosis(None, self.group, "unscored", self.words["cause_unscored"], reason)
        if right:
            spans = separate([*self.own_spans(), *self.answers_in(self.holders)])
            return Diagnosis(True, self.group, reason=self._why_right(), spans=spans)
        return self._by_form() or self._by_rules() or self._by_context()

    def _retrieval_reason(self) -> str:
        if not self.supporting:
            return self.say("found_none", n=len(self.passages))
        return self.say("found", rank=self.supporting[0], n=len(self.passages))

    def _why_right(self) -> str:
        if alias := self._first_alias_in(self.question):
            return self.say("right_echo", alias=_quoted(alias))
        if self.passages and not self.supporting and self.condition.get("gold") is False:
            return self.say("right_without", n=len(self.passages))
        return ""

    def _by_form(self) -> Diagnosis | None:
        """An answer that was cut off or is empty."""
        response = self.record.response
        if response is not None and response.finish_reason == "length" and not self._is_right(OFFICIAL):
            return self.wrong("cut_off", self.words["reason_cut_off"])
        if not self.answer.strip():
            return self.wrong("empty", self.words["reason_empty"])
        return None

    def _by_rules(self) -> Diagnosis | None:
        """If the two rules disagree, their difference is the cause."""
        if self.rule == DEFAULT and self._is_right(OFFICIAL):
            if alias := self._first_alias_in(self.question):
                return self.wrong("echo", self.say("echo", alias=_quoted(alias)))
            if not self._declines():
                return self.wrong(
                    "other_form", self.say("other_form", alias=_quoted(self._first_alias_in(self.answer)))
                )
        if self.rule == OFFICIAL and self._is_right(DEFAULT):
            alias = self.aliases[0] if self.aliases else ""
            return self.wrong("other_wording", self.say("other_wording", alias=_quoted(alias)))
        return None

    def _declines(self) -> bool:
        score = self.record.scores.get("refusal")
        return score is not None and score.value == 1.0

    def _by_context(self) -> Diagnosis:
        n = len(self.passages)
        if not n:
            cause = "declined" if self._declines() else "not_known"
            return self.wrong(cause, self.words[f"reason_{cause}"])
        if not self.supporting:
            cause = "refused_missing" if self._declines() else "not_retrieved"
            return self.wrong(cause, self.say(cause, n=n), self.shared_words(self.source))
        rank = self.supporting[0]
        needed = int(self.record.case.sample.meta.get("hops", 1))
        if len(self.supporting) < needed:
            reason = self.say("partly_retrieved", given=len(self.supporting), labels=needed)
            return self.wrong("partly_retrieved", reason, self.answers_in(self.holders))
        if self._declines():
            return self.wrong("refused", self.say("refused", rank=rank, n=n), self.answers_in(self.holders))
        source = self.source
        if source is not None and not source.passage.relevant:
            place = 1 + next(at for at, passage in enumerate(self.passages) if passage is source.passage)
            reason = self.say("distracted", place=place, rank=rank)
            return self.wrong("distracted", reason, [*self.shared_words(source), *self.answers_in(self.holders)])
        return self.wrong("ignored", self.say("ignored", rank=rank, n=n), self.answers_in(self.holders))


def _quoted(alias: str) -> str:
    return alias if len(alias) <= _LONGEST else alias[:_LONGEST] + "…"
