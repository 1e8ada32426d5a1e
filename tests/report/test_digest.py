"""Which wrong answers are shown: the worst, spread over systems and groups, the same ones every time."""

from collections import Counter
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.report.synthetic import META, SYSTEMS, MemoryRun, SmallBenchmark, records, small_run, spec

from ragstone.display import Diagnosis
from ragstone.report.digest import digest
from ragstone.types import Case, Query, Record, Response, Sample, Score


class Weighted(SmallBenchmark):
    """Every answer is wrong, as badly as it says."""

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        return Diagnosis(
            False, str(record.case.condition["group"]), "c", "C", weight=float(record.case.condition["weight"])
        )


def wrong(system: str, group: str, number: int, weight: float, sample: int | None = None) -> Record:
    name = f"{number if sample is None else sample}"
    case = Case(f"{group}/{number:04d}", Sample(name, "q"), {"group": group, "weight": weight}, Query("q"))
    return Record(system, case, Response("a"))


def chosen(found: list[Record], limit: int) -> list[tuple[str, str]]:
    return digest(MemoryRun(lambda: found, {}, {}), Weighted(), language="en", cases_shown=limit).chosen


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.integers(1, 20))
def test_of_one_group_exactly_the_worst_are_shown(weights: list[float], limit: int) -> None:
    found = [wrong("s", "g", number, weight) for number, weight in enumerate(weights)]
    shown = [weights[int(case.rpartition("/")[2])] for _, case in chosen(found, limit)]
    assert shown == sorted(weights, reverse=True)[:limit]


def test_every_system_and_group_has_its_turn() -> None:
    found = [wrong(system, group, n, n / 50) for system in "ab" for group in "xyz" for n in range(50)]
    shown = chosen(found, 31)
    counts = Counter((system, case[0]) for system, case in shown)
    assert len(shown) == len(set(shown)) == 31
    assert sorted(counts.values()) == [5, 5, 5, 5, 5, 6]
    assert ("a", "x/0049") in shown


def test_different_questions_come_before_the_same_question_again() -> None:
    found = [wrong("s", "g", n, 1.0, sample=n % 10) for n in range(1_000)]
    samples = [int(case[-4:]) % 10 for _, case in chosen(found, 20)]
    assert len(set(samples[:10])) == 10
    assert len(chosen(found, 2_000)) == 1_000


def test_right_unscored_and_failed_records_are_counted_and_not_shown() -> None:
    found = digest(small_run(400), SmallBenchmark(), language="en", cases_shown=10_000)
    for name, system in found.systems.items():
        tally = system.counts
        assert tally.right + tally.wrong + tally.unscored + tally.failed == tally.total == 400
        assert sum(sum(causes.values()) for causes in system.causes.values()) == tally.wrong
        assert sum(seen.count for seen in system.errors.values()) == tally.failed == 4
        assert sum(line[0] == name for line in found.chosen) == tally.wrong


def test_endless_kinds_of_errors_names_and_causes_take_bounded_memory() -> None:
    def many() -> Iterator[Record]:
        for number in range(2_000):
            case = Case(f"{number}", Sample("s", "q"), {"ability": "a", "language": "l"}, Query("q"))
            yield Record("s", case, error=f"kind{number}: {'m' * 5_000}")
            yield Record("s", case, Response("a", model=f"model-{number}"))

    system = digest(MemoryRun(many, {}, {}), SmallBenchmark(), language="en", cases_shown=10).systems["s"]
    assert len(system.errors) <= 51
    assert len(system.models) <= 51
    assert sum(seen.count for seen in system.errors.values()) == 2_000
    assert max(len(message) for seen in system.errors.values() for _, message in seen.examples) <= 2_000


def test_the_order_of_systems_in_a_run_does_not_matter() -> None:
    there = MemoryRun(lambda: records(100), {}, {name: spec(name) for name in SYSTEMS})
    back = MemoryRun(lambda: records(100), {}, {name: spec(name) for name in reversed(SYSTEMS)})
    sums = [digest(run, SmallBenchmark(), language="en", cases_shown=20) for run in (there, back)]
    assert sums[0] == sums[1]
    assert list(sums[0].systems) == list(sums[1].systems)


def test_answers_are_counted_by_what_became_of_them_and_each_error_has_at_most_three_examples() -> None:
    def make() -> Iterator[Record]:
        held = list(records(13, ("s",)))
        for at, record in enumerate(held):
            if at < 5:
                yield replace(record, response=None, error=f"timed_out: late ({at})", scores={})
            elif at < 7:
                yield replace(record, scores={})
            elif at < 10:
                yield replace(record, scores={"answer_match": Score.of(0.0)})
            else:
                yield replace(record, scores={"answer_match": Score.of(1.0)})

    found = digest(MemoryRun(make, META, {"s": {}}), SmallBenchmark(), language="en", cases_shown=9).systems["s"]
    counts = found.counts
    assert (counts.total, counts.failed, counts.unscored, counts.wrong, counts.right) == (13, 5, 2, 3, 3)
    (kind,) = found.errors
    assert (kind, found.errors[kind].count, len(found.errors[kind].examples)) == ("timed_out", 5, 3)


def test_the_most_frequent_causes_have_their_examples_first() -> None:
    found = [wrong("a", group, n, n / 50) for group in "xyz" for n in range(20)]
    run, benchmark = MemoryRun(lambda: found, {}, {}), Weighted()
    result = digest(run, benchmark, language="en", cases_shown=10)
    (system, cause), n = result.causes()[0]
    assert (system, n) == ("a", 60)
    causes = {(r.system_id, r.case.id): benchmark.explain(r).cause for r in found}
    assert [causes[key] for key in result.chosen[:3]] == [cause] * 3
