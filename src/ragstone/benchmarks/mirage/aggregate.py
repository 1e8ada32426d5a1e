"""One pass over a run: each answer is stored in a few bytes and can then be counted in any way.

A run may have 60 configurations of 7,560 questions. Each answer keeps only flags (right by each rule, whether a
supporting chunk was in the context) and two or three numbers, and each question its flags; no text.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ragstone.metrics.mirage_official import em_loose, token_set_f1
from ragstone.metrics.rank import PLUGINS as RANK_METRICS
from ragstone.plans import Plan
from ragstone.stats import Estimate
from ragstone.stats.decision import Decision, decide
from ragstone.structs import Scalar
from ragstone.types import NO_ANSWER, Case, Record

OFFICIAL, DEFAULT = "mirage.em_loose", "answer_match"
RULES = (OFFICIAL, DEFAULT)
"""The rules that decide what is right: the paper's and ragstone's."""

_STRICT, _F1 = "mirage.em_strict", "mirage.f1"
_TABULATED = {OFFICIAL, DEFAULT, _STRICT, _F1, "refusal"}  # metrics with tables of their own
_NAN = float("nan")


class Condition(NamedTuple):
    """The context of a question: nothing, the right chunk, the chunks collected for it, or the `k` best of a retriever
    over chunks of `chunk` tokens (0: unchanged)."""

    setting: str
    retriever: str = ""
    k: int = 0
    chunk: int = 0


BASE, ORACLE, MIXED, PROBE = Condition("base"), Condition("oracle"), Condition("mixed"), Condition("probe")
_FIXED = {"base": BASE, "oracle": ORACLE, "mixed": MIXED}
_ORDER = {"base": 0, "oracle": 1, "mixed": 2, "retrieved": 3, "probe": 4}


class QuestionFlag:
    """Flags of a question. SHORT: an alias is so short that it occurs inside other words. ECHO: the question contains
    an answer. PURE: every mixed chunk supports the answer, so there is no noise. HOPS: the oracle has several chunks,
    all of which are needed."""

    SHORT, ECHO, PURE, HOPS = 1, 2, 4, 8


# Flags of one answer.
_ASKED, _SOME, _NONE, _ALL = 1, 2, 4, 8
_RULE_BIT = 4  # two bits for each rule: scored, right


class AnswerKind(NamedTuple):
    """A cell of a cross table. `code`: the labels in its conditions as bits, the first one highest, so that
    (b, o, m) = 010 is 2. `gold`: the supporting chunks in the last condition: 0 none, 1 some, 2 all, -1 unknown.
    `question_flags`: see `QuestionFlag`. `source`: an index in `MirageTally.sources`."""

    code: int
    gold: int
    question_flags: int
    source: int

    @property
    def right(self) -> bool:
        """Whether the answer in the last condition is right."""
        return bool(self.code & 1)

    def has(self, flags: int) -> bool:
        """Whether its question has one of these flags."""
        return bool(self.question_flags & flags)

    def is_from(self, source: int) -> bool:
        """Whether its question is of this source."""
        return self.source == source


@dataclass
class CrossTab:
    """Answers counted by kind; `by_sample` has the same per question, if questions were asked more than once."""

    total: int
    kinds: Counter[AnswerKind] = field(default_factory=Counter)
    by_sample: dict[int, Counter[AnswerKind]] | None = None

    @cached_property
    def n(self) -> int:
        return self.kinds.total()

    def share(self, test: Callable[[AnswerKind], bool], within: Callable[[AnswerKind], bool] | None = None) -> Estimate:
        """The share of answers that pass the test, among all or those `within`, with Wilson's interval (by question if
        questions were asked more than once)."""
        total = self.total if within is None else None
        if self.by_sample is None:
            return Estimate.of_count(*_part(self.kinds, test, within), total=total)
        return Estimate.of_share((_part(kinds, test, within) for kinds in self.by_sample.values()), total=total)

    def pairs(self) -> tuple[list[float], list[float], list[int] | None]:
        """For each answer whether it is right in the first and in the second of two conditions, and its question if
        questions were asked more than once."""
        by_sample = {0: self.kinds} if self.by_sample is None else self.by_sample
        rows = [(kind.code, sample) for sample, kinds in by_sample.items() for kind in kinds.elements()]
        groups = None if self.by_sample is None else [sample for _, sample in rows]
        return [float(code >> 1) for code, _ in rows], [float(code & 1) for code, _ in rows], groups


def _part(
    kinds: Counter[AnswerKind], test: Callable[[AnswerKind], bool], within: Callable[[AnswerKind], bool] | None
) -> tuple[int, int]:
    counted = {kind: number for kind, number in kinds.items() if within is None or within(kind)}
    return sum(number for kind, number in counted.items() if test(kind)), sum(counted.values())


@dataclass
class Answers:
    """The answers of one system in one condition, by index of (question, repeat): flags, strict EM and token F1 (NaN:
    not scored), and cost."""

    flags: "array[int]" = field(default_factory=lambda: array("H"))
    f1: "array[float]" = field(default_factory=lambda: array("f"))
    strict: "array[float]" = field(default_factory=lambda: array("f"))
    seconds: "array[float]" = field(default_factory=lambda: array("f"))
    tokens: int = 0
    counted: int = 0  # answers whose tokens are known
    requested: int = 0  # including planned ones, if known
    failed: int = 0

    def reach(self, place: int) -> None:
        """Grow the arrays to include an index."""
        missing = place + 1 - len(self.flags)
        if missing > 0:
            self.flags.extend([0] * missing)
            self.strict.extend([_NAN] * missing)
            self.f1.extend([_NAN] * missing)

    @property
    def tokens_each(self) -> float | None:
        """Mean tokens of prompt and answer, as the endpoint counted them."""
        return self.tokens / self.counted if self.counted else None


@dataclass
class MirageTally:
    """The data behind tables and charts. `rules`: the metrics that decide what is right (a value of 1). `found`:
    retriever and chunk size → question → whether each retrieved chunk supports it (best first), and the number of
    supporting chunks."""

    rules: tuple[str, ...] = RULES
    answers: dict[str, dict[Condition, Answers]] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    found: dict[tuple[str, int], dict[int, tuple[str, int]]] = field(default_factory=dict)
    ks: set[int] = field(default_factory=set)
    ceilings: "array[float]" = field(default_factory=lambda: array("f"))
    question_flags: "array[int]" = field(default_factory=lambda: array("B"))
    source_of: "array[int]" = field(default_factory=lambda: array("H"))
    sample_of: "array[int]" = field(default_factory=lambda: array("L"))  # index of an answer → index of its question
    repeated: bool = False
    # (retriever, chunk) → metric of the ranking → question → (k of the case, value): the list is the same for every k.
    ranked: dict[tuple[str, int], dict[str, dict[int, tuple[int, float]]]] = field(default_factory=dict)
    # (system, condition) → any other metric → (question, value) of every answer.
    others: dict[tuple[str, Condition], dict[str, list[tuple[int, float]]]] = field(default_factory=dict)
    _samples: dict[tuple[bool, str], int] = field(default_factory=dict)
    _places: dict[tuple[int, int], int] = field(default_factory=dict)
    _crosstabs: dict[tuple[str, tuple[Condition, ...], str], CrossTab] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """The systems that answered, sorted."""
        return sorted(name for name, contexts in self.answers.items() if contexts)

    def conditions(self, system: str) -> list[Condition]:
        """The conditions of a system, without the probe: base, oracle, mixed, then by retriever, chunk size and k."""
        conditions = (condition for condition in self.answers.get(system, ()) if condition != PROBE)
        return sorted(conditions, key=lambda c: (_ORDER[c.setting], c.retriever, c.chunk, c.k))

    def contexts(self, system: str) -> list[Condition]:
        """The mixed and retrieved conditions of a system, in this order."""
        return [condition for condition in self.conditions(system) if condition.setting in ("mixed", "retrieved")]

    def scored(self, rule: str, *joint: Condition, contexts: bool = False) -> Iterator[tuple[str, Condition, CrossTab]]:
        """(system, condition, cross table over `joint` and the condition) of each system and condition (of `contexts`
        only the mixed and retrieved ones) with scored answers."""
        for system in self.systems:
            for condition in self.contexts(system) if contexts else self.conditions(system):
                counts = self.crosstab(system, (*joint, condition), rule)
                if counts is not None and counts.n:
                    yield system, condition, counts

    def chunked(self) -> bool:
        """Whether any chunk size differs from the pool's own."""
        sizes = {condition.chunk for conditions in self.answers.values() for condition in conditions}
        return bool({*sizes, *(size for _, size in self.found)} - {0})

    def mean(self, values: Sequence[float], requested: int) -> Estimate:
        """The mean of values by index of an answer (NaN: not scored); the repeats of a question form a cluster."""
        scored = [(value, self.sample_of[place]) for place, value in enumerate(values) if value == value]  # noqa: PLR0124
        samples = [sample for _, sample in scored] if self.repeated else None
        return Estimate.of_mean([value for value, _ in scored], groups=samples, total=requested)

    def questions(self, flag: int | None = None) -> int:
        """The number of questions (with a flag, if one is given), without the probe's."""
        places = [at for (probe, _), at in self._samples.items() if not probe]
        return len(places) if flag is None else sum(bool(self.question_flags[at] & flag) for at in places)

    def crosstab(self, system: str, conditions: Sequence[Condition], rule: str) -> CrossTab | None:
        """The answers with a score in each of these conditions; None if a condition was not asked."""
        key = (system, tuple(conditions), rule)
        if key not in self._crosstabs:
            columns = [self.answers.get(system, {}).get(condition) for condition in conditions]
            answered = [column for column in columns if column is not None]
            if len(answered) < len(columns):
                return None
            self._crosstabs[key] = self._build_crosstab(answered, rule)
        return self._crosstabs[key]

    def paired(self, first: tuple[str, Condition], second: tuple[str, Condition], rule: str) -> Decision:
        """How far the second pair of a system and a condition is right more often than the first, by the answers to the
        questions that both have."""
        columns = [self.answers[system][condition] for system, condition in (first, second)]
        a, b, groups = self._build_crosstab(columns, rule).pairs()
        return decide(a, b, groups=groups)

    def _build_crosstab(self, columns: Sequence[Answers], rule: str) -> CrossTab:
        scored = 1 << (_RULE_BIT + 2 * self.rules.index(rule))
        right = scored << 1
        crosstab = CrossTab(columns[-1].requested, by_sample={} if self.repeated else None)
        for place, flags_of_answers in enumerate(zip(*(column.flags for column in columns), strict=False)):
            code = 0
            for flags in flags_of_answers:
                if not flags & scored:
                    break
                code = code * 2 + bool(flags & right)
            else:
                last, sample = flags_of_answers[-1], self.sample_of[place]
                gold = 2 if last & _ALL else 1 if last & _SOME else 0 if last & _NONE else -1
                kind = AnswerKind(code, gold, self.question_flags[sample], self.source_of[sample])
                crosstab.kinds[kind] += 1
                if crosstab.by_sample is not None:
                    crosstab.by_sample.setdefault(sample, Counter())[kind] += 1
        return crosstab

    # -- filling

    def add(self, record: Record) -> None:
        """Add one record. Records of other benchmarks, without a setting, are ignored."""
        fields = record.case.condition
        if (condition := _condition_of(fields)) is None:
            return
        sample = self._sample(record, condition == PROBE)
        self._flag_from_passages(record, condition.setting, sample)
        if condition.setting == "retrieved":
            self._retrieved(record, condition, sample)
        self._other_scores(record, condition, sample)
        response = record.response
        if response is not None and response.finish_reason == NO_ANSWER:
            return
        repeat = int(fields.get("repeat", record.case.query.repeat))
        self.repeated = self.repeated or repeat > 0
        place = self._places.setdefault((sample, repeat), len(self._places))
        if place == len(self.sample_of):
            self.sample_of.append(sample)
        column = self.answers.setdefault(record.system_id, {}).setdefault(condition, Answers())
        column.reach(place)
        column.requested += 1
        column.failed += response is None
        column.flags[place] = self._flags(record)
        self._numbers(record, column, place)

    def plan(self, system: str, plan: Plan) -> None:
        """Add the planned numbers of answers of a system that answers."""
        answers = self.answers.get(system, {})
        for cell in plan.cells if answers or not plan.asked else ():
            if (condition := _condition_of(cell.condition)) is not None:
                answers.setdefault(condition, Answers()).requested = cell.total
        if answers:
            self.answers[system] = answers

    def _sample(self, record: Record, probe: bool) -> int:
        sample, key = record.case.sample, (probe, record.case.sample.id)
        if key in self._samples:
            return self._samples[key]
        self._samples[key] = place = len(self._samples)
        source = str(record.case.condition.get("source", "") or sample.meta.get("source", ""))
        if source not in self.sources:
            self.sources.append(source)
        self.source_of.append(self.sources.index(source))
        aliases = [alias for slot in sample.references for alias in slot if alias.strip()]
        chinese = record.case.query.language == "zh" or sample.language == "zh"
        short = any(is_short(alias, chinese=chinese) for alias in aliases)
        echo = bool(aliases) and em_loose(sample.question, aliases)
        hops = int(sample.meta.get("hops", 1)) > 1
        self.question_flags.append(QuestionFlag.SHORT * short | QuestionFlag.ECHO * echo | QuestionFlag.HOPS * hops)
        self.ceilings.append(_NAN if probe or not aliases else token_set_f1(aliases[0], aliases))
        return place

    def _flag_from_passages(self, record: Record, setting: str, sample: int) -> None:
        """Set the question flags that depend on the oracle's or mixed's passages."""
        passages = record.case.query.passages or ()
        if setting == "oracle" and len(passages) > 1 and "hops" not in record.case.sample.meta:
            self.question_flags[sample] |= QuestionFlag.HOPS
        elif setting == "mixed" and passages and all(passage.relevant for passage in passages):
            self.question_flags[sample] |= QuestionFlag.PURE

    def _retrieved(self, record: Record, condition: Condition, sample: int) -> None:
        fields, labels = record.case.condition, _labels(record.case)
        if "found" not in fields or not labels:
            return
        self.ks.add(condition.k)
        lists = self.found.setdefault((condition.retriever, condition.chunk), {})
        found = str(fields["found"])
        if len(found) >= len(lists.get(sample, ("", 0))[0]):
            lists[sample] = (found, labels)

    def _other_scores(self, record: Record, condition: Condition, sample: int) -> None:
        """The scores of metrics that have no table of their own: of the ranking, and of the answer."""
        for name, score in record.scores.items():
            if name in _TABULATED or score.value is None:
                continue
            if name.partition("@")[0] in RANK_METRICS:
                by_metric = self.ranked.setdefault((condition.retriever, condition.chunk), {})
                values = by_metric.setdefault(name, {})
                if condition.k >= values.get(sample, (0, 0.0))[0]:
                    values[sample] = (condition.k, score.value)
            else:
                by_name = self.others.setdefault((record.system_id, condition), {})
                by_name.setdefault(name, []).append((sample, score.value))

    def _flags(self, record: Record) -> int:
        flags = _ASKED
        case = record.case
        passages = case.query.passages
        if passages is None and record.response is not None:
            passages = record.response.passages
        if passages:
            supporting = sum(bool(passage.relevant) for passage in passages)
            known = any(passage.relevant is not None for passage in passages)
            labels = _labels(case)
            if case.condition.get("gold", supporting > 0):
                flags |= _SOME | (_ALL if labels and supporting >= labels else 0)
            elif known or "gold" in case.condition:
                flags |= _NONE
        for place, rule in enumerate(self.rules):
            score = record.scores.get(rule)
            if record.response is not None and score is not None and score.value is not None:
                flags |= (1 | 2 * (score.value >= 1.0)) << (_RULE_BIT + 2 * place)
        return flags

    def _numbers(self, record: Record, column: Answers, place: int) -> None:
        response = record.response
        if response is None:
            return
        for name, values in ((_STRICT, column.strict), (_F1, column.f1)):
            if (score := record.scores.get(name)) is not None and score.value is not None:
                values[place] = score.value
        if response.seconds is not None:
            column.seconds.append(response.seconds)
        if response.usage is not None and response.usage.prompt_tokens:
            column.tokens += response.usage.prompt_tokens + response.usage.completion_tokens
            column.counted += 1


def _condition_of(fields: Mapping[str, Scalar]) -> Condition | None:
    """The condition of a case; None for another benchmark's."""
    setting = str(fields.get("setting", ""))
    if setting not in _ORDER:
        return None
    if fields.get("probe"):
        return PROBE
    return _FIXED.get(setting) or Condition(
        setting, str(fields.get("retriever", "")), int(fields.get("k", 0)), int(fields.get("chunk", 0))
    )


def _labels(case: Case) -> int:
    """The number of supporting chunks of a question; 0 if unknown."""
    return int(case.condition.get("labels", 0) or case.sample.meta.get("labels", 0) or 0)


def is_short(alias: str, *, chinese: bool = False) -> bool:
    """Whether an alias is so short that it occurs inside other words: at most two characters, or one in Chinese, where
    two can be a name."""
    return len(alias.strip()) <= (1 if chinese else 2)


def tally_records(
    records: Iterable[Record], rules: tuple[str, ...] = RULES, plans: Mapping[str, Plan] | None = None
) -> MirageTally:
    """One pass over the records; `plans`: the planned cases by system."""
    tally = MirageTally(rules)
    for record in records:
        tally.add(record)
    for system, plan in (plans or {}).items():
        tally.plan(system, plan)
    return tally
