"""A judge none of whose last replies could be used is not asked any more."""

from ragstone.metrics.judge.record import JudgeStep, evidence
from ragstone.metrics.judge.unusable import IN_A_ROW, UnusableReplies
from ragstone.types import Case, Query, Record, Sample, Score

BAD = JudgeStep("verify", "verify/en@0", "m-1", "No.", problem="it has no JSON object: 'No.'")
GOOD = JudgeStep("decompose", "decompose/en@0", "m-1", "{}")
LATE = JudgeStep("decompose", "decompose/en@0", "m-1", None, problem="timed_out: no reply")


def record(*steps: JudgeStep, metrics: int = 1) -> Record:
    scores = {f"m{number}": Score.failed("no", evidence=evidence(steps)) for number in range(metrics)}
    return Record("s", Case("c", Sample("c", "q"), {}, Query("q")), None, None, scores)


def test_the_error_says_what_came_what_was_expected_and_what_to_do() -> None:
    unusable = UnusableReplies()
    assert [unusable.add(record(BAD, BAD)) for _ in range(IN_A_ROW // 2 - 1)] == [None] * 9
    error = unusable.add(record(BAD, BAD))
    assert str(error) == (
        "m-1: the last 20 replies could not be used, so no more are asked for. It wrote 'No.', expected one JSON "
        "object with answer_claims, reference_claims, passages "
        "(it has no JSON object: 'No.'). Use another model as judge."
    )
    assert error is not None
    assert error.exit_code == 3


def test_no_keys_are_named_where_the_form_of_the_prompt_is_not_known() -> None:
    unusable, bad = UnusableReplies(), JudgeStep("mine", "mine/en@0", "m-1", "No.", problem="it is empty")
    error = unusable.add(record(*[bad] * IN_A_ROW))
    assert "expected one JSON object (it is empty). Use another" in str(error)


def test_a_usable_reply_begins_the_count_anew_and_a_missing_one_says_nothing() -> None:
    unusable = UnusableReplies()
    for _ in range(40):
        assert unusable.add(record(GOOD, BAD, BAD)) is None
    for _ in range(8):
        assert unusable.add(record(BAD, LATE, BAD)) is None
    assert unusable.add(record(BAD, BAD)) is not None


def test_metrics_that_rest_on_the_same_replies_count_them_once() -> None:
    unusable = UnusableReplies()
    assert unusable.add(record(*[BAD] * (IN_A_ROW - 1), metrics=3)) is None
    assert unusable.add(record(BAD)) is not None


def test_each_judge_is_counted_by_itself() -> None:
    unusable, other = UnusableReplies(), JudgeStep("verify", reply="{}", judge="b")
    bad = JudgeStep("verify", reply="No.", problem="no object", judge="a")
    found = [unusable.add(record(other, bad, other)) for _ in range(IN_A_ROW)]
    assert found[:-1] == [None] * (IN_A_ROW - 1)
    assert "a: the last 20" in str(found[-1])
