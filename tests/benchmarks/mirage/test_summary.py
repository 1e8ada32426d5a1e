"""What the verdict of a run says: the best pair against the next, and of retrievers alone what they found."""

import pytest
from tests.benchmarks.mirage.handmade import HandmadeRun, record

from ragstone.benchmarks.mirage.aggregate import MirageTally
from ragstone.benchmarks.mirage.summary import Verdicts, summaries
from ragstone.types import Record, Usage


def asked_with(retriever: str, right: range, n: int, *, k: int = 1, system: str = "m") -> list[Record]:
    """`n` questions with this retriever; those in `right` are answered rightly, at 100 tokens each."""
    return [
        record("retrieved", f"q{number}", number in right, retriever=retriever, k=k, system=system, usage=Usage(90, 10))
        for number in range(n)
    ]


def test_the_best_context_is_compared_with_the_next_by_the_same_questions() -> None:
    run = HandmadeRun(
        [*asked_with("a", range(30), 40), *asked_with("b", range(10), 40), *asked_with("a", range(9), 40, k=3)]
    )
    (summary,) = summaries(run).values()
    best, after = summary.verdict.splitlines()
    assert best.startswith("m answers best with a @ 1: 75%")
    assert "at 100 tokens an answer" in best
    # 10 of 40: 13.4% is the 3.5% quantile of beta(10, 31), 40.2% the high end of Wilson's interval.
    assert after.startswith("Next: b @ 1, 25% [13, 40] at 100 tokens an answer; the best leads by 50 points [")
    assert after.endswith("] on the same 40 questions, allowing for the choice among 2 pairs.")
    (chinese,) = summaries(run, language="zh").values()
    assert "在相同的 40 个问题上领先 50 个百分点" in chinese.verdict


def test_a_difference_that_chance_explains_is_said_to_be_one_also_because_the_best_was_chosen_from_many() -> None:
    """14 of 60 questions only with a, 4 only with b: p = 0.03 of two that were chosen beforehand; of the 10 pairs among
    five retrievers the best two differ so by chance."""
    a, b = asked_with("a", range(40), 60), asked_with("b", range(14, 44), 60)
    (alone,) = summaries(HandmadeRun([*a, *b])).values()
    assert "chance" not in alone.verdict
    others = [one for name in "cde" for one in asked_with(name, range(5), 60)]
    (chosen,) = summaries(HandmadeRun([*a, *b, *others])).values()
    assert chosen.verdict.endswith(
        "on the same 60 questions, allowing for the choice among 5 pairs: chance can explain it."
    )


def test_the_next_of_several_systems_is_the_next_pair() -> None:
    run = HandmadeRun([*asked_with("a", range(30), 40), *asked_with("a", range(28), 40, system="o")])
    summary = summaries(run)[""]
    assert summary.verdict.splitlines()[1].startswith("Next: o with a @ 1, 70% [")
    assert "; the best leads by 5 points [−" in summary.verdict


def test_a_system_that_is_never_right_has_no_best_context() -> None:
    run = HandmadeRun([*asked_with("a", range(0), 5), *asked_with("b", range(0), 5)])
    (summary,) = summaries(run).values()
    assert summary.verdict == "m answered no question correctly with any context (5 answers each)."


@pytest.mark.parametrize(
    ("lists", "verdict", "advice"),
    [
        # Of 2 of 2 the low end is √0.035, of 1 of 2 it is 1 - √0.965.
        (
            ["10000", "10000"],
            "among its first 5 for 100% [19, 100] of 2 questions (first 1: 100%",
            "not the bottleneck",
        ),
        (["00001", "00100"], "among its first 5 for 100% [19, 100] of 2 questions (first 1: 0%", "Improve the order"),
        (["00000", "10000"], "among its first 5 for 50% [2, 98] of 2 questions (first 1: 50%", "50% of the questions"),
    ],
)
def test_a_run_of_retrievers_alone_opens_with_what_was_found_and_what_to_do(
    lists: list[str], verdict: str, advice: str
) -> None:
    tally = MirageTally(found={("bm25", 0): {at: (found, 1) for at, found in enumerate(lists)}}, ks={5})
    summary = Verdicts(tally, {"options": {"ks": [1, 5]}}, "en").of_retrievers()
    assert verdict in summary.verdict
    assert advice in summary.actions[0].text
    chinese = Verdicts(tally, {"options": {"ks": [1, 5]}}, "zh").of_retrievers()
    assert "bm25 的前 5 个段落中有支持段落的问题占" in chinese.verdict
    assert chinese.actions


def test_the_best_retriever_is_named_first() -> None:
    tally = MirageTally(found={("a", 0): {0: ("0", 1)}, ("b", 0): {0: ("1", 1)}}, ks={1})
    assert Verdicts(tally, {}, "en").of_retrievers().verdict.startswith("b found")
