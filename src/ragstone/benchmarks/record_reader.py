"""The shared part of every benchmark's diagnosis: the answer, its passages, and where they state what."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from ragstone.benchmarks.highlights import found_slots, refusal_spans, separate, stated, word_spans
from ragstone.benchmarks.source_attribution import Source, misleading
from ragstone.display import Diagnosis, Span
from ragstone.types import Passage, Record


class RecordReader(ABC):
    """Reads one record. Passages are searched for wrong answers only, which takes time; without `marking` nothing
    is marked in them, and no reason is given. `causes`: the severity of each cause of failure, from 0 to 1; the
    messages have its name (`cause_…`) and its reasons (`reason_…`)."""

    causes: ClassVar[Mapping[str, float]]

    def __init__(self, record: Record, words: Mapping[str, str], *, marking: bool = True) -> None:
        self.record, self.words, self.marking = record, words, marking
        self.condition = record.case.condition
        self.question = record.case.query.question
        self.answer = "" if record.response is None else record.response.answer
        self.language = record.case.sample.language or str(self.condition.get("language", ""))
        self.slots: Sequence[Sequence[str]] = record.case.sample.references
        self.aliases = [alias for slot in self.slots for alias in slot if alias.strip()]

    @property
    @abstractmethod
    def group(self) -> str:
        """The group that this record is counted in."""

    @cached_property
    def passages(self) -> Sequence[Passage]:
        """The passages in the prompt, or else those that the system retrieved."""
        if (prompt_passages := self.record.case.query.passages) is not None:
            return prompt_passages
        return () if self.record.response is None else self.record.response.passages

    @cached_property
    def holders(self) -> list[Passage]:
        """The passages that support an answer."""
        return [passage for passage in self.passages if passage.relevant]

    @cached_property
    def source(self) -> Source | None:
        """The passage that a wrong answer was taken from."""
        return misleading(self.question, self.answer, self.passages, self.language)

    def own_spans(self) -> list[Span]:
        """The spans that the metrics recorded in the answer."""
        if not self.marking:
            return []
        return [*(span for slot in found_slots(self.record) for span in slot), *refusal_spans(self.record)]

    def answers_in(self, passages: Iterable[Passage], aliases: Sequence[str] | None = None) -> list[Span]:
        """Where passages state the answer: any of its aliases, or one of these."""
        if not self.marking:
            return []
        searched = self.aliases if aliases is None else aliases
        return [span for passage in passages for span in stated(searched, passage.id, passage.text, self.language)]

    def shared_words(self, source: Source | None) -> list[Span]:
        """The words that the answer shares with its source, marked in both texts."""
        if source is None or not self.marking:
            return []
        passage = source.passage
        return [
            *word_spans(source.shared, "answer", self.answer, self.language),
            *word_spans(source.shared, passage.id, passage.text, self.language),
        ]

    def say(self, reason: str, **values: Any) -> str:
        """A reason as a sentence."""
        return self.words[f"reason_{reason}"].format(**values)

    def weight(self, cause: str) -> float:
        """The severity of this record, by its cause."""
        return self.causes[cause]

    def wrong(
        self, cause: str, reason: str, spans: Iterable[Span] = (), *, kind: str = "", label: str = ""
    ) -> Diagnosis:
        """The diagnosis of a wrong answer. `kind` is appended to the cause's name; `label` overrides its text."""
        name = f"{cause}_{kind}" if kind else cause
        shown = separate([*self.own_spans(), *spans])
        label = label or self.words[f"cause_{cause}"]
        return Diagnosis(False, self.group, name, label, reason if self.marking else "", self.weight(cause), shown)
