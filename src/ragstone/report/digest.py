"""One pass over a run: who answered what how well, why not, and which wrong answers are worth showing.

Memory does not grow with the run: counters per system and group, and bounded heaps of the worst cases, which hold
names and not records.
"""

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from ragstone.types import Benchmark, Diagnosis, Record, Run

__all__ = ["Digest", "ErrorKind", "Pair", "SystemDigest", "Tally", "digest"]

_NAMES_KEPT = 50  # different model names, error kinds or causes of one system; the rest is counted as one
_EXAMPLES = 3  # messages kept of each kind of error
_EXAMPLE_LENGTH = 2_000
OTHER = "…"

Pair = tuple[str, str]


@dataclass
class Tally:
    """Counts of records. right + wrong + unscored + failed = total; `cut` counts answers that hit the token limit."""

    total: int = 0
    right: int = 0
    wrong: int = 0
    unscored: int = 0
    failed: int = 0
    cut: int = 0

    def add(self, record: Record, finding: Diagnosis) -> None:
        self.total += 1
        if record.error is not None or record.response is None:
            self.failed += 1
        elif finding.right is None:
            self.unscored += 1
        elif finding.right:
            self.right += 1
        else:
            self.wrong += 1
        if record.response is not None and record.response.finish_reason == "length":
            self.cut += 1


@dataclass
class ErrorKind:
    """How often one kind of error occurred, with the first cases it occurred in: (case id, message)."""

    count: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class SystemDigest:
    """What one system did. `causes` counts, for each group, the causes of wrong answers."""

    tally: Tally = field(default_factory=Tally)
    groups: dict[str, Tally] = field(default_factory=dict)
    causes: dict[str, Counter[str]] = field(default_factory=dict)
    errors: dict[str, ErrorKind] = field(default_factory=dict)
    models: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    counted: int = 0  # responses whose endpoint counted tokens

    def add(self, record: Record, finding: Diagnosis) -> None:
        self.tally.add(record, finding)
        self.groups.setdefault(finding.group, Tally()).add(record, finding)
        if record.error is not None:
            self._add_error(record)
        elif finding.right is False:
            _count(self.causes.setdefault(finding.group, Counter()), finding.cause)
        if record.response is not None:
            if record.response.model:
                _count(self.models, record.response.model)
            if usage := record.response.usage:
                self.counted += 1
                self.prompt_tokens += usage.prompt_tokens
                self.completion_tokens += usage.completion_tokens

    def _add_error(self, record: Record) -> None:
        head, colon, message = (record.error or "").partition(":")
        kind = head.strip() if colon and len(head) <= 60 else "error"
        if kind not in self.errors and len(self.errors) >= _NAMES_KEPT:
            kind = OTHER
        seen = self.errors.setdefault(kind, ErrorKind())
        seen.count += 1
        if len(seen.examples) < _EXAMPLES:
            told = message.strip() if kind == head.strip() else record.error or ""
            seen.examples.append((record.case.id, told[:_EXAMPLE_LENGTH]))


def _count(counter: Counter[str], name: str) -> None:
    counter[name if name in counter or len(counter) < _NAMES_KEPT else OTHER] += 1


@dataclass
class Digest:
    """A run in figures. `labels` has a reader's name for each cause; `chosen` lists the wrong answers to show, as
    (system id, case id), taken in turn from every system and group, the worst of each first; `wrong` counts all."""

    systems: dict[str, SystemDigest]
    labels: dict[str, str]
    chosen: list[Pair]

    @property
    def total(self) -> int:
        return sum(system.tally.total for system in self.systems.values())

    @property
    def wrong(self) -> int:
        return sum(system.tally.wrong for system in self.systems.values())

    @property
    def groups(self) -> list[str]:
        """Every group, in the order of first appearance over all systems."""
        return list(dict.fromkeys(group for system in self.systems.values() for group in system.groups))


def digest(run: Run, benchmark: Benchmark, *, language: str, cases_shown: int) -> Digest:
    """Read the run once and sum it up."""
    systems = {system: SystemDigest() for system in sorted(run.systems)}
    labels: dict[str, str] = {}
    worst: dict[Pair, _Worst] = {}
    for record in run.records():
        finding = benchmark.explain(record, language=language)
        systems.setdefault(record.system_id, SystemDigest()).add(record, finding)
        if record.error is None and record.response is not None and finding.right is False:
            if finding.cause not in labels and len(labels) < 10 * _NAMES_KEPT:
                labels[finding.cause] = finding.label or finding.cause
            worst.setdefault((finding.group, record.system_id), _Worst(cases_shown)).add(record, finding)
    found = Digest(systems, labels, [])
    found.chosen.extend(_in_turn(worst, found.groups, cases_shown))
    return found


_Key = tuple[float, bytes, str, str]  # weight, then a hash of the sample: equally bad cases are drawn evenly


@dataclass
class _Worst:
    """The worst cases of one system and group: the `size` worst of all, and the `size` worst of different samples."""

    size: int
    every: list[_Key] = field(default_factory=list)
    distinct: dict[str, _Key] = field(default_factory=dict)

    def add(self, record: Record, finding: Diagnosis) -> None:
        sample = record.case.sample.id
        lot = blake2b(sample.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        key = (finding.weight, lot, record.case.id, sample)
        if len(self.every) < self.size:
            heapq.heappush(self.every, key)
        elif self.every:
            heapq.heappushpop(self.every, key)
        if sample in self.distinct:
            self.distinct[sample] = max(self.distinct[sample], key)
        else:
            self.distinct[sample] = key
            if len(self.distinct) > 2 * self.size:  # prune now and then: cheaper than a heap that can be searched
                kept = sorted(self.distinct.values(), reverse=True)[: self.size]
                self.distinct = {key[3]: key for key in kept}

    def ordered(self) -> Iterator[str]:
        """Case ids, the worst first: one of each sample before a second of any, unless there is room for all."""
        first = sorted(self.distinct.values(), reverse=True)[: self.size]
        seen = {key[2] for key in first}
        yield from (key[2] for key in first)
        yield from (key[2] for key in sorted(self.every, reverse=True) if key[2] not in seen)


def _in_turn(worst: dict[Pair, _Worst], groups: list[str], limit: int) -> Iterator[Pair]:
    """(system id, case id) taken in turn from every group and system until there are `limit`."""
    order = sorted(worst, key=lambda pair: (groups.index(pair[0]), pair[1]))
    waiting = [_line(system, worst[(group, system)]) for group, system in order]
    while waiting and limit > 0:
        still = []
        for line in waiting:
            if limit <= 0:
                return
            if (pair := next(line, None)) is not None:
                yield pair
                limit -= 1
                still.append(line)
        waiting = still


def _line(system: str, cases: _Worst) -> Iterator[Pair]:
    for case in cases.ordered():
        yield system, case
