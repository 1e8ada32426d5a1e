"""What makes a pair, what makes the data of two runs differ, and which metrics of them measure the same."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from tests.benchmarks.recorded.memory_run import MemoryRun, record, scored, step

from ragstone.comparison.compare_figures import Comparison, Side, compare_runs
from ragstone.errors import UsageError
from ragstone.types import Case, Passage, Query, Record, Response, Sample, Score


def side(records: Sequence[Record], name: str, **meta: Any) -> Side:
    return Side(MemoryRun(records, **{"question": {"benchmark": "eval"}} | meta), "s", name)


def compared(a: Sequence[Record], b: Sequence[Record], **options: Any) -> Comparison:
    return compare_runs(side(a, "a"), side(b, "b"), **options)


def asked(sample: Sample, passages: tuple[Passage, ...] | None = None, value: float = 1.0) -> Record:
    case = Case(sample.id, sample, {}, Query(sample.question, passages))
    return Record("s", case, Response("So."), None, {"m": Score.of(value)})


GOLD = (Passage("p1", "A text.", relevant=True),)
BASE = Sample("q1", "How tall is it?", (("Nine metres",),), GOLD)


@pytest.mark.parametrize(
    "other",
    [
        asked(replace(BASE, question="How wide is it?")),
        asked(replace(BASE, references=(("Ten metres",),))),
    ],
    ids=["question", "reference"],
)
def test_another_question_or_reference_under_the_same_id_is_other_data(other: Record) -> None:
    same = asked(Sample("q2", "Why?"))
    with pytest.raises(UsageError, match=r"1 with another question, reference or given passages \('q1'…\)\. 1 in both"):
        compared([asked(BASE), same], [other, same])
    found = compared([asked(BASE), same], [other, same], on="common")
    assert (found.pairs, found.changed, found.left_out) == (1, 1, (0, 0))
    with pytest.raises(UsageError, match="no sample in common"):
        compared([asked(BASE)], [other], on="common")


@pytest.mark.parametrize("other", [Passage("p2", "A text.", relevant=True), replace(GOLD[0], meta={"grade": 2})])
def test_labels_are_no_part_of_a_question(other: Passage) -> None:
    """They may be of chunks of another size."""
    assert compared([asked(BASE)], [asked(replace(BASE, passages=(other,)))]).pairs == 1


def test_given_passages_belong_to_the_data_and_retrieved_ones_do_not() -> None:
    given = [asked(BASE, (Passage("x", text),)) for text in ("One.", "Two.")]
    with pytest.raises(UsageError, match="given passages"):
        compared(given[:1], given[1:])
    retrieved = [
        Record("s", asked(BASE).case, Response("So.", (Passage("x", text),)), None, {"m": Score.of(1.0)})
        for text in ("One.", "Two.")
    ]
    assert compared(retrieved[:1], retrieved[1:]).pairs == 1


def test_a_text_that_is_cut_by_another_tokenizer_is_the_same_question_and_another_needle_is_not() -> None:
    def cell(tokenizer: str, **recipe: Any) -> Record:
        made = {"haystack": "h", "needles": ["7 is it.", "8 is not."], **recipe}
        record = asked(BASE, (Passage("haystack", "", meta={"recipe": made, "template": "simple"}),))
        condition: dict[str, Any] = {"length": 1000, "tokenizer": tokenizer, "length_reached": 900 + len(tokenizer)}
        return replace(record, case=replace(record.case, condition=condition))

    one = cell("one", sentences=40, at=[3, 9])
    assert compared([one], [cell("other", sentences=37, at=[2, 8], needles=["8 is not.", "7 is it."])]).pairs == 1
    for changed in ({"needles": ["9 is it."]}, {"haystack": "another"}):
        with pytest.raises(UsageError, match="given passages"):
            compared([one], [cell("one", sentences=40, at=[3, 9], **changed)])


def test_a_side_without_answers_and_a_condition_without_matches_have_different_errors() -> None:
    with pytest.raises(UsageError, match=r"^b has no answers yet: run its command again\.$"):
        compared([asked(BASE)], [])
    cold = replace(asked(BASE), case=replace(asked(BASE).case, condition={"heat": 0.0}))
    with pytest.raises(UsageError, match=r"^No case of a matches heat=9; available values: heat is 0\.0\.$"):
        compared([cold], [cold], where={"heat": "9"})


def test_two_rows_of_one_id_stay_two_pairs() -> None:
    rows = [asked(BASE), asked(replace(BASE, question="How wide is it?"), value=0.0)]
    found = compared(rows, rows)
    assert (found.pairs, found.rows[0].n, found.rows[0].a) == (2, 2, 0.5)


def test_records_without_an_answer_fail_every_score() -> None:
    a = [record(f"q{at}", {"m": 1.0}) for at in range(4)]
    broken = [Record("s", one.case, None, "timed_out: late", {}) for one in a[:2]]
    (row,) = compared(a, [*broken, *a[2:]]).rows
    assert (row.n, row.failed_a, row.failed_b, row.lacking, row.coverage) == (2, 0, 2, 2, 0.5)


def test_a_pair_that_fails_on_both_sides_is_counted_as_missing_once() -> None:
    bad = Score.failed("timed_out: late")
    a = [record("q1", {"m": bad}), record("q2", {"m": bad}), record("q3", {"m": 1.0}), record("q4", {"m": 1.0})]
    b = [record("q1", {"m": bad}), record("q2", {"m": 1.0}), record("q3", {"m": bad}), record("q4", {"m": 1.0})]
    (row,) = compared(a, b).rows
    assert (row.failed_a, row.failed_b, row.lacking, row.coverage) == (2, 2, 3, 0.25)


def test_a_metric_that_applies_on_one_side_only_is_counted_and_not_missing() -> None:
    off = Score.not_applicable("the answer makes no claim")
    a = [record("q1", {"m": 1.0}), record("q2", {"m": 0.5}), record("q3", {"m": off})]
    b = [record("q1", {"m": 1.0}), record("q2", {"m": off}), record("q3", {"m": off})]
    (row,) = compared(a, b).rows
    assert (row.n, row.only_a, row.only_b, row.coverage) == (1, 1, 0, 1.0)


def test_rows_of_groups_share_one_correction() -> None:
    def held(shift: float) -> list[Record]:
        return [
            record(f"q{at}", {"m": at % 3 / 4 + shift * (at < 6)}, topic="x" if at < 6 else "y") for at in range(12)
        ]

    found = compared(held(0.0), held(0.25), group_by=["topic"])
    assert [(row.group, row.n) for row in found.rows] == [("topic=x", 6), ("topic=y", 6)]
    assert found.rows[0].label == "m (topic=x)"
    assert found.rows[0].p_holm == pytest.approx(2 * found.rows[0].p)
    assert 2 / 2**6 <= found.rows[0].p < 0.5
    assert found.rows[1].p_holm == 1.0
    with pytest.raises(UsageError, match=r"No case of a has 'subject'; available: topic\."):
        compared(held(0.0), held(0.25), group_by=["subject"])


def test_the_largest_moves_are_named_although_they_are_no_flips() -> None:
    a = [record(f"q{at}", {"m": 0.9}) for at in range(10)]
    b = [record(f"q{at}", {"m": 0.9 - at / 20}) for at in range(10)]
    (row,) = compared(a, b).rows
    assert row.lost_total == 0
    assert [(flip.sample, flip.flipped) for flip in row.lost] == [(f"q{at}", False) for at in (9, 8, 7, 6, 5)]
    (far,) = compared([record("q", {"m": 0.7})], [record("q", {"m": 0.2})]).rows  # half, but for rounding
    assert far.lost_total == 1


BY = {"model": "m", "verify": "joint", "embedder": "e", "prompts": {"verify/en": "1", "rubric/en": "1"},
      "rubrics": {"rubric.tone": "1", "rubric.care": "1"}}  # fmt: skip
NAMES = ("faithfulness", "answer_relevancy", "rubric.tone", "rubric.care", "semantic_similarity", "token_f1")


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({}, []),
        ({"model": "n"}, ["faithfulness", "answer_relevancy", "rubric.tone", "rubric.care"]),
        ({"verify": "separate"}, ["faithfulness", "answer_relevancy", "rubric.tone", "rubric.care"]),
        ({"embedder": "f"}, ["answer_relevancy", "semantic_similarity"]),
        ({"rubrics": {"rubric.tone": "2", "rubric.care": "1"}}, ["rubric.tone"]),
        ({"prompts": {"verify/en": "2", "rubric/en": "1"}}, ["faithfulness", "answer_relevancy"]),
        ({"prompts": {"verify/en": "1", "rubric/en": "2"}}, ["rubric.tone", "rubric.care"]),
        ({"prompts": {"verify/zh": "2"}}, []),  # another prompt, not another version of one
    ],
)
def test_only_metrics_that_rest_on_what_differs_are_refused(change: dict[str, Any], refused: list[str]) -> None:
    records = [record("q", dict.fromkeys(NAMES, 1.0)), record("r", dict.fromkeys(NAMES, 0.0))]
    sides = [side(records, name, question={"benchmark": "eval", "judge": BY | more}) for name, more in
             (("a", {}), ("b", change))]  # fmt: skip
    assert sorted(compare_runs(*sides).refused) == sorted(refused)
    assert not compare_runs(*sides, judges="different").refused


def test_the_judge_of_rgb_and_the_matrix_are_compared_separately() -> None:
    records = [record("q", {"rgb.judge.rejection": scored(1.0, step()), "faithfulness": scored(1.0, step())})]

    def of(rejection: str, verify: str) -> Side:
        judge = {"model": "m", "prompts": {"rgb.judge.rejection": rejection}}
        return side(records, "a", judge=judge, matrix={"model": "m", "prompts": {"verify/en": verify}})

    assert list(compare_runs(of("1", "1"), of("2", "1")).refused) == ["rgb.judge.rejection"]
    assert list(compare_runs(of("1", "1"), of("1", "2")).refused) == ["faithfulness"]


def test_other_differences_of_the_questions_are_named() -> None:
    records = [record("q", {"m": 1.0})]
    a = side(records, "a", question={"benchmark": "rgb", "template": {"name": "paper"}, "data": 1})
    b = side(records, "b", question={"benchmark": "rgb", "template": {"name": "mine"}, "data": 2})
    assert compare_runs(a, b).differing == ("template",)


def test_of_a_condition_only_what_varies_is_named() -> None:
    def of(ratio: float, answer: float) -> Record:
        sample = Sample("q", "Why?")
        case = Case(f"{ratio}", sample, {"language": "en", "noise_ratio": ratio, "documents": 5}, Query("Why?"))
        return Record("s", case, Response("So."), None, {"m": Score.of(answer)})

    before, after = [of(0.0, 1.0), of(0.4, 1.0)], [of(0.0, 0.0), of(0.4, 0.0)]
    (row,) = compared(before, after).rows
    assert [flip.condition for flip in row.lost] == ["noise_ratio=0.0", "noise_ratio=0.4"]
    grouped = compared(before, after, group_by=["noise_ratio"]).rows
    assert [(row.group, row.lost[0].condition) for row in grouped] == [("noise_ratio=0.0", ""), ("noise_ratio=0.4", "")]


def test_right_and_wrong_that_never_differed_are_no_certainty() -> None:
    records = [record(f"q{at}", {"m": 1.0}) for at in range(20)]
    (row,) = compared(records, records).rows
    assert (row.test, row.p, row.difference) == ("mcnemar", 1.0, 0.0)
    assert (row.low, row.high) == pytest.approx((-0.180, 0.180), abs=1e-3)


def test_questions_are_paired_by_what_they_ask_and_not_by_their_ids() -> None:
    a = [record(f"a{at}", {"m": float(at % 2)}) for at in range(6)]
    renamed = [
        replace(one, case=replace(one.case, id=f"b{at}", sample=replace(one.case.sample, id=f"b{at}")))
        for at, one in enumerate(a)
    ]
    found = compared(a, renamed)
    assert (found.pairs, found.left_out, found.changed, found.rows[0].difference) == (6, (0, 0), 0, 0.0)


def test_unrelated_questions_of_equal_ids_are_refused_with_how_many_both_have() -> None:
    def asked_with(word: str) -> list[Record]:
        made = [record(f"q{at}", {"m": 1.0}) for at in range(40)]
        return [
            replace(one, case=replace(one.case, sample=replace(one.case.sample, question=f"{word} {one.case.id}?")))
            for one in made
        ]

    who, when = asked_with("Who"), asked_with("When")
    with pytest.raises(UsageError, match=r"40 with another question.*None in both"):
        compared(who, when)
    with pytest.raises(UsageError, match=r"40 with another question.*1 in both"):
        compared([*who, record("x", {"m": 1.0})], [*when, record("x", {"m": 1.0})])
