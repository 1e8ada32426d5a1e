"""One pass over a run: what each answer came to, kept in a few bytes, and counted afterwards in any way that is needed.

A run may have 60 configurations of 7,560 questions. Of each answer only flags are kept (right by each rule, whether a
supporting chunk was given), two or three numbers, and of each question what is odd about it; no text.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ragstone.metrics.mirage_official import em_loose, token_set_f1
from ragstone.stats import Estimate
from ragstone.types import NO_ANSWER, Plan, Record, Scalar

__all__ = [
    "BASE",
    "DEFAULT",
    "MIXED",
    "OFFICIAL",
    "ORACLE",
    "PROBE",
    "RULES",
    "Answers",
    "Condition",
    "CrossTab",
    "Kind",
    "QuestionFlag",
    "Tally",
    "count",
    "is_short",
]  # fmt: skip

OFFICIAL, DEFAULT = "mirage.em_loose", "answer_match"
RULES = (OFFICIAL, DEFAULT)
"""The rules of right and wrong: the paper's, and ragstone's own."""

_STRICT, _F1 = "mirage.em_strict", "mirage.f1"
_NAN = float("nan")
_SHORT = 2  # characters


class Condition(NamedTuple):
    """What a system was given: nothing, the right chunk, the chunks collected for the question, or the `k` best of a
    retriever over chunks of `chunk` tokens (0: as they are)."""

    setting: str
    retriever: str = ""
    k: int = 0
    chunk: int = 0


BASE, ORACLE, MIXED, PROBE = Condition("base"), Condition("oracle"), Condition("mixed"), Condition("probe")
_FIXED = {"base": BASE, "oracle": ORACLE, "mixed": MIXED}
_ORDER = {"base": 0, "oracle": 1, "mixed": 2, "retrieved": 3, "probe": 4}


class QuestionFlag:
    """What is to be known of a question, as flags. SHORT: an alias so short that it is found within words. ECHO: an
    answer stands in the question. PURE: each chunk of mixed supports the answer, so that there is no noise. HOPS: the
    oracle has several chunks, which are all needed."""

    SHORT, ECHO, PURE, HOPS = 1, 2, 4, 8


# Of one answer.
_ASKED, _SOME, _NONE, _ALL = 1, 2, 4, 8
_RULE_BIT = 4  # two bits for each rule: scored, right


class Kind(NamedTuple):
    """What is alike of the questions that a cube counts. `code`: the labels of its spots as bits, the first the
    highest, so that (b, o, m) = 010 is 2. `gold`: of the last spot, 0 no supporting chunk was given, 1 some were, 2
    all that there are, -1 not known. `marks`: flags of `QuestionFlag`. `source`: a place in `Tally.sources`."""

    code: int
    gold: int
    marks: int
    source: int


@dataclass
class CrossTab:
    """Answers counted by kind; `by_sample` the same for each question, where questions were asked more than once."""

    total: int
    kinds: Counter[Kind] = field(default_factory=Counter)
    by_sample: dict[int, Counter[Kind]] | None = None

    @cached_property
    def n(self) -> int:
        return self.kinds.total()

    def count(self, test: Callable[[Kind], bool]) -> int:
        """How many answers are of such a kind."""
        return sum(number for kind, number in self.kinds.items() if test(kind))

    def share(self, test: Callable[[Kind], bool], within: Callable[[Kind], bool] | None = None) -> Estimate:
        """The share of answers that pass the test, of all or of those `within`; Wilson's interval, by question where
        they were asked more than once."""
        total = self.total if within is None else None
        if self.by_sample is None:
            return Estimate.of_count(*_part(self.kinds, test, within), total=total)
        return Estimate.of_share((_part(kinds, test, within) for kinds in self.by_sample.values()), total=total)


def _part(kinds: Counter[Kind], test: Callable[[Kind], bool], within: Callable[[Kind], bool] | None) -> tuple[int, int]:
    among = {kind: number for kind, number in kinds.items() if within is None or within(kind)}
    return sum(number for kind, number in among.items() if test(kind)), sum(among.values())


@dataclass
class Answers:
    """The answers of one system at one spot, by place of (question, repeat): flags, token F1 (NaN: not scored), and
    what they took. `strict` counts (right, scored)."""

    flags: "array[int]" = field(default_factory=lambda: array("H"))
    f1: "array[float]" = field(default_factory=lambda: array("f"))
    strict: list[int] = field(default_factory=lambda: [0, 0])
    seconds: "array[float]" = field(default_factory=lambda: array("f"))
    tokens: int = 0
    counted: int = 0  # answers whose tokens are known
    asked: int = 0  # or were to be, where that is known
    failed: int = 0

    def reach(self, place: int) -> None:
        """Makes room for a place."""
        missing = place + 1 - len(self.flags)
        if missing > 0:
            self.flags.extend([0] * missing)
            self.f1.extend([_NAN] * missing)

    @property
    def tokens_each(self) -> float | None:
        """Mean tokens of prompt and answer, as the endpoint counted them."""
        return self.tokens / self.counted if self.counted else None


@dataclass
class Tally:
    """All that tables and charts are made of. `rules`: names of the metrics that tell right from wrong, with 1 as
    right. `found`: retriever and chunk size → question → whether each retrieved chunk supports it, the best first, and
    how many there are to be found."""

    rules: tuple[str, ...] = RULES
    answers: dict[str, dict[Condition, Answers]] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    found: dict[tuple[str, int], dict[int, tuple[str, int]]] = field(default_factory=dict)
    ks: set[int] = field(default_factory=set)
    ceilings: "array[float]" = field(default_factory=lambda: array("f"))
    marks: "array[int]" = field(default_factory=lambda: array("B"))
    source_of: "array[int]" = field(default_factory=lambda: array("H"))
    sample_of: "array[int]" = field(default_factory=lambda: array("L"))  # place of an answer → place of its question
    repeated: bool = False
    _samples: dict[tuple[bool, str], int] = field(default_factory=dict)
    _places: dict[tuple[int, int], int] = field(default_factory=dict)
    _cubes: dict[tuple[str, tuple[Condition, ...], str], CrossTab] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """Those that answered, in order."""
        return sorted(name for name, spots in self.answers.items() if spots)

    def spots(self, system: str) -> list[Condition]:
        """What a system was given in the place of mixed: mixed first, then by retriever, chunk size and k."""
        held = (spot for spot in self.answers.get(system, ()) if spot.setting in ("mixed", "retrieved"))
        return sorted(held, key=lambda spot: (_ORDER[spot.setting], spot.retriever, spot.chunk, spot.k))

    def chunked(self) -> bool:
        """Whether the run has several chunk sizes, or one that is not the pool's own."""
        sizes = {spot.chunk for held in self.answers.values() for spot in held} | {size for _, size in self.found}
        return bool(sizes - {0})

    def questions(self, test: Callable[[int], bool]) -> int:
        """How many questions have such marks, the probe's not counted."""
        return sum(test(self.marks[place]) for (probe, _), place in self._samples.items() if not probe)

    @property
    def size(self) -> int:
        """How many questions there are, the probe's not counted."""
        return sum(not probe for probe, _ in self._samples)

    def cube(self, system: str, spots: Sequence[Condition], rule: str) -> CrossTab | None:
        """The answers that have a score at each of these spots; None where a spot was not asked."""
        key = (system, tuple(spots), rule)
        if key not in self._cubes:
            columns = [self.answers.get(system, {}).get(spot) for spot in spots]
            held = [column for column in columns if column is not None]
            if len(held) < len(columns):
                return None
            self._cubes[key] = self._cube(held, rule)
        return self._cubes[key]

    def _cube(self, columns: Sequence[Answers], rule: str) -> CrossTab:
        scored = 1 << (_RULE_BIT + 2 * self.rules.index(rule))
        right = scored << 1
        cube = CrossTab(columns[-1].asked, by_sample={} if self.repeated else None)
        for place, held in enumerate(zip(*(column.flags for column in columns), strict=False)):
            code = 0
            for flags in held:
                if not flags & scored:
                    break
                code = code * 2 + bool(flags & right)
            else:
                last, sample = held[-1], self.sample_of[place]
                gold = 2 if last & _ALL else 1 if last & _SOME else 0 if last & _NONE else -1
                kind = Kind(code, gold, self.marks[sample], self.source_of[sample])
                cube.kinds[kind] += 1
                if cube.by_sample is not None:
                    cube.by_sample.setdefault(sample, Counter())[kind] += 1
        return cube

    # -- filling

    def add(self, record: Record) -> None:
        """Takes one record in. Records of another benchmark, without a setting, are passed over."""
        condition = record.case.condition
        setting, probe = str(condition.get("setting", "")), bool(condition.get("probe", ""))
        if (spot := _spot(condition)) is None:
            return
        sample = self._sample(record, probe)
        self._note(record, setting, sample)
        if setting == "retrieved":
            self._retrieved(record, spot, sample)
        response = record.response
        if response is not None and response.finish_reason == NO_ANSWER:
            return
        repeat = int(condition.get("repeat", record.case.query.repeat))
        self.repeated = self.repeated or repeat > 0
        place = self._places.setdefault((sample, repeat), len(self._places))
        if place == len(self.sample_of):
            self.sample_of.append(sample)
        column = self.answers.setdefault(record.system_id, {}).setdefault(PROBE if probe else spot, Answers())
        column.reach(place)
        column.asked += 1
        column.failed += response is None
        column.flags[place] = self._flags(record)
        self._numbers(record, column, place)

    def plan(self, system: str, plan: Plan) -> None:
        """Counts what there was to be asked of a system that answers."""
        held = self.answers.get(system, {})
        for cell in plan.cells if held or not plan.asked else ():
            if (spot := _spot(cell.condition)) is not None:
                held.setdefault(PROBE if cell.condition.get("probe") else spot, Answers()).asked = cell.total
        if held:
            self.answers[system] = held

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
        self.marks.append(QuestionFlag.SHORT * short | QuestionFlag.ECHO * echo | QuestionFlag.HOPS * hops)
        self.ceilings.append(_NAN if probe or not aliases else token_set_f1(aliases[0], aliases))
        return place

    def _note(self, record: Record, setting: str, sample: int) -> None:
        """What only the oracle's or mixed's passages tell of a question."""
        given = record.case.query.passages or ()
        if setting == "oracle" and len(given) > 1 and "hops" not in record.case.sample.meta:
            self.marks[sample] |= QuestionFlag.HOPS
        elif setting == "mixed" and given and all(passage.relevant for passage in given):
            self.marks[sample] |= QuestionFlag.PURE

    def _retrieved(self, record: Record, spot: Condition, sample: int) -> None:
        condition = record.case.condition
        labels = int(condition.get("labels", 0) or record.case.sample.meta.get("labels", 0) or 0)
        if "found" not in condition or not labels:
            return
        self.ks.add(spot.k)
        lists = self.found.setdefault((spot.retriever, spot.chunk), {})
        found = str(condition["found"])
        if len(found) >= len(lists.get(sample, ("", 0))[0]):
            lists[sample] = (found, labels)

    def _flags(self, record: Record) -> int:
        flags = _ASKED
        case = record.case
        given = case.query.passages
        if given is None and record.response is not None:
            given = record.response.passages
        if given:
            supporting = sum(bool(passage.relevant) for passage in given)
            known = any(passage.relevant is not None for passage in given)
            labels = int(case.condition.get("labels", 0) or case.sample.meta.get("labels", 0) or 0)
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
        if (strict := record.scores.get(_STRICT)) is not None and strict.value is not None:
            column.strict[0] += strict.value >= 1.0
            column.strict[1] += 1
        if (f1 := record.scores.get(_F1)) is not None and f1.value is not None:
            column.f1[place] = f1.value
        if response.seconds is not None:
            column.seconds.append(response.seconds)
        if response.usage is not None and response.usage.prompt_tokens:
            column.tokens += response.usage.prompt_tokens + response.usage.completion_tokens
            column.counted += 1


def _spot(condition: Mapping[str, Scalar]) -> Condition | None:
    """What a condition gives a system; None of another benchmark's."""
    setting = str(condition.get("setting", ""))
    if setting not in _ORDER:
        return None
    return _FIXED.get(setting) or Condition(
        setting, str(condition.get("retriever", "")), int(condition.get("k", 0)), int(condition.get("chunk", 0))
    )


def is_short(alias: str, *, chinese: bool = False) -> bool:
    """Whether an alias is so short that it is found within other words: at most two characters, or one where the
    question is Chinese, since two are a name there."""
    return len(alias.strip()) <= (1 if chinese else _SHORT)


def count(records: Iterable[Record], rules: tuple[str, ...] = RULES, plans: Mapping[str, Plan] | None = None) -> Tally:
    """One pass over the records; `plans` says, by system, what there was to be asked."""
    tally = Tally(rules)
    for record in records:
        tally.add(record)
    for system, plan in (plans or {}).items():
        tally.plan(system, plan)
    return tally
