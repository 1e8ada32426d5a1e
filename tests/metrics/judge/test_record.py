"""The one shape of a judge's steps: written, read back, put together, and salvaged from files of any form."""

import ast
from pathlib import Path

import ragstone
from ragstone.metrics.judge.record import (
    Claim,
    JudgeStep,
    PassageVerdict,
    Quote,
    evidence,
    judged_scores,
    merged,
    requests_of,
    steps_by_metric,
    steps_of,
)
from ragstone.types import Case, Query, Record, Sample, Score, Usage

DECOMPOSE = JudgeStep(
    "decompose", reply="{}", sentences=("A is b.", "C is d."), questions=("What is a?",),
    answer_claims=(Claim(1, "a is b", 1), Claim(2, "c is d", 2, relevant=False)),
    reference_claims=(Claim(1, "a is b"),),
)  # fmt: skip
FIRST = JudgeStep(
    "verify", reply="{}", usage=Usage(10, 2, requests=1),
    answer_claims=(
        Claim(1, supported_by=(), contradicted_by=(1,), in_reference=True, quote="no b"),
        Claim(2, supported_by=(1, 2), quote="c d"),
    ),
    passages=(PassageVerdict(1, False, None), PassageVerdict(2, True, False)),
)  # fmt: skip
SECOND = JudgeStep(
    "verify", reply="{}", answer_claims=(Claim(1, supported_by=(1,), in_reference=False, quote="a b"),),
    passages=(PassageVerdict(1, True, True),),
)  # fmt: skip


def record(**scores: Score) -> Record:
    return Record("s", Case("c", Sample("c", "q"), {}, Query("q")), None, None, scores)


def test_verdicts_of_several_steps_are_one_matrix_by_the_same_rules_for_metrics_and_pages() -> None:
    first, second = merged([DECOMPOSE, FIRST, SECOND]).answer_claims
    assert (first.supported_by, first.contradicted_by, first.in_reference) == ((1,), (), True)  # the first says so
    assert (first.quote, first.quotes) == ("a b", (Quote("no b", 1), Quote("a b", 1)))
    assert (second.supported_by, second.quotes, second.in_reference) == ((1, 2), (Quote("c d"),), None)
    assert merged([DECOMPOSE, FIRST, SECOND]).passages == (
        PassageVerdict(1, True, True),
        PassageVerdict(2, True, False),
    )


def test_a_step_that_could_not_be_used_and_passages_shown_again_count_for_nothing() -> None:
    broken = JudgeStep("verify", reply="?", problem="not JSON", answer_claims=SECOND.answer_claims)
    again = JudgeStep("verify", reply="{}", passages=(PassageVerdict(2, False, True),), repeated=True)
    assert merged([DECOMPOSE, FIRST, broken, again]).passages == merged([DECOMPOSE, FIRST]).passages
    assert merged([DECOMPOSE, FIRST, broken]).answer_claims == merged([DECOMPOSE, FIRST]).answer_claims
    assert merged([]).noncommittal
    assert not merged([DECOMPOSE]).noncommittal


def test_a_step_that_several_metrics_rest_on_is_one_object_and_one_request() -> None:
    shared = evidence([DECOMPOSE, FIRST])
    found = record(a=Score.of(1.0, evidence=shared), b=Score.of(0.0, evidence=dict(shared)), plain=Score.of(1.0))
    steps = steps_by_metric(found)
    assert steps["a"] == (DECOMPOSE, FIRST)
    assert all(one is other for one, other in zip(steps["a"], steps["b"], strict=True))
    assert steps["plain"] == ()
    assert requests_of(found) == [DECOMPOSE, FIRST]
    assert list(judged_scores(found)) == ["a", "b"]


def test_requests_of_a_score_that_are_the_same_in_everything_count_each() -> None:
    no = JudgeStep("verify", reply="no", problem="not JSON", usage=Usage(10, 2, requests=1))
    found = record(
        a=Score.failed("no", evidence=evidence([DECOMPOSE, no, no])), b=Score.of(1.0, evidence=evidence([no]))
    )
    assert [step.again for step in steps_by_metric(found)["a"]] == [0, 0, 1]
    assert [step.reply for step in requests_of(found)] == ["{}", "no", "no"]


def test_of_one_request_that_a_cache_answered_for_another_metric_the_sent_one_counts() -> None:
    sent = JudgeStep("ragas_statements", reply="{}", usage=Usage(10, 2, requests=1))
    cached = JudgeStep("ragas_statements", reply="{}", usage=Usage(10, 2), cached=True)
    found = record(a=Score.of(1.0, evidence=evidence([cached])), b=Score.of(1.0, evidence=evidence([sent])))
    assert requests_of(found) == [sent]


def test_of_a_damaged_step_what_has_its_form_is_kept() -> None:
    claims = [{"id": 1, "text": "a"}, {"id": True, "text": "b"}, {"id": 10_000}, "no claim", {"id": 2, "quote": 5}]
    held = {
        "step": "verify", "model": ["m"], "reply": {"not": "text"}, "usage": {"prompt_tokens": "many"}, "cached": 3,
        "answer_claims": [*claims, {"id": 3, "supported_by": [1, 0, "x", 2], "in_reference": "yes"}],
        "passages": [{"id": 1}, {"id": 2, "relevant": True, "useful": 1}], "sentences": ["one", 2], "new": 1,
    }  # fmt: skip
    (step,) = steps_of(Score.of(0.0, evidence={"verdicts": [held, "nothing", None]}))
    assert step == JudgeStep(
        "verify", reply='{"not": "text"}', sentences=("one",), passages=(PassageVerdict(2, True),),
        answer_claims=(Claim(1, "a"), Claim(2), Claim(3, supported_by=(1, 2))),
    )  # fmt: skip
    assert steps_of(Score.of(0.0, evidence={"verdicts": "none"})) == steps_of(Score.of(0.0)) == ()


def test_nobody_else_reads_or_writes_the_steps_in_the_evidence() -> None:
    source = Path(ragstone.__file__).parent
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value == "verdicts"
    }
    # Replies to one step of ragas have a list of this name, which corrections read; so has a table of the run file.
    assert found == {
        "metrics/judge/corrections.py", "metrics/judge/record.py",
        "metrics/ragas_faithfulness.py", "runs/record_pages.py", "runs/salvage.py",
    }  # fmt: skip
