"""What the verdict of a run of retrievers alone says."""

import pytest

from ragstone.benchmarks.mirage.aggregate import MirageTally
from ragstone.benchmarks.mirage.summary import Verdicts


@pytest.mark.parametrize(
    ("lists", "verdict", "advice"),
    [
        (
            ["10000", "10000"],
            "among its first 5 for 100% [34, 100] of 2 questions (first 1: 100%",
            "not the bottleneck",
        ),
        (["00001", "00100"], "among its first 5 for 100% [34, 100] of 2 questions (first 1: 0%", "Improve the order"),
        (["00000", "10000"], "among its first 5 for 50% [9, 91] of 2 questions (first 1: 50%", "50% of the questions"),
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
