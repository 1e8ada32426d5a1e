"""One pass over a run: counts by system and group, causes and errors, and the wrong answers worth showing.

Memory does not grow with the run: the heaps of the worst cases are bounded and hold ids instead of records.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest

from ragstone.display import Diagnosis
from ragstone.report.metadata import case_name
from ragstone.stats.samples import draw_of
from ragstone.types import Benchmark, Record, Run

_MOST_NAMES = 50  # different model names, error kinds or causes of one system; the rest are counted together
_EXAMPLES = 3  # messages shown for each kind of error, and cases of each of the first causes
_CAUSES = 3  # whose examples come first
_EXAMPLE_LENGTH = 2_000
OTHER = "…"

CaseKey = tuple[str, str]  # system id, case id


@dataclass
class AnswerCounts:
    """Counts of records: right + wrong + unscored + failed = total; `cut` counts answers that hit the token limit."""

    total: int = 0
    right: int = 0
    wrong: int = 0
    unscored: int = 0
    failed: int = 0
    cut: int = 0

    def add(self, record: Record, diagnosis: Diagnosis) -> None:
        self.total += 1
        if record.error is not None or record.response is None:
            self.failed += 1
        elif diagnosis.right is None:
            self.unscored += 1
        elif diagnosis.right:
            self.right += 1
        else:
            self.wrong += 1
        if record.response is not None and record.response.finish_reason == "length":
            self.cut += 1


@dataclass
class ErrorKind:
    """How often one kind of error occurred, with its first cases as (id for people, message)."""

    count: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class SystemDigest:
    """The results of one system. `causes` counts the causes of wrong answers in each group."""

    counts: AnswerCounts = field(default_factory=AnswerCounts)
    groups: dict[str, AnswerCounts] = field(default_factory=lambda: defaultdict(AnswerCounts))
    causes: dict[str, Counter[str]] = field(default_factory=dict)
    errors: dict[str, ErrorKind] = field(default_factory=dict)
    models: Counter[str] = field(default_factory=Counter)
    # How often right, of how often right or wrong, by sample; None where they were not counted.
    samples: dict[str, tuple[int, int]] | None = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    with_usage: int = 0  # responses with token counts

    def add(self, record: Record, diagnosis: Diagnosis) -> None:
        self.counts.add(record, diagnosis)
        self.groups[diagnosis.group].add(record, diagnosis)
        if record.error is not None:
            self._add_error(record)
        elif diagnosis.right is not None and self.samples is not None:
            right, decided = self.samples.get(record.case.sample.id, (0, 0))
            self.samples[record.case.sample.id] = (right + diagnosis.right, decided + 1)
        if record.error is None and diagnosis.right is False:
            _count(self.causes.setdefault(diagnosis.group, Counter()), diagnosis.cause)
        if record.response is not None:
            if record.response.model:
                _count(self.models, record.response.model)
            if usage := record.response.usage:
                self.with_usage += 1
                self.prompt_tokens += usage.prompt_tokens
                self.completion_tokens += usage.completion_tokens

    def _add_error(self, record: Record) -> None:
        head, colon, message = (record.error or "").partition(":")
        kind = head.strip() if colon and len(head) <= 60 else "error"
        if kind not in self.errors and len(self.errors) >= _MOST_NAMES:
            kind = OTHER
        error = self.errors.setdefault(kind, ErrorKind())
        error.count += 1
        if len(error.examples) < _EXAMPLES:
            example = message.strip() if kind == head.strip() else record.error or ""
            error.examples.append((case_name(record), example[:_EXAMPLE_LENGTH]))


def _count(counter: Counter[str], name: str) -> None:
    counter[name if name in counter or len(counter) < _MOST_NAMES else OTHER] += 1


@dataclass
class Digest:
    """A run in figures. `labels` names each cause for readers; `chosen` lists the wrong answers to show: examples of
    the most frequent causes, then in turn from every system and group, the worst of each first."""

    systems: dict[str, SystemDigest]
    labels: dict[str, str]
    chosen: list[CaseKey]

    @property
    def total(self) -> int:
        return sum(system.counts.total for system in self.systems.values())

    @property
    def wrong(self) -> int:
        return sum(system.counts.wrong for system in self.systems.values())

    @property
    def decided(self) -> int:
        """How many answers are right or wrong; 0 where no metric of correctness was scored."""
        return sum(system.counts.right + system.counts.wrong for system in self.systems.values())

    def causes(self) -> list[tuple[tuple[str, str], int]]:
        """How often each cause made an answer of each system wrong, by (system, cause), the most frequent first."""
        counts = {
            (name, cause): sum(causes[cause] for causes in system.causes.values())
            for name, system in self.systems.items()
            for cause in dict.fromkeys(cause for causes in system.causes.values() for cause in causes)
            if cause != OTHER
        }
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

    @property
    def groups(self) -> list[str]:
        """Every group, in order of first appearance over all systems."""
        return list(dict.fromkeys(group for system in self.systems.values() for group in system.groups))


def digest(
    run: Run, benchmark: Benchmark, *, language: str, cases_shown: int, by_sample: bool = False,
    readers: Sequence[Callable[[Record, Diagnosis], object]] = (),
) -> Digest:  # fmt: skip
    """Read the run once and summarise it. `by_sample`: count right answers by sample where there is one system, too.
    `readers` see each record, too, with its class."""
    counted = by_sample or len(run.systems) > 1
    systems = {system: SystemDigest(samples={} if counted else None) for system in sorted(run.systems)}
    labels: dict[str, str] = {}
    worst: dict[tuple[str, str], WorstCases] = {}  # by group and system
    examples: dict[tuple[str, str], WorstCases] = {}  # by system and cause
    for record in benchmark.observed(run, run.records(texts=benchmark.reads_texts)):
        diagnosis = benchmark.classify(record, language=language)
        for reader in readers:
            reader(record, diagnosis)
        if record.system_id not in systems:
            systems[record.system_id] = SystemDigest()
        systems[record.system_id].add(record, diagnosis)
        if record.error is None and record.response is not None and diagnosis.right is False:
            if diagnosis.cause not in labels and len(labels) < 10 * _MOST_NAMES:
                labels[diagnosis.cause] = diagnosis.label or diagnosis.cause
            worst.setdefault((diagnosis.group, record.system_id), WorstCases(cases_shown)).add(record, diagnosis.weight)
            if len(examples) < _MOST_NAMES * len(systems):
                of_cause = examples.setdefault((record.system_id, diagnosis.cause), WorstCases(_EXAMPLES))
                of_cause.add(record, diagnosis.weight)
    result = Digest(systems, labels, [])
    groups = result.groups
    order = sorted(worst, key=lambda key: (groups.index(key[0]), key[1]))
    first = [
        (system, case)
        for (system, cause), _ in result.causes()[:_CAUSES]
        if (system, cause) in examples
        for case in islice(examples[system, cause].ordered(), _EXAMPLES)
    ]
    result.chosen.extend(dict.fromkeys([*first, *in_turn([(key[1], worst[key]) for key in order], cases_shown)]))
    del result.chosen[max(0, cases_shown) :]
    return result


_Key = tuple[float, bytes, str, str]  # weight, hash of the sample (a fair draw among equals), case id, sample


@dataclass
class WorstCases:
    """The worst cases of one system and group: the `size` worst of all, and the `size` worst of different samples."""

    size: int
    heap: list[_Key] = field(default_factory=list)
    distinct: dict[str, _Key] = field(default_factory=dict)

    def add(self, record: Record, weight: float) -> None:
        """Consider an answer that is wrong with this severity."""
        sample = record.case.sample.id
        key = (weight, draw_of(sample), record.case.id, sample)
        if len(self.heap) < self.size:
            heapq.heappush(self.heap, key)
        elif self.heap:
            heapq.heappushpop(self.heap, key)
        if sample in self.distinct:
            self.distinct[sample] = max(self.distinct[sample], key)
        else:
            self.distinct[sample] = key
            if len(self.distinct) > 2 * self.size:  # occasional pruning is cheaper than a searchable heap
                worst = sorted(self.distinct.values(), reverse=True)[: self.size]
                self.distinct = {key[3]: key for key in worst}

    def ordered(self) -> Iterator[str]:
        """Case ids, the worst first: one of every sample before a second one of any sample."""
        first = sorted(self.distinct.values(), reverse=True)[: self.size]
        seen = {key[2] for key in first}
        yield from (key[2] for key in first)
        yield from (key[2] for key in sorted(self.heap, reverse=True) if key[2] not in seen)


def in_turn(worst: Iterable[tuple[str, WorstCases]], limit: int) -> list[CaseKey]:
    """At most `limit` cases, in turn from each of these (system, its worst cases)."""
    queues = [[(system, case) for case in cases.ordered()] for system, cases in worst]
    return [key for keys in zip_longest(*queues) for key in keys if key is not None][: max(0, limit)]
