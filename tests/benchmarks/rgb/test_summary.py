"""What the verdict of an RGB run says: where a system is worst, and where the better of two differs from the other."""

import re

from tests.benchmarks.rgb.handmade import HandBenchmark, HandRun, record

from ragstone.benchmarks.rgb.summary import summaries
from ragstone.types import Record


def noisy(system: str, right: int, *, language: str = "en", n: int = 30) -> list[Record]:
    """Questions at two noise ratios; the first `right` of them are answered rightly."""
    return [
        record("noise", number, system=system, language=language, ratio=ratio, right=number < right)
        for ratio in (0.0, 0.8) for number in range(n)
    ]  # fmt: skip


def refusing(system: str, rejected: int, *, n: int = 30) -> list[Record]:
    return [record("rejection", number, system=system, rejected=number < rejected) for number in range(n)]


def test_two_systems_are_compared_by_ability_over_the_same_questions() -> None:
    run = HandRun([*noisy("a", 25), *noisy("b", 5), *refusing("a", 10), *refusing("b", 9)])
    verdict = summaries(run, HandBenchmark())[""].verdict
    assert verdict.startswith("a is ahead of b in Noise robustness by 67 points [")
    assert verdict.endswith("] (the same questions, mean over the noise ratios).")
    assert "rejection" not in verdict
    chinese = summaries(run, HandBenchmark(), "zh")[""].verdict
    pattern = r"a 在噪声鲁棒性（67 个百分点 \[\d+, \d+\]）上优于 b（同样的问题，各噪声比例的平均）。"
    assert re.fullmatch(pattern, chinese)


def test_a_system_may_be_better_in_one_ability_and_worse_in_another() -> None:
    run = HandRun([*noisy("a", 30), *noisy("b", 5), *refusing("a", 0), *refusing("b", 20)])
    verdict = summaries(run, HandBenchmark())[""].verdict
    assert "a is ahead of b in Noise robustness by 83 points [" in verdict
    assert "; it is behind b in Negative rejection by 67 points [" in verdict


def test_several_abilities_and_languages_are_one_family_and_nothing_is_named_that_chance_explains() -> None:
    """8 of 30 questions only with a, 1 only with b: p = 0.04, which is no difference among two decisions."""

    def answers(system: str, right: range, language: str) -> list[Record]:
        return [
            record("noise", number, system=system, language=language, ratio=0.8, right=number in right)
            for number in range(30)
        ]  # fmt: skip

    english = [*answers("a", range(20), "en"), *answers("b", range(8, 21), "en")]
    assert "by 23 points" in summaries(HandRun(english), HandBenchmark())[""].verdict
    chinese = [*answers("a", range(10), "zh"), *answers("b", range(10), "zh")]
    both = summaries(HandRun([*english, *chinese]), HandBenchmark())
    assert both[""].verdict == "No ability shows a difference between a and b."


def test_the_best_two_of_several_systems_are_held_to_the_level_of_all_pairs() -> None:
    """8 of 30 questions only with a, 1 only with b: p = 0.04, a difference between two systems, and none between the
    best two of three, which are chosen from three pairs."""

    def answers(system: str, right: range) -> list[Record]:
        return [record("noise", number, system=system, ratio=0.8, right=number in right) for number in range(30)]

    two = [*answers("a", range(20)), *answers("b", range(8, 21))]
    assert "a is ahead of b" in summaries(HandRun(two), HandBenchmark())[""].verdict
    three = summaries(HandRun([*two, *answers("c", range(2))]), HandBenchmark())
    assert three[""].verdict == "No ability shows a difference between a and b."
    far = [*answers("a", range(28)), *answers("b", range(3))]
    verdicts = [
        summaries(HandRun(records), HandBenchmark())[""].verdict for records in ([*far, *answers("c", range(2))], far)
    ]
    assert verdicts[0].endswith(" noise ratios, allowing for the choice among 3 systems).")
    of_three, of_two = (re.search(r"by 83 points \[(\d+), (\d+)\]", verdict) for verdict in verdicts)
    assert of_three is not None
    assert of_two is not None
    assert int(of_three[1]) < int(of_two[1])  # and its interval is that of all pairs, too


def test_only_questions_that_both_answered_are_compared() -> None:
    run = HandRun([*noisy("a", 30, n=30), *noisy("b", 0, n=8), *noisy("b", 0, language="zh")])
    assert "a is ahead of b in Noise robustness, English by 100 points" in summaries(run, HandBenchmark())[""].verdict
    apart = HandRun([*noisy("a", 30), *noisy("b", 0, language="zh")])
    assert summaries(apart, HandBenchmark())[""].verdict == ""


def test_one_system_has_no_comparison() -> None:
    assert list(summaries(HandRun(noisy("a", 3)), HandBenchmark())) == ["a"]
