"""The real libraries: what `conform` finds in versions that are known."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import platformdirs
import pytest
from bench.peers.environment import PACKAGES, environment

from ragstone.errors import UsageError
from ragstone_conform.cases import load_cases
from ragstone_conform.running import Conformance, conform
from ragstone_conform.targets import target_of

pytestmark = pytest.mark.slow
RAGAS = (
    "plain", "all-supported", "none-supported", "useful-context-last", "three-questions", "negative-cosine", "refusal",
    "nothing-on-either-side", "one-verdict-of-four", "a-verdict-twice", "a-verdict-of-5", "a-verdict-of-minus-1",
    "injection-quoted", "thoughts-first", "429-twice", "braces", "injection",
)  # fmt: skip
DEEPEVAL = (
    "plain",
    "none-supported",
    "useful-context-last",
    "refusal",
    "one-verdict-of-four",
    "a-verdict-of-5",
    "429-twice",
)


RAGCHECKER = (
    "plain",
    "all-supported",
    "refusal",
    "no-reference",
    "one-verdict-of-four",
    "a-verdict-of-5",
    "injection-quoted",
)
TRULENS = ("plain", "refusal", "a-reply-of-code")


def found(library: str, names: tuple[str, ...]) -> Conformance:
    folder = Path(platformdirs.user_cache_dir("ragstone", appauthor=False)) / "peers"
    if library in PACKAGES:
        python, reason = environment(library, folder)
    else:
        python, reason = own_environment(library)
    if python is None:
        pytest.skip(reason)
    cases = [case for case in load_cases() if case.id.rpartition("/")[0] in names]
    return asyncio.run(conform(target_of(library, python=python), cases))


def own_environment(library: str) -> tuple[Path | None, str]:
    """That of `conform` itself, in the user's cache folder; made where it does not exist yet."""
    try:
        return target_of(library).python, ""
    except UsageError as error:
        return None, str(error)


def wrong(result: Conformance) -> Mapping[tuple[str, str], float | str]:
    """What is not right, without the language: both have the same."""
    found = {
        (outcome.case, outcome.metric): outcome.kind if outcome.value is None else outcome.value
        for outcome in result.outcomes
        if outcome.kind != "right"
    }
    short = {(case.rpartition("/")[0], metric): value for (case, metric), value in found.items()}
    assert found == {(f"{case}/{way}", metric): short[case, metric] for case, metric in short for way in ("en", "zh")}
    return short


def test_the_known_defects_of_ragas_0_4_3_are_found_and_nothing_else() -> None:
    result = found("ragas", RAGAS)
    assert result.version == "0.4.3"
    failed = {(outcome.case, outcome.metric): outcome for outcome in result.outcomes if outcome.kind != "right"}
    defects = {
        ("negative-cosine", "answer_relevancy"): -0.3,
        ("negative-cosine", "answer_correctness"): 0.328571,
        ("refusal", "faithfulness"): "nan",
        ("nothing-on-either-side", "answer_correctness"): 0.8,
        ("nothing-on-either-side", "context_recall"): "nan",
        ("one-verdict-of-four", "faithfulness"): 1.0,
        ("a-verdict-twice", "faithfulness"): 0.6,
        ("a-verdict-of-5", "faithfulness"): 1.0,
        ("a-verdict-of-minus-1", "faithfulness"): 1.0,
        ("injection-quoted", "faithfulness"): 1.0,
        ("injection-quoted", "context_precision"): 1.0,
        ("injection-quoted", "context_recall"): 1.0,
        ("thoughts-first", "faithfulness"): 1.0,
        ("thoughts-first", "context_precision"): 1.0,
        ("thoughts-first", "context_recall"): 1.0,
    }
    assert set(failed) == {(f"{case}/{language}", metric) for case, metric in defects for language in ("en", "zh")}
    for (case, metric), value in defects.items():
        for language in ("en", "zh"):
            outcome = failed[f"{case}/{language}", metric]
            assert outcome.kind == value if isinstance(value, str) else outcome.value == pytest.approx(value, abs=1e-5)


def test_deepeval_4_3_1_scores_a_refusal_and_what_was_not_judged() -> None:
    result = found("deepeval", DEEPEVAL)
    assert result.version == "4.3.1"
    failed = {(outcome.case, outcome.metric): outcome.value for outcome in result.outcomes if outcome.kind != "right"}
    assert failed == {
        (f"{case}/{language}", metric): 1.0
        for case, metric in (
            ("refusal", "faithfulness"), ("refusal", "answer_relevance"), ("one-verdict-of-four", "faithfulness"),
        )
        for language in ("en", "zh")
    }  # fmt: skip


def test_ragchecker_0_1_9_scores_what_nothing_was_said_of() -> None:
    result = found("ragchecker", RAGCHECKER)
    assert result.version == "0.1.9"
    assert wrong(result) == {
        ("refusal", "faithfulness"): 0.0, ("no-reference", "context_recall"): 0.0,
        ("one-verdict-of-four", "faithfulness"): 0.25, ("a-verdict-of-5", "faithfulness"): 0.75,
        ("injection-quoted", "faithfulness"): 1.0, ("injection-quoted", "context_recall"): 1.0,
    }  # fmt: skip


def test_trulens_2_16_0_runs_a_reply_as_code() -> None:
    result = found("trulens", TRULENS)
    assert result.version == "2.16.0"
    assert wrong(result) == {("refusal", "faithfulness"): 0.0, ("a-reply-of-code", "faithfulness"): "crashed"}
    reasons = {outcome.reason for outcome in result.outcomes if outcome.kind == "crashed"}
    assert all("exit code 7" in str(reason) for reason in reasons)  # that of the code in the reply
